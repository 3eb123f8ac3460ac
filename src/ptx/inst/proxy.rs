//! Fences between the proxies through which threads and asynchronous copies access memory (PTX ISA, "membar, fence", "Proxies").

use super::order::MemoryScope;
use crate::ptx::kernel::Builder;

/// The memory for which [`Builder::fence_proxy_async`] orders accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProxySpace {
    /// All memory.
    All,
    /// Global memory.
    Global,
    /// Shared memory of the block.
    Shared,
    /// Shared memory of the cluster.
    SharedCluster,
}

impl ProxySpace {
    const fn suffix(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Global => ".global",
            Self::Shared => ".shared::cta",
            Self::SharedCluster => ".shared::cluster",
        }
    }
}

impl Builder<'_> {
    /// Makes this thread's [initialization](crate::ptx::Mbarrier::init) of barriers visible to the cluster and to asynchronous copies.
    /// Requires sm_90 or later.
    #[doc(alias = "fence.mbarrier_init")]
    #[track_caller]
    pub fn fence_mbarrier_init(self) {
        self.emit(format_args!("fence.mbarrier_init.release.cluster"), &[]);
    }

    /// Orders this thread's generic-proxy accesses to `space` with respect to async-proxy accesses. The fence is required, for example,
    /// before bulk copies or `wgmma` read data that the thread has stored. Requires sm_90 or later.
    #[doc(alias = "fence.proxy.async")]
    #[track_caller]
    pub fn fence_proxy_async(self, space: ProxySpace) {
        self.emit(["fence.proxy.async", space.suffix()], &[]);
    }

    /// Orders accesses to the same memory through different virtual addresses.
    #[doc(alias = "fence.proxy.alias")]
    #[track_caller]
    pub fn fence_proxy_alias(self) {
        self.emit(format_args!("fence.proxy.alias"), &[]);
    }

    /// Orders this thread's changes to a tensor map before a later [acquire](crate::ptx::TensorMapPtr::acquire) of that map at `scope`.
    /// Requires sm_90 or later.
    #[doc(alias = "fence.proxy.tensormap::generic.release")]
    #[track_caller]
    pub fn fence_proxy_tensormap_release(self, scope: MemoryScope) {
        self.emit(["fence.proxy.tensormap::generic.release", scope.suffix()], &[]);
    }

    /// Emits an acquire fence with cluster scope that applies only to accesses to the cluster's shared memory. Requires sm_90 or later.
    #[doc(alias = "fence.acquire.sync_restrict")]
    #[track_caller]
    pub fn fence_acquire_restricted(self) {
        self.emit(format_args!("fence.acquire.sync_restrict::shared::cluster.cluster"), &[]);
    }

    /// Emits a release fence with cluster scope that applies only to accesses to the block's shared memory. Requires sm_90 or later.
    #[doc(alias = "fence.release.sync_restrict")]
    #[track_caller]
    pub fn fence_release_restricted(self) {
        self.emit(format_args!("fence.release.sync_restrict::shared::cta.cluster"), &[]);
    }

    /// Emits a fence like [`fence_acquire_restricted`](Self::fence_acquire_restricted) that also orders generic-proxy accesses with respect
    /// to async-proxy accesses. Requires sm_90 or later.
    #[doc(alias = "fence.proxy.async::generic.acquire.sync_restrict")]
    #[track_caller]
    pub fn fence_proxy_async_acquire_restricted(self) {
        let mnemonic = "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster";
        self.emit(format_args!("{mnemonic}"), &[]);
    }

    /// Emits a fence like [`fence_release_restricted`](Self::fence_release_restricted) that also orders generic-proxy accesses with respect
    /// to async-proxy accesses. Requires sm_90 or later.
    #[doc(alias = "fence.proxy.async::generic.release.sync_restrict")]
    #[track_caller]
    pub fn fence_proxy_async_release_restricted(self) {
        let mnemonic = "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster";
        self.emit(format_args!("{mnemonic}"), &[]);
    }
}
