//! `warpwright atoms`.

use std::collections::HashMap;
use std::process::{Command, Output};

use pretty_assertions::assert_eq;
use serde_json::Value;

const MMA: &str = include_str!("../../../tests/data/atoms/mma.json");
const COPY: &str = include_str!("../../../tests/data/atoms/copy.json");

fn atoms(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpwright")).arg("atoms").args(args).output().expect("the command runs")
}

fn lines(args: &[&str]) -> Vec<String> {
    let output = atoms(args);
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), [].as_slice()));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

fn by_name(atoms: &Value) -> HashMap<&str, &Value> {
    let atoms = atoms.as_array().expect("atoms");
    atoms.iter().map(|atom| (atom["name"].as_str().expect("a name"), atom)).collect()
}

#[test]
fn json_has_every_atom_with_cutes_tables() {
    let output = atoms(&["--json"]);
    assert_eq!(output.status.code(), Some(0));
    let ours: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (mma, copy) = (by_name(&ours["mma"]), by_name(&ours["copy"]));
    assert_eq!((mma.len(), copy.len()), (2459, 39));

    let oracle: Value = serde_json::from_str(MMA).expect("JSON");
    for theirs in oracle["atoms"].as_array().expect("atoms") {
        let atom = mma[theirs["name"].as_str().expect("a name")];
        assert_eq!(atom["ptx"], theirs["ptx"], "{}", theirs["name"]);
        assert_eq!(serde_json::json!([atom["M"], atom["N"], atom["K"]]), theirs["mnk"]);
        let types: Value =
            ["D", "A", "B", "C"].map(|operand| atom["types"][operand].clone()).into_iter().collect();
        assert_eq!(types, theirs["types"], "{}", theirs["name"]);
        for operand in ["A", "B", "C"] {
            let rows = if operand == "B" { &atom["N"] } else { &atom["M"] };
            let known = format!("{}/{rows}", theirs[operand].as_str().expect("a layout"));
            if let (Some(known), Some(table)) = (oracle["tables"].get(known), atom.get(operand)) {
                assert_eq!(table, known, "{} {operand}", theirs["name"]);
            }
        }
    }
    // Operands of wgmma in shared memory are omitted; quad pairs list their eight threads.
    let wgmma = mma["SM90_64x8x16_F32F16F16_SS"];
    assert!(
        wgmma.get("A").is_none() && wgmma.get("B").is_none() && wgmma["C"].as_array().unwrap().len() == 128
    );
    assert_eq!(mma["SM70_8x8x4_F16F16F16F16_TN"]["A"].as_array().unwrap().len(), 8);

    let oracle: Value = serde_json::from_str(COPY).expect("JSON");
    for theirs in oracle["atoms"].as_array().expect("atoms") {
        let atom = copy[theirs["name"].as_str().expect("a name")];
        assert_eq!(serde_json::json!([atom["src"], atom["dst"], atom["ref"]]), theirs["units"]);
        assert_eq!((&atom["unit_bits"], &atom["ptx"]), (&theirs["unit_bits"], &theirs["ptx"]));
    }
}

#[test]
fn atoms_are_listed_one_a_line() {
    let all = lines(&[]);
    assert_eq!(all.len(), 2459 + 39 + 3);
    let bf16 = lines(&["--mma", "--target", "sm_80", "--find", "m16n8k16.row.col.f32.bf16"]);
    let expected = [
        "mma                                   MxNxK       D.A.B.C              target   PTX",
        "SM80_16x8x16_F32BF16BF16F32_TN        16x8x16     f32.bf16.bf16.f32    sm_80    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        "SM80_SPARSE_16x8x16_F32BF16BF16F32_TN  16x8x16     f32.bf16.bf16.f32    sm_80    mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    ];
    let spaced = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(bf16.iter().map(|l| spaced(l)).collect::<Vec<_>>(), expected.map(spaced));
    assert!(lines(&["--copy", "--target", "sm_75"]).iter().all(|line| !line.contains("stmatrix")));
}

#[test]
fn a_name_prints_its_tables() {
    let text = lines(&["SM80_8x8x4_F64F64F64F64_TN"]);
    assert_eq!(
        text[..10],
        [
            "SM80_8x8x4_F64F64F64F64_TN",
            "  instruction mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
            "  needs       PTX 7.0, sm_80",
            "  shape       8x8x4",
            "  threads     32:1",
            "  D           f64 in 2 .f64: ((4,8),2):((16,1),8)",
            "  A           f64 in 1 .f64: ((4,8),1):((8,1),0)",
            "  B           f64 in 1 .f64: ((4,8),1):((8,1),0)",
            "  C           f64 in 2 .f64: ((4,8),2):((16,1),8)",
            "",
        ]
    );
    assert_eq!(text[12], "  0  T0V0  T1V0  T2V0  T3V0");
    let copy = lines(&["SM75_U32x1_LDSM_N"]);
    assert!(copy.contains(&"  source      ((8,4),128):((128,0),1)".to_owned()));
    assert!(copy.contains(&"   9: 4–7".to_owned()), "{copy:?}");
}

#[test]
fn unknown_names_and_targets_are_one_line() {
    for (args, expected) in [
        (
            &["SM80_16x8x16"],
            "error: expected the name of an atom, found `SM80_16x8x16`; near matches: SM80_16x8x16_",
        ),
        (
            &["SM80_16x8x16_F32F16F16F33"],
            "error: expected the name of an atom, found `SM80_16x8x16_F32F16F16F33`; near matches: SM80_16x8x16_F32F16F16F32_TN",
        ),
        (&["--target=sm_99"], "error: invalid value 'sm_99' for '--target <TARGET>': unknown target `sm_99`"),
    ] {
        let output = atoms(args);
        let text = String::from_utf8(output.stderr).expect("text");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), [].as_slice()));
        assert!(text.starts_with(expected), "{text}");
    }
}

/// Instruction names are not atom names; the error lists the instruction's atoms, copies and products alike.
#[test]
fn instructions_name_their_atoms() {
    let error = |name: &str| {
        let output = atoms(&[name]);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), [].as_slice()));
        String::from_utf8(output.stderr).expect("text")
    };
    let text = error("ldmatrix");
    let start = "error: expected the name of an atom, found `ldmatrix`; near matches: SM75_U32x1_LDSM_N, SM75_U32x2_LDSM_N, ";
    assert!(text.starts_with(start), "{text}");
    let more = text.split(" and ").nth(1).and_then(|more| more.split(' ').next()).expect("more matches");
    let listed = lines(&["--find", "ldmatrix"]).len() - 1;
    assert_eq!(more.parse(), Ok(listed - 8), "{text}");
    assert!(text.ends_with(" more, listed by `--find ldmatrix`\n"), "{text}");

    assert!(error("stmatrix").contains("SM90_U32x1_STSM_N"));
    assert!(error("wgmma").contains("SM90_64x8x16_F16F16F16_SS"));
    assert_eq!(error("xyz"), "error: expected the name of an atom, found `xyz`\n");
}
