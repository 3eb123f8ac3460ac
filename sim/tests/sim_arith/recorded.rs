//! Runs every recorded case through the arithmetic and compares all bits.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

use crate::{
    matrix::{self, Opcode},
    scalar,
    sparse::Sparse,
    truth::{self, Cases, Entry},
    wgmma::Wgmma,
};

fn folder() -> PathBuf {
    env::var_os("WARPWRIGHT_TRUTH")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/truth"), PathBuf::from)
}

#[derive(Default)]
struct Tally {
    variants: usize,
    variants_equal: usize,
    cases: usize,
    cases_equal: usize,
    uncovered: usize,
}

/// The number of equal cases of a variant and the first difference, or `None` if no function computes the variant.
struct Outcome {
    equal: usize,
    difference: Option<String>,
}

fn run(entry: &Entry, cases: &Cases) -> Option<Outcome> {
    match entry.family.as_str() {
        "cvt" | "approx" | "float" | "half" | "minmax" | "setp" | "int" | "bit" | "carry" => {
            scalar::program(entry).map(|program| each_case(entry, cases, |ins, _| program.run(ins)))
        }
        "mma" => {
            let opcode = Opcode::parse(entry)?;
            Some(each_case(entry, cases, |ins, _| matrix::mma(&opcode, ins).expect("a known mma")))
        }
        "mma_sp" => {
            let sparse = Sparse::parse(entry)?;
            Some(each_case(entry, cases, |ins, _| sparse.run(ins).expect("a known mma.sp")))
        }
        "wgmma" => {
            let wgmma = Wgmma::parse(entry)?;
            Some(each_case(entry, cases, |ins, smem| wgmma.run(ins, smem).expect("a known wgmma")))
        }
        _ => None,
    }
}

fn each_case(entry: &Entry, cases: &Cases, eval: impl Fn(&[u32], &[u8]) -> Vec<u32>) -> Outcome {
    let words_in = cases.regs_in.len() / cases.count;
    let words_out = cases.regs_out.len() / cases.count;
    let mut outcome = Outcome { equal: 0, difference: None };
    for case in 0..cases.count {
        let ins = &cases.regs_in[case * words_in..][..words_in];
        let want = &cases.regs_out[case * words_out..][..words_out];
        let smem_bytes = cases.smem.len() / cases.count;
        let got = eval(ins, &cases.smem[case * smem_bytes..][..smem_bytes]);
        if got == want {
            outcome.equal += 1;
        } else if outcome.difference.is_none() {
            let at = got.iter().zip(want).position(|(g, w)| g != w).unwrap_or(0);
            let shown = if ins.len() <= 8 { format!("{ins:08x?}") } else { String::new() };
            outcome.difference = Some(format!(
                "{}: case {case} {shown} word {at}: got {:08x?}, recorded {:08x?}",
                entry.name,
                &got[at..got.len().min(at + 2)],
                &want[at..want.len().min(at + 2)],
            ));
        }
    }
    outcome
}

#[test]
fn recorded_instructions_have_equal_bits() {
    let folder = folder();
    let only = env::var("WARPWRIGHT_TRUTH_ONLY").ok();
    let mut families: BTreeMap<&str, Tally> = BTreeMap::new();
    let entries = truth::index(&folder);
    let mut differences = Vec::new();
    for entry in &entries {
        if only.as_ref().is_some_and(|only| !entry.name.contains(only) && entry.family != *only) {
            continue;
        }
        let tally = families.entry(&entry.family).or_default();
        let cases = entry.load(&folder).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        tally.variants += 1;
        tally.cases += cases.count;
        let Some(outcome) = run(entry, &cases) else {
            tally.uncovered += 1;
            continue;
        };
        tally.cases_equal += outcome.equal;
        tally.variants_equal += usize::from(outcome.equal == cases.count);
        if let Some(difference) = outcome.difference {
            differences.push(format!(
                "{} of {} differ, {difference}",
                cases.count - outcome.equal,
                cases.count
            ));
        }
    }
    for (family, t) in &families {
        println!(
            "{family:10} variants {:4} of {:4} equal ({} not covered), cases {:7} of {:7}",
            t.variants_equal, t.variants, t.uncovered, t.cases_equal, t.cases
        );
    }
    // Families that only move data have no arithmetic.
    let data_movement = ["cp_async", "ldmatrix", "movmatrix", "stmatrix", "warp"];
    for (family, t) in families.iter().filter(|(family, _)| !data_movement.contains(family)) {
        assert!(t.uncovered == 0, "{family}: {} instructions are not computed", t.uncovered);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
