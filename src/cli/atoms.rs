//! `warpwright atoms`.

use std::process::ExitCode;

use super::Error;

/// Lists every mma and copy atom, with who holds what.
#[derive(clap::Args)]
pub(super) struct Args {}

impl Args {
    /// Carries the command out.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        Err(Error::of("atoms", "not there yet"))
    }
}
