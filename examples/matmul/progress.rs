//! A progress line on the terminal for long simulations.

use std::{
    io::{IsTerminal, Write, stderr},
    sync::Mutex,
    time::{Duration, Instant},
};

/// The time after which a simulation shows a line.
const PATIENCE: Duration = Duration::from_millis(700);

/// The time between two updates of the line.
const UPDATE: Duration = Duration::from_millis(100);

/// The state of the terminal line.
struct Line {
    next_update: Instant,
    shown: bool,
}

/// Returns a listener that shows the number of completed blocks if stderr is a terminal.
pub(crate) fn line() -> impl Fn(u64, u64) + Send + Sync + 'static {
    let terminal = stderr().is_terminal();
    let line = Mutex::new(Line { next_update: Instant::now() + PATIENCE, shown: false });
    move |done, all| {
        let (Ok(mut line), true) = (line.lock(), terminal) else { return };
        let now = Instant::now();
        // A failed write to the terminal is ignored.
        if done >= all && line.shown {
            let _ = write!(stderr(), "\r\x1b[K");
            line.shown = false;
        } else if done < all && now >= line.next_update {
            let _ = write!(stderr(), "\rsimulating: {done} of {all} blocks");
            *line = Line { next_update: now + UPDATE, shown: true };
        }
    }
}
