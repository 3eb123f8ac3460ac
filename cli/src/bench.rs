//! `warpwright bench`.

mod gemm;

use std::process::ExitCode;

use super::Error;

/// Times ready-to-use kernels on the GPU, interleaved with the vendor's libraries
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Gemm(gemm::Args),
}

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        match self.what {
            What::Gemm(args) => args.run(),
        }
    }
}
