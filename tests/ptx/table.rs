//! Every form of the instruction table, expanded and assembled by ptxas for exactly its own version and lowest target.

use std::collections::BTreeMap;

use warpwright::ptx::{
    Target,
    table::{self, Form, Pattern},
};

use super::{
    assemble::{assemble, kernels, module},
    operands,
};
use crate::require;

/// Versions of PTX from the oldest that has sm_75 on.
const VERSIONS: [(u8, u8); 21] = [
    (6, 3),
    (6, 4),
    (6, 5),
    (7, 0),
    (7, 1),
    (7, 2),
    (7, 3),
    (7, 4),
    (7, 5),
    (7, 6),
    (7, 7),
    (7, 8),
    (8, 0),
    (8, 1),
    (8, 2),
    (8, 3),
    (8, 4),
    (8, 5),
    (8, 6),
    (8, 7),
    (8, 8),
];

/// Lines to assemble, by version and target.
type Batches = BTreeMap<((u8, u8), Target), Vec<String>>;

fn numbers(form: &Form) -> (u8, u8) {
    (form.version.major, form.version.minor)
}

fn lowest(target: Target) -> (u8, u8) {
    (target.lowest_version().major, target.lowest_version().minor)
}

/// Lines of a kernel's body that show every mnemonic of the form; none for a directive.
fn lines(form: &Form) -> Vec<String> {
    let mnemonics = Pattern::new(form.mnemonic).expand();
    match form.mnemonic.as_bytes() {
        [b'.', ..] => Vec::new(),
        [b'%', ..] => mnemonics.iter().map(|m| operands::special(m, form.operands)).collect(),
        _ => mnemonics.iter().flat_map(|m| operands::lines(m, form.operands)).collect(),
    }
}

/// The directive between a kernel's parameters and its body, if the form is one.
fn directive(form: &Form) -> Option<String> {
    form.mnemonic
        .starts_with('.')
        .then(|| format!("{} {}\n", form.mnemonic, form.operands.trim_start_matches('#')))
}

#[test]
fn every_mnemonic_is_found() {
    for form in table::forms() {
        for mnemonic in Pattern::new(form.mnemonic).expand() {
            let found = table::find(&mnemonic).unwrap_or_else(|| panic!("`{mnemonic}` is not found"));
            assert_eq!(
                (found.version, found.needs),
                (form.version, form.needs),
                "`{mnemonic}` stands in two rows that differ"
            );
        }
    }
}

#[test]
fn forms_state_whether_they_access_global_memory() {
    let may = |mnemonic: &str| table::find(mnemonic).expect(mnemonic).may_access_global(mnemonic);
    for mnemonic in [
        "ld.global.u32",
        "ld.u32",
        "st.global.v4.f32",
        "st.f64",
        "atom.global.add.u32",
        "red.add.u32",
        "cp.async.cg.shared.global",
        "cp.async.bulk.global.shared::cta.bulk_group",
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile",
        "prefetch.global.L2",
        "call.uni",
    ] {
        assert!(may(mnemonic), "{mnemonic}");
    }
    for mnemonic in [
        "add.u32",
        "ld.shared.u32",
        "ld.param.u64",
        "ld.local.u32",
        "st.shared.v4.f32",
        "atom.shared.add.u32",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "mbarrier.init.shared.b64",
        "cp.async.mbarrier.arrive.shared.b64",
        "cp.async.wait_all",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
        "griddepcontrol.wait",
        "%tid.x",
    ] {
        assert!(!may(mnemonic), "{mnemonic}");
    }
    // Every form that names the space and an address, except those that only compute with it.
    for form in table::forms().filter(|form| form.operands.contains('[')) {
        for mnemonic in Pattern::new(form.mnemonic).expand() {
            assert!(!mnemonic.contains(".global") || form.may_access_global(&mnemonic), "{mnemonic}");
        }
    }
}

#[test]
fn ptxas_accepts_every_form() {
    let Some(ptxas) = require::ptxas() else { return };
    let mut batches = Batches::new();
    for form in table::forms() {
        let target = form.needs.lowest_target();
        batches.entry((numbers(form).max(lowest(target)), target)).or_default().extend(lines(form));
    }
    let mut wrong = Vec::new();
    for ((version, target), lines) in &batches {
        let (number, name) = (format!("{}.{}", version.0, version.1), target.to_string());
        let (products, lines): (Vec<_>, Vec<_>) =
            lines.iter().cloned().partition(|line| line.starts_with("wgmma.mma_async"));
        let modules =
            [(module(&number, &name, "", &lines), &lines), (kernels(&number, &name, &products), &products)];
        for ((text, first), lines) in modules {
            let verdict = assemble(&ptxas, &text, &name);
            for (line, message) in &verdict.errors {
                let line = lines.get(line.wrapping_sub(first)).map_or("?", String::as_str);
                wrong.push(format!("{version:?} {target} `{line}`: {message}"));
            }
            if !verdict.accepted && verdict.errors.is_empty() {
                wrong.push(format!("{version:?} {target}: {}", verdict.log));
            }
        }
    }
    for form in table::forms() {
        let Some(directive) = directive(form) else { continue };
        let target = form.needs.lowest_target();
        let version = numbers(form).max(lowest(target));
        let (text, _) = module(&format!("{}.{}", version.0, version.1), &target.to_string(), &directive, &[]);
        let verdict = assemble(&ptxas, &text, &target.to_string());
        if !verdict.accepted {
            wrong.push(format!("{version:?} {target} `{}`: {}", form.mnemonic, verdict.log));
        }
    }
    assert!(wrong.is_empty(), "{} lines are refused:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn ptxas_refuses_every_form_one_version_lower_and_one_target_lower() {
    let Some(ptxas) = require::ptxas() else { return };
    let mut batches = Batches::new();
    for form in table::forms() {
        let target = form.needs.lowest_target();
        let before = VERSIONS.iter().rev().find(|v| **v < numbers(form)).copied();
        if let Some(before) = before.filter(|v| *v >= lowest(target)) {
            batches.entry((before, target)).or_default().extend(lines(form));
        }
        if let Some(lower) =
            Target::ALL.into_iter().rev().find(|t| *t < target && !t.features().contains(form.needs))
        {
            batches.entry((numbers(form).max(lowest(lower)), lower)).or_default().extend(lines(form));
        }
    }
    let mut wrong = Vec::new();
    for ((version, target), lines) in &batches {
        let (text, first) = module(&format!("{}.{}", version.0, version.1), &target.to_string(), "", lines);
        let verdict = assemble(&ptxas, &text, &target.to_string());
        for (i, line) in lines.iter().enumerate() {
            if !verdict.errors.contains_key(&(first + i)) {
                wrong.push(format!("{version:?} {target} `{line}`"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} lines are accepted below their row's version or target:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
