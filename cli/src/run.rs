//! `warpwright run`.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use tempfile::TempDir;

use super::Error;
use warpwright_sim::{Arch, Selection};

/// Runs a CUDA program without a GPU and reports the bugs of its kernels
///
/// The program loads the library `warpwright-cuda` instead of NVIDIA's driver, `warpwright-cudart` instead of the runtime library, and
/// `warpwright-cuda-math` instead of cuBLAS and cuRAND. Its kernels must be available as PTX, as text or in a fat binary (nvcc:
/// `-arch=sm_80`, or `-gencode arch=compute_80,code=compute_80`; with `-lineinfo`, findings name lines of kernels).
///
/// Findings are printed to standard error as they happen. Each option, except `--driver`, is also an environment variable, such as
/// WARPWRIGHT_CUDA_ARCH; the option takes precedence.
///
/// Exit codes: 86 if there are findings, refused modules or launches, or (with `--leaks`) leaks; otherwise the program's own exit code, or
/// 128 plus the number of the signal that ended it; 2 if it cannot be started.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The program and its arguments
    #[arg(required = true, value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,

    /// Architecture of the devices: sm_75, sm_80, sm_86, sm_89, sm_90, sm_100 or sm_120 [default: sm_90]
    #[arg(long, value_name = "ARCH")]
    arch: Option<ArchName>,

    /// Number of devices [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    devices: Option<u8>,

    /// Checks beyond bounds, alignment and deadlock: `all`, `none`, or a comma-separated list [default: all]
    #[arg(long, value_name = "LIST", value_parser = list, long_help = checks_help())]
    check: Option<String>,

    /// Interleave warps, and communicating blocks, at random; launches with the same seed and inputs are identical
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Maximum number of findings per launch, one per kind and line; 0 ends a kernel at its first finding [default: 100]
    #[arg(long, value_name = "N")]
    keep_going: Option<u32>,

    /// Write a report in JSON: findings, notes, refused modules and launches, unsupported functions, leaks; `%p` is the process ID
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Report memory that the program has not freed
    #[arg(long)]
    leaks: bool,

    /// Print the name and the result of each call to the driver, including calls by the runtime library
    #[arg(long)]
    trace: bool,

    /// Exit code if there are findings; 0 keeps the program's exit code [default: 86]
    #[arg(long, value_name = "N")]
    exit_code: Option<u8>,

    /// The library `libwarpwright_cuda.so`, if it is not in the folder of this executable
    #[arg(long, value_name = "FILE")]
    driver: Option<PathBuf>,
}

/// The name of an architecture that the simulator supports.
#[derive(Clone, Debug)]
struct ArchName(String);

impl std::str::FromStr for ArchName {
    type Err = warpwright_sim::UnknownArch;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        name.parse::<Arch>().map(|_| Self(name.to_string()))
    }
}

/// Checks that `text` is a list of checks, and returns it.
fn list(text: &str) -> Result<String, warpwright_sim::UnknownCheck> {
    text.parse::<Selection>().map(|_| text.to_string())
}

/// Returns the help text of the option with the names of all checks.
fn checks_help() -> String {
    format!(
        "{}; for operations of the program, also {}",
        super::sim::checks_help(),
        Selection::HOST.join(", ")
    )
}

/// The file name of the library that Cargo builds from the `warpwright-cuda` package.
const LIBRARY: &str = "libwarpwright_cuda.so";

/// The environment variable that lists the folders in which the dynamic linker searches for libraries.
const PATH: &str = "LD_LIBRARY_PATH";

