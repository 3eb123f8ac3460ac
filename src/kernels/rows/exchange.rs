//! The exchange of partial results among the blocks of a cluster that process a row.

use std::{array, cell::Cell};

use super::tiling::RowTiling;
use crate::ptx::{Builder, Mbarrier, MemoryScope, Ptr, Shared, SharedCluster, Val, Var};

/// The index of the barrier that counts reads of results; it follows the barriers for received results.
const EMPTY: u32 = 2;

/// Shared memory that receives the partial results of the warps of a cluster.
///
/// Results are sent by `st.async`, which signals their arrival at an `mbarrier` of the receiving block. The fences of an exchange are
/// restricted to shared memory. A cluster barrier would also wait for accesses to global memory, such as the stores of the preceding row
/// and the copies of the next row.
pub(super) struct Exchange<'k> {
    k: Builder<'k>,
    tiling: RowTiling,
    /// Two barriers, each of which completes a phase when the results of all warps have arrived. The barriers are used in turn; in a loop,
    /// only the first one is used.
    full: Mbarrier<'k>,
    /// The barrier that completes a phase when all warps have read the results of an exchange in a loop.
    empty: Mbarrier<'k>,
    /// Whether all barriers of the cluster are known to be initialized.
    is_ready: Cell<bool>,
    past: Cell<Past<'k>>,
}

/// The number of exchanges so far.
#[derive(Clone, Copy)]
enum Past<'k> {
    Known(u32),
    /// In a loop, the lowest bit of the number of exchanges.
    Parity(Var<'k, u32>),
    /// A loop has ended, and blocks may have exited.
    Ended,
}

