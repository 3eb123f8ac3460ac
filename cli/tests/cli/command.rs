//! Runs the binary.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of running the command.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `warpwright` with arguments.
pub(crate) fn warpwright(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Run {
    let output =
        Command::new(env!("CARGO_BIN_EXE_warpwright")).args(args).output().expect("the binary starts");
    Run {
        code: output.status.code().expect("an exit code"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Returns an empty folder for a test.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli").join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path).expect("removed");
    }
    std::fs::create_dir_all(&path).expect("made");
    path
}

/// Returns a case of the corpus.
pub(crate) fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/tests/data/corpus").join(name)
}

/// Returns the sorted names of the files in a folder; empty if the folder does not exist.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().display().to_string()).collect();
    names.sort();
    names
}
