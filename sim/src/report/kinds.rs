//! The checks of a run and the kinds of findings that they report.

use std::fmt;
use std::str::FromStr;

/// Defines the kinds that are always reported, the checks, and the kinds that each check reports; every kind has a description and a name.
macro_rules! findings {
    (
        always { $($(#[doc = $always_doc:literal])* $always:ident = $always_name:literal;)* }
        $(
            $(#[doc = $check_doc:literal])*
            $check:ident { $($(#[doc = $doc:literal])* $kind:ident = $name:literal;)* }
        )*
    ) => {
        /// The kinds of findings that are reported while a kernel runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[doc = $always_doc])* $always,)*
            $($($(#[doc = $doc])* $kind,)*)*
        }

        impl FindingKind {
            /// All kinds.
            pub const ALL: &[FindingKind] =
                &[$(FindingKind::$always,)* $($(FindingKind::$kind,)*)*];

            /// Returns the name in reports and files, such as `global_out_of_bounds`.
            pub fn name(self) -> &'static str {
                match self {
                    $(FindingKind::$always => $always_name,)*
                    $($(FindingKind::$kind => $name,)*)*
                }
            }

            /// Returns a description of what is reported: the documentation of the variant.
            pub fn description(self) -> &'static str {
                let lines = match self {
                    $(FindingKind::$always => concat!($($always_doc),*),)*
                    $($(FindingKind::$kind => concat!($($doc),*),)*)*
                };
                lines.trim_start()
            }

            /// Returns whether findings of this kind are notes: their behavior is defined, so the run continues, and
            /// [`Report::notes`](crate::Report::notes) lists them instead of [`Report::findings`](crate::Report::findings).
            pub fn is_note(self) -> bool {
                matches!(self, FindingKind::ExitedBeforeBarrier)
            }

            /// Returns the check that reports findings of this kind; empty if they are always reported.
            pub fn check(self) -> Checks {
                match self {
                    $(FindingKind::$always => Checks::empty(),)*
                    $($(FindingKind::$kind => Checks::$check,)*)*
                }
            }
        }

        /// The bit of each check.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named like the checks")]
        enum Bit {
            $($check,)*
        }

        bitflags::bitflags! {
            /// A set of optional checks. Other rules (bounds, alignment, masks, deadlock) are always enforced.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub struct Checks: u32 {
                $(
                    $(#[doc = $check_doc])*
                    const $check = 1 << Bit::$check as u32;
                )*
            }
        }
    };
}

findings! {
    always {
        /// An access to global memory outside all buffers, or in a freed buffer. The message distinguishes freed buffers and freed
        /// allocations of the device heap from other addresses.
        GlobalOutOfBounds = "global_out_of_bounds";
        /// An access past the block's shared memory.
        SharedOutOfBounds = "shared_out_of_bounds";
        /// An access past the thread's local memory, or a stack overflow.
        LocalOutOfBounds = "local_out_of_bounds";
        /// A read of the parameter space past the last parameter.
        ParamOutOfBounds = "param_out_of_bounds";
        /// A `free` of an address that `malloc` did not return, or of an allocation that has already been freed.
        InvalidFree = "invalid_free";
        /// An address that is not a multiple of the access size.
        MisalignedAccess = "misaligned_access";
        /// A write to constant memory, parameters, or memory that is mapped read-only.
        ReadOnly = "read_only";
        /// An address in a space that the instruction cannot access, or a handle that does not identify a texture or surface.
        InvalidAddress = "invalid_address";
        /// Threads of a block that do not reach the same barrier, or reach it with different counts or in different orders.
        DivergentBarrier = "divergent_barrier";
        /// No warp can continue, because the events for which warps wait never occur.
        Deadlock = "deadlock";
        /// The step limit was reached.
        StepLimit = "step_limit";
        /// A `.sync` instruction that is executed by a lane that its mask excludes, or by lanes with different masks.
        SyncMask = "sync_mask";
        /// An `.aligned` instruction that is not executed by the whole warp.
        AlignedDivergence = "aligned_divergence";
        /// An operand value that the instruction does not allow.
        InvalidOperand = "invalid_operand";
        /// A misuse of an mbarrier: no object at the address, too many arrivals, an object that is overwritten during a phase, or used
        /// without being ordered after its initialization.
        MbarrierMisuse = "mbarrier_misuse";
        /// A wait for an mbarrier phase that can never complete, because arrivals or bytes are missing.
        MbarrierNeverCompletes = "mbarrier_never_completes";
        /// A tensor copy that starts within a 16-byte unit of a row.
        TensorCoordinateMisaligned = "tensor_coordinate_misaligned";
        /// A matrix descriptor or tensor map that the instruction does not accept.
        InvalidDescriptor = "invalid_descriptor";
        /// More shared memory or `setmaxnreg` registers than a block may use.
        BudgetExceeded = "budget_exceeded";
        /// A `trap` or `brkpt` instruction was executed.
        Trap = "trap";
        /// A failed device-side assertion.
        Assertion = "assertion";
    }

    /// Uses of values loaded from shared memory that no thread of the cluster has written, and of values derived from them.
    UNINITIALIZED_SHARED {
        /// A use of a value loaded from shared memory that no thread of the cluster has written, or of a value derived from it. The
        /// first location is the load; the second location is the use.
        UninitializedSharedRead = "uninitialized_shared_read";
    }

    /// Uses of values loaded from local memory that the function's activation has not written, and of values derived from them.
    UNINITIALIZED_LOCAL {
        /// A use of a value loaded from local memory that the function's activation has not written, or of a value derived from it.
        /// The second location is the load.
        UninitializedLocalRead = "uninitialized_local_read";
    }

    /// Uses of uninitialized registers, and of values derived from them.
    UNINITIALIZED_REGISTERS {
        /// A use of a register that was never written, or of a value derived from it.
        UninitializedRegister = "uninitialized_register";
    }

    /// Loads from global memory that was never written, in a memory that [records writes](crate::Memory::record_writes).
    UNINITIALIZED_GLOBAL {
        /// A load from global memory, or an atomic, none of whose bytes was ever written by the host or a kernel. Detected only in a
        /// `Memory::record_writes()`; other memory is initially zero.
        UninitializedGlobalRead = "uninitialized_global_read";
    }

    /// Unordered accesses to shared memory, at least one of them a write.
    SHARED_RACES {
        /// Two accesses to shared memory, at least one of them a write, that are not ordered by barriers, named barriers, mbarriers,
        /// warp synchronization, cluster barriers, or fences with atomics; or a block that exits before another block accesses its
        /// shared memory.
        SharedRace = "shared_race";
        /// A load from the destination of an asynchronous copy for which the thread has not waited; a barrier alone does not complete
        /// copies.
        AsyncCopyUnwaited = "async_copy_unwaited";
        /// An asynchronous operation and an unordered access to the same shared memory.
        AsyncProxyRace = "async_proxy_race";
    }

    /// Volatile accesses to shared memory by lanes of a warp that rely on lockstep execution; takes effect only together with
    /// `SHARED_RACES`.
    VOLATILE_RACES {
        /// Volatile accesses to a word of shared memory by two lanes of a warp, one of them a store, without `bar.warp.sync` in
        /// between. Such code relies on lockstep execution, which sm_70 and later do not guarantee. Turn the check off for lanes that
        /// wait for each other's flags.
        VolatileRace = "volatile_race";
    }

    /// Asynchronous reads of shared memory that no `fence.proxy.async` orders after ordinary writes, and asynchronous writes that no
    /// such fence orders after ordinary accesses.
    PROXY_FENCES {
        /// An asynchronous copy that reads or overwrites data written by ordinary instructions, without `fence.proxy.async`; or a copy
        /// that overwrites data that a load may still be reading, because its thread arrived at an mbarrier, without a fence, before it
        /// used the value.
        MissingProxyFence = "missing_proxy_fence";
    }

    /// Unordered accesses to global memory by different blocks, at least one of them a write; together with `SHARED_RACES`, also
    /// by different threads of a block or cluster.
    GLOBAL_RACES {
        /// Accesses to global memory by two blocks, at least one of them a plain write, that are not ordered by fences and atomics of a
        /// common scope. Writes of equal values are allowed unless a third block reads them. A fence and an atomic of one warp publish
        /// the accesses of other warps of its block only after a barrier. If `shared_races` is also enabled, accesses by two threads of
        /// a block or cluster are reported if they are not ordered as described for `shared_race`; a read by one lane before a write by
        /// another lane of the same warp is not tracked.
        GlobalRace = "global_race";
        /// In a kernel with `griddepcontrol.wait`, an access to a buffer that the preceding launch has written, before a thread of
        /// the block has executed that instruction. Launches run one after the other, so the results are correct nevertheless.
        MissingGridWait = "missing_grid_wait";
    }

    /// Accesses to registers and shared memory that a `wgmma` in flight reads or writes.
    WGMMA_IN_FLIGHT {
        /// An access to accumulators, registers of A or shared operands of a `wgmma` before `wgmma.wait_group`; a wait by one warp
        /// counts for its warpgroup.
        WgmmaInFlight = "wgmma_in_flight";
        /// A `wgmma` whose registers of A or accumulators have been written since the last `wgmma.fence`. Accumulators initialized by
        /// `mov` are reported only if no fence followed the last wait.
        MissingWgmmaFence = "missing_wgmma_fence";
    }

    /// Asynchronous copies and `wgmma`s for which a thread has not waited when it exits.
    LEAKED_GROUPS {
        /// A thread that exits while asynchronous copies or `wgmma`s for which it has not waited are in flight.
        AsyncGroupLeaked = "async_group_leaked";
    }

    /// Threads that exit while other threads of the block wait at a barrier for all threads.
    BARRIERS {
        /// Threads that exited before a barrier for all threads of the block. Hardware counts them as arrived, so this is a note: the run
        /// continues.
        ExitedBeforeBarrier = "exited_before_barrier";
    }

    /// Shuffles that read from a lane that does not participate.
    SHUFFLES {
        /// A shuffle that reads from a lane that does not participate.
        ShflInactiveLane = "shfl_inactive_lane";
    }

    /// Values that `.pragma "warpwright.uniform"` states to be equal.
    UNIFORM {
        /// A value that differs between threads for which a pragma states that it is the same: `.pragma "warpwright.uniform %r5 32"`,
        /// with a number of consecutive threads, `block` or `cluster`. The i-th executions of each thread are compared. The pragma
        /// represents `assume_uniform` in simulated kernels of the builder.
        NotUniform = "not_uniform";
    }

    /// Addresses converted to shared space, which does not contain them.
    ADDRESS_CONVERSIONS {
        /// A conversion of an address to shared space, which does not contain it. An address that is wrongly converted to local space is
        /// found when it is used.
        AddressConversion = "address_conversion";
    }

    /// Counts of executed instructions.
    COUNTS {}
}

impl Checks {
    /// The checks for which undefined values are tracked.
    pub(crate) const UNDEFINED: Self =
        Self::UNINITIALIZED_REGISTERS.union(Self::UNINITIALIZED_LOCAL).union(Self::UNINITIALIZED_SHARED);
}

/// A list of checks that contains an unrecognized name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `all`, `none` or a list of {}, found `{found}`", Checks::names().join(", "))]
pub struct UnknownCheck {
    found: String,
}

impl Checks {
    /// Returns the names of all checks, such as `uninitialized_shared`.
    pub fn names() -> Vec<String> {
        Checks::all().iter_names().map(|(name, _)| name.to_lowercase()).collect()
    }
}

/// Parses `all`, `none`, or a comma-separated list of names of checks and of kinds of findings; a kind selects the check that reports it.
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

/// An unrecognized name of a kind of finding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of finding `{found}`")]
pub struct UnknownKind {
    found: String,
}

impl FromStr for FindingKind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let kind = Self::ALL.iter().copied().find(|kind| kind.name() == name);
        kind.ok_or_else(|| UnknownKind { found: name.to_string() })
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