impl<'k> Exchange<'k> {
    /// Initializes the barriers of this block; other blocks of the cluster may start later.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, tiling: RowTiling) -> Self {
        let full = k.mbarriers(EMPTY + 1).scope(MemoryScope::Cluster).relaxed();
        let empty = full.at(EMPTY);
        k.if_(k.this_block().thread().eq(0), || {
            full.init(1);
            full.at(1).init(1);
            empty.init(tiling.threads / 32 * tiling.cluster);
            k.fence_mbarrier_init();
        });
        k.this_cluster().arrive_relaxed();
        Self { k, tiling, full, empty, is_ready: Cell::new(false), past: Cell::new(Past::Known(0)) }
    }

    /// Waits until all barriers of the cluster are initialized.
    #[track_caller]
    fn wait_until_ready(&self) {
        if !self.is_ready.replace(true) {
            self.k.this_cluster().wait();
        }
    }

    /// Begins a loop of exchanges; no exchange may precede it.
    #[track_caller]
    pub(super) fn begin_rounds(&self) {
        self.wait_until_ready();
        match self.past.get() {
            Past::Known(0) => self.past.set(Past::Parity(self.k.var(0))),
            _ => self.refuse(),
        }
    }

    /// Ends a loop of exchanges. Blocks wait for each other, because they access each other's barriers and must not exit early.
    #[track_caller]
    pub(super) fn end_rounds(&self) {
        self.k.this_cluster().sync();
        self.past.set(Past::Ended);
    }

    #[track_caller]
    fn refuse(&self) {
        self.k.refuse("expected all reductions of a row in one loop, or none in a loop".into());
    }

    /// Exchanges the results of all warps of the cluster, and returns the result of `of`. `own` contains the results of this warp and must
    /// be the same in all lanes. `of` loads all results, which are in the order of the blocks, given a pointer to the results of the first
    /// warp. All threads of the cluster must execute the emitted code.
    #[track_caller]
    pub(super) fn results_of_warps<const N: usize, R>(
        &self,
        own: [Val<'k, f32>; N],
        of: impl FnOnce(Ptr<'k, f32, Shared>) -> R,
    ) -> R {
        let (k, empty) = (self.k, self.empty);
        let received = k.shared_aligned::<f32>(self.results() * N as u32, 16);
        match self.past.get() {
            // The next exchange uses other memory and the other barrier. A warp sends results for the next exchange only after it has
            // waited for this one, so when the next exchange is complete, this barrier is free.
            Past::Known(past) => {
                self.past.set(Past::Known(past + 1));
                self.wait_until_ready();
                let full = self.full.at(past & 1);
                let (there, full_there) = self.to_each_block(received, N, full);
                self.send(own, there, full_there, full);
                wait(full, (past >> 1 & 1).into());
                of(received)
            }
            Past::Parity(parity_of_past) => {
                let parity = parity_of_past.get();
                let (there, full_there) = self.to_each_block(received, N, self.full);
                // The first phase of `empty` completes only after the memory has been read once. The first exchange does not wait, because
                // the memory is free.
                wait(empty, parity ^ 1);
                self.send(own, there, full_there, self.full);
                wait(self.full, parity);
                let results = of(received);
                k.warp().sync();
                k.fence_release_restricted();
                k.when(self.is_sender(), || full_there.at(EMPTY).arrive());
                parity_of_past.set(parity ^ 1);
                results
            }
            Past::Ended => {
                self.refuse();
                of(received)
            }
        }
    }

    /// Returns the number of results of an exchange, one for each warp.
    fn results(&self) -> u32 {
        self.tiling.threads / 32 * self.tiling.cluster
    }

    /// Returns whether this lane sends results. In each warp, one lane sends results to each block of the cluster.
    #[track_caller]
    fn is_sender(&self) -> Val<'k, bool> {
        self.k.lane().rank().lt(self.tiling.cluster)
    }

    /// Returns this lane's destination for the `count` results of its warp, and the barrier in the same block that corresponds to `full`.
    #[track_caller]
    fn to_each_block(
        &self,
        received: Ptr<'k, f32, Shared>,
        count: usize,
        full: Mbarrier<'k>,
    ) -> (Ptr<'k, f32, SharedCluster>, Mbarrier<'k, SharedCluster>) {
        let (k, RowTiling { threads, cluster, .. }) = (self.k, self.tiling);
        let warp = k.this_block().rank() * (threads / 32) + k.warp().rank();
        let rank = k.lane().rank() % cluster;
        (received.at(warp * count as u32).in_block(rank), full.in_block(rank))
    }

    /// Sends `own` to `there` in each block and signals the barrier `full_there`; `full` is the corresponding barrier of this block.
    #[track_caller]
    fn send<const N: usize>(
        &self,
        own: [Val<'k, f32>; N],
        there: Ptr<'k, f32, SharedCluster>,
        full_there: Mbarrier<'k, SharedCluster>,
        full: Mbarrier<'k>,
    ) {
        let k = self.k;
        k.when(k.this_block().thread().eq(0), || {
            full.arrive_expect_tx(self.results() * N as u32 * 4);
        });
        k.when(self.is_sender(), || store_async(there, own, full_there));
    }
}

/// Waits until a phase is complete; the preceding writes to the cluster's shared memory are then visible.
#[track_caller]
fn wait<'k>(barrier: Mbarrier<'k>, parity: Val<'k, u32>) {
    barrier.wait(parity);
    barrier.pointer().kernel().fence_acquire_restricted();
}

/// Stores values to consecutive elements with as few instructions as possible.
#[track_caller]
fn store_async<'k, const N: usize>(
    to: Ptr<'k, f32, SharedCluster>,
    values: [Val<'k, f32>; N],
    barrier: Mbarrier<'k, SharedCluster>,
) {
    let vector = [4, 2].into_iter().find(|&vector| N.is_multiple_of(vector)).unwrap_or(1);
    for first in (0..N).step_by(vector) {
        let to = to.at(first as u32);
        match vector {
            4 => to.store_vector_async::<4>(array::from_fn(|i| values[first + i]), barrier),
            2 => to.store_vector_async::<2>(array::from_fn(|i| values[first + i]), barrier),
            _ => to.store_async(values[first], barrier),
        }
    }
}
