//! A bar on the terminal for simulations that take a while.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Simulations shorter than this show no bar.
const PATIENCE: Duration = Duration::from_millis(700);

/// A listener that shows how many blocks are done, if stderr is a terminal.
pub(crate) fn bar() -> impl Fn(u64, u64) + Send + Sync + 'static {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("simulating {wide_bar} {pos}/{len} blocks, {eta} left") {
        bar.set_style(style);
    }
    let start = Instant::now();
    move |done, all| {
        if done >= all {
            bar.finish_and_clear();
        } else if start.elapsed() > PATIENCE {
            bar.set_length(all);
            bar.set_position(done);
        }
    }
}
