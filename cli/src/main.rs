//! The `warpwright` command-line tool.
//!
//! There is one module per subcommand. Exit codes: 0 for success, 1 for findings, 2 for invalid input; `run` exits with the code of its
//! program. For invalid input, one line on standard error states what was expected, what was found and where, and nothing is written.

#![forbid(unsafe_code)]

mod atoms;
#[cfg(feature = "cuda")]
mod bench;
mod check;
mod diagnostic;
mod draw;
mod export;
mod layout;
mod orders;
mod run;
mod sim;
mod tile;
#[cfg(feature = "cuda")]
mod tune;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Invalid input, described in one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Error(String);

/// Returns the result of writing to standard output. The reader may close the pipe early.
fn written(result: io::Result<()>) -> Result<(), Error> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::of("standard output", error)),
        _ => Ok(()),
    }
}

impl Error {
    /// Returns an error about `subject`, which is a file or an argument.
    fn of(subject: impl std::fmt::Display, problem: impl std::fmt::Display) -> Self {
        Self(format!("{subject}: {problem}"))
    }
}

/// Layouts, atoms, pictures, exported kernels, and a simulator for PTX and CUDA programs
#[derive(Parser)]
#[command(name = "warpwright", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Atoms(atoms::Args),
    #[cfg(feature = "cuda")]
    Bench(bench::Args),
    Check(check::Args),
    Draw(draw::Args),
    Export(export::Args),
    Layout(layout::Args),
    Run(run::Args),
    Sim(sim::Args),
    #[cfg(feature = "cuda")]
    Tune(tune::Args),
}

/// Runs the command given by the process's arguments.
fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Atoms(args) => args.run(),
        #[cfg(feature = "cuda")]
        Command::Bench(args) => args.run(),
        Command::Check(args) => args.run(),
        Command::Draw(args) => args.run(),
        Command::Export(args) => args.run(),
        Command::Layout(args) => args.run(),
        Command::Run(args) => args.run(),
        Command::Sim(args) => args.run(),
        #[cfg(feature = "cuda")]
        Command::Tune(args) => args.run(),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}
