//! Findings: their kinds, locations and display.

use std::fmt;
use std::str::FromStr;

use crate::report::checks::Checks;
use crate::text::error::Snippet;
use crate::text::lexer::Pos;

/// Defines the kinds, one row each: documentation, name, and the check that reports it.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal, $check:expr;)*) => {
        /// The kinds of bugs that are detected while a kernel runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[$doc])* $kind,)*
        }

        impl FindingKind {
            /// All kinds.
            pub const ALL: &[FindingKind] = &[$(FindingKind::$kind),*];

            /// Returns the name in reports and files: `global_out_of_bounds`.
            pub fn name(self) -> &'static str {
                match self {
                    $(FindingKind::$kind => $name,)*
                }
            }

            /// Returns the check that reports it; empty if it is always reported.
            pub fn check(self) -> Checks {
                match self {
                    $(FindingKind::$kind => $check,)*
                }
            }
        }
    };
}

kinds! {
    /// An access to global memory outside every buffer, or in a freed one.
    GlobalOutOfBounds = "global_out_of_bounds", Checks::empty();
    /// A `free` of an address that `malloc` did not return, or of a block that has already been freed.
    InvalidFree = "invalid_free", Checks::empty();
    /// An access past the block's shared memory.
    SharedOutOfBounds = "shared_out_of_bounds", Checks::empty();
    /// An access past the thread's local memory, or a stack overflow.
    LocalOutOfBounds = "local_out_of_bounds", Checks::empty();
    /// A read of the parameter space past the last parameter.
    ParamOutOfBounds = "param_out_of_bounds", Checks::empty();
    /// An address that is not a multiple of the access size.
    MisalignedAccess = "misaligned_access", Checks::empty();
    /// A write to constant memory or parameters.
    ReadOnly = "read_only", Checks::empty();
    /// An address in a space that the instruction cannot access.
    InvalidAddress = "invalid_address", Checks::empty();
    /// A use of a value loaded from shared memory that no thread has written, or of a value derived from it. The first location
    /// is the load, the other one the use.
    UninitializedSharedRead = "uninitialized_shared_read", Checks::UNINITIALIZED_SHARED;
    /// A use of a register that was never written, or of a value derived from it.
    UninitializedRegister = "uninitialized_register", Checks::UNINITIALIZED_REGISTERS;
    /// Two unordered accesses to shared memory, at least one of them a write.
    SharedRace = "shared_race", Checks::SHARED_RACES;
    /// Unordered volatile accesses to a word of shared memory by two lanes of a warp, one of them a store.
    VolatileRace = "volatile_race", Checks::VOLATILE_RACES;
    /// A load from shared memory that is the destination of an asynchronous copy in flight.
    AsyncCopyUnwaited = "async_copy_unwaited", Checks::SHARED_RACES;
    /// An asynchronous operation and an unordered access to the same shared memory.
    AsyncProxyRace = "async_proxy_race", Checks::SHARED_RACES;
    /// An asynchronous read of data written by ordinary instructions, or a copy over it or over what is being loaded, without a
    /// proxy fence in between.
    MissingProxyFence = "missing_proxy_fence", Checks::PROXY_FENCES;
    /// Threads of a block that do not reach the same barrier.
    DivergentBarrier = "divergent_barrier", Checks::empty();
    /// Threads that exited before a barrier for all threads of the block, which continues without them.
    ExitedBeforeBarrier = "exited_before_barrier", Checks::BARRIERS;
    /// No warp can continue.
    Deadlock = "deadlock", Checks::empty();
    /// The step limit was reached.
    StepLimit = "step_limit", Checks::empty();
    /// A `.sync` instruction executed by a lane that its mask excludes, or with different masks.
    SyncMask = "sync_mask", Checks::empty();
    /// An `.aligned` instruction not executed by the whole warp.
    AlignedDivergence = "aligned_divergence", Checks::empty();
    /// A shuffle that reads from a lane that does not participate.
    ShflInactiveLane = "shfl_inactive_lane", Checks::SHUFFLES;
    /// A value that differs between threads for which `.pragma "warpwright.uniform"` states that it does not; the pragma represents
    /// `assume_uniform` in simulated kernels of the builder.
    NotUniform = "not_uniform", Checks::UNIFORM;
    /// An operand value that the instruction does not allow.
    InvalidOperand = "invalid_operand", Checks::empty();
    /// A misuse of an mbarrier.
    MbarrierMisuse = "mbarrier_misuse", Checks::empty();
    /// A wait for an mbarrier phase that can never complete.
    MbarrierNeverCompletes = "mbarrier_never_completes", Checks::empty();
    /// A tensor copy that starts within a 16-byte unit of a row.
    TensorCoordinateMisaligned = "tensor_coordinate_misaligned", Checks::empty();
    /// A matrix descriptor or tensor map that no instruction accepts.
    InvalidDescriptor = "invalid_descriptor", Checks::empty();
    /// Unordered accesses to global memory by two blocks or by two threads of a block, at least one of them a write.
    GlobalRace = "global_race", Checks::GLOBAL_RACES;
    /// An access to a buffer that the preceding launch has written, by a block that has not executed the kernel's
    /// `griddepcontrol.wait` yet.
    MissingGridWait = "missing_grid_wait", Checks::GLOBAL_RACES;
    /// A use of a value loaded from local memory that the thread has not written, or of a value derived from it. The other
    /// location is the load.
    UninitializedLocalRead = "uninitialized_local_read", Checks::UNINITIALIZED_LOCAL;
    /// A load from global memory, or an atomic, of bytes of which none was ever written, in a [`Memory`](crate::Memory) that records writes.
    UninitializedGlobalRead = "uninitialized_global_read", Checks::UNINITIALIZED_GLOBAL;
    /// An access to a register that a product in flight reads or writes, or a write to shared memory that it reads.
    WgmmaInFlight = "wgmma_in_flight", Checks::WGMMA_IN_FLIGHT;
    /// A `wgmma` whose registers were written by other instructions, without a `wgmma.fence` in between.
    MissingWgmmaFence = "missing_wgmma_fence", Checks::WGMMA_IN_FLIGHT;
    /// Asynchronous work that was not waited for before its thread exited.
    AsyncGroupLeaked = "async_group_leaked", Checks::LEAKED_GROUPS;
    /// An address outside the state space that it was converted to.
    AddressConversion = "address_conversion", Checks::ADDRESS_CONVERSIONS;
    /// More shared memory or registers than a block may use.
    BudgetExceeded = "budget_exceeded", Checks::empty();
    /// `trap` or `brkpt`.
    Trap = "trap", Checks::empty();
    /// A failed device-side assertion.
    Assertion = "assertion", Checks::empty();
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

/// A line of the source that was compiled to PTX, from `.loc` and `.file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The path in `.file`.
    pub file: String,
    /// The 1-based line.
    pub line: u32,
    /// The column in `.loc`; 0 if unknown.
    pub column: u32,
}

