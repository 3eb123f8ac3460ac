//! What a test may need and not find: a GPU, or ptxas.
//!
//! A test without its requirement reports it on stderr, past the harness's capture, and returns; the running count shows how many
//! did so in this binary. `WARPWRIGHT_REQUIRE=gpu,ptxas` turns that into a failure.
//!
//! ```ignore
//! let Some(gpu) = require::gpu() else { return };
//! ```
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::env;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The first GPU.
#[cfg(feature = "cuda")]
pub(crate) fn gpu() -> Option<warpwright::gpu::Gpu> {
    warpwright::gpu::Gpu::new(0).map_err(|why| skip("gpu", &why.to_string())).ok()
}

/// The assembler: `WARPWRIGHT_PTXAS`, or else the one on `PATH`.
pub(crate) fn ptxas() -> Option<PathBuf> {
    let (path, from) = match env::var_os("WARPWRIGHT_PTXAS") {
        Some(path) => (PathBuf::from(path), "WARPWRIGHT_PTXAS"),
        None => (PathBuf::from("ptxas"), "PATH"),
    };
    match Command::new(&path).arg("--version").output() {
        Ok(output) if output.status.success() => Some(path),
        Ok(output) => {
            skip("ptxas", &format!("{} (from {from}) exits with {}", path.display(), output.status));
            None
        }
        Err(error) => {
            skip("ptxas", &format!("{} (from {from}): {error}", path.display()));
            None
        }
    }
}

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
