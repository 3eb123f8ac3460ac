//! The files that the rules check.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the root of the checkout: the folder above this package's.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a folder of the checkout")
}

/// Returns a path relative to the checkout, with `/` between its parts.
pub(super) fn name(path: &Path) -> String {
    let parts = path.strip_prefix(root()).unwrap_or(path).components();
    parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Returns every Rust file of the project, by name, with its text.
pub(super) fn rust() -> Vec<(String, String)> {
    let folders = ["src", "sim", "cli", "cuda", "proptest", "tests", "examples", "benches"];
    let mut paths = Vec::new();
    for folder in folders {
        walk(&root().join(folder), &mut paths);
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths.retain(|path| !path.iter().any(|part| part == "target"));
    assert!(paths.len() > 50, "the project's Rust files were not found under {}", root().display());
    paths.iter().map(|path| (name(path), read(path))).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns every file that is or would be committed; without git, every file of the published folders.
pub(super) fn committed() -> Vec<PathBuf> {
    let git = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output();
    let listed = git.ok().filter(|output| output.status.success() && !output.stdout.is_empty());
    let mut paths = match listed {
        Some(output) => String::from_utf8_lossy(&output.stdout)
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(|path| root().join(path))
            .collect(),
        None => {
            let mut paths = Vec::new();
            for part in [
                "src",
                "sim",
                "cli",
                "cuda",
                "proptest",
                "tests",
                "examples",
                "benches",
                "docs",
                "ptx",
                "README.md",
                "Cargo.toml",
            ] {
                walk(&root().join(part), &mut paths);
            }
            paths
        }
    };
    // A file may be listed and yet deleted in the work tree.
    paths.retain(|path| path.is_file());
    paths
}

/// Adds every file below `path`, or `path` itself if it is a file; nothing if it does not exist.
fn walk(path: &Path, into: &mut Vec<PathBuf>) {
    if path.is_file() {
        into.push(path.to_path_buf());
    }
    let mut entries: Vec<_> =
        fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        walk(&entry, into);
    }
}
