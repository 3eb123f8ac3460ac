//! The requirements of tests that may be missing: a GPU, or ptxas.
//!
//! A test without its requirement reports this on stderr, past the harness's capture, and returns; the running count is the number of such
//! tests in this binary. `WARPWRIGHT_REQUIRE=gpu,ptxas` makes them fail instead.
//!
//! ```ignore
//! let Some(gpu) = require::gpu() else { return };
//! ```
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::env;
use std::path::PathBuf;
use std::process::Command;

#[path = "skip.rs"]
mod skipped;

pub(crate) use skipped::skip;

/// Returns the first GPU, if available.
#[cfg(feature = "cuda")]
pub(crate) fn gpu() -> Option<warpwright::gpu::Gpu> {
    warpwright::gpu::Gpu::new(0).map_err(|why| skip("gpu", &why.to_string())).ok()
}

/// Returns the path of ptxas: `WARPWRIGHT_PTXAS`, or else the one on `PATH`.
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
