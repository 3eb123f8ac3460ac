//! No committed file contains machine-specific paths.

use std::fs;

use super::files;

/// Returns the beginnings of paths that exist on one machine. They are assembled here, so that this file does not contain them.
fn machine_paths() -> Vec<String> {
    let folders = ["work", "root", "home", "Users", "opt/ptxas", "tmp/wt", "tmp/target"];
    let mut paths: Vec<String> = folders.iter().map(|folder| ["/", folder, "/"].concat()).collect();
    paths.push(["..", "shared", ""].join("/"));
    paths
}

/// Kernels that other compilers generated, which name the source files of their authors.
const FOREIGN: &str = "sim/tests/data/corpus/";

/// Returns errors for paths in `bytes`, which may be text or binary.
fn complaints(name: &str, bytes: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(line);
        for path in machine_paths() {
            // The same letters inside a longer path or an address do not count.
            let begins =
                |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.)}".contains(c));
            if line.match_indices(&path).any(|(at, _)| begins(at)) {
                out.push(format!("{name}:{}: names `{path}`, a path on one machine", number + 1));
            }
        }
    }
    out
}

#[test]
fn committed_files_contain_no_machine_specific_paths() {
    let mut found = Vec::new();
    for path in files::committed() {
        let name = files::name(&path);
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if !name.starts_with(FOREIGN) {
            found.extend(complaints(&name, &bytes));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn machine_specific_paths_are_found() {
    for path in machine_paths() {
        let line = format!("fn main() {{}}\nlet path = \"{path}x.npy\";\n");
        assert_eq!(complaints("a.rs", line.as_bytes()).len(), 1, "{path}");
    }
    assert_eq!(complaints("a.bin", &[[0xff, 0].as_slice(), machine_paths()[0].as_bytes()].concat()).len(), 1);
    let inside = ["see docs", &machine_paths()[0], "x.md and net", &machine_paths()[2]].concat();
    assert_eq!(complaints("a.md", inside.as_bytes()), [""; 0]);
}
