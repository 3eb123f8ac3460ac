//! `warpwright draw`.

use std::process::ExitCode;

use super::Error;

/// Draws layouts, atoms, swizzles and bank conflicts.
#[derive(clap::Args)]
pub(super) struct Args {}

impl Args {
    /// Carries the command out.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        Err(Error::of("draw", "not there yet"))
    }
}