/// The location of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The kernel.
    pub kernel: String,
    /// The block's coordinates in the grid.
    pub block: [u32; 3],
    /// The thread's coordinates in its block, if one thread is at fault.
    pub thread: Option<[u32; 3]>,
    /// The index of the warp in its block.
    pub warp: u32,
    /// The lane, if one is at fault.
    pub lane: Option<u32>,
    /// The 1-based line of the PTX text.
    pub line: u32,
    /// The 1-based column of the PTX text.
    pub column: u32,
    /// The instruction's full mnemonic.
    pub mnemonic: String,
    /// The source line, if the text contains it.
    pub source: Option<SourceLocation>,
    pub(crate) file: String,
    pub(crate) text: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        write!(f, "kernel `{}`, block ({x}, {y}, {z})", self.kernel)?;
        match self.thread {
            Some([x, y, z]) => write!(f, ", thread ({x}, {y}, {z})")?,
            None => write!(f, ", warp {}", self.warp)?,
        }
        writeln!(f)?;
        let len = self.mnemonic.chars().count() as u32;
        let pos = Pos { line: self.line, column: self.column };
        write!(f, "{}", Snippet { file: &self.file, pos, len, text: &self.text })?;
        if let Some(source) = &self.source {
            write!(f, "\n  from {}:{}:{}", source.file, source.line, source.column)?;
        }
        Ok(())
    }
}

impl Finding {
    /// Returns whether both are the same finding at the same instructions, possibly of different threads.
    pub(crate) fn same_place(&self, other: &Finding) -> bool {
        let place = |site: &Site| (site.line, site.column);
        let sides = |finding: &Finding| (place(&finding.site), finding.other.as_ref().map(place));
        self.kind == other.kind && sides(self) == sides(other)
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The description.
    pub message: String,
    /// The location.
    pub site: Site,
    /// The location of the other access, if there are two.
    pub other: Option<Site>,
    /// Further information, such as the position of every warp.
    pub notes: Vec<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        write!(f, "  in {}", self.site)?;
        if let Some(other) = &self.other {
            write!(f, "\n  and {other}")?;
        }
        self.notes.iter().try_for_each(|note| write!(f, "\n  note: {note}"))
    }
}
