//! Compiles a program, and runs it with the library.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::skip::skip;

/// A program, built in a folder of its own that is removed when dropped. The folder also has the library under the names of a
/// driver.
pub(super) struct Program {
    folder: PathBuf,
}

/// What a program has done.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) status: Option<i32>,
}

/// Returns the library that Cargo has built with this test.
fn library() -> PathBuf {
    let exe = env::current_exe().expect("the test binary has a path");
    let folder = exe.parent().expect("the test binary is in a folder");
    let found = [folder, folder.parent().unwrap_or(folder)]
        .map(|folder| folder.join("libwarpwright_cuda.so"))
        .into_iter()
        .find(|path| path.exists());
    found.expect("cargo builds the library with its tests")
}

impl Program {
    /// Compiles `programs/NAME.c`; `None` means that the test is skipped.
    pub(super) fn build(name: &str) -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("warpwright-cuda-{}-{count}", process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        let program = Self { folder };
        for name in ["libcuda.so.1", "libcuda.so"] {
            symlink(library(), program.folder.join(name)).expect("the temporary folder can be written");
        }
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let compiled = Command::new("cc")
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-function", "-pthread", "-o"])
            .arg(program.folder.join("program"))
            .arg(sources.join(format!("{name}.c")))
            .arg("-L")
            .arg(&program.folder)
            .arg("-lcuda")
            .output();
        match compiled {
            Ok(output) => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{name}.c does not compile: {stderr}");
                Some(program)
            }
            Err(error) => {
                skip("cc", &error.to_string());
                None
            }
        }
    }

    /// Runs it with these settings.
    pub(super) fn run(&self, settings: &[(&str, &str)]) -> Ran {
        let output = Command::new(self.folder.join("program"))
            .env("LD_LIBRARY_PATH", &self.folder)
            .envs(settings.iter().map(|(name, value)| (format!("WARPWRIGHT_CUDA_{name}"), value)))
            .output()
            .expect("the program runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { stdout: text(output.stdout), stderr: text(output.stderr), status: output.status.code() }
    }

    /// Returns the path of a file in its folder.
    pub(super) fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
