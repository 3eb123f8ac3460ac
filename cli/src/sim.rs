//! `warpwright sim`.

mod case;
mod checks;
mod dtype;
mod finding;
mod json;
mod memory;
mod npy;
mod progress;
mod table;
mod tensor_map;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use clap::ValueEnum;

pub(super) use checks::long_help as checks_help;

use super::Error;
use warpwright_sim::{Arch, Arg, Checks, Contract, Launch, Module, Report, Sim, Trace};

/// Runs a PTX kernel on the CPU and reports its bugs
///
/// CASE_DIR contains `case.json`, a PTX file and `.npy` files: one launch of one kernel with its arguments. Every buffer and
/// module variable that `case.json` marks as an output is written to NAME.npy, unless a finding ends the kernel.
///
/// Findings are printed to standard error. Exit codes: 0 without findings, 1 with findings, 2 if the case cannot be run or its
/// outputs cannot be written.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder of the case
    case_dir: PathBuf,

    /// Folder for the outputs; created if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Checks beyond bounds, alignment and deadlock: `all`, `none`, or a comma-separated list
    #[arg(long, value_name = "LIST", default_value = "all", long_help = checks::long_help())]
    check: Checks,

    /// Architecture whose arithmetic is simulated (other members of a family, such as sm_90a, are accepted); independent of the
    /// module's `.target`
    #[arg(long, value_name = "ARCH", default_value = "sm_90")]
    arch: ArchName,

    /// When to fuse `mul` and a dependent `add` or `sub` without rounding modifiers: where ptxas 13.0 does, or never
    #[arg(long, value_name = "WHO", default_value = "ptxas")]
    contract: ContractName,

    /// Size of the device heap, from which `malloc` in kernels allocates
    #[arg(long, value_name = "BYTES")]
    heap: Option<u64>,

    /// Maximum number of warp instructions per block (or per cluster, if the launch has clusters)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,

    /// Print counts and findings to standard output: instructions, bank conflicts, sectors per request
    #[arg(long, value_name = "FORM")]
    report: Option<Form>,

    /// Interleave warps, and communicating blocks, at random; runs with the same seed are identical
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Print each instruction executed at a line of the PTX (`42`), or by a warp of every block (`warp:3`), with its registers, to
    /// standard error
    #[arg(long, value_name = "LINE|WARP", value_parser = trace)]
    trace: Option<Trace>,
}

/// Parses `42`, `line:42`, `warp:3`.
fn trace(text: &str) -> Result<Trace, String> {
    let number = |digits: &str| digits.parse().map_err(|_| format!("expected a number, found `{digits}`"));
    match text.split_once(':') {
        None => number(text).map(Trace::Line),
        Some(("line", digits)) => number(digits).map(Trace::Line),
        Some(("warp", digits)) => number(digits).map(Trace::Warp),
        Some((what, _)) => Err(format!("expected `line:N` or `warp:N`, found `{what}`")),
    }
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// JSON
    Json,
    /// A table, with the most executed lines first
    Table,
}

/// The maximum number of findings in a run.
const MOST_FINDINGS: usize = 100;

/// The names of architectures and variants that have the arithmetic of sm_100.
const SM_100: [&str; 11] = [
    "sm_100a", "sm_100f", "sm_101", "sm_101a", "sm_101f", "sm_103", "sm_103a", "sm_103f", "sm_110",
    "sm_110a", "sm_110f",
];
const SM_120: [&str; 5] = ["sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f"];

/// [`Contract`] as an option.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ContractName {
    Ptxas,
    Never,
}

impl From<ContractName> for Contract {
    fn from(name: ContractName) -> Contract {
        match name {
            ContractName::Ptxas => Contract::Ptxas,
            ContractName::Never => Contract::Never,
        }
    }
}

/// [`Arch`] as an option.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ArchName {
    #[value(name = "sm_75")]
    Sm75,
    #[value(name = "sm_80", aliases = ["sm_87", "sm_88"])]
    Sm80,
    #[value(name = "sm_86")]
    Sm86,
    #[value(name = "sm_89")]
    Sm89,
    #[value(name = "sm_90", aliases = ["sm_90a"])]
    Sm90,
    #[value(name = "sm_100", aliases = SM_100)]
    Sm100,
    #[value(name = "sm_120", aliases = SM_120)]
    Sm120,
}

