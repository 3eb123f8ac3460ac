//! The checks of a run.

use std::str::FromStr;

use crate::report::finding::FindingKind;

bitflags::bitflags! {
    /// The enabled checks, in addition to the rules that are always enforced (bounds, alignment, masks, deadlock).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Checks: u32 {
        /// Uses of values loaded from shared memory that no thread of the cluster has written, and of values derived from them.
        const UNINITIALIZED_SHARED = 1;
        /// Threads that exit while other threads of the block wait at a barrier for all threads.
        const BARRIERS = 1 << 1;
        /// Shuffles that read from a lane that does not participate.
        const SHUFFLES = 1 << 2;
        /// Counts of executed instructions.
        const COUNTS = 1 << 3;
        /// Uses of uninitialized registers, and of values derived from them.
        const UNINITIALIZED_REGISTERS = 1 << 4;
        /// Unordered accesses to shared memory, at least one of them a write.
        const SHARED_RACES = 1 << 5;
        /// Asynchronous reads of shared memory that no `fence.proxy.async` orders after ordinary writes, and copies over it that none
        /// orders after ordinary accesses.
        const PROXY_FENCES = 1 << 6;
        /// Unordered accesses to global memory by different blocks, at least one of them a write; together with `SHARED_RACES`, also
        /// by different threads of a block or cluster.
        const GLOBAL_RACES = 1 << 7;
        /// Uses of values loaded from local memory that the thread has not written, and of values derived from them.
        const UNINITIALIZED_LOCAL = 1 << 8;
        /// Accesses to registers that a `wgmma` in flight reads or writes.
        const WGMMA_IN_FLIGHT = 1 << 9;
        /// Asynchronous copies and products that have not been waited for when their thread exits.
        const LEAKED_GROUPS = 1 << 10;
        /// Addresses converted to a state space that does not contain them.
        const ADDRESS_CONVERSIONS = 1 << 11;
        /// Volatile accesses to shared memory by lanes of a warp that rely on lockstep; only together with `SHARED_RACES`.
        const VOLATILE_RACES = 1 << 12;
        /// Values that `.pragma "warpwright.uniform"` states to be equal.
        const UNIFORM = 1 << 13;
        /// Loads from global memory that was never written, in a [`Memory`](crate::Memory) that
        /// [records writes](crate::Memory::record_writes).
        const UNINITIALIZED_GLOBAL = 1 << 14;
    }
}

impl Checks {
    /// The checks for which undefined values are tracked.
    pub(crate) const UNDEFINED: Self =
        Self::UNINITIALIZED_REGISTERS.union(Self::UNINITIALIZED_LOCAL).union(Self::UNINITIALIZED_SHARED);
}

/// A list of checks with an unrecognized name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `all`, `none` or a list of {}, found `{found}`", Checks::names().join(", "))]
pub struct UnknownCheck {
    found: String,
}

impl Checks {
    /// Returns the names of all checks: `uninitialized_shared`.
    pub fn names() -> Vec<String> {
        Checks::all().iter_names().map(|(name, _)| name.to_lowercase()).collect()
    }
}

/// Parses `all`, `none`, or a comma-separated list of names of checks and of kinds of findings.
impl FromStr for Checks {
    type Err = UnknownCheck;

    fn from_str(list: &str) -> Result<Self, UnknownCheck> {
        match list {
            "all" => return Ok(Checks::all()),
            "none" => return Ok(Checks::empty()),
            _ => {}
        }
        let one = |name: &str| {
            let word = name.trim().to_lowercase().replace('-', "_");
            let found =
                Checks::from_name(&word.to_uppercase()).or_else(|| word.parse().ok().map(FindingKind::check));
            found.ok_or_else(|| UnknownCheck { found: name.to_string() })
        };
        list.split(',').map(one).collect()
    }
}
