//! Ending, stopping and pausing a thread: `exit`, `trap`, `brkpt`, `nanosleep`.

use crate::ptx::{kernel::Builder, val::Val};

impl<'k> Builder<'k> {
    /// Ends the thread.
    #[track_caller]
    pub fn exit(self) {
        self.emit(format_args!("exit"), &[]);
    }

    /// Aborts the kernel with an error that the host receives.
    #[track_caller]
    pub fn trap(self) {
        self.emit(format_args!("trap"), &[]);
    }

    /// Suspends execution for a debugger.
    #[track_caller]
    pub fn brkpt(self) {
        self.emit(format_args!("brkpt"), &[]);
    }

    /// Suspends the thread for approximately `nanoseconds`, at most 1 000 000.
    #[track_caller]
    pub fn nanosleep(self, nanoseconds: impl Into<Val<'k, u32>>) {
        self.emit(format_args!("nanosleep.u32"), &[nanoseconds.into().operand(self)]);
    }
}
