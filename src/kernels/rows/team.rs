//! Reductions over the threads of a row: some or all threads of a warp, a block, or a cluster.

use std::rc::Rc;

use super::{exchange::Exchange, tiling::RowTiling};
use crate::ptx::{Builder, Ptr, Shared, Val};

/// The threads that process a row.
#[derive(Clone)]
pub(super) struct Team<'k> {
    k: Builder<'k>,
    tiling: RowTiling,
    /// The exchange between blocks, if the threads belong to several blocks.
    exchange: Option<Rc<Exchange<'k>>>,
}

/// A function that combines two partial results. The result must not depend on their order.
pub(super) type Combine<'f, 'k, const N: usize> =
    &'f dyn Fn([Val<'k, f32>; N], [Val<'k, f32>; N]) -> [Val<'k, f32>; N];

/// A function that combines the values of each group of adjacent lanes, given the number of lanes per group. All lanes of a group receive
/// the same result.
pub(super) type OverLanes<'f, 'k, const N: usize> = &'f dyn Fn([Val<'k, f32>; N], u32) -> [Val<'k, f32>; N];

impl<'k> Team<'k> {
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, tiling: RowTiling) -> Self {
        let exchange = (tiling.cluster > 1).then(|| Rc::new(Exchange::new(k, tiling)));
        Self { k, tiling, exchange }
    }

    /// Begins a loop of reductions.
    #[track_caller]
    pub(super) fn begin_rounds(&self) {
        if let Some(exchange) = &self.exchange {
            exchange.begin_rounds();
        }
    }

    /// Ends a loop of reductions.
    #[track_caller]
    pub(super) fn end_rounds(&self) {
        if let Some(exchange) = &self.exchange {
            exchange.end_rounds();
        }
    }

    /// Waits until all threads of the row that are in this block have arrived. The threads then see each other's writes.
    #[track_caller]
    pub(super) fn sync(&self) {
        match self.tiling.threads {
            ..=32 => self.k.warp().sync(),
            _ => self.k.this_block().sync(),
        }
    }

    /// Returns whether `predicate` is true in any thread of a row that a single warp or block processes. The threads of a block are
    /// synchronized; the threads of a warp are not.
    #[track_caller]
    pub(super) fn any(&self, predicate: Val<'k, bool>) -> Val<'k, bool> {
        match self.tiling.threads {
            ..=32 => self.k.warp().any(predicate),
            _ => self.k.this_block().any(predicate),
        }
    }

    /// Returns the number of threads in which `predicate` is true, under the same conditions as
    /// [`any`](Self::any).
    #[track_caller]
    pub(super) fn count(&self, predicate: Val<'k, bool>) -> Val<'k, u32> {
        match self.tiling.threads {
            ..=32 => self.k.warp().count(predicate),
            _ => self.k.this_block().count(predicate),
        }
    }

    /// Waits until all threads of the row that are in this block have read the results of earlier reductions, so that a loop may reuse the
    /// memory of the results. In a cluster that processes aligned rows, no wait is necessary: the exchange waits for the threads, and
    /// threads read only groups that they have copied themselves. A warp waits only if, after the last reduction, its lanes load elements
    /// that other lanes have copied to shared memory.
    #[track_caller]
    pub(super) fn finish_round(&self) {
        let tiling = self.tiling;
        if (tiling.cluster == 1 || tiling.is_segmented()) && tiling.threads > 32 {
            self.k.this_block().sync();
        } else if tiling.threads <= 32 && tiling.ahead > 0 && tiling.unaligned && tiling.is_reloaded() {
            self.k.warp().sync();
        }
    }

    /// Combines the partial results of all threads. Every thread receives the same result.
    ///
    /// Lanes exchange results by butterfly shuffles, and warps exchange them through shared memory.
    #[track_caller]
    pub(super) fn reduce<const N: usize>(
        &self,
        own: [Val<'k, f32>; N],
        neutral: [f32; N],
        combine: Combine<'_, 'k, N>,
    ) -> [Val<'k, f32>; N] {
        let over_lanes = |values, lanes| self.butterfly(values, lanes, combine);
        self.reduce_over_lanes(own, neutral, combine, &over_lanes)
    }

    /// Combines the partial results of all threads as [`reduce`](Self::reduce) does. `over_lanes` combines those of several lanes, and
    /// `combine` those that a lane reads from shared memory.
    #[track_caller]
    pub(super) fn reduce_over_lanes<const N: usize>(
        &self,
        own: [Val<'k, f32>; N],
        neutral: [f32; N],
        combine: Combine<'_, 'k, N>,
        over_lanes: OverLanes<'_, 'k, N>,
    ) -> [Val<'k, f32>; N] {
        let RowTiling { threads, cluster, .. } = self.tiling;
        let of_warp = over_lanes(own, threads.min(32));
        let slots = threads / 32 * cluster;
        if slots <= 1 {
            return of_warp;
        }
        // Each group of lanes reads all results.
        let lanes = slots.next_power_of_two().min(32);
        let read = |partials: Ptr<'k, f32, Shared>| {
            let lane = self.k.lane().rank();
            let of_slot = |round: u32| -> [Val<'k, f32>; N] {
                let slot = (lane % lanes) + round * lanes;
                std::array::from_fn(|i| {
                    partials.at(slot * N as u32 + i as u32).when(slot.lt(slots)).load_or(neutral[i])
                })
            };
            (1..slots.div_ceil(lanes)).fold(of_slot(0), |sum, round| combine(sum, of_slot(round)))
        };
        let of_lane = match &self.exchange {
            Some(exchange) => exchange.results_of_warps(of_warp, read),
            None => read(self.results_of_warps(of_warp)),
        };
        over_lanes(of_lane, lanes)
    }

    /// Returns a pointer to the results of all warps of the block, in order. `own` contains the results of this warp and must be the same
    /// in all lanes.
    #[track_caller]
    fn results_of_warps<const N: usize>(&self, own: [Val<'k, f32>; N]) -> Ptr<'k, f32, Shared> {
        let (k, block) = (self.k, self.k.this_block());
        let results = k.shared::<f32>(self.tiling.threads / 32 * N as u32);
        let (lane, of_warp) = (k.lane().rank(), results.at(k.warp().rank() * N as u32));
        k.when(lane.eq(0), || {
            own.iter().zip(0u32..).for_each(|(&value, i)| of_warp.at(i).store(value));
        });
        block.sync();
        results
    }

    /// Combines the values of each group of `lanes` adjacent lanes; `lanes` must be a power of two.
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
