//! What a run looks for.

bitflags::bitflags! {
    /// What is watched beyond the rules that are always enforced (bounds, alignment, masks, deadlock).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Checks: u32 {
        /// Uses of what was loaded from shared memory that no thread of the cluster has written, and of what was computed from it.
        const UNINITIALIZED_SHARED = 1;
        /// Threads that end while others of their block wait at a barrier for all.
        const BARRIERS = 1 << 1;
        /// Shuffles that read a lane that does not take part.
        const SHUFFLES = 1 << 2;
        /// Counts of executed instructions.
        const COUNTS = 1 << 3;
        /// Uses of uninitialized registers, and of what was computed from them.
        const UNINITIALIZED_REGISTERS = 1 << 4;
        /// Accesses of shared memory, at least one a write, with no order between them.
        const SHARED_RACES = 1 << 5;
        /// Asynchronous reads of shared memory that no `fence.proxy.async` orders after ordinary writes.
        const PROXY_FENCES = 1 << 6;
        /// Accesses of global memory by different blocks, at least one a write, with no order between them.
        const GLOBAL_RACES = 1 << 7;
        /// Uses of what was loaded from local memory that the thread has not written, and of what was computed from it.
        const UNINITIALIZED_LOCAL = 1 << 8;
        /// Registers that a `wgmma` in flight writes or reads and that are touched before it was waited for.
        const WGMMA_IN_FLIGHT = 1 << 9;
        /// Asynchronous copies and products that has not been waited for when their thread ends.
        const LEAKED_GROUPS = 1 << 10;
        /// Addresses converted to a state space that does not contain them.
        const ADDRESS_CONVERSIONS = 1 << 11;
        /// Volatile accesses of shared memory by lanes of a warp that rely on lockstep; only together with `SHARED_RACES`.
        const VOLATILE_RACES = 1 << 12;
    }
}

impl Checks {
    /// Those for which undefined values are followed.
    pub(crate) const UNDEFINED: Self =
        Self::UNINITIALIZED_REGISTERS.union(Self::UNINITIALIZED_LOCAL).union(Self::UNINITIALIZED_SHARED);
}
