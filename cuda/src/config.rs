//! The settings of the library, which are read from environment variables.

use std::env::{self, VarError};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::OnceLock;

use warpwright_sim::{Arch, Selection};

/// The settings; `docs/cuda.md` lists the variables.
#[derive(Debug)]
pub(crate) struct Config {
    /// The number of simulated devices.
    pub(crate) devices: usize,
    pub(crate) arch: Arch,
    pub(crate) checks: Selection,
    /// The seed for a random interleaving of warps.
    pub(crate) seed: Option<u64>,
    /// The maximum number of findings per launch; 0 ends a kernel at its first finding.
    pub(crate) keep_going: usize,
    /// The exit status of a program with findings; 0 keeps the program's own exit status.
    pub(crate) exit_status: i32,
    /// The file for the JSON report.
    pub(crate) report: Option<PathBuf>,
    /// A file to which the exit status is written as soon as there is a finding, so that `warpwright run` can read it even if the process
    /// does not exit normally.
    pub(crate) found: Option<PathBuf>,
    /// Whether to report memory that the program has not freed.
    pub(crate) leaks: bool,
    /// Whether to print each call.
    pub(crate) trace: bool,
    /// The folder in which the outlines of large modules are stored, or `None` if they are not stored.
    pub(crate) cache: Option<PathBuf>,
}

/// Returns the settings of the process. Invalid values are reported once and replaced by defaults.
pub(crate) fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| Config {
        devices: visible(variable("DEVICES").unwrap_or(1).min(64)),
        arch: variable("ARCH").unwrap_or_default(),
        checks: variable("CHECK").unwrap_or(Selection::ALL),
        seed: variable("SEED"),
        keep_going: variable("KEEP_GOING").unwrap_or(100),
        exit_status: variable("EXIT_STATUS").map_or(86, |status: u8| status.into()),
        report: variable("REPORT")
            .map(|path: String| path.replace("%p", &std::process::id().to_string()).into()),
        found: variable("FOUND"),
        leaks: variable("LEAKS").unwrap_or(0u8) != 0,
        trace: variable("TRACE").unwrap_or(0u8) != 0,
        cache: cache(),
    })
}

/// Parses the environment variable `WARPWRIGHT_CUDA_NAME`.
fn variable<T: FromStr<Err: std::fmt::Display>>(name: &str) -> Option<T> {
    let name = format!("WARPWRIGHT_CUDA_{name}");
    let text = match env::var(&name) {
        Ok(text) => text,
        Err(VarError::NotPresent) => return None,
        Err(error) => {
            crate::report::say(&format!("{name}: {error}"));
            return None;
        }
    };
    text.parse().map_err(|error| crate::report::say(&format!("{name}={text}: {error}"))).ok()
}

/// Returns the cache folder. NVIDIA's driver also reads the variables `CUDA_CACHE_DISABLE` and `CUDA_CACHE_PATH` (CUDA C++ Programming
/// Guide, "CUDA Environment Variables").
fn cache() -> Option<PathBuf> {
    if env::var_os("CUDA_CACHE_DISABLE").is_some_and(|value| !value.is_empty() && value != "0") {
        return None;
    }
    let named = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = named("CUDA_CACHE_PATH")
        .or_else(|| named("XDG_CACHE_HOME"))
        .or_else(|| Some(named("HOME")?.join(".cache")));
    Some(folder?.join("warpwright"))
}

/// Returns the number of devices that `CUDA_VISIBLE_DEVICES` lists before its first invalid ordinal, out of `devices` devices.
fn visible(devices: usize) -> usize {
    let Ok(list) = env::var("CUDA_VISIBLE_DEVICES") else { return devices };
    let exists = |word: &&str| word.trim().parse().is_ok_and(|ordinal: usize| ordinal < devices);
    list.split(',').take_while(exists).count()
}
