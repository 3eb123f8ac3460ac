//! Memory ordering: who sees it, how strongly, and the fences (PTX ISA, "Memory Consistency Model").

use crate::ptx::kernel::Builder;

/// The threads among whom an access is ordered (PTX ISA, "Scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryScope {
    /// Those of the block.
    #[doc(alias = ".cta")]
    Cta,
    /// Those of the cluster. sm_90.
    #[doc(alias = ".cluster")]
    Cluster,
    /// Those of the device.
    #[doc(alias = ".gpu")]
    Gpu,
    /// Those of all devices and of the host.
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

/// How an atomic operation is ordered with the thread's other accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Not at all.
    Relaxed,
    /// What follows stays after it.
    Acquire,
    /// What precedes stays before it.
    Release,
    /// Both.
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
    /// Orders this thread's earlier accesses before its later ones, for all threads of the scope that synchronize with it.
    #[doc(alias = "fence.acq_rel")]
    #[track_caller]
    pub fn fence(self, scope: MemoryScope) {
        self.emit(format_args!("fence.acq_rel{}", scope.suffix()), &[]);
    }

    /// A [`fence`](Self::fence) that is also in one total order with all others like it.
    #[doc(alias = "fence.sc")]
    #[track_caller]
    pub fn fence_sc(self, scope: MemoryScope) {
        self.emit(format_args!("fence.sc{}", scope.suffix()), &[]);
    }

    /// Waits until this thread's earlier accesses are seen by the threads of the scope: the older spelling of
    /// [`fence_sc`](Self::fence_sc), which has no cluster.
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
