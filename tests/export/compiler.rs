//! The installed C and C++ compilers.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::require;

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// Creates an empty folder for a test.
pub(super) fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export").join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder for the test");
    dir
}

/// A working compiler; reports a skipped test if none is installed.
fn compiler(name: &str) -> Option<&str> {
    match Command::new(name).arg("--version").output() {
        Ok(output) if output.status.success() => Some(name),
        Ok(output) => {
            require::skip(name, &format!("it exits with {}", output.status));
            None
        }
        Err(error) => {
            require::skip(name, &error.to_string());
            None
        }
    }
}

/// Compiles with warnings as errors; `None` without a compiler.
pub(super) fn compile(name: &str, arguments: &[&str]) -> Option<()> {
    let compiler = compiler(name)?;
    let output = Command::new(compiler).args(STRICT).args(arguments).output().expect("the compiler runs");
    assert!(output.status.success(), "{name} {arguments:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// The language standards that accept every header.
const LANGUAGES: [(&str, &str, &str); 6] = [
    ("cc", "-std=c99", "c"),
    ("cc", "-std=c11", "c"),
    ("cc", "-std=gnu17", "c"),
    ("c++", "-std=c++11", "cpp"),
    ("c++", "-std=c++20", "cpp"),
    ("c++", "-std=gnu++17", "cpp"),
];

/// Checks the syntax of a program in all of them.
pub(super) fn compile_everywhere(dir: &Path, name: &str, source: &str) {
    for (compiler, standard, suffix) in LANGUAGES {
        let path = dir.join(format!("{name}.{suffix}"));
        fs::write(&path, source).expect("written");
        let include = format!("-I{}", text(dir));
        compile(compiler, &[standard, "-Wshadow", "-fsyntax-only", &include, text(&path)]);
    }
}

/// Runs a program that a test compiled, with `library_path` as `LD_LIBRARY_PATH`.
pub(super) fn run(program: &Path, arguments: &[&str], library_path: &Path) -> Output {
    Command::new(program)
        .args(arguments)
        .env("LD_LIBRARY_PATH", library_path)
        .output()
        .expect("the program runs")
}

/// A path as a command-line argument.
pub(super) fn text(path: &Path) -> &str {
    path.to_str().expect("test folders have plain names")
}
