//! `warpwright export`.

mod attention;
mod kernels;
mod linear;
mod products;
mod rows;

use std::{
    fmt::Display,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use super::Error;
use crate::orders::Layout;
use kernels::{Options, Ready, Selects, all, heading};
use warpwright::{
    export::Export,
    kernels::AttentionMask,
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

    /// Target of the PTX: sm_80, sm_90a …; the default is the lowest target that the kernels support
    #[arg(long)]
    target: Option<Target>,

    /// Folder for the files; created if it does not exist
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    out: Option<PathBuf>,

    /// Element types, separated by commas: bf16,f16; the default is the first type that --list prints
    #[arg(long = "type", visible_alias = "dtype", value_name = "TYPES", value_delimiter = ',')]
    types: Vec<String>,

    /// Orders of A and B of matrix products, two letters each, separated by commas: n for row-major, t for column-major; the default is all
    /// that the element types support
    #[arg(long = "layout", value_name = "LAYOUTS", value_delimiter = ',')]
    layouts: Vec<Layout>,

    /// Head sizes of attention, separated by commas; the default is 64,128
    #[arg(long = "head-size", value_name = "SIZES", value_delimiter = ',')]
    head_sizes: Vec<u32>,

    /// Window of attention, instead of the full and causal masks: the number of keys before and after the position of a query, such as
    /// 1023,0
    #[arg(long, value_name = "BEFORE,AFTER", value_delimiter = ',', num_args = 1)]
    window: Vec<u32>,

    /// Soft cap of the scores of attention with extras
    #[arg(long, value_name = "CAP")]
    soft_cap: Option<f32>,

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
            // Without --list, clap requires both.
            _ => {
                format!("{}\n", heading())
                    + &all().iter().map(|kernel| format!("{kernel}\n")).collect::<String>()
            }
        };
        super::written(io::stdout().write_all(text.as_bytes()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the files and returns their paths, one per line.
    fn export(&self, name: &str, out: &PathBuf) -> Result<String, Error> {
        let ready = all().into_iter().find(|ready| ready.name == name).ok_or_else(|| {
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
        let options = self.options(ready)?;
        let target = self.target.unwrap_or_else(|| ready.lowest_target(&self.types));
        if ready.target.is_specific() && target != ready.target {
            let only = ready.target;
            return Err(format!(
                "expected --target {only}, the only one that has its instructions, found {target}"
            ));
        }
        if !target.features().contains(ready.lowest_target(&self.types).features()) {
            let lowest = ready.lowest_target(&self.types);
            return Err(format!("expected --target {lowest} or a later one, found {target}"));
        }
        let mut module = Module::new(target);
        for &divisor in divisors {
            if divisor != 1 && !ready.divisors.contains(&divisor) {
                return Err(format!("expected a divisor of {}, found {divisor}", list(ready.divisors)));
            }
            let options = Options { divisor, ..options };
            if self.types.is_empty() {
                (ready.builds[0].1)(&mut module, &options)?;
            }
            for element in &self.types {
                let build = ready.builds.iter().find(|(name, _)| name == element).ok_or_else(|| {
                    format!("expected elements of {}, found `{element}`", list(ready.types()))
                })?;
                (build.1)(&mut module, &options)?;
            }
        }
        Ok(module)
    }

    /// Returns the options other than target, types and divisors. Rejects options that the kernels do not support.
    fn options(&self, ready: &Ready) -> Result<Options<'_>, String> {
        let takes = |selects: &[Selects]| selects.contains(&ready.selects);
        for (name, is_given, is_taken) in [
            ("layout", !self.layouts.is_empty(), takes(&[Selects::Layouts])),
            (
                "head-size",
                !self.head_sizes.is_empty(),
                takes(&[Selects::HeadSizes, Selects::HeadSizesAndWindow, Selects::HeadSizesAndExtras]),
            ),
            (
                "window",
                !self.window.is_empty(),
                takes(&[Selects::HeadSizesAndWindow, Selects::HeadSizesAndExtras]),
            ),
            ("soft-cap", self.soft_cap.is_some(), takes(&[Selects::HeadSizesAndExtras])),
        ] {
            if is_given && !is_taken {
                return Err(format!("it has no --{name}"));
            }
        }
        let window = match self.window[..] {
            [] => None,
            [before, after] => Some(AttentionMask::Window { before, after }),
            ref numbers => {
                return Err(format!(
                    "expected a window of two numbers, BEFORE,AFTER, found {}",
                    numbers.len()
                ));
            }
        };
        let head_sizes = if self.head_sizes.is_empty() { &[64, 128] } else { self.head_sizes.as_slice() };
        Ok(Options { divisor: 1, layouts: &self.layouts, head_sizes, window, soft_cap: self.soft_cap })
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
