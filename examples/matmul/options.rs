//! The command line.

use std::{ffi::OsString, path::PathBuf};

use clap::Parser;
use warpwright::{ptx::Target, run::Choice};

/// Multiplies two matrices on tensor cores and checks every element of the product.
///
/// Without --a and --b it multiplies two matrices that come with it.
#[derive(Clone, Debug, Default, Parser)]
#[command(name = "matmul")]
pub(crate) struct Options {
    /// Left factor: a two-dimensional .npy file of f32 or f16; rounded to bf16
    #[arg(long, value_name = "FILE", requires = "b")]
    pub(crate) a: Option<PathBuf>,
    /// Right factor, likewise
    #[arg(long, value_name = "FILE", requires = "a")]
    pub(crate) b: Option<PathBuf>,
    /// Where to write the product, as a .npy file of f32
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Where to run: auto (the first GPU, or else the simulator), sim, gpu
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub(crate) device: Choice,
    /// What to build the kernel for, sm_80 and later
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<Target>,
    /// Where to write the kernel's PTX [default: beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) ptx: Option<PathBuf>,
}

/// Why there is no verified product.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Help was asked for, and this is it.
    Help(String),
    /// Something that was passed cannot be used.
    Input(String),
    /// The product is wrong, or the kernel did not run.
    Wrong(String),
}

impl Failure {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Help(_) => 0,
            Self::Wrong(_) => 1,
            Self::Input(_) => 2,
        }
    }
}

/// Reads the command line; the first argument is the program's name.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Options, Failure> {
    Options::try_parse_from(args).map_err(|error| {
        if !error.use_stderr() {
            return Failure::Help(error.render().to_string());
        }
        // The message's first paragraph; usage and tips follow after a blank line.
        let text = error.render().to_string();
        let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
        let line = lines.collect::<Vec<_>>().join(" ");
        Failure::Input(line.strip_prefix("error: ").unwrap_or(&line).to_string())
    })
}
