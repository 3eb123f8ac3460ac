//! `warpwright tune`.

use std::process::ExitCode;

use crate::{Error, bench};

/// Finds the fastest configurations of kernels on this GPU
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Attention(bench::TuneAttention),
    Gemm(bench::TuneGemm),
}

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        match self.what {
            What::Attention(args) => args.run(),
            What::Gemm(args) => args.run(),
        }
    }
}
