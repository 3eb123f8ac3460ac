//! Mistakes: their kinds, where they happened, and how they are told.

use std::fmt;

use crate::text::error::Snippet;
use crate::text::lexer::Pos;

/// The kinds of mistakes that are found while a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// An access to global memory outside every buffer, or in a freed one.
    GlobalOutOfBounds,
    /// An access to shared memory past the block's own.
    SharedOutOfBounds,
    /// An access to local memory past the thread's own, or a stack overflow.
    LocalOutOfBounds,
    /// A read of the parameter space past the last parameter.
    ParamOutOfBounds,
    /// An address that is not a multiple of the access's size.
    MisalignedAccess,
    /// A write to constant memory or parameters.
    ReadOnly,
    /// An address in no space the instruction may access.
    InvalidAddress,
    /// A read of shared memory that was never written, or a use of it where it may be padding.
    UninitializedSharedRead,
    /// A use of a register that was never written, or of what was computed from it.
    UninitializedRegister,
    /// Two accesses of shared memory, at least one a write, with no order between them.
    SharedRace,
    /// A load from shared memory to which an asynchronous copy is on its way.
    AsyncCopyUnwaited,
    /// An asynchronous operation and an access of the same shared memory with no order between them.
    AsyncProxyRace,
    /// An asynchronous read of what ordinary instructions wrote, or a copy over it, with no proxy fence between.
    MissingProxyFence,
    /// Threads of a block that do not meet at a barrier.
    DivergentBarrier,
    /// Nobody can go on.
    Deadlock,
    /// The step limit was reached.
    StepLimit,
    /// A `.sync` instruction run by a lane its mask leaves out, or with masks that differ.
    SyncMask,
    /// An `.aligned` instruction not run by the whole warp.
    AlignedDivergence,
    /// A shuffle that reads a lane that does not take part.
    ShflInactiveLane,
    /// An operand value the instruction does not allow.
    InvalidOperand,
    /// An mbarrier used against its rules.
    MbarrierMisuse,
    /// A wait for an mbarrier phase that nothing will complete.
    MbarrierNeverCompletes,
    /// A tensor copy that starts inside a 16-byte unit of a row.
    TensorCoordinateMisaligned,
    /// A matrix descriptor or tensor map that no instruction accepts.
    InvalidDescriptor,
    /// An access to global memory and one of another block, at least one a write, with nothing to order them.
    GlobalRace,
    /// A use of what was loaded from local memory that the thread never wrote, or of what was computed from it. The other
    /// side is the load.
    UninitializedLocalRead,
    /// A register that a product in flight writes or reads was touched, or shared memory it reads was overwritten.
    WgmmaInFlight,
    /// A `wgmma` whose registers other instructions wrote, with no `wgmma.fence` between.
    MissingWgmmaFence,
    /// Asynchronous work that nobody waited for when its thread ended.
    AsyncGroupLeaked,
    /// An address outside the state space that it was converted to.
    AddressConversion,
    /// More shared memory or registers than a block can have.
    BudgetExceeded,
    /// `trap` or `brkpt`.
    Trap,
    /// A failed device-side assertion.
    Assertion,
}

impl FindingKind {
    /// The kind as reports and files spell it: `global_out_of_bounds`.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::GlobalOutOfBounds => "global_out_of_bounds",
            FindingKind::SharedOutOfBounds => "shared_out_of_bounds",
            FindingKind::LocalOutOfBounds => "local_out_of_bounds",
            FindingKind::ParamOutOfBounds => "param_out_of_bounds",
            FindingKind::MisalignedAccess => "misaligned_access",
            FindingKind::ReadOnly => "read_only",
            FindingKind::InvalidAddress => "invalid_address",
            FindingKind::UninitializedSharedRead => "uninitialized_shared_read",
            FindingKind::UninitializedRegister => "uninitialized_register",
            FindingKind::SharedRace => "shared_race",
            FindingKind::AsyncCopyUnwaited => "async_copy_unwaited",
            FindingKind::AsyncProxyRace => "async_proxy_race",
            FindingKind::MissingProxyFence => "missing_proxy_fence",
            FindingKind::DivergentBarrier => "divergent_barrier",
            FindingKind::Deadlock => "deadlock",
            FindingKind::StepLimit => "step_limit",
            FindingKind::SyncMask => "sync_mask",
            FindingKind::AlignedDivergence => "aligned_divergence",
            FindingKind::ShflInactiveLane => "shfl_inactive_lane",
            FindingKind::InvalidOperand => "invalid_operand",
            FindingKind::MbarrierMisuse => "mbarrier_misuse",
            FindingKind::MbarrierNeverCompletes => "mbarrier_never_completes",
            FindingKind::TensorCoordinateMisaligned => "tensor_coordinate_misaligned",
            FindingKind::InvalidDescriptor => "invalid_descriptor",
            FindingKind::GlobalRace => "global_race",
            FindingKind::UninitializedLocalRead => "uninitialized_local_read",
            FindingKind::WgmmaInFlight => "wgmma_in_flight",
            FindingKind::MissingWgmmaFence => "missing_wgmma_fence",
            FindingKind::AsyncGroupLeaked => "async_group_leaked",
            FindingKind::AddressConversion => "address_conversion",
            FindingKind::BudgetExceeded => "budget_exceeded",
            FindingKind::Trap => "trap",
            FindingKind::Assertion => "assertion",
        }
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
    /// Whether both are the same mistake of the same instructions, perhaps of other threads.
    pub(crate) fn same_place(&self, other: &Finding) -> bool {
        let place = |site: &Site| (site.line, site.column);
        let sides = |finding: &Finding| (place(&finding.site), finding.other.as_ref().map(place));
        self.kind == other.kind && sides(self) == sides(other)
    }
}

/// One mistake that was found.
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
