//! `mma.sync` fragments against CuTe's tables (CUTLASS 4.7.0), which agree with the PTX manual's figures.

use pretty_assertions::assert_eq;
use serde_json::Value;
use warpwright::atoms::{ElementWidth, MmaOperand, MmaShape, mma_fragment};

const ATOMS: &str = include_str!("../data/atoms/mma_fragments.json");

#[test]
fn mma_fragments_are_cutes() {
    let atoms: Value = serde_json::from_str(ATOMS).expect("JSON");
    let mut checked = 0;
    for atom in atoms["atoms"].as_array().expect("atoms") {
        let name = atom["name"].as_str().expect("a name");
        let shape = match atom["K"].as_i64() {
            Some(8) => MmaShape::M16N8K8,
            _ => MmaShape::M16N8K16,
        };
        for (operand, key) in [(MmaOperand::A, "A"), (MmaOperand::B, "B"), (MmaOperand::C, "C")] {
            let width = match atom["types"][key].as_str() {
                Some("f16" | "bf16") => ElementWidth::B16,
                _ => ElementWidth::B32,
            };
            let map = mma_fragment(shape, operand, width).expect("the table has it");
            let table = atoms["tables"][atom[key].as_str().expect("a table")].as_array().expect("lanes");
            assert_eq!(table.len(), map.lanes() as usize);
            for (lane, values) in (0_u32..).zip(table) {
                let ours: Vec<Value> =
                    map.elements(lane).map(|e| serde_json::json!([e.row, e.col])).collect();
                assert_eq!(&Value::Array(ours), values, "{name} {key}, lane {lane}");
                let order: Vec<_> = map.elements(lane).map(|e| (e.register, e.half)).collect();
                assert!(order.is_sorted(), "{name} {key}: values are in register order");
            }
            assert_eq!(
                u64::from(map.registers()),
                atom["regs"][key].as_u64().expect("a count"),
                "{name} {key}"
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 9);
}

#[test]
fn accumulators_hold_pairs_of_a_row() {
    // PTX ISA, mma.m16n8k8 and m16n8k16: row g + 8⌊i/2⌋, column 2t + i mod 2 for c_i, whatever its width.
    for shape in [MmaShape::M16N8K8, MmaShape::M16N8K16] {
        for width in [ElementWidth::B16, ElementWidth::B32] {
            let map = mma_fragment(shape, MmaOperand::C, width).expect("the table has it");
            for lane in 0..32 {
                let held: Vec<_> = map.elements(lane).map(|e| (e.row, e.col)).collect();
                let (g, t) = (lane / 4, lane % 4);
                assert_eq!(held, [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)]);
            }
        }
    }
    assert_eq!(mma_fragment(MmaShape::M16N8K16, MmaOperand::A, ElementWidth::B32), None);
}
