//! The order that barriers, fences and waits establish. Instructions announce each synchronization here.

use crate::lanes::lanes;
use crate::machine::Cluster;
use crate::program::code::FenceScope;
use crate::shadow::place::Place;

impl Cluster<'_> {
    /// Announces that the executing warp arrives at a barrier of its block.
    pub(crate) fn before_barrier(&mut self, cta: usize, id: usize) {
        if self.racing() {
            self.shadow.races.clocks.release(self.warp, &mut self.ctas[cta].barriers[id].released);
        }
    }

    /// Announces that the executing warp continues after a phase of a barrier of its block.
    pub(crate) fn after_barrier(&mut self, cta: usize, id: usize, phase: u64) {
        if self.racing() {
            let (_, released) = self.ctas[cta].barriers[id].result(phase);
            self.shadow.races.clocks.acquire(self.warp, released);
            self.shadow.races.clocks.sync_lanes(self.warp);
        }
    }

    /// Announces that a barrier for all threads of a block has completed, which orders their earlier accesses before all later ones.
    pub(crate) fn barrier_completes(&mut self, cta: usize, id: usize) {
        if !self.racing() {
            return;
        }
        let warps = self.machine.threads().div_ceil(32) as usize;
        if let Some((there, released)) = self.ctas[cta].barriers[id].last_completed() {
            self.shadow.races.clocks.complete(lanes(there).map(|warp| cta * warps + warp), released);
        }
    }

    /// Announces that the executing warp arrives at the barrier of its cluster.
    pub(crate) fn before_cluster_barrier(&mut self, relaxed: bool) {
        if self.racing() {
            let released = &mut self.cluster_barrier.released;
            match relaxed {
                true => self.shadow.races.clocks.release_relaxed(self.warp, released),
                false => self.shadow.races.clocks.release(self.warp, released),
            }
        }
    }

    /// Announces that the executing warp continues after the barrier of its cluster.
    pub(crate) fn after_cluster_barrier(&mut self) {
        if self.racing() {
            self.shadow.races.clocks.acquire(self.warp, &self.cluster_barrier.completed);
        }
    }

    /// Announces a fence.
    pub(crate) fn after_fence(&mut self, scope: FenceScope) {
        if self.racing() {
            self.shadow.races.clocks.fence(self.warp);
        }
        // Fences of smaller scopes do not order blocks of different clusters.
        if scope == FenceScope::Device
            && let Some(mut order) = self.order()
        {
            order.fence(self.number, self.inside());
        }
    }

    /// Announces a fence between the generic proxy and the async proxy.
    pub(crate) fn after_proxy_fence(&mut self) {
        if self.racing() {
            self.shadow.races.clocks.proxy_fence(self.warp);
        }
    }

    /// Announces that the executing warp has waited for products that read these ranges of shared memory.
    pub(crate) fn after_products(&mut self, read: Vec<(Place, usize)>) {
        let tensor_cores = self.shadow.races.clocks.tensor_cores(self.warp);
        for (place, bytes) in read {
            self.shadow.races.read_done(place.rank, place.offset, bytes, tensor_cores);
        }
        self.shadow.races.clocks.work(tensor_cores);
        self.shadow.races.clocks.learn_all(self.warp, tensor_cores);
        self.sync_lanes();
    }

    /// Announces that the block has waited for the grids on which its own grid depends.
    pub(crate) fn after_grid_wait(&mut self) {
        self.cta().shadow.waited_for_grid = true;
    }
}
