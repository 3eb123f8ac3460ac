//! The progress of tuning.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The number of problems that have been tuned, and the time limit.
pub(super) struct Progress {
    bar: ProgressBar,
    end: Instant,
}

impl Progress {
    pub(super) fn new(problems: usize, time: Duration) -> Self {
        let bar = ProgressBar::new(problems as u64);
        if let Ok(style) =
            ProgressStyle::with_template("{bar:40} {pos} of {len} problems, {eta} to go: {msg}")
        {
            bar.set_style(style);
        }
        Self { bar, end: Instant::now() + time }
    }

    /// Returns whether there is time for another problem.
    pub(super) fn begin(&self, problem: &str) -> bool {
        self.bar.set_message(problem.to_owned());
        Instant::now() < self.end
    }

    /// Prints a line to standard error.
    pub(super) fn report(&self, what: &str, why: impl std::fmt::Display) {
        self.bar.suspend(|| eprintln!("{what}: {why}"));
    }

    /// Counts problems as done.
    pub(super) fn advance(&self, count: usize) {
        self.bar.inc(count as u64);
    }

    /// Removes the progress bar, and returns the number of problems that were not started.
    pub(super) fn finish(&self) -> u64 {
        let missing = self.bar.length().unwrap_or(0).saturating_sub(self.bar.position());
        self.bar.finish_and_clear();
        if missing > 0 && Instant::now() >= self.end {
            eprintln!("{missing} problems were not started: increase --seconds");
        }
        missing
    }
}
