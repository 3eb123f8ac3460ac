//! Findings: their kinds, their location, and how they are printed.

use std::fmt;
use std::str::FromStr;

use crate::report::checks::Checks;
use crate::text::error::Snippet;
use crate::text::lexer::Pos;

/// One row for each kind: its documentation, name, and the check that looks for it.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal, $check:expr;)*) => {
        /// The kinds of bugs that are found while a kernel runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[$doc])* $kind,)*
        }

        impl FindingKind {
            /// All kinds.
            pub const ALL: &[FindingKind] = &[$(FindingKind::$kind),*];

            /// The kind as reports and files spell it: `global_out_of_bounds`.
            pub fn name(self) -> &'static str {
                match self {
                    $(FindingKind::$kind => $name,)*
                }
            }

            /// The check that looks for it; empty if every run does.
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
    /// A `free` of an address that `malloc` did not return, or of a block that was freed before.
    InvalidFree = "invalid_free", Checks::empty();
    /// An access to shared memory past the block's own.
    SharedOutOfBounds = "shared_out_of_bounds", Checks::empty();
    /// An access to local memory past the thread's own, or a stack overflow.
    LocalOutOfBounds = "local_out_of_bounds", Checks::empty();
    /// A read of the parameter space past the last parameter.
    ParamOutOfBounds = "param_out_of_bounds", Checks::empty();
    /// An address that is not a multiple of the access's size.
    MisalignedAccess = "misaligned_access", Checks::empty();
    /// A write to constant memory or parameters.
    ReadOnly = "read_only", Checks::empty();
    /// An address in no space the instruction may access.
    InvalidAddress = "invalid_address", Checks::empty();
    /// A use of what was loaded from shared memory that no thread wrote, or of what was computed from it. The first side is
    /// the load, the other side the use.
    UninitializedSharedRead = "uninitialized_shared_read", Checks::UNINITIALIZED_SHARED;
    /// A use of a register that was never written, or of what was computed from it.
    UninitializedRegister = "uninitialized_register", Checks::UNINITIALIZED_REGISTERS;
    /// Two accesses of shared memory, at least one a write, with no order between them.
    SharedRace = "shared_race", Checks::SHARED_RACES;
    /// Volatile accesses of a word of shared memory by two lanes of a warp, one a store, with nothing to order them.
    VolatileRace = "volatile_race", Checks::VOLATILE_RACES;
    /// A load from shared memory to which an asynchronous copy is in flight.
    AsyncCopyUnwaited = "async_copy_unwaited", Checks::SHARED_RACES;
    /// An asynchronous operation and an access of the same shared memory with no order between them.
    AsyncProxyRace = "async_proxy_race", Checks::SHARED_RACES;
    /// An asynchronous read of what ordinary instructions wrote, or a copy over it, with no proxy fence between.
    MissingProxyFence = "missing_proxy_fence", Checks::PROXY_FENCES;
    /// Threads of a block that do not meet at a barrier.
    DivergentBarrier = "divergent_barrier", Checks::empty();
    /// Threads that ended before a barrier for all of the block, which goes on without them.
    ExitedBeforeBarrier = "exited_before_barrier", Checks::BARRIERS;
    /// No warp can continue.
    Deadlock = "deadlock", Checks::empty();
    /// The step limit was reached.
    StepLimit = "step_limit", Checks::empty();
    /// A `.sync` instruction run by a lane its mask leaves out, or with masks that differ.
    SyncMask = "sync_mask", Checks::empty();
    /// An `.aligned` instruction not run by the whole warp.
    AlignedDivergence = "aligned_divergence", Checks::empty();
    /// A shuffle that reads a lane that does not take part.
    ShflInactiveLane = "shfl_inactive_lane", Checks::SHUFFLES;
    /// An operand value the instruction does not allow.
    InvalidOperand = "invalid_operand", Checks::empty();
    /// An mbarrier used against its rules.
    MbarrierMisuse = "mbarrier_misuse", Checks::empty();
    /// A wait for an mbarrier phase that nothing will complete.
    MbarrierNeverCompletes = "mbarrier_never_completes", Checks::empty();
    /// A tensor copy that starts inside a 16-byte unit of a row.
    TensorCoordinateMisaligned = "tensor_coordinate_misaligned", Checks::empty();
    /// A matrix descriptor or tensor map that no instruction accepts.
    InvalidDescriptor = "invalid_descriptor", Checks::empty();
    /// An access to global memory and one of another block, at least one a write, with nothing to order them.
    GlobalRace = "global_race", Checks::GLOBAL_RACES;
    /// A use of what was loaded from local memory that the thread never wrote, or of what was computed from it. The other
    /// side is the load.
    UninitializedLocalRead = "uninitialized_local_read", Checks::UNINITIALIZED_LOCAL;
    /// A register that a product in flight writes or reads was touched, or shared memory it reads was overwritten.
    WgmmaInFlight = "wgmma_in_flight", Checks::WGMMA_IN_FLIGHT;
    /// A `wgmma` whose registers other instructions wrote, with no `wgmma.fence` between.
    MissingWgmmaFence = "missing_wgmma_fence", Checks::WGMMA_IN_FLIGHT;
    /// Asynchronous work that was not waited for when its thread ended.
    AsyncGroupLeaked = "async_group_leaked", Checks::LEAKED_GROUPS;
    /// An address outside the state space that it was converted to.
    AddressConversion = "address_conversion", Checks::ADDRESS_CONVERSIONS;
    /// More shared memory or registers than a block can have.
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
    /// The path as `.file` gives it.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// Column as `.loc` gives it; 0 when unknown.
    pub column: u32,
}

/// Where something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The kernel.
    pub kernel: String,
    /// The block's coordinates in the grid.
    pub block: [u32; 3],
    /// The thread's coordinates in its block, where one thread is at fault.
    pub thread: Option<[u32; 3]>,
    /// The warp's number in its block.
    pub warp: u32,
    /// The lane, where one is at fault.
    pub lane: Option<u32>,
    /// 1-based line of the PTX text.
    pub line: u32,
    /// 1-based column of the PTX text.
    pub column: u32,
    /// The instruction's full mnemonic.
    pub mnemonic: String,
    /// The line of the source that was compiled, if the text says.
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
    /// Whether both are the same finding of the same instructions, perhaps of other threads.
    pub(crate) fn same_place(&self, other: &Finding) -> bool {
        let place = |site: &Site| (site.line, site.column);
        let sides = |finding: &Finding| (place(&finding.site), finding.other.as_ref().map(place));
        self.kind == other.kind && sides(self) == sides(other)
    }
}

/// One finding that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// What happened, in words.
    pub message: String,
    /// Where.
    pub site: Site,
    /// The other side, where two accesses meet.
    pub other: Option<Site>,
    /// Further facts, such as where every warp stands.
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
