//! `warpwright layout`.

use std::process::ExitCode;

use super::Error;

/// Evaluates expressions of the layout algebra.
#[derive(clap::Args)]
pub(super) struct Args {}

impl Args {
    /// Carries the command out.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        Err(Error::of("layout", "not there yet"))
    }
}
