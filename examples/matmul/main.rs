//! D = A·B on tensor cores (bf16 in, f32 sums), with every element verified:
//!
//! ```text
//! cargo run --release --example matmul
//! cargo run --release --example matmul -- --a A.npy --b B.npy --out D.npy --device sim --target sm_80 --ptx matmul.ptx
//! ```
//!
//! Without files, the example multiplies two built-in matrices. It runs on the first usable NVIDIA GPU, otherwise in the simulator. Exit
//! codes: 0 verified, 1 wrong result, 2 invalid input.

mod check;
mod job;
mod npy;
mod options;
mod progress;

use options::Failure;
use std::{io, process::ExitCode};

fn main() -> ExitCode {
    let outcome =
        options::parse(std::env::args_os()).and_then(|options| job::run(&options, &mut io::stdout()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match &failure {
                Failure::Help(text) => print!("{text}"),
                Failure::Input(why) | Failure::Wrong(why) => eprintln!("error: {why}"),
            }
            ExitCode::from(failure.code())
        }
    }
}
