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
    // Thirteen element types in two layouts, their vectors in three, those of 8 bits in four.
    assert_eq!(all.len(), 2459 + 39 + 13 * 5 + 4 + 5);
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

/// A name of an instruction is not the name of an atom; the error lists the atoms of the instruction, both copies and products.
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

#[test]
fn tiles_and_vectors_are_listed() {
    let spaced = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let tiles: Vec<String> = lines(&["--tile", "--find", "e5m2"]).iter().map(|line| spaced(line)).collect();
    assert_eq!(
        tiles,
        [
            "tile elements registers (lane, value) layout",
            "Rt<e5m2, 1, 1, Row> 16x32 4 ((4,8),((4,2,2),1,1)):((64,1),((16,8,256),512,16))",
            "Rt<e5m2, 1, 1, Col> 32x16 4 ((4,8),((4,2,2),1,1)):((4,32),((1,256,16),512,32))",
            "Rv<e5m2, 2, Orthogonal> 32x1 1 ((4,8),(2,2)):((0,1),(8,16))",
            "Rv<e5m2, 2, Aligned> 32x1 2 ((4,8),(2,2,2,1)):((2,0),(1,8,16,1))",
            "Rv<e5m2, 2, Naive> 32x1 1 ((8,4),(4,1)):((4,0),(1,32))",
            "Rv<e5m2, 2, Aligned<Length32>> 64x1 4 ((4,8),(4,2,2,1)):((4,0),(1,16,32,1))",
        ]
    );
    assert!(lines(&["--mma", "--find", "e5m2"]).iter().all(|line| !line.starts_with("Rt")));
    assert!(lines(&["--target", "sm_90"]).iter().all(|line| !line.starts_with("Rt")));
}

#[test]
fn a_type_prints_its_table() {
    let text = lines(&["Rt<bf16,2,1>"]);
    assert_eq!(
        text[..5],
        [
            "Rt<bf16, 2, 1, Row>",
            "  elements    32x16 bf16",
            "  registers   8 of 32 bits per lane, 2 elements in each",
            "  layout      ((4,8),((2,2,2),1,2)):((64,1),((32,8,256),512,16))",
            "",
        ]
    );
    // Row 17 is the second row of the second subtile: the fifth register of lanes 4 to 7.
    let row: Vec<&str> =
        text.iter().find(|line| line.trim_start().starts_with("17 ")).unwrap().split_whitespace().collect();
    assert_eq!(row[..4], ["17", "4.4x", "4.4y", "5.4x"]);
    let shared = lines(&["St<f64,1,2,Swizzle64>", "Sv<u8,4>"]);
    assert_eq!(
        shared,
        [
            "St<f64, 1, 2, Swizzle64>",
            "  elements    16x32 f64",
            "  bytes       4096, aligned to 512",
            "  layout      Sw<2,4,3> o 0 o (16,(8,4)):(64,(8,1024)) in bytes",
            "",
            "Sv<u8, 4>",
            "  elements    1x64 u8",
            "  bytes       64, aligned to 16",
            "  layout      64:1 in bytes",
        ]
    );
    let output = atoms(&["Rt<bf16,1,1,Diagonal>"]);
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr,
        "error: \"Rt<bf16,1,1,Diagonal>\", column 13: expected a layout (Row, Col), found `Diagonal`\n"
    );
}

#[test]
fn json_has_tiles() {
    let output = atoms(&["--json", "Rt<f32,1,1,Col>", "RowVec<f32,1>", "St<f32,1,2>"]);
    assert_eq!(output.status.code(), Some(0));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let tiles = found["tile"].as_array().expect("tiles");
    assert_eq!((found["mma"].as_array().unwrap().len(), tiles.len()), (0, 3));
    // Lane 6 = 4·1 + 2: column 1, rows 4 and 5; then column 9.
    let first = &tiles[0]["table"][6].as_array().unwrap()[..3];
    assert_eq!(serde_json::json!(first), serde_json::json!([[4, 1], [5, 1], [4, 9]]));
    assert_eq!((&tiles[0]["registers"], &tiles[0]["rows"]), (&8.into(), &16.into()));
    assert_eq!(tiles[1]["table"][6], serde_json::json!([[0, 4], [0, 5], [0, 12], [0, 13]]));
    assert_eq!((&tiles[2]["bytes"], &tiles[2]["cols"]), (&2048.into(), &32.into()));
}
