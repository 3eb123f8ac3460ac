//! A scope whose kind is known only when the kernel is built.

use std::{fmt, panic::Location};

use super::{Block, Scope};
use crate::ptx::{kernel::Builder, uniform::Uniformity, val::Val};

/// A scope of any kind, such as the threads that jointly own memory.
///
/// The scope is created when it is used, so that memory of the block can be allocated before the block's shape is declared.
#[derive(Clone, Copy)]
pub(crate) struct AnyScope<'k> {
    k: Builder<'k>,
    is_block: bool,
    uniformity: fn(Builder<'k>) -> Uniformity,
    size: fn(Builder<'k>) -> u32,
    rank: fn(Builder<'k>) -> Val<'k, u32>,
    thread: fn(Builder<'k>) -> Val<'k, u32>,
    sync: fn(Builder<'k>),
    any: fn(Builder<'k>, Val<'k, bool>) -> Val<'k, bool>,
}

impl fmt::Debug for AnyScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyScope").finish_non_exhaustive()
    }
}

impl<'k, S: Scope<'k>> From<S> for AnyScope<'k> {
    fn from(scope: S) -> Self {
        Self::of::<S>(scope.kernel())
    }
}

impl<'k> AnyScope<'k> {
    /// Returns the block as a scope of rank 0.
    pub(crate) fn block(k: Builder<'k>) -> Self {
        let rank: fn(Builder<'k>) -> Val<'k, u32> = |_| 0.into();
        Self { is_block: true, rank, ..Self::of::<Block<'k>>(k) }
    }

    /// Returns the scope of kind `S` that contains this thread, with the rank that [`Scope::rank`] returns.
    pub(crate) fn of<S: Scope<'k>>(k: Builder<'k>) -> Self {
        Self {
            k,
            is_block: false,
            uniformity: |k| S::current(k).uniformity(),
            size: |k| S::current(k).size(),
            rank: |k| S::current(k).rank(),
            thread: |k| S::current(k).thread(),
            sync: |k| S::current(k).sync(),
            any: |k, holds| S::current(k).any_thread(holds),
        }
    }

    pub(crate) fn kernel(self) -> Builder<'k> {
        self.k
    }

    pub(crate) fn is_block(self) -> bool {
        self.is_block
    }

    #[track_caller]
    pub(crate) fn uniformity(self) -> Uniformity {
        let _located = self.k.locate(Location::caller());
        (self.uniformity)(self.k)
    }

    /// Returns the number of threads in the scope.
    #[track_caller]
    pub(crate) fn size(self) -> u32 {
        let _located = self.k.locate(Location::caller());
        (self.size)(self.k)
    }

    /// Returns the rank of the scope; 0 for [`block`](Self::block).
    #[track_caller]
    pub(crate) fn rank(self) -> Val<'k, u32> {
        let _located = self.k.locate(Location::caller());
        (self.rank)(self.k)
    }

    /// Returns the index of this thread in the scope.
    #[track_caller]
    pub(crate) fn thread(self) -> Val<'k, u32> {
        let _located = self.k.locate(Location::caller());
        (self.thread)(self.k)
    }

    /// Waits until all threads of the scope have arrived.
    #[track_caller]
    pub(crate) fn sync(self) {
        let _located = self.k.locate(Location::caller());
        (self.sync)(self.k);
    }

    /// Emits a barrier if the current position is in an emitted loop, because threads may still be reading data of the previous iteration
    /// that is about to be overwritten.
    #[track_caller]
    pub(crate) fn sync_in_loop(self) {
        if self.k.in_loop() {
            self.sync();
        }
    }

    /// Returns whether a condition holds for at least one thread of the scope.
    #[track_caller]
    pub(crate) fn any(self, holds: Val<'k, bool>) -> Val<'k, bool> {
        let _located = self.k.locate(Location::caller());
        (self.any)(self.k, holds)
    }

    /// Returns the index of this warp in the scope, and the number of warps.
    #[track_caller]
    pub(crate) fn warp(self) -> (Val<'k, u32>, u32) {
        let warps = (self.size() / 32).max(1);
        (if warps > 1 { self.thread() >> 5 } else { 0.into() }, warps)
    }

    /// Emits `work` so that only the first warp of the scope executes it.
    #[track_caller]
    pub(crate) fn when_first_warp(self, work: impl FnOnce()) {
        let (warp, warps) = self.warp();
        if warps == 1 { work() } else { self.k.if_(warp.eq(0), work) }
    }
}
