//! The command `warpwright`: see [`warpwright::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    warpwright::cli::main()
}
