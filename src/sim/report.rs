//! What a launch has to say: findings, counts, printed lines.

use std::fmt;

use super::error::Snippet;
use super::lexer::Pos;

/// The kinds of mistakes that are found while a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
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
    /// A read of shared memory that was never written.
    UninitializedSharedRead,
    /// A decisive use of a register that was never written.
    UninitializedRegister,
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
    /// A matrix descriptor or tensor map that no instruction accepts.
    InvalidDescriptor,
    /// `trap` or `brkpt`.
    Trap,
    /// A failed device-side assertion.
    Assertion,
}

impl Kind {
    /// The kind as reports and files spell it: `global_out_of_bounds`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::GlobalOutOfBounds => "global_out_of_bounds",
            Kind::SharedOutOfBounds => "shared_out_of_bounds",
            Kind::LocalOutOfBounds => "local_out_of_bounds",
            Kind::ParamOutOfBounds => "param_out_of_bounds",
            Kind::MisalignedAccess => "misaligned_access",
            Kind::ReadOnly => "read_only",
            Kind::InvalidAddress => "invalid_address",
            Kind::UninitializedSharedRead => "uninitialized_shared_read",
            Kind::UninitializedRegister => "uninitialized_register",
            Kind::DivergentBarrier => "divergent_barrier",
            Kind::Deadlock => "deadlock",
            Kind::StepLimit => "step_limit",
            Kind::SyncMask => "sync_mask",
            Kind::AlignedDivergence => "aligned_divergence",
            Kind::ShflInactiveLane => "shfl_inactive_lane",
            Kind::InvalidOperand => "invalid_operand",
            Kind::InvalidDescriptor => "invalid_descriptor",
            Kind::Trap => "trap",
            Kind::Assertion => "assertion",
        }
    }
}

impl fmt::Display for Kind {
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
    pub(super) file: String,
    pub(super) text: String,
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

/// One mistake that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// What happened, in words.
    pub message: String,
    /// Where.
    pub site: Site,
    /// Further facts, such as where every warp stands.
    pub notes: Vec<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        write!(f, "  in {}", self.site)?;
        self.notes.iter().try_for_each(|note| write!(f, "\n  note: {note}"))
    }
}

/// How much work a launch was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions executed, counted once per warp.
    pub warp_instructions: u64,
    /// Instructions executed, counted once per active thread; 0 when [`Checks::COUNTS`](super::Checks::COUNTS) is off.
    pub thread_instructions: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Counts) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
    }
}

/// The result of a launch that ran to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What device-side `printf` wrote, one string per call: by block, in the order of execution inside a block.
    pub printed: Vec<String>,
    /// Blocks executed.
    pub blocks: u64,
    /// Work done.
    pub counts: Counts,
    /// Mistakes that did not stop the run.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Does nothing if nothing was found.
    ///
    /// # Panics
    /// If there are findings, with all of them in the message: this is for tests.
    #[track_caller]
    pub fn assert_clean(&self) {
        let text: Vec<String> = self.findings.iter().map(Finding::to_string).collect();
        assert!(text.is_empty(), "the kernel is not clean:\n{}", text.join("\n\n"));
    }
}
