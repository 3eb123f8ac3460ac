//! Builds the stand-in driver of `fake.c` and runs tests on it, in separate processes where cudarc is involved.

use crate::require;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A built stand-in, removed when dropped.
pub(super) struct StandIn {
    folder: PathBuf,
}

impl StandIn {
    /// Compiles it with these macros (`VERSION=11080`, `cuInit=absent`); `None` means the test is skipped.
    pub(super) fn build(macros: &[&str]) -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        if !cfg!(target_os = "linux") {
            require::skip("stand-in driver", "it is written for Linux");
            return None;
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("warpwright-stand-in-{}-{count}", process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        let stand_in = Self { folder };
        let source = stand_in.folder.join("fake.c");
        fs::write(&source, include_str!("fake.c")).expect("the temporary folder can be written");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-w", "-o"])
            .arg(stand_in.path())
            .args(macros.iter().map(|name| format!("-D{name}")))
            .arg(source)
            .output();
        match compiled {
            Ok(output) => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "fake.c does not compile: {stderr}");
                Some(stand_in)
            }
            Err(error) => {
                require::skip("cc", &error.to_string());
                None
            }
        }
    }

    pub(super) fn path(&self) -> String {
        self.folder.join("libcuda.so").display().to_string()
    }

    /// Runs one ignored test of this binary with the stand-in as its driver, as [`run_in`] does.
    pub(super) fn run(&self, test: &str) -> Vec<String> {
        run_in(&self.folder.display().to_string(), test)
    }
}

/// Runs one ignored test of this binary in its own process with this `LD_LIBRARY_PATH`; returns its output without the
/// harness's lines. The test must pass.
pub(super) fn run_in(library_path: &str, test: &str) -> Vec<String> {
    let mut command = Command::new(env::current_exe().expect("the test binary has a path"));
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]).env(MARK, "1");
    if !library_path.is_empty() {
        command.env("LD_LIBRARY_PATH", library_path);
    }
    let output = command.output().expect("the test binary runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test} failed:\n{text}\n{stderr}");
    assert!(text.contains("1 passed"), "there is no test {test}:\n{text}");
    let (_, body) = text.split_once("running 1 test\n").expect("the harness says so");
    let (body, _) = body.split_once("\ntest result").expect("the harness says so");
    let name = format!("test {test} ... ");
    body.replace(&name, "").lines().map(str::to_owned).filter(|l| !l.is_empty() && l != "ok").collect()
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const MARK: &str = "WARPWRIGHT_TEST_STAND_IN";

/// Returns whether this process was started by [`StandIn::run`]. A panic then ends the process even if it is caught, as in a
/// program built with `panic = "abort"`.
pub(super) fn is_child() -> bool {
    let child = env::var_os(MARK).is_some();
    if child {
        std::panic::set_hook(Box::new(|info| {
            eprintln!("{info}");
            process::abort();
        }));
    }
    child
}
