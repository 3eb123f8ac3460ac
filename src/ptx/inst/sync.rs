//! Barriers of a block, of some of its warps, or of a warp.

use crate::ptx::{kernel::Builder, operand::Operand, types::Scalar, val::Val};

impl<'k> Builder<'k> {
    /// Emits `bar.sync 0`, which waits until all threads of the block have arrived; their earlier writes are then visible to all of them.
    #[doc(alias = "bar.sync")]
    #[doc(alias = "__syncthreads")]
    #[track_caller]
    pub fn sync_threads(self) {
        self.emit(format_args!("bar.sync"), &[Val::from(0u32).operand(self)]);
    }

    /// Waits at barrier `barrier` (0 to 15) until `threads` threads have arrived; their earlier writes are then visible to the threads that
    /// have waited. `threads` must be a multiple of 32, and the lanes of a warp must execute the instruction together.
    #[doc(alias = "bar.sync")]
    #[track_caller]
    pub fn bar_sync(self, barrier: impl Into<Val<'k, u32>>, threads: impl Into<Val<'k, u32>>) {
        self.emit(format_args!("bar.sync"), &[barrier.into().operand(self), threads.into().operand(self)]);
    }

    /// Arrives at barrier `barrier` (0 to 15) without waiting; `threads`, a multiple of 32, is the total number of threads that arrive or
    /// wait.
    #[doc(alias = "bar.arrive")]
    #[track_caller]
    pub fn bar_arrive(self, barrier: impl Into<Val<'k, u32>>, threads: impl Into<Val<'k, u32>>) {
        self.emit(format_args!("bar.arrive"), &[barrier.into().operand(self), threads.into().operand(self)]);
    }

    /// Waits as [`sync_threads`](Self::sync_threads) does, and returns the number of threads in which `predicate` holds.
    #[doc(alias = "bar.red.popc")]
    #[doc(alias = "__syncthreads_count")]
    #[track_caller]
    pub fn sync_threads_count(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, u32> {
        self.bar_red("popc.u32", 0.into(), None, predicate.into())
    }

    /// Waits as [`sync_threads`](Self::sync_threads) does, and returns whether `predicate` holds in all threads.
    #[doc(alias = "bar.red.and")]
    #[doc(alias = "__syncthreads_and")]
    #[track_caller]
    pub fn sync_threads_and(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, bool> {
        self.bar_red("and.pred", 0.into(), None, predicate.into())
    }

    /// Waits as [`sync_threads`](Self::sync_threads) does, and returns whether `predicate` holds in any thread.
    #[doc(alias = "bar.red.or")]
    #[doc(alias = "__syncthreads_or")]
    #[track_caller]
    pub fn sync_threads_or(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, bool> {
        self.bar_red("or.pred", 0.into(), None, predicate.into())
    }

    /// Waits as [`bar_sync`](Self::bar_sync) does, and returns the number of participating threads in which `predicate` holds.
    #[doc(alias = "bar.red.popc")]
    #[track_caller]
    pub fn bar_red_popc(
        self,
        barrier: impl Into<Val<'k, u32>>,
        threads: impl Into<Val<'k, u32>>,
        predicate: impl Into<Val<'k, bool>>,
    ) -> Val<'k, u32> {
        self.bar_red("popc.u32", barrier.into(), Some(threads.into()), predicate.into())
    }

    /// Waits as [`bar_sync`](Self::bar_sync) does, and returns whether `predicate` holds in all participating threads.
    #[doc(alias = "bar.red.and")]
    #[track_caller]
    pub fn bar_red_and(
        self,
        barrier: impl Into<Val<'k, u32>>,
        threads: impl Into<Val<'k, u32>>,
        predicate: impl Into<Val<'k, bool>>,
    ) -> Val<'k, bool> {
        self.bar_red("and.pred", barrier.into(), Some(threads.into()), predicate.into())
    }

    /// Waits as [`bar_sync`](Self::bar_sync) does, and returns whether `predicate` holds in any participating thread.
    #[doc(alias = "bar.red.or")]
    #[track_caller]
    pub fn bar_red_or(
        self,
        barrier: impl Into<Val<'k, u32>>,
        threads: impl Into<Val<'k, u32>>,
        predicate: impl Into<Val<'k, bool>>,
    ) -> Val<'k, bool> {
        self.bar_red("or.pred", barrier.into(), Some(threads.into()), predicate.into())
    }

    #[track_caller]
    fn bar_red<T: Scalar>(
        self,
        operation: &str,
        barrier: Val<'k, u32>,
        threads: Option<Val<'k, u32>>,
        predicate: Val<'k, bool>,
    ) -> Val<'k, T> {
        let mut operands = arrayvec::ArrayVec::<Operand<'_>, 3>::new();
        operands.push(barrier.operand(self));
        operands.extend(threads.map(|threads| threads.operand(self)));
        operands.push(Operand::Reg(predicate.in_register(self)));
        self.result(format_args!("bar.red.{operation}"), &operands)
    }

    /// Waits as [`bar_sync`](Self::bar_sync) does, except that the lanes of a warp may have diverged: each lane arrives separately.
    #[doc(alias = "barrier.sync")]
    #[track_caller]
    pub fn barrier_sync(self, barrier: impl Into<Val<'k, u32>>, threads: impl Into<Val<'k, u32>>) {
        let operands = [barrier.into().operand(self), threads.into().operand(self)];
        self.emit(format_args!("barrier.sync"), &operands);
    }

    /// Arrives as [`bar_arrive`](Self::bar_arrive) does, except that the lanes of a warp may have diverged: each lane arrives separately.
    #[doc(alias = "barrier.arrive")]
    #[track_caller]
    pub fn barrier_arrive(self, barrier: impl Into<Val<'k, u32>>, threads: impl Into<Val<'k, u32>>) {
        let operands = [barrier.into().operand(self), threads.into().operand(self)];
        self.emit(format_args!("barrier.arrive"), &operands);
    }

    /// Waits until all lanes of `mask` have arrived; their earlier writes are then visible to all of them.
    #[doc(alias = "bar.warp.sync")]
    #[doc(alias = "__syncwarp")]
    #[track_caller]
    pub fn sync_warp(self, mask: impl Into<Val<'k, u32>>) {
        self.emit(format_args!("bar.warp.sync"), &[mask.into().operand(self)]);
    }
}
