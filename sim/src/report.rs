//! What a launch has to say: findings, counts, printed lines.

pub(crate) mod checks;
mod counts;
pub(crate) mod fault;
mod finding;

use crate::machine::heap::Leak;

pub use crate::report::checks::Checks;
pub use crate::report::counts::{Bytes, Counts, InstructionClass, LineCounts};
pub use crate::report::finding::{Finding, FindingKind, Site, SourceLocation, UnknownKind};

/// What a launch reports in addition to its outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What device-side `printf` wrote, one string per call: by block, in the order of execution inside a block.
    pub printed: Vec<String>,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Work done, in all.
    pub counts: Counts,
    /// Work done by each instruction that was executed, in the order of the text; empty when
    /// [`Checks::COUNTS`](crate::Checks::COUNTS) is off.
    pub lines: Vec<LineCounts>,
    /// The products and sums of the kernel, and of what it calls, that are rounded once: see [`Contract`](super::Contract).
    pub contractions: Vec<Contraction>,
    /// Blocks of the device heap that the launch allocated and did not free, by the line of the call. This is not a finding: a later
    /// launch may free them.
    pub leaks: Vec<Leak>,
    /// The findings that were found. Empty unless the launch went on after findings
    /// ([`Sim::keep_going`](crate::Sim::keep_going)): otherwise the first is an error.
    pub findings: Vec<Finding>,
    /// Whether a finding ended the run, so that outputs and counts are of a part of it. Only with
    /// [`Sim::keep_going`](crate::Sim::keep_going).
    pub stopped: bool,
}

/// A `mul` and an `add` or `sub` that are executed as one `fma`, by their lines in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contraction {
    /// The line of the `mul`.
    pub product: u32,
    /// The line of the `add` or `sub`.
    pub sum: u32,
}

impl Report {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Does nothing if nothing was found.
    ///
    /// # Panics
    /// If there are findings, with all of them in the message: this is for tests.
    #[track_caller]
    pub fn assert_clean(&self) {
        let text: Vec<String> = self.findings.iter().map(Finding::to_string).collect();
        assert!(text.is_empty(), "the kernel is not clean:\n{}", text.join("\n\n"));
    }

    /// Wavefronts of shared memory beyond those that the same accesses would take without bank conflicts.
    ///
    /// Zero also when [`Checks::COUNTS`](crate::Checks::COUNTS) is off.
    pub fn bank_conflicts(&self) -> u64 {
        self.counts.bank_conflicts()
    }

    /// 32-byte sectors of global memory per request of a warp; 0 without requests.
    ///
    /// A warp that reads 32 consecutive, aligned words takes 4.
    pub fn sectors_per_request(&self) -> f64 {
        self.counts.sectors_per_request()
    }

    /// Warp instructions of one class.
    pub fn instructions(&self, class: InstructionClass) -> u64 {
        let lines = self.lines.iter().filter(|line| line.class == class);
        lines.map(|line| line.counts.warp_instructions).sum()
    }

    /// The instructions with the most warp instructions first.
    pub fn hot_lines(&self) -> Vec<&LineCounts> {
        let mut lines: Vec<&LineCounts> = self.lines.iter().collect();
        lines.sort_by_key(|line| (std::cmp::Reverse(line.counts.warp_instructions), line.line, line.column));
        lines
    }
}
