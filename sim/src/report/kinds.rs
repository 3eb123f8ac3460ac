//! The checks, and the kinds of findings that they report.

use std::fmt;
use std::str::FromStr;

/// Defines the kinds that are always reported, the checks, and the kinds that each check reports. Every kind has a description and a name.
macro_rules! findings {
    (
        always { $($(#[doc = $always_doc:literal])* $always:ident = $always_name:literal;)* }
        $(
            $(#[doc = $check_doc:literal])*
            $check:ident { $($(#[doc = $doc:literal])* $kind:ident = $name:literal;)* }
        )*
    ) => {
        /// The kind of a finding.
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

            /// Returns the name that reports and files use, such as `global_out_of_bounds`.
            pub fn name(self) -> &'static str {
                match self {
                    $(FindingKind::$always => $always_name,)*
                    $($(FindingKind::$kind => $name,)*)*
                }
            }

            /// Returns the documentation of the variant as a string.
            pub fn description(self) -> &'static str {
                let lines = match self {
                    $(FindingKind::$always => concat!($($always_doc),*),)*
                    $($(FindingKind::$kind => concat!($($doc),*),)*)*
                };
                lines.trim_start()
            }

            /// Returns whether findings of this kind are notes. Notes report behavior that is defined, so the run continues, and they are
            /// listed in [`Report::notes`](crate::Report::notes) instead of [`Report::findings`](crate::Report::findings).
            pub fn is_note(self) -> bool {
                matches!(self, FindingKind::ExitedBeforeBarrier)
            }

            /// Returns the check that reports findings of this kind, or an empty set if they are always reported.
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
            /// A set of optional checks. Other bugs (such as out-of-bounds accesses, misalignment, wrong masks and deadlocks) are always
            /// reported.
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
        /// An access to global memory outside all allocations, or to freed memory. The message says which.
        GlobalOutOfBounds = "global_out_of_bounds";
        /// An access past the end of the block's shared memory.
        SharedOutOfBounds = "shared_out_of_bounds";
        /// An access past the end of the thread's local memory, or a stack overflow.
        LocalOutOfBounds = "local_out_of_bounds";
        /// A read past the last parameter in the parameter space.
        ParamOutOfBounds = "param_out_of_bounds";
        /// A `free` of an address that `malloc` did not return, or of an allocation that has already been freed.
        InvalidFree = "invalid_free";
        /// An address that is not a multiple of the access size.
        MisalignedAccess = "misaligned_access";
        /// A write to constant memory, to parameters, or to memory that is mapped read-only.
        ReadOnly = "read_only";
        /// An address in a space that the instruction cannot access, or a handle that does not identify a texture or surface.
        InvalidAddress = "invalid_address";
        /// Threads of a block that do not all reach the same barrier, or that reach it with different thread counts.
        DivergentBarrier = "divergent_barrier";
        /// Warps that wait for events that can never occur, while no other warp can continue.
        Deadlock = "deadlock";
        /// A block or cluster that executes more warp instructions than the step limit allows.
        StepLimit = "step_limit";
        /// A `.sync` instruction that is executed by a lane that its mask excludes, or by lanes with different masks.
        SyncMask = "sync_mask";
        /// An `.aligned` instruction that is not executed by the whole warp.
        AlignedDivergence = "aligned_divergence";
        /// An operand value that the instruction does not allow.
        InvalidOperand = "invalid_operand";
        /// A misuse of an mbarrier: the address does not contain one, it receives too many arrivals, it is overwritten during a phase, or
        /// its use is not ordered after its initialization.
        MbarrierMisuse = "mbarrier_misuse";
        /// A wait for an mbarrier phase that can never complete, because arrivals or bytes are missing.
        MbarrierNeverCompletes = "mbarrier_never_completes";
        /// A tensor copy that does not start at a multiple of 16 bytes along the innermost dimension.
        TensorCoordinateMisaligned = "tensor_coordinate_misaligned";
        /// A matrix descriptor or tensor map that the instruction does not accept.
        InvalidDescriptor = "invalid_descriptor";
        /// A block that requires more shared memory than it may use, or that requests more registers with `setmaxnreg` than it may use.
        BudgetExceeded = "budget_exceeded";
        /// The execution of a `trap` or `brkpt` instruction.
        Trap = "trap";
        /// A failed device-side assertion.
        Assertion = "assertion";
    }

    /// Uses of values that were loaded from uninitialized shared memory, or derived from such values.
    UNINITIALIZED_SHARED {
        /// A use of a value that was loaded from shared memory not written by any thread of the cluster, or derived from such a value. The
        /// first location is the load; the second location is the use.
        UninitializedSharedRead = "uninitialized_shared_read";
    }

    /// Uses of values that were loaded from uninitialized local memory, or derived from such values.
    UNINITIALIZED_LOCAL {
        /// A use of a value that was loaded from local memory not written by the current call of the function, or derived from such a
        /// value. The first location is the use; the second location is the load.
        UninitializedLocalRead = "uninitialized_local_read";
    }

    /// Uses of uninitialized registers, or of values derived from them.
    UNINITIALIZED_REGISTERS {
        /// A use of a register that was never written, or of a value derived from such a register.
        UninitializedRegister = "uninitialized_register";
    }

    /// Loads from uninitialized global memory; effective only if the [`Memory`](crate::Memory) [records
    /// writes](crate::Memory::record_writes).
    UNINITIALIZED_GLOBAL {
        /// A load from global memory, or an atomic, that reads only bytes that neither the host nor a kernel has written. Detected only if
        /// the memory records writes (`Memory::record_writes`).
        UninitializedGlobalRead = "uninitialized_global_read";
    }

    /// Unordered accesses to shared memory, at least one of them a write.
    SHARED_RACES {
        /// Two accesses to shared memory, at least one of them a write, that are not ordered by barriers, mbarriers, cluster barriers, warp
        /// synchronization, or fences with atomics; or an access to the shared memory of another block that may already have exited.
        SharedRace = "shared_race";
        /// A load from the destination of an asynchronous copy for which the thread has not waited. A barrier does not wait for copies.
        AsyncCopyUnwaited = "async_copy_unwaited";
        /// An asynchronous operation and another access to the same shared memory that are not ordered.
        AsyncProxyRace = "async_proxy_race";
    }

    /// Volatile accesses to shared memory that rely on the lockstep execution of a warp; effective only together with
    /// [`SHARED_RACES`](crate::Checks::SHARED_RACES).
    VOLATILE_RACES {
        /// Volatile accesses by two lanes of a warp to the same word of shared memory, at least one of them a store, without
        /// `bar.warp.sync` in between. Such code relies on lockstep execution, which sm_70 and later do not guarantee. Disable the check
        /// for kernels in which lanes wait for flags that other lanes set.
        VolatileRace = "volatile_race";
    }

    /// Asynchronous accesses to shared memory that conflict with earlier ordinary accesses, without `fence.proxy.async` in between.
    PROXY_FENCES {
        /// An asynchronous copy that reads or overwrites data written by ordinary instructions, without `fence.proxy.async` in between; or
        /// one that overwrites data that a load may still be reading, because the thread arrived at an mbarrier, without a fence, before it
        /// used the loaded value.
        MissingProxyFence = "missing_proxy_fence";
    }

    /// Unordered accesses to global memory by different blocks, at least one of them a write; together with
    /// [`SHARED_RACES`](crate::Checks::SHARED_RACES), also those by different threads of a block or cluster.
    GLOBAL_RACES {
        /// Accesses to global memory by two blocks, at least one of them a plain write, that are not ordered by fences and atomics whose
        /// scopes include both blocks. A fence and an atomic publish the accesses of other warps of the block only if a barrier precedes
        /// them. Writes of equal values are not reported unless a third block reads them. If `shared_races` is also enabled, accesses by
        /// two threads of a block or cluster are reported if they are not ordered as described for `shared_race`, except for a read by one
        /// lane before a write by another lane of the same warp.
        GlobalRace = "global_race";
        /// In a kernel with `griddepcontrol.wait`, an access to a buffer that the preceding launch wrote, before any thread of the block
        /// has executed this instruction. The simulator runs launches one after the other, so its results are still correct.
        MissingGridWait = "missing_grid_wait";
    }

    /// Accesses to registers and shared memory that conflict with a `wgmma` in flight, and missing `wgmma.fence` instructions.
    WGMMA_IN_FLIGHT {
        /// An access to the accumulators of a `wgmma`, or a write to its registers of A or its operands in shared memory, before
        /// `wgmma.wait_group`. A wait by one warp counts for its whole warpgroup.
        WgmmaInFlight = "wgmma_in_flight";
        /// A `wgmma` whose accumulators or registers of A have been written since the last `wgmma.fence`. Accumulators initialized by `mov`
        /// are reported only if no fence followed the last wait.
        MissingWgmmaFence = "missing_wgmma_fence";
    }

    /// Threads that exit without waiting for their asynchronous copies or `wgmma`s.
    LEAKED_GROUPS {
        /// A thread that exits without waiting for its asynchronous copies or `wgmma`s.
        AsyncGroupLeaked = "async_group_leaked";
    }

    /// Threads that exit while other threads of the block wait at a barrier for all threads.
    BARRIERS {
        /// Threads that exited before a barrier for all threads of the block. The hardware counts them as arrived, so this is a note, and
        /// the run continues.
        ExitedBeforeBarrier = "exited_before_barrier";
    }

    /// Shuffles that read from lanes that do not participate.
    SHUFFLES {
        /// A shuffle that reads from a lane that does not participate.
        ShflInactiveLane = "shfl_inactive_lane";
    }

    /// Values that differ although `.pragma "warpwright.uniform"` declares them to be equal.
    UNIFORM {
        /// A value that differs between threads although a pragma such as `.pragma "warpwright.uniform %r5 32"` declares it to be equal for
        /// a number of consecutive threads, the `block` or the `cluster`. The i-th executions of the pragma by these threads are compared.
        /// The builder emits the pragma for `assume_uniform` in kernels that are simulated.
        NotUniform = "not_uniform";
    }

    /// Conversions of addresses outside shared memory to the shared space.
    ADDRESS_CONVERSIONS {
        /// A conversion of an address outside shared memory to the shared space. Wrong conversions to the local space are reported when the
        /// address is used.
        AddressConversion = "address_conversion";
    }

    /// Not a check: enables the [`Counts`](crate::Counts) in reports.
    COUNTS {}
}

impl Checks {
    /// The checks that require undefined values to be tracked.
    pub(crate) const UNDEFINED: Self =
        Self::UNINITIALIZED_REGISTERS.union(Self::UNINITIALIZED_LOCAL).union(Self::UNINITIALIZED_SHARED);
}

/// An unrecognized name in a list of checks.
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

/// Parses `all`, `none`, or a comma-separated list of checks and kinds of findings. A kind enables the check that reports it.
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

/// An unrecognized kind of finding.
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
