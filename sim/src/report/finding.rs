//! Findings, their locations, and their display.

use std::fmt;

use crate::report::kinds::FindingKind;
use crate::text::error::Snippet;
use crate::text::lexer::Pos;

/// A location in the source code that was compiled to PTX, as given by `.loc` and `.file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The path in `.file`.
    pub file: String,
    /// The 1-based line.
    pub line: u32,
    /// The column in `.loc`, or 0 if unknown.
    pub column: u32,
}

/// The location of a finding: kernel, block, thread and instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The name of the kernel.
    pub kernel: String,
    /// The block's coordinates in the grid.
    pub block: [u32; 3],
    /// The thread's coordinates in its block, if a single thread is at fault.
    pub thread: Option<[u32; 3]>,
    /// The index of the warp in its block.
    pub warp: u32,
    /// The lane, if a single lane is at fault.
    pub lane: Option<u32>,
    /// The 1-based line in the PTX text.
    pub line: u32,
    /// The 1-based column in the PTX text.
    pub column: u32,
    /// The instruction's full mnemonic.
    pub mnemonic: String,
    /// The source location, if the text contains a `.loc` for the instruction.
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
    /// Returns whether a list contains the same finding at the same instructions, possibly in other threads.
    pub(crate) fn is_in(&self, list: &[Finding]) -> bool {
        list.iter().any(|old| old.same_place(self))
    }

    /// Returns whether `other` is the same finding at the same instructions, possibly in other threads.
    fn same_place(&self, other: &Finding) -> bool {
        let place = |site: &Site| (site.line, site.column);
        let sides = |finding: &Finding| (place(&finding.site), finding.other.as_ref().map(place));
        self.kind == other.kind && sides(self) == sides(other)
    }
}

/// A bug, or a [note](FindingKind::is_note), that the simulator reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of the finding.
    pub kind: FindingKind,
    /// A description of the finding.
    pub message: String,
    /// The location of the finding.
    pub site: Site,
    /// The location of the second access or instruction, if the finding involves two.
    pub other: Option<Site>,
    /// Additional information, such as the position of every warp.
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
