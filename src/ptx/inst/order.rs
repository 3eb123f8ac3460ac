//! Memory ordering: scopes, strengths, and fences (PTX ISA, "Memory Consistency Model").

use crate::ptx::kernel::Builder;

/// The threads with which an operation can synchronize (PTX ISA, "Scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryScope {
    /// The threads of the block.
    #[doc(alias = ".cta")]
    Cta,
    /// The threads of the cluster. Requires sm_90 or later.
    #[doc(alias = ".cluster")]
    Cluster,
    /// The threads of the device.
    #[doc(alias = ".gpu")]
    Gpu,
    /// The threads of all devices and of the host.
    #[doc(alias = ".sys")]
    Sys,
}

impl MemoryScope {
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Cta => ".cta",
            Self::Cluster => ".cluster",
            Self::Gpu => ".gpu",
            Self::Sys => ".sys",
        }
    }
}

/// The memory order of an atomic operation with respect to the thread's other accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Other accesses are not ordered.
    Relaxed,
    /// Later accesses are not reordered before the operation.
    Acquire,
    /// Earlier accesses are not reordered after the operation.
    Release,
    /// Both acquire and release.
    AcqRel,
}

impl Order {
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Relaxed => ".relaxed",
            Self::Acquire => ".acquire",
            Self::Release => ".release",
            Self::AcqRel => ".acq_rel",
        }
    }
}

impl Builder<'_> {
    /// Orders this thread's earlier accesses before its later accesses, as observed by threads in `scope` that synchronize with this
    /// thread.
    #[doc(alias = "fence.acq_rel")]
    #[track_caller]
    pub fn fence(self, scope: MemoryScope) {
        self.emit(["fence.acq_rel", scope.suffix()], &[]);
    }

    /// Orders accesses as [`fence`](Self::fence) does. In addition, any two sequentially consistent fences are ordered with respect to each
    /// other if the scope of each includes the thread of the other.
    #[doc(alias = "fence.sc")]
    #[track_caller]
    pub fn fence_sc(self, scope: MemoryScope) {
        self.emit(["fence.sc", scope.suffix()], &[]);
    }

    /// Waits until this thread's earlier accesses are visible to the threads in `scope`. This is the older form of
    /// [`fence_sc`](Self::fence_sc); it does not support [`MemoryScope::Cluster`].
    #[doc(alias = "__threadfence")]
    #[track_caller]
    pub fn membar(self, scope: MemoryScope) {
        let level = match scope {
            MemoryScope::Gpu => ".gl",
            scope => scope.suffix(),
        };
        self.emit(format_args!("membar{level}"), &[]);
    }
}
