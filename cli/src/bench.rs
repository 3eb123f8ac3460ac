//! `warpwright bench`.

mod attention;
mod cached;
mod ceiling;
mod gemm;
mod normals;
mod provenance;
mod race;
mod rival;
mod rows;
mod samples;

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
    Attention(attention::Args),
    Cached(cached::Args),
    Gemm(gemm::Args),
    Rows(rows::Args),
}

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        match self.what {
            What::Attention(args) => args.run(),
            What::Cached(args) => args.run(),
            What::Gemm(args) => args.run(),
            What::Rows(args) => args.run(),
        }
    }
}

/// A result with any error.
type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// A launch that failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(String);

impl Failed {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl From<warpwright::gpu::GpuError> for Failed {
    fn from(error: warpwright::gpu::GpuError) -> Self {
        Self::of(error)
    }
}
