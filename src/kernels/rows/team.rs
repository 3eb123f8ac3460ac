//! Reductions over the threads of a row: a part of a warp, a block, or a cluster.

use std::cell::Cell;

use super::tiling::RowTiling;
use crate::ptx::{Builder, Val};

/// The threads that process a row.
#[derive(Clone)]
pub(super) struct Team<'k> {
    k: Builder<'k>,
    tiling: RowTiling,
    /// Whether the blocks of the cluster are known to have started, so that their shared memory exists.
    started: Cell<bool>,
    /// Whether reductions are repeated in a loop. Each reduction then begins as soon as all blocks of the cluster have reported that they
    /// have read the results of the preceding one.
    repeats: Cell<bool>,
}

/// Combines two partial results; the result must not depend on their order.
pub(super) type Combine<'f, 'k, const N: usize> =
    &'f dyn Fn([Val<'k, f32>; N], [Val<'k, f32>; N]) -> [Val<'k, f32>; N];

impl<'k> Team<'k> {
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, tiling: RowTiling) -> Self {
        if tiling.cluster > 1 {
            k.this_cluster().arrive_relaxed();
        }
        Self { k, tiling, started: Cell::new(false), repeats: Cell::new(false) }
    }

    /// Waits until the blocks of the cluster have started.
    #[track_caller]
    fn wait_for_cluster(&self) {
        if !self.started.replace(true) {
            self.k.this_cluster().wait();
        }
    }

    /// Begins a loop of reductions.
    #[track_caller]
    pub(super) fn begin_rounds(&self) {
        if self.tiling.cluster > 1 {
            self.wait_for_cluster();
            self.k.this_cluster().arrive();
            self.repeats.set(true);
        }
    }

    /// Ends a loop of reductions.
    #[track_caller]
    pub(super) fn end_rounds(&self) {
        if self.repeats.replace(false) {
            self.k.this_cluster().wait();
        }
    }

    /// Waits until all threads of the row that are in this block have arrived; their writes are then visible to each other.
    #[track_caller]
    pub(super) fn sync(&self) {
        match self.tiling.threads {
            ..=32 => self.k.warp().sync(),
            _ => self.k.this_block().sync(),
        }
    }

    /// Returns whether `predicate` holds in any thread of a row that one warp or one block processes; synchronizes a block, but not a warp.
    #[track_caller]
    pub(super) fn any(&self, predicate: Val<'k, bool>) -> Val<'k, bool> {
        match self.tiling.threads {
            ..=32 => self.k.warp().any(predicate),
            _ => self.k.this_block().any(predicate),
        }
    }

    /// Waits until all threads of the row that are in this block have read the results of earlier reductions, so that a loop may reuse their
    /// memory. In a cluster, the next reduction waits for them. A warp only waits if its lanes load from shared memory what others have
    /// copied there, after the last reduction.
    #[track_caller]
    pub(super) fn finish_round(&self) {
        let tiling = self.tiling;
        if tiling.cluster == 1 && tiling.threads > 32 {
            self.k.this_block().sync();
        } else if tiling.threads <= 32 && tiling.ahead > 0 && tiling.unaligned && tiling.is_reloaded() {
            self.k.warp().sync();
        }
    }

    /// Combines the partial results of all threads. Every thread has the same result.
    ///
    /// Lanes exchange by butterfly shuffles. The results of warps are exchanged through the shared memory of the block, or of all blocks
    /// of the cluster, in which each warp stores its own.
    #[track_caller]
    pub(super) fn reduce<const N: usize>(
        &self,
        own: [Val<'k, f32>; N],
        neutral: [f32; N],
        combine: Combine<'_, 'k, N>,
    ) -> [Val<'k, f32>; N] {
        let (k, RowTiling { threads, cluster, .. }) = (self.k, self.tiling);
        let of_warp = self.butterfly(own, threads.min(32), combine);
        let warps = threads / 32;
        let slots = warps * cluster;
        if slots <= 1 {
            return of_warp;
        }
        let partials = k.shared::<f32>(slots * N as u32);
        let (block, lane, warp) = (k.this_block(), k.lane().rank(), k.warp().rank());
        let own = partials.at((block.rank() * warps + warp) * N as u32);
        if cluster > 1 {
            match self.repeats.get() {
                true => k.this_cluster().wait(),
                false => self.wait_for_cluster(),
            }
            k.when(lane.lt(cluster), || {
                let there = own.in_block(lane);
                of_warp.iter().zip(0u32..).for_each(|(&value, i)| there.at(i).store(value));
            });
            k.this_cluster().sync();
        } else {
            k.when(lane.eq(0), || {
                of_warp.iter().zip(0u32..).for_each(|(&value, i)| own.at(i).store(value));
            });
            block.sync();
        }
        // Every group of lanes reads all results.
        let lanes = slots.next_power_of_two().min(32);
        let of_slot = |round: u32| -> [Val<'k, f32>; N] {
            let slot = (lane % lanes) + round * lanes;
            std::array::from_fn(|i| {
                partials.at(slot * N as u32 + i as u32).when(slot.lt(slots)).load_or(neutral[i])
            })
        };
        let read = (1..slots.div_ceil(lanes)).fold(of_slot(0), |sum, round| combine(sum, of_slot(round)));
        if self.repeats.get() {
            k.this_cluster().arrive();
        }
        self.butterfly(read, lanes, combine)
    }

    /// Combines the values of `lanes` lanes, a power of two.
    #[track_caller]
    pub(super) fn butterfly<const N: usize>(
        &self,
        mut values: [Val<'k, f32>; N],
        lanes: u32,
        combine: Combine<'_, 'k, N>,
    ) -> [Val<'k, f32>; N] {
        let mut distance = lanes / 2;
        while distance > 0 {
            values = combine(values, values.map(|value| self.k.warp().shfl_bfly(value, distance)));
            distance /= 2;
        }
        values
    }
}
