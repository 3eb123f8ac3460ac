//! Skipped tests.

use std::env;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Reports that the running test is skipped because `what` is missing, or fails it if `what` is required.
pub(crate) fn skip(what: &str, why: &str) {
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let required = env::var("WARPWRIGHT_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == what),
        "WARPWRIGHT_REQUIRE={required}, but there is no {what}: {why}"
    );
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Not `eprintln!`, which the harness shows only for failures.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no {what}: {why} ({count} skipped so far)");
}
