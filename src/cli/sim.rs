//! `warpwright sim`.

use std::process::ExitCode;

use super::Error;

/// Runs a PTX kernel on the CPU and reports what is wrong with it.
#[derive(clap::Args)]
pub(super) struct Args {}

impl Args {
    /// Carries the command out.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        Err(Error::of("sim", "not there yet"))
    }
}
