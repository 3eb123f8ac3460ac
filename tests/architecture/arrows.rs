//! Dependencies between modules: each may use only modules above it in the tables, so there are no cycles.

use super::{
    files,
    tokens::{Placed, Token, tokens},
};

/// A module, and the modules that it may use.
type Module = (&'static str, &'static [&'static str]);

/// The modules of the crate, each below those that it uses (docs/design.md, "Crates and modules").
#[rustfmt::skip]
const MODULES: &[Module] = &[
    ("layout",  &[]),
    ("ptx",     &[]),
    ("sim",     &[]), // the crate `warpwright-sim`
    ("gpu",     &[]),
    ("atoms",   &["layout", "ptx"]),
    ("tensor",  &["layout", "ptx", "atoms"]),
    ("tiles",   &["layout", "ptx", "atoms", "tensor"]),
    ("run",     &["ptx", "tiles", "sim", "gpu"]),
    ("kernels", &["layout", "ptx", "atoms", "tensor", "tiles", "run"]),
    ("export",  &["ptx"]),
    ("draw",    &["layout", "atoms", "tensor"]),
];

/// The modules of the simulator, in the order in which a kernel passes through them (docs/design.md, "The simulator's modules").
#[rustfmt::skip]
const SIMULATOR: &[Module] = &[
    ("arith",    &[]),
    ("lanes",    &[]),
    ("text",     &[]),
    ("report",   &["text"]),
    ("program",  &["arith", "text", "report"]),
    ("validate", &["text", "program"]),
    ("shadow",   &["lanes", "report", "program"]),
    ("machine",  &["arith", "lanes", "report", "program", "shadow"]),
    ("alu",      &["arith", "lanes", "program", "machine"]),
    ("check",    &["lanes", "report", "program", "shadow", "machine", "alu"]),
    ("exec",     &["arith", "lanes", "report", "program", "shadow", "machine", "alu", "check"]),
    ("schedule", &["arith", "lanes", "report", "program", "shadow", "machine", "alu", "check", "exec"]),
];

/// The folder of a crate's sources, and its modules.
const CRATES: &[(&str, &[Module])] = &[("src/", MODULES), ("sim/src/", SIMULATOR)];

/// Modules that use the driver's crate, cudarc.
const CUDARC: &[&str] = &["gpu", "run"];

/// Returns the path of a file in its crate, and the crate's modules.
fn in_crate(name: &str) -> Option<(&str, &'static [Module])> {
    CRATES.iter().find_map(|(folder, modules)| Some((name.strip_prefix(folder)?, *modules)))
}

/// Returns the module of a library file. The root of the crate does not belong to a module, and may use all.
pub(super) fn module_of(name: &str) -> Option<&str> {
    let (inside, _) = in_crate(name)?;
    (inside != "lib.rs").then(|| inside.split(['/', '.']).next()).flatten()
}

/// Returns the number of `super`s from the file's own module to the root of the crate.
fn depth(name: &str) -> usize {
    in_crate(name).map_or(0, |(inside, _)| inside.split('/').count())
}

/// Returns every name at the root of the crate that the source uses, with its line.
fn reached(name: &str, tokens: &[Placed]) -> Vec<(String, usize)> {
    let mut out = Vec::new();
    // The current depth of braces, and the depths at which inline modules began.
    let (mut braces, mut modules) = (0, Vec::new());
    for (at, (token, line)) in tokens.iter().enumerate() {
        match token {
            Token::Mark('{') => {
                let header = at.checked_sub(2).map(|start| &tokens[start..at]);
                if header.is_some_and(|h| h[0].0.is_word("mod") && h[1].0.word().is_some()) {
                    modules.push(braces);
                }
                braces += 1;
            }
            Token::Mark('}') => {
                braces -= 1;
                if modules.last() == Some(&braces) {
                    modules.pop();
                }
            }
            Token::Word(_) if !at.checked_sub(1).is_some_and(|before| is_path(tokens, before)) => {
                let climb = depth(name) + modules.len();
                let below = below_root(tokens, at, climb);
                out.extend(
                    below.into_iter().flat_map(|at| first_names(tokens, at)).map(|found| (found, *line)),
                );
            }
            _ => {}
        }
    }
    out
}

/// Returns the position in the path that begins at `at` after the root of the crate, if the path reaches it: by `crate::`, or by `climb`
/// times `super::`.
fn below_root(tokens: &[Placed], at: usize, climb: usize) -> Option<usize> {
    let is_step = |at: usize, word: &str| {
        tokens.get(at).is_some_and(|(t, _)| t.is_word(word)) && is_path(tokens, at + 1)
    };
    if is_step(at, "crate") {
        return Some(at + 2);
    }
    let supers = (at..).step_by(2).take_while(|&at| is_step(at, "super")).count();
    (supers > 0 && supers == climb).then_some(at + 2 * supers)
}

fn is_path(tokens: &[Placed], at: usize) -> bool {
    tokens.get(at).is_some_and(|(token, _)| *token == Token::Path)
}

/// Returns the first name of each path at `at`: of `a::b`, or of every path in `{a::b, c::{d, e}}`.
fn first_names(tokens: &[Placed], at: usize) -> Vec<String> {
    match tokens.get(at) {
        Some((Token::Word(word), _)) => vec![word.clone()],
        Some((Token::Mark('*'), _)) => vec!["*".into()],
        Some((Token::Mark('{'), _)) => {
            let (mut depth, mut starts, mut out) = (1, true, Vec::new());
            for (token, _) in &tokens[at + 1..] {
                match token {
                    Token::Mark('{') => depth += 1,
                    Token::Mark('}') => depth -= 1,
                    Token::Mark(',') if depth == 1 => starts = true,
                    Token::Word(word) if depth == 1 && starts => {
                        out.push(word.clone());
                        starts = false;
                    }
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
            out
        }
        _ => Vec::new(),
    }
}

fn complaints(name: &str, source: &str) -> Vec<String> {
    let Some(module) = module_of(name) else { return Vec::new() };
    let modules = in_crate(name).map_or(&[][..], |(_, modules)| modules);
    let Some((_, allowed)) = modules.iter().find(|(known, _)| *known == module) else {
        return vec![format!("{name}: `{module}` is not in the table of modules: add a row")];
    };
    let tokens = tokens(source);
    let mut out = Vec::new();
    for (found, line) in reached(name, &tokens) {
        if found != module && !allowed.contains(&found.as_str()) {
            out.push(format!(
                "{name}:{line}: module `{module}` may not use `{found}`; it may use {allowed:?}"
            ));
        }
    }
    for (token, line) in &tokens {
        if token.is_word("cudarc") && !CUDARC.contains(&module) {
            out.push(format!("{name}:{line}: module `{module}` may not use `cudarc`"));
        }
        if token.is_word("warpwright") || token.is_word("warpwright_sim") {
            out.push(format!("{name}:{line}: the crate's own modules are reached by `crate::`"));
        }
    }
    out
}

#[test]
fn modules_use_only_modules_below() {
    let files = files::rust();
    let found: Vec<_> = files.iter().flat_map(|(name, source)| complaints(name, source)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_table_has_no_cycles_and_design_has_the_same_table() {
    for (_, modules) in CRATES {
        for (place, (module, uses)) in modules.iter().enumerate() {
            for used in *uses {
                let below = modules.iter().position(|(name, _)| name == used);
                assert!(
                    below.is_some_and(|below| below < place),
                    "`{module}` may use `{used}`, which is not above it in the table"
                );
            }
        }
    }
    let design = include_str!("../../docs/design.md");
    for (module, uses) in CRATES.iter().flat_map(|(_, modules)| *modules) {
        let start = format!("| `{module}` |");
        let row = design.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("docs/design.md has no row for the module `{module}`"));
        let stated: Vec<&str> = row
            .trim_end_matches('|')
            .rsplit('|')
            .next()
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .collect();
        let wanted = if uses.is_empty() { &["–"] } else { *uses };
        assert_eq!(stated, wanted, "docs/design.md, module `{module}`");
    }
}

#[test]
fn arrows_that_point_upwards_are_found() {
    let bad = [
        ("src/ptx/val.rs", "use crate::tiles::Rt;"),
        ("src/ptx/val.rs", "use crate::{\n    ptx::K,\n    tiles::{self, Rt},\n};"),
        ("src/ptx.rs", "use super::sim::Memory;"),
        ("src/ptx/inst/memory.rs", "use super::super::super::layout::Layout;"),
        ("src/ptx/val.rs", "mod tests { use super::super::super::atoms::rt_base; }"),
        ("src/gpu/probe.rs", "fn f() { let form = crate::ptx::table::find(\"add\"); }"),
        ("src/gpu/probe.rs", "pub(crate) use crate::layout;"),
        ("src/tiles/st.rs", "use crate::*;"),
        ("src/atoms/mma.rs", "use warpwright::sim;"),
        ("src/atoms/mma.rs", "use warpwright_sim::Memory;"),
        ("src/tiles/st.rs", "use cudarc::driver::CudaSlice;"),
        ("src/cellar/wine.rs", ""),
        ("sim/src/check/races.rs", "use crate::exec::memory;"),
        ("sim/src/machine/warp.rs", "fn f() { super::super::check::look() }"),
        ("sim/src/text.rs", "use super::program::Module;"),
        ("sim/src/cellar.rs", ""),
    ];
    for (name, source) in bad {
        assert_eq!(complaints(name, source).len(), 1, "{name}: {source}");
    }
}

#[test]
fn arrows_that_point_downwards_are_fine() {
    let good = [
        ("src/lib.rs", "pub mod prelude { pub use crate::{ptx::K, sim::Memory}; }"),
        ("src/ptx/val.rs", "use super::{kernel::K, types};\n/// See [`crate::tiles`].\nuse crate::ptx::K;"),
        (
            "src/ptx/inst/memory.rs",
            "use super::super::val::Val;\nmod tests { use super::super::super::val::Val; }",
        ),
        ("src/tiles/st.rs", "use crate::{atoms, ptx::{K, tiles::Never}};\nfn f() { Self::g() }"),
        ("src/gpu/probe.rs", "pub(crate) fn f() { self::g(\"crate::ptx\") }"),
        ("src/run/loaded.rs", "use crate::{gpu, ptx::K};\nuse cudarc::driver::CudaSlice;"),
        ("cli/src/main.rs", "use warpwright::layout;"),
        ("sim/src/lib.rs", "pub use schedule::Sim;"),
        ("sim/src/exec/memory.rs", "use crate::check; use super::super::machine::Cluster;"),
        ("tests/sim.rs", "use warpwright::{ptx, sim};"),
    ];
    for (name, source) in good {
        assert_eq!(complaints(name, source), [""; 0], "{name}");
    }
}
