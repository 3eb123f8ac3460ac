//! `warpwright check`.

use std::process::ExitCode;

use super::Error;

/// Parses and validates a PTX file, without running it.
#[derive(clap::Args)]
pub(super) struct Args {}

impl Args {
    /// Carries the command out.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        Err(Error::of("check", "not there yet"))
    }
}
