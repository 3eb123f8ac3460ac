//! `unsafe` blocks are in the GPU layer and at the C interfaces of the crates in `cuda`. The assembler
//! declares functions that are `unsafe` to call, and calls none of them; every other layer and crate forbids `unsafe` code.

use super::{arrows::module_of, files, tokens::tokens};

/// The module that calls the driver.
const MODULE: &str = "gpu";

/// The parts of `warpwright-cuda` that C programs call, and the crates in `cuda` that call C functions.
const BOUNDARY: [&str; 6] = [
    "cuda/src/c.rs",
    "cuda/src/c/",
    "cuda/src/host.rs",
    "cuda/calls/src/",
    "cuda/math/src/",
    "cuda/runtime/src/",
];

/// The layer that declares `unsafe` functions.
const DECLARES: &str = "ptx";

/// The roots of crates without `unsafe` code.
const CRATES: [&str; 3] = ["sim/src/lib.rs", "cli/src/main.rs", "proptest/src/lib.rs"];

fn complaints(name: &str, source: &str) -> Vec<String> {
    let module = module_of(name);
    if module == Some(MODULE) || BOUNDARY.iter().any(|part| name.starts_with(part)) {
        return Vec::new();
    }
    let tokens = tokens(source);
    let opens_block = |at: usize| tokens.get(at + 1).is_some_and(|(token, _)| token.is_mark('{'));
    let allowed = |at: usize| module == Some(DECLARES) && !opens_block(at);
    let mut out: Vec<String> = tokens
        .iter()
        .enumerate()
        .filter(|(at, (token, _))| token.is_word("unsafe") && !allowed(*at))
        .map(|(_, (_, line))| format!("{name}:{line}: `unsafe` outside src/{MODULE}"))
        .collect();
    let is_module = module.is_some_and(|module| module != DECLARES && name == format!("src/{module}.rs"));
    if (is_module || CRATES.contains(&name)) && !source.lines().any(|line| line == "#![forbid(unsafe_code)]")
    {
        out.push(format!("{name}: no `#![forbid(unsafe_code)]`"));
    }
    out
}

#[test]
fn unsafe_is_in_the_gpu_module_alone() {
    let folders = ["src/", "sim/src/", "cli/src/", "cuda/src/", "proptest/src/", "examples/"];
    let library = |name: &str| folders.iter().any(|folder| name.starts_with(folder));
    let files = files::rust();
    let found: Vec<_> = files
        .iter()
        .filter(|(name, _)| library(name))
        .flat_map(|(name, source)| complaints(name, source))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn misplaced_unsafe_is_found() {
    let call = "fn f() {\n    unsafe { g() }\n}\n";
    assert_eq!(complaints("sim/src/memory.rs", call), ["sim/src/memory.rs:2: `unsafe` outside src/gpu"]);
    assert_eq!(complaints("src/gpu/launch.rs", call), [""; 0]);
    assert_eq!(complaints("cuda/src/c/memory.rs", call), [""; 0]);
    assert_eq!(complaints("cuda/src/driver/memory.rs", call).len(), 1);
    assert_eq!(complaints("src/ptx/ptr.rs", call), ["src/ptx/ptr.rs:2: `unsafe` outside src/gpu"]);
    assert_eq!(complaints("src/ptx/ptr.rs", "pub unsafe fn f() {}\n"), [""; 0]);
    assert_eq!(complaints("src/tiles/gl.rs", "pub unsafe fn f() {}\n").len(), 1);
    assert_eq!(complaints("sim/src/memory.rs", "// unsafe\nfn f() -> &'static str { \"unsafe\" }"), [""; 0]);
    for root in ["src/tiles.rs", "sim/src/lib.rs"] {
        assert_eq!(complaints(root, "mod memory;\n").len(), 1);
        assert_eq!(complaints(root, "#![forbid(unsafe_code)]\nmod memory;\n"), [""; 0]);
    }
}