impl From<ArchName> for Arch {
    fn from(name: ArchName) -> Arch {
        match name {
            ArchName::Sm75 => Arch::Sm75,
            ArchName::Sm80 => Arch::Sm80,
            ArchName::Sm86 => Arch::Sm86,
            ArchName::Sm89 => Arch::Sm89,
            ArchName::Sm90 => Arch::Sm90,
            ArchName::Sm100 => Arch::Sm100,
            ArchName::Sm120 => Arch::Sm120,
        }
    }
}

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        if self.out.exists() && !self.out.is_dir() {
            return Err(Error::of(self.out.display(), "expected a folder for the outputs, found a file"));
        }
        let case = case::Case::read(&self.case_dir)?;
        let path = self.case_dir.join(&case.ptx);
        let text = super::check::read(&path)?;
        let module = Module::parse_file(&case.ptx, &text).map_err(|e| {
            Error::of(format_args!("{}:{}:{}", path.display(), e.line(), e.column()), e.message())
        })?;
        let mut device = memory::Device::load(&case, &self.case_dir, &module)?;
        let args = device.arguments(&case, &module)?;
        let launch = Launch {
            grid: case.grid,
            block: case.block,
            dynamic_shared_bytes: case.dynamic_shared_bytes,
            cluster: case.cluster,
        };
        let report = self.launch(&module, &case, &launch, &args, &mut device)?;
        let written = match report.stopped {
            true => Ok(()),
            false => device.outputs(&case, &module).and_then(|outputs| memory::write(&outputs, &self.out)),
        };
        // Findings are printed even if the outputs cannot be written.
        self.tell(&case, &report, &module)?;
        written?;
        Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    fn launch(
        &self,
        module: &Module,
        case: &case::Case,
        launch: &Launch,
        args: &[Arg],
        device: &mut memory::Device<'_>,
    ) -> Result<Report, Error> {
        let bar = progress::Bar::new();
        let mut sim = Sim::new()
            .arch(self.arch.into())
            .checks(self.check)
            .contract(self.contract.into())
            .keep_going(MOST_FINDINGS);
        if let Some(seed) = self.seed {
            sim = sim.seed(seed);
        }
        if let Some(bytes) = self.heap {
            sim = sim.heap(bytes);
        }
        if let Some(steps) = self.steps {
            sim = sim.step_limit(steps);
        }
        let traced = AtomicBool::new(false);
        if let Some(what) = self.trace {
            sim = sim.on_step(what, |step| {
                traced.store(true, Relaxed);
                // A closed standard error is ignored, as for findings.
                let _ = writeln!(std::io::stderr(), "{step}");
            });
        }
        let sim = sim.on_progress(|done, of| bar.set(done, of));
        let outcome = sim.launch(module, &case.entry, launch, args, &mut device.memory);
        bar.clear();
        match self.trace {
            Some(Trace::Line(line)) if !traced.load(Relaxed) => {
                eprintln!("the trace is empty: line {line} of the PTX was not executed");
            }
            Some(Trace::Warp(warp)) if !traced.load(Relaxed) => {
                eprintln!("the trace is empty: warp {warp} executed no instructions");
            }
            _ => {}
        }
        outcome.map_err(|error| Error::of(self.case_dir.display(), error))
    }

    /// Prints findings and notes to standard error, and the kernel's own output and the report to standard output.
    fn tell(&self, case: &case::Case, report: &Report, module: &Module) -> Result<(), Error> {
        let told = report.findings.iter().chain(&report.notes);
        told.for_each(|found| finding::print(found, module, &self.case_dir));
        let text = match self.report {
            None => report.printed.concat(),
            Some(Form::Table) => report.printed.concat() + &table::table(&case.entry, report, module),
            Some(Form::Json) => {
                let document = json::Document::new(&case.entry, report);
                serde_json::to_string_pretty(&document).map_err(|e| Error::of("the report", e))? + "\n"
            }
        };
        let mut out = std::io::stdout();
        super::written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }
}
