//! The command-line options.

use std::{ffi::OsString, fmt::Display, path::PathBuf, str::FromStr};

use lexopt::{
    Arg::{Long, Short},
    Parser, ValueExt,
};
use warpwright::{ptx::Target, run::DeviceChoice};

const HELP: &str = "\
Multiplies two matrices on tensor cores and checks every element of the product.

Without --a and --b, it multiplies two built-in matrices.

Usage: matmul [OPTIONS]

Options:
      --a <FILE>         Left factor: a two-dimensional .npy file of f32 or f16, rounded to bf16
      --b <FILE>         Right factor, likewise
      --out <FILE>       Output .npy file for the product, in f32
      --device <DEVICE>  auto (the first GPU, otherwise the simulator), sim or gpu [default: auto]
      --target <TARGET>  Target of the kernel, sm_80 or later
      --ptx <FILE>       Output file for the kernel's PTX [default: next to this program]
  -h, --help             Print help
";

/// The command-line options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) a: Option<PathBuf>,
    pub(crate) b: Option<PathBuf>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) device: DeviceChoice,
    pub(crate) target: Option<Target>,
    pub(crate) ptx: Option<PathBuf>,
}

/// The reason why the example failed or printed help.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The help text was requested.
    Help(String),
    /// An input is invalid.
    Input(String),
    /// The product is wrong, or the kernel did not run.
    Wrong(String),
}

impl Failure {
    /// Returns the exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Help(_) => 0,
            Self::Wrong(_) => 1,
            Self::Input(_) => 2,
        }
    }
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Self::Input(error.to_string())
    }
}

/// Reads the command line; the first argument is the program's name.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Options, Failure> {
    let mut parser = Parser::from_iter(args);
    let mut options = Options::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("a") => options.a = Some(parser.value()?.into()),
            Long("b") => options.b = Some(parser.value()?.into()),
            Long("out") => options.out = Some(parser.value()?.into()),
            Long("device") => options.device = value(&mut parser, "--device")?,
            Long("target") => options.target = Some(value(&mut parser, "--target")?),
            Long("ptx") => options.ptx = Some(parser.value()?.into()),
            Short('h') | Long("help") => return Err(Failure::Help(HELP.to_string())),
            other => return Err(other.unexpected().into()),
        }
    }
    match (&options.a, &options.b) {
        (Some(_), None) => Err(Failure::Input("--a FILE needs --b FILE as well".to_string())),
        (None, Some(_)) => Err(Failure::Input("--b FILE needs --a FILE as well".to_string())),
        _ => Ok(options),
    }
}

/// Returns the value of an option; the error names the option.
fn value<T: FromStr<Err: Display>>(parser: &mut Parser, option: &str) -> Result<T, Failure> {
    let text = parser.value()?.string()?;
    text.parse().map_err(|error| Failure::Input(format!("{option}: {error}")))
}
