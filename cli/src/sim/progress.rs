//! A progress bar for long runs.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Shows the number of completed blocks if a run is long and standard error is a terminal.
#[derive(Debug)]
pub(super) struct Bar {
    bar: ProgressBar,
    start: Instant,
}

/// The minimum duration of runs with a progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos} of {len} blocks, {eta} to go") {
            bar.set_style(style);
        }
        Self { bar, start: Instant::now() }
    }

    pub(super) fn set(&self, done: u64, of: u64) {
        if self.start.elapsed() >= PATIENCE {
            self.bar.set_length(of);
            self.bar.set_position(done);
        }
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
