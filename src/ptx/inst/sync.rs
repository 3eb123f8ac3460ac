//! Barriers for a block, for some of its warps, or for the lanes of a warp.

use crate::ptx::{kernel::Builder, operand::Operand, types::Scalar, val::Val};

impl<'k> Builder<'k> {
    /// Emits `bar.sync 0`, which waits until all threads of the block have arrived. Their earlier writes are then visible to all threads of
    /// the block.
    #[doc(alias = "bar.sync")]
    #[doc(alias = "__syncthreads")]
    #[track_caller]
    pub fn sync_threads(self) {
        self.emit(format_args!("bar.sync"), &[Val::from(0u32).operand(self)]);
    }

    /// Waits at barrier `barrier` (0 to 15) until `threads` threads have arrived. Their earlier writes are then visible to the waiting
    /// threads. `threads` must be a multiple of 32, and the lanes of a warp must execute the instruction together.
    ///
    /// [`Warps`](crate::ptx::Warps) and tiles also use barriers, starting with barrier 1. The builder rejects a constant `barrier` that
    /// they already use, but does not check a `barrier` in a register.
    #[doc(alias = "bar.sync")]
    #[track_caller]
    pub fn bar_sync(self, barrier: impl Into<Val<'k, u32>>, threads: impl Into<Val<'k, u32>>) {
        let operands = self.own_barrier(barrier.into(), threads.into());
        self.emit(format_args!("bar.sync"), &operands);
    }

    /// Waits until `threads` threads have arrived at a barrier that [`named_barriers`](Self::named_barriers) has allocated.
    #[track_caller]
    pub(crate) fn sync_at(self, barrier: impl Into<Val<'k, u32>>, threads: u32) {
        let operands = [barrier.into().operand(self), Val::from(threads).operand(self)];
        self.emit(format_args!("bar.sync"), &operands);
    }

    /// Checks and returns the operands of an instruction on a barrier whose number the caller specifies.
    #[track_caller]
    fn own_barrier(self, barrier: Val<'k, u32>, threads: Val<'k, u32>) -> [Operand<'k>; 2] {
        if let Some(barrier) = barrier.as_constant() {
            let chosen = self.body().choose_barrier(barrier);
            if let Err(why) = chosen {
                self.refuse(why);
            }
        }
        if let Some(threads) = threads.as_constant().filter(|&n| n == 0 || !n.is_multiple_of(32)) {
            self.refuse(format!("expected a positive multiple of 32 threads at a barrier, found {threads}"));
        }
        [barrier.operand(self), threads.operand(self)]
    }

    /// Arrives at barrier `barrier` (0 to 15) without waiting. `threads` is the total number of threads that arrive or wait at the barrier.
    /// It must be a multiple of 32, and the lanes of a warp must execute the instruction together.
    #[doc(alias = "bar.arrive")]
    #[track_caller]
    pub fn bar_arrive(self, barrier: impl Into<Val<'k, u32>>, threads: impl Into<Val<'k, u32>>) {
        let operands = self.own_barrier(barrier.into(), threads.into());
        self.emit(format_args!("bar.arrive"), &operands);
    }

