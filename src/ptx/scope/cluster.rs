//! The scope of all threads of the cluster.

use super::{Scope, by_own_methods, sealed};
use crate::ptx::{dim::Dim, kernel::Builder, uniform::Uniformity, val::Val};

/// All threads of the cluster. The cluster's shape must be [declared](Builder::cluster). Requires sm_90 or later.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'k> {
    k: Builder<'k>,
    blocks: u32,
}

impl<'k> Cluster<'k> {
    #[track_caller]
    fn new(k: Builder<'k>) -> Self {
        let blocks = k.cluster_shape().map(|shape| shape.iter().product());
        if blocks.is_none() {
            k.refuse("a cluster scope requires the cluster's shape: call `cluster` first".into());
        }
        Self { k, blocks: blocks.unwrap_or(1) }
    }

    /// Returns the minimum [`Uniformity`] that a value must have to be the same in all threads of the cluster.
    pub fn uniformity(self) -> Uniformity {
        Uniformity::Cluster
    }

    /// Returns the number of threads in the cluster. The block's shape must be [declared](Builder::block).
    #[track_caller]
    pub fn size(self) -> u32 {
        self.blocks * self.k.this_block().size()
    }

    /// Returns the number of blocks in the cluster.
    pub fn blocks(self) -> u32 {
        self.blocks
    }

    /// Returns the index of the cluster in the grid. Clusters are numbered with x varying fastest, then y, then z.
    #[doc(alias = "%clusterid")]
    #[track_caller]
    pub fn rank(self) -> Val<'k, u32> {
        let k = self.k;
        let extends = |axis: usize| k.grid_rule().is_none_or(|grid| grid[axis] != Dim::Const(1));
        let row = match (extends(1), extends(2)) {
            (false, false) => return k.clusterid_x(),
            (true, false) => k.clusterid_y(),
            (false, true) => k.clusterid_z(),
            (true, true) => k.clusterid_z().mad(k.nclusterid_y(), k.clusterid_y()),
        };
        row.mad(k.nclusterid_x(), k.clusterid_x())
    }

    /// Returns the index of this thread in the cluster. Threads are numbered by block rank, then by index in the block. The block's shape
    /// must be [declared](Builder::block).
    #[track_caller]
    pub fn thread(self) -> Val<'k, u32> {
        let block = self.k.this_block();
        block.rank().mad(block.size(), block.thread())
    }

    /// Waits until all threads of the cluster have arrived. Their earlier writes are then visible to all threads of the cluster.
    #[doc(alias = "barrier.cluster")]
    #[track_caller]
    pub fn sync(self) {
        self.arrive();
        self.wait();
    }

    /// Arrives at the cluster's barrier without waiting. Earlier writes by this thread are visible to every thread of the cluster that has
    /// [waited](Self::wait) at the barrier.
    #[doc(alias = "barrier.cluster.arrive")]
    #[track_caller]
    pub fn arrive(self) {
        self.k.emit(format_args!("barrier.cluster.arrive.aligned"), &[]);
    }

    /// Arrives at the cluster's barrier as [`arrive`](Self::arrive) does, but does not order earlier memory accesses.
    #[doc(alias = "barrier.cluster.arrive.relaxed")]
    #[track_caller]
    pub fn arrive_relaxed(self) {
        self.k.emit(format_args!("barrier.cluster.arrive.relaxed.aligned"), &[]);
    }

    /// Waits until all threads of the cluster have [arrived](Self::arrive) at the cluster's barrier.
    #[doc(alias = "barrier.cluster.wait")]
    #[track_caller]
    pub fn wait(self) {
        self.k.emit(format_args!("barrier.cluster.wait.aligned"), &[]);
    }
}

impl<'k> Builder<'k> {
    /// Returns the scope of all threads of the cluster. The cluster's shape must be [declared](Self::cluster).
    #[track_caller]
    pub fn this_cluster(self) -> Cluster<'k> {
        Cluster::new(self)
    }
}

impl sealed::Sealed for Cluster<'_> {}

impl<'k> Scope<'k> for Cluster<'k> {
    by_own_methods!();
}
