//! Launch reports: findings, counts and printed output.

mod counts;
pub(crate) mod fault;
mod finding;
mod footprint;
mod kinds;
mod selection;

use std::fmt;

pub use crate::report::counts::{Bytes, Counts, InstructionClass, LineCounts};
pub use crate::report::finding::{Finding, Site, SourceLocation};
pub use crate::report::footprint::Footprint;
pub use crate::report::kinds::{Checks, FindingKind, UnknownCheck, UnknownKind};
pub use crate::report::selection::Selection;

/// The report of a launch: counts, findings and printed output.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The output of device-side `printf`, one string per call, ordered by block (or cluster) and, within each, by time of execution.
    /// Output beyond 16 MiB is omitted; in this case, the last string says so. If a finding ends the run, the output ends with the block
    /// (or cluster) of that finding.
    pub printed: Vec<String>,
    /// The number of blocks in the grid.
    pub blocks: u64,
    /// The counts of the whole launch.
    pub counts: Counts,
    /// The counts of each executed instruction, first those of the kernel, then those of the functions that it calls. The list is empty if
    /// [`Checks::COUNTS`](crate::Checks::COUNTS) is off.
    pub lines: Vec<LineCounts>,
    /// The pairs of `mul` and `add` or `sub` in the kernel and its callees that are executed as one `fma`; see
    /// [`Contract`](super::Contract).
    pub contractions: Vec<Contraction>,
    /// The device-heap allocations that the launch did not free, grouped by the line of the `malloc` call. They are not findings, because a
    /// later launch may free them.
    pub leaks: Vec<Leak>,
    /// The findings. The list is empty unless [`Sim::keep_going`](crate::Sim::keep_going) is set; by default, the launch returns the first
    /// finding as an error.
    pub findings: Vec<Finding>,
    /// The [notes](FindingKind::is_note), which report behavior that is defined but rarely intended, one per kind and instruction (or pair
    /// of instructions). Notes neither end a run nor count as findings.
    pub notes: Vec<Finding>,
    /// The bytes of global memory that the launch accessed. The footprint is empty unless [`Sim::footprint`](crate::Sim::footprint) is set.
    pub footprint: Footprint,
    /// Whether a finding ended the run, in which case outputs and counts are incomplete. Set only with
    /// [`Sim::keep_going`](crate::Sim::keep_going).
    pub stopped: bool,
}

/// The lines of a `mul` and an `add` or `sub` that are executed as one `fma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contraction {
    /// The 1-based line of the `mul` in the PTX text.
    pub product: u32,
    /// The 1-based line of the `add` or `sub` in the PTX text.
    pub sum: u32,
}

/// The device-heap allocations that were made by one `malloc` call in the PTX text and were not freed by the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak {
    /// The 1-based line of the call in the PTX text.
    pub line: u32,
    /// The number of allocations.
    pub blocks: u64,
    /// The total number of requested bytes.
    pub bytes: u64,
}

impl fmt::Debug for Report {
    /// Formats the lengths of `lines` and `contractions` instead of their entries.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { printed, blocks, counts, lines, contractions, leaks, findings, notes, footprint, stopped } =
            self;
        f.debug_struct("Report")
            .field("blocks", blocks)
            .field("counts", counts)
            .field("lines", &lines.len())
            .field("contractions", &contractions.len())
            .field("printed", printed)
            .field("leaks", leaks)
            .field("findings", findings)
            .field("notes", notes)
            .field("footprint", footprint)
            .field("stopped", stopped)
            .finish()
    }
}

impl Report {
    /// Returns whether there are no findings.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Asserts that there are no findings, for use in tests.
    ///
    /// # Panics
    /// Panics if there are findings; the message lists all of them.
    #[track_caller]
    pub fn assert_clean(&self) {
        let text: Vec<String> = self.findings.iter().map(Finding::to_string).collect();
        assert!(text.is_empty(), "the kernel is not clean:\n{}", text.join("\n\n"));
    }

    /// Returns the number of shared-memory wavefronts in excess of those needed without bank conflicts.
    ///
    /// Returns 0 if [`Checks::COUNTS`](crate::Checks::COUNTS) is off.
    pub fn bank_conflicts(&self) -> u64 {
        self.counts.bank_conflicts()
    }

    /// Returns the average number of 32-byte sectors of global memory that a warp-wide request accesses, or 0 if there are no requests.
    ///
    /// A warp that reads 32 consecutive, aligned words accesses 4 sectors.
    pub fn sectors_per_request(&self) -> f64 {
        self.counts.sectors_per_request()
    }

    /// Returns the number of executed warp instructions of a class, or 0 if [`Checks::COUNTS`](crate::Checks::COUNTS) is off.
    pub fn instructions(&self, class: InstructionClass) -> u64 {
        let lines = self.lines.iter().filter(|line| line.class == class);
        lines.map(|line| line.counts.warp_instructions).sum()
    }

    /// Returns the entries of [`Report::lines`], sorted by decreasing number of warp instructions.
    pub fn hot_lines(&self) -> Vec<&LineCounts> {
        let mut lines: Vec<&LineCounts> = self.lines.iter().collect();
        lines.sort_by_key(|line| (std::cmp::Reverse(line.counts.warp_instructions), line.line, line.column));
        lines
    }
}
