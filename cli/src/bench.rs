//! `warpwright bench`.

mod attention;
mod cached;
mod ceiling;
mod convolution;
mod functions;
mod gemm;
mod linear;
mod normals;
mod progress;
mod provenance;
mod race;
mod rival;
mod rows;
mod samples;
mod simt;

use std::process::ExitCode;

pub(super) use attention::TuneArgs as TuneAttention;
pub(super) use gemm::TuneArgs as TuneGemm;

use super::Error;

/// Returns the values without duplicates, in order of first occurrence.
fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// Times ready-to-use kernels on the GPU, alternating with the vendor's libraries
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Attention(attention::Args),
    Cached(cached::Args),
    Convolution(convolution::Args),
    Gemm(gemm::Args),
    Linear(linear::Args),
    Rows(rows::Args),
    Simt(simt::Args),
}

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let printed = match self.what {
            What::Attention(args) => args.tables(),
            What::Cached(args) => args.tables(),
            What::Convolution(args) => args.tables(),
            What::Gemm(args) => args.tables(),
            What::Linear(args) => args.tables(),
            What::Rows(args) => args.tables(),
            What::Simt(args) => args.tables(),
        };
        printed.map_err(|error| Error(error.to_string()))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the parser for sizes, which must be at least 1.
fn positive() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..)
}

/// A result with an error of any type.
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
