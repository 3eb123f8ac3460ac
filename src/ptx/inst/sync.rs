//! Barriers: of a block, of some of its warps, of a warp.

use crate::ptx::{kernel::K, val::Val};

impl<'k> K<'k> {
    /// Waits until every thread of the block is here; what each wrote before, all see after: `bar.sync 0`.
    #[doc(alias = "bar.sync")]
    #[doc(alias = "__syncthreads")]
    #[track_caller]
    pub fn sync_threads(self) {
        self.emit(format_args!("bar.sync"), &[Val::from(0u32).operand(self)]);
    }

    /// Waits at barrier `barrier`, 0 to 15, until `threads` threads, a multiple of 32, have arrived.
    #[doc(alias = "bar.sync")]
    #[track_caller]
    pub fn bar_sync(self, barrier: impl Into<Val<'k, u32>>, threads: impl Into<Val<'k, u32>>) {
        self.emit(format_args!("bar.sync"), &[barrier.into().operand(self), threads.into().operand(self)]);
    }

    /// Arrives at barrier `barrier`, 0 to 15, without waiting for the rest of the `threads` threads, a multiple of 32.
    #[doc(alias = "bar.arrive")]
    #[track_caller]
    pub fn bar_arrive(self, barrier: impl Into<Val<'k, u32>>, threads: impl Into<Val<'k, u32>>) {
        self.emit(format_args!("bar.arrive"), &[barrier.into().operand(self), threads.into().operand(self)]);
    }

    /// Waits until the lanes of `mask` are here; what each wrote before, all of them see after.
    #[doc(alias = "bar.warp.sync")]
    #[doc(alias = "__syncwarp")]
    #[track_caller]
    pub fn sync_warp(self, mask: impl Into<Val<'k, u32>>) {
        self.emit(format_args!("bar.warp.sync"), &[mask.into().operand(self)]);
    }

    /// Ends the kernel with an error that the host sees.
    #[track_caller]
    pub fn trap(self) {
        self.emit(format_args!("trap"), &[]);
    }
}