/// The name under which programs load the driver, and the environment variable that lists the libraries to load first.
const DRIVER: &str = "libcuda.so.1";
const PRELOAD: &str = "LD_PRELOAD";

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let folder = folder(&self.library()?)?;
        let old = env::var_os(PATH).filter(|old| !old.is_empty());
        let paths = old.into_iter().flat_map(|old| env::split_paths(&old).collect::<Vec<_>>());
        let paths = env::join_paths(std::iter::once(folder.path().to_path_buf()).chain(paths))
            .map_err(|error| Error::of(PATH, error))?;
        // In a program that contains NVIDIA's runtime library, the driver must be loaded before the constructors run.
        let mut preloaded = OsString::from(folder.path().join(DRIVER));
        if let Some(others) = env::var_os(PRELOAD) {
            preloaded.push(":");
            preloaded.push(others);
        }
        let [program, arguments @ ..] = &self.program[..] else {
            return Err(Error("expected a program, found none".into()));
        };
        if let Some(report) = &self.report {
            writable(report)?;
        }
        let found = folder.path().join("found");
        let status = Command::new(program)
            .args(arguments)
            .env(PATH, paths)
            .env(PRELOAD, preloaded)
            .env("WARPWRIGHT_CUDA_FOUND", &found)
            .envs(self.settings())
            .status()
            .map_err(|error| Error::of(Path::new(program).display(), error))?;
        // The library sets the exit status if there are findings, unless the process or one of its children ends without running exit
        // handlers.
        let of_findings = || std::fs::read_to_string(&found).ok()?.parse().ok();
        Ok(ExitCode::from(match code(status) {
            0 => of_findings().unwrap_or(0),
            code => code,
        }))
    }

    /// Returns the path of the library that replaces the driver.
    fn library(&self) -> Result<PathBuf, Error> {
        let beside = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(LIBRARY)));
        let found = self.driver.clone().or(beside).unwrap_or_else(|| LIBRARY.into());
        let problem = "expected the driver here; build it with `cargo build --release -p warpwright-cuda`, or name it with --driver";
        found.canonicalize().map_err(|_| Error::of(found.display(), problem))
    }

    /// Returns the environment variables that the library reads.
    fn settings(&self) -> impl Iterator<Item = (String, OsString)> {
        fn text(value: &impl ToString) -> OsString {
            value.to_string().into()
        }
        let on = |is_on: bool| is_on.then(|| OsString::from("1"));
        let settings = [
            ("ARCH", self.arch.as_ref().map(|arch| text(&arch.0))),
            ("DEVICES", self.devices.as_ref().map(text)),
            ("CHECK", self.check.as_ref().map(text)),
            ("SEED", self.seed.as_ref().map(text)),
            ("KEEP_GOING", self.keep_going.as_ref().map(text)),
            ("EXIT_STATUS", self.exit_code.as_ref().map(text)),
            ("REPORT", self.report.as_deref().map(absolute)),
            ("LEAKS", on(self.leaks)),
            ("TRACE", on(self.trace)),
        ];
        let set = settings.into_iter().filter_map(|(name, value)| Some((name, value?)));
        set.map(|(name, value)| (format!("WARPWRIGHT_CUDA_{name}"), value))
    }
}

/// Removes the report of an earlier run. Returns an error if the report cannot be written.
fn writable(report: &Path) -> Result<(), Error> {
    let problem = |error| Error::of(report.display(), format!("the report cannot be written: {error}"));
    if report.to_string_lossy().contains("%p") {
        return Ok(());
    }
    std::fs::write(report, "").and_then(|()| std::fs::remove_file(report)).map_err(problem)
}

/// Returns an absolute path, because the program may change its working directory.
fn absolute(path: &Path) -> OsString {
    std::path::absolute(path).map_or_else(|_| path.into(), PathBuf::into_os_string)
}

/// Returns the exit code of a program. If a signal ended it, returns 128 plus the number of the signal, as shells do.
fn code(status: std::process::ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|number| 128 + number);
    #[cfg(not(unix))]
    let signal = None;
    status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// The libraries that Cargo builds from the optional packages `warpwright-cudart` and `warpwright-cuda-math`, with the names of the NVIDIA
/// libraries that they replace.
const LIBRARIES: [(&str, &[&str]); 2] = [
    ("libwarpwright_cudart.so", &["libcudart.so.13", "libcudart.so"]),
    (
        "libwarpwright_cuda_math.so",
        &["libcublas.so.13", "libcublas.so.12", "libcublas.so", "libcurand.so.10", "libcurand.so"],
    ),
];

/// Creates a folder with the libraries under the names of NVIDIA's libraries. It is removed when dropped.
fn folder(library: &Path) -> Result<TempDir, Error> {
    let failed = |error| Error::of("the folder with the libraries", error);
    let folder = tempfile::Builder::new().prefix("warpwright-run-").tempdir().map_err(failed)?;
    // In LD_PRELOAD, spaces and colons separate libraries (ld.so(8)).
    if folder.path().to_string_lossy().contains([' ', ':']) {
        let problem =
            "expected a folder for temporary files (TMPDIR) whose path contains no space and no colon";
        return Err(Error::of(folder.path().display(), problem));
    }
    for (file, names) in LIBRARIES {
        let file = library.with_file_name(file);
        if !file.exists() {
            eprintln!(
                "warpwright: {} does not exist; the program may load NVIDIA's {}",
                file.display(),
                names[0]
            );
            continue;
        }
        for name in names {
            link(&file, &folder.path().join(name)).map_err(failed)?;
        }
    }
    for name in [DRIVER, "libcuda.so"] {
        link(library, &folder.path().join(name)).map_err(failed)?;
    }
    Ok(folder)
}

#[cfg(unix)]
fn link(library: &Path, name: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(library, name)
}

#[cfg(not(unix))]
fn link(library: &Path, name: &Path) -> std::io::Result<()> {
    std::fs::copy(library, name).map(drop)
}
