//! `warpwright export`.

mod kernels;
mod linear;
mod rows;

use std::{
    fmt::Display,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use super::Error;
use kernels::{KERNELS, Ready, heading};
use warpwright::{
    export::Export,
    ptx::{Module, Target},
};

/// Writes ready-to-use kernels as PTX files with a C and C++ header and a manifest
///
/// DIR/NAME.ptx contains a kernel for each element type and divisor, DIR/NAME.h launches them through the CUDA driver API, and
/// DIR/NAME.json describes them for other hosts. The files require neither Rust nor the CUDA toolkit. Their paths are printed, one
/// per line.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Name of the kernels, as printed by --list
    #[arg(required_unless_present = "list")]
    name: Option<String>,

    /// Print the kernels with their element types, divisors and targets
    #[arg(long, exclusive = true)]
    list: bool,

    /// Target of the PTX: sm_80, sm_90a …; the default is the lowest one that the kernels support
    #[arg(long)]
    target: Option<Target>,

    /// Folder for the files; created if it does not exist
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    out: Option<PathBuf>,

    /// Element types, separated by commas: bf16,f16; the default is the first that --list prints
    #[arg(long = "type", value_name = "TYPES", value_delimiter = ',')]
    types: Vec<String>,

    /// Divisors of the sizes of every launch, separated by commas: 1,8. A kernel is built for each; larger divisors allow wider accesses
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    divisor: Vec<u32>,

    /// Name of the files, without extension; the default is the name of the kernels
    #[arg(long, value_name = "FILES")]
    files: Option<String>,

    /// Also write the PTX as a C array, FILES_source.h
    #[arg(long)]
    source: bool,
}

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let text = match (&self.name, &self.out) {
            (Some(name), Some(out)) => self.export(name, out)?,
            // clap requires both without --list.
            _ => {
                format!("{}\n", heading())
                    + &KERNELS.iter().map(|kernel| format!("{kernel}\n")).collect::<String>()
            }
        };
        match io::stdout().write_all(text.as_bytes()) {
            // The reader may close the pipe early.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::of("standard output", error))
            }
            _ => Ok(ExitCode::SUCCESS),
        }
    }

    /// Writes the files and returns their paths, one per line.
    fn export(&self, name: &str, out: &PathBuf) -> Result<String, Error> {
        let ready = KERNELS.iter().find(|ready| ready.name == name).ok_or_else(|| {
            Error(format!("expected the name of a kernel, which `--list` prints, found `{name}`"))
        })?;
        let bad = |problem: &dyn Display| Error::of(format_args!("`{name}`"), problem);
        let module = self.module(ready).map_err(|problem| bad(&problem))?;
        let files = self.files.as_deref().unwrap_or(name);
        let export = Export::module(&module, files).map_err(|error| bad(&error))?;
        let export = if self.source { export.with_source() } else { export };
        let written = export.write(out).map_err(|error| Error(error.to_string()))?;
        let paths = [written.ptx, written.header, written.manifest].into_iter().chain(written.source);
        Ok(paths.map(|path| format!("{}\n", path.display())).collect())
    }

    /// Builds the selected kernels.
    fn module(&self, ready: &Ready) -> Result<Module, String> {
        let divisors = match self.divisor.as_slice() {
            [] => &[1],
            _ if ready.divisors.is_empty() => return Err("it has no --divisor".into()),
            divisors => divisors,
        };
        let target = self.target.unwrap_or(ready.target);
        if ready.target.is_specific() && target != ready.target {
            let only = ready.target;
            return Err(format!(
                "expected --target {only}, the only one that has its instructions, found {target}"
            ));
        }
        let mut module = Module::new(target);
        for &divisor in divisors {
            if divisor != 1 && !ready.divisors.contains(&divisor) {
                return Err(format!("expected a divisor of {}, found {divisor}", list(ready.divisors)));
            }
            if self.types.is_empty() {
                (ready.builds[0].1)(&mut module, divisor)?;
            }
            for element in &self.types {
                let build = ready.builds.iter().find(|(name, _)| name == element).ok_or_else(|| {
                    format!("expected elements of {}, found `{element}`", list(ready.types()))
                })?;
                (build.1)(&mut module, divisor)?;
            }
        }
        Ok(module)
    }
}

/// Returns a list as text for messages: `1, 4 or 8`.
fn list(values: impl IntoIterator<Item = impl Display>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    match values.split_last() {
        Some((last, rest @ [_, ..])) => format!("{} or {last}", rest.join(", ")),
        _ => values.concat(),
    }
}