    /// Waits as [`sync_threads`](Self::sync_threads) does, and returns the number of threads for which `predicate` is true.
    #[doc(alias = "bar.red.popc")]
    #[doc(alias = "__syncthreads_count")]
    #[track_caller]
    pub fn sync_threads_count(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, u32> {
        self.bar_red("popc.u32", &[Val::from(0u32).operand(self)], predicate.into())
    }

    /// Waits as [`sync_threads`](Self::sync_threads) does, and returns whether `predicate` is true for all threads of the block.
    #[doc(alias = "bar.red.and")]
    #[doc(alias = "__syncthreads_and")]
    #[track_caller]
    pub fn sync_threads_and(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, bool> {
        self.bar_red("and.pred", &[Val::from(0u32).operand(self)], predicate.into())
    }

    /// Waits as [`sync_threads`](Self::sync_threads) does, and returns whether `predicate` is true for any thread of the block.
    #[doc(alias = "bar.red.or")]
    #[doc(alias = "__syncthreads_or")]
    #[track_caller]
    pub fn sync_threads_or(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, bool> {
        self.bar_red("or.pred", &[Val::from(0u32).operand(self)], predicate.into())
    }

    /// Waits as [`bar_sync`](Self::bar_sync) does, and returns the number of participating threads for which `predicate` is true.
    #[doc(alias = "bar.red.popc")]
    #[track_caller]
    pub fn bar_red_popc(
        self,
        barrier: impl Into<Val<'k, u32>>,
        threads: impl Into<Val<'k, u32>>,
        predicate: impl Into<Val<'k, bool>>,
    ) -> Val<'k, u32> {
        let at = self.own_barrier(barrier.into(), threads.into());
        self.bar_red("popc.u32", &at, predicate.into())
    }

    /// Waits as [`bar_sync`](Self::bar_sync) does, and returns whether `predicate` is true for all participating threads.
    #[doc(alias = "bar.red.and")]
    #[track_caller]
    pub fn bar_red_and(
        self,
        barrier: impl Into<Val<'k, u32>>,
        threads: impl Into<Val<'k, u32>>,
        predicate: impl Into<Val<'k, bool>>,
    ) -> Val<'k, bool> {
        let at = self.own_barrier(barrier.into(), threads.into());
        self.bar_red("and.pred", &at, predicate.into())
    }

    /// Waits as [`bar_sync`](Self::bar_sync) does, and returns whether `predicate` is true for any participating thread.
    #[doc(alias = "bar.red.or")]
    #[track_caller]
    pub fn bar_red_or(
        self,
        barrier: impl Into<Val<'k, u32>>,
        threads: impl Into<Val<'k, u32>>,
        predicate: impl Into<Val<'k, bool>>,
    ) -> Val<'k, bool> {
        let at = self.own_barrier(barrier.into(), threads.into());
        self.bar_red("or.pred", &at, predicate.into())
    }

    /// Waits at a barrier as [`sync_at`](Self::sync_at) does, and returns whether `predicate` is true for any participating thread.
    #[track_caller]
    pub(crate) fn any_at(
        self,
        barrier: Val<'k, u32>,
        threads: u32,
        predicate: Val<'k, bool>,
    ) -> Val<'k, bool> {
        let at = [barrier.operand(self), Val::from(threads).operand(self)];
        self.bar_red("or.pred", &at, predicate)
    }

    /// Emits `bar.red`. `at` contains the barrier and, unless the whole block participates, the number of threads.
    #[track_caller]
    fn bar_red<T: Scalar>(self, operation: &str, at: &[Operand<'_>], predicate: Val<'k, bool>) -> Val<'k, T> {
        let mut operands: arrayvec::ArrayVec<_, 3> = at.iter().copied().collect();
        operands.push(Operand::Reg(predicate.in_register(self)));
        self.result(format_args!("bar.red.{operation}"), &operands)
    }

    /// Waits as [`bar_sync`](Self::bar_sync) does, except that each lane of a warp arrives separately. The lanes need not be converged.
    #[doc(alias = "barrier.sync")]
    #[track_caller]
    pub fn barrier_sync(self, barrier: impl Into<Val<'k, u32>>, threads: impl Into<Val<'k, u32>>) {
        let operands = self.own_barrier(barrier.into(), threads.into());
        self.emit(format_args!("barrier.sync"), &operands);
    }

    /// Arrives as [`bar_arrive`](Self::bar_arrive) does, except that each lane of a warp arrives separately. The lanes need not be
    /// converged.
    #[doc(alias = "barrier.arrive")]
    #[track_caller]
    pub fn barrier_arrive(self, barrier: impl Into<Val<'k, u32>>, threads: impl Into<Val<'k, u32>>) {
        let operands = self.own_barrier(barrier.into(), threads.into());
        self.emit(format_args!("barrier.arrive"), &operands);
    }

    /// Waits until all lanes of `mask` have arrived. Their earlier writes are then visible to all of these lanes.
    #[doc(alias = "bar.warp.sync")]
    #[doc(alias = "__syncwarp")]
    #[track_caller]
    pub fn sync_warp(self, mask: impl Into<Val<'k, u32>>) {
        self.emit(format_args!("bar.warp.sync"), &[mask.into().operand(self)]);
    }
}
