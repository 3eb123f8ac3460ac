//! The 51 instructions that MoYe names (`mma_ops_list`), with the layouts that its tables specify.

use pretty_assertions::assert_eq;
use warpwright::{
    atoms::{MmaAtom, MmaOperand, mma_atoms},
    layout::Layout,
};

const LIST: &str = include_str!("../data/tensor/mmaop.tsv");

/// Layouts of A, B and C by family.
const FAMILIES: &[[&str; 4]] = &[
    ["F1", "((4,8),(2,2)):((32,1),(16,8))", "((4,8),2):((16,1),8)", "((4,8),(2,2)):((32,1),(16,8))"],
    [
        "F2",
        "((4,8),(2,2,2)):((32,1),(16,8,128))",
        "((4,8),(2,2)):((16,1),(8,64))",
        "((4,8),(2,2)):((32,1),(16,8))",
    ],
    ["F3", "((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)", "((4,8),(2,2)):((32,1),(16,8))"],
    ["F4", "((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)", "((4,8),(2,2)):((32,1),(16,8))"],
    ["F5", "((4,8),1):((8,1),0)", "((4,8),1):((8,1),0)", "((4,8),2):((16,1),8)"],
    ["F6", "((4,8),4):((32,1),8)", "((4,8),4):((32,1),8)", "((4,8),2):((16,1),8)"],
    ["F7", "((4,8),(4,2)):((64,1),(16,8))", "((4,8),4):((32,1),8)", "((4,8),(2,2)):((32,1),(16,8))"],
    [
        "F8",
        "((4,8),(4,2,2)):((64,1),(16,8,256))",
        "((4,8),(4,2)):((32,1),(8,128))",
        "((4,8),(2,2)):((32,1),(16,8))",
    ],
    ["F9", "((4,8),32):((256,1),8)", "((4,8),32):((256,1),8)", "((4,8),2):((16,1),8)"],
    ["F10", "((4,8),(32,2)):((512,1),(16,8))", "((4,8),32):((256,1),8)", "((4,8),(2,2)):((32,1),(16,8))"],
    [
        "F11",
        "((4,8),(32,2,2)):((512,1),(16,8,2048))",
        "((4,8),(32,2)):((256,1),(8,1024))",
        "((4,8),(2,2)):((32,1),(16,8))",
    ],
];

/// A and B of the quad-pair instructions, by whether the operand's rows (`r`) or columns are along k.
const ALONG_K: &str = "(8,4):(1,8)";
const ACROSS_K: &str = "((4,2),4):((8,4),1)";

/// The layouts of a family; `Vrc16`: A by rows, B by columns, C of 16 bits.
fn family(name: &str) -> [Layout; 3] {
    let parsed = |text: &str| text.parse().unwrap();
    if let Some([_, layouts @ ..]) = FAMILIES.iter().find(|family| family[0] == name) {
        return layouts.map(parsed);
    }
    let a = if name.starts_with("Vr") { ALONG_K } else { ACROSS_K };
    let b = if name[2..].starts_with('c') { ALONG_K } else { ACROSS_K };
    let c = if name.ends_with("16") { "(8,8):(1,8)" } else { "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))" };
    [a, b, c].map(parsed)
}

/// ptxas takes `.satfinite` before and after the types.
fn by_mnemonic(ptx: &str) -> &'static MmaAtom {
    let parts = |mnemonic: &str| {
        let mut parts: Vec<String> = mnemonic.split('.').map(str::to_owned).collect();
        parts.sort_by_key(|part| part == "satfinite");
        parts
    };
    mma_atoms().find(|atom| parts(atom.mnemonic()) == parts(ptx)).unwrap_or_else(|| panic!("no {ptx}"))
}

#[test]
fn all_instructions_of_the_list() {
    let rows: Vec<Vec<&str>> = LIST.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 51);
    for row in rows {
        let [name, ptx, registers, target, layouts] = row[..] else { panic!("{row:?}") };
        let atom = by_mnemonic(ptx);
        let (m, n, k) = atom.shape();
        assert!(name.starts_with(&format!("{m}x{n}x{k}_")), "{name}: {m}×{n}×{k}");
        let operands = [MmaOperand::D, MmaOperand::A, MmaOperand::B, MmaOperand::C];
        let found = operands.map(|operand| atom.registers(operand).to_string()).join("/");
        assert_eq!(found, registers, "{name}");
        // ptxas no longer has sm_70.
        let lowest = if target == "sm_70" { "sm_75" } else { target };
        assert_eq!(atom.target().to_string(), lowest, "{name}");
        let [a, b, c] = family(layouts);
        for (found, wanted) in [(atom.layout_a(), a), (atom.layout_b(), b), (atom.layout_c(), c)] {
            assert!(found.values().eq(wanted.values()), "{name}: {found}, wanted {wanted}");
        }
    }
}
