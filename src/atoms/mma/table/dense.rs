//! `mma.sync` of dense matrices, sm_70 to sm_90.

use MmaType::{B1, Bf16, C64, E4m3, E5m2, F16, F32, F64, Gc64, S4, S8, S32, Tf32, U4, U8};

use super::{BitOp, Group, MmaAtom, MmaType, Registers, Row, by, dotted, letters, pairs};
use crate::{
    atoms::mma::Major,
    ptx::{Target, Version, matrix_mnemonic},
};

type Shape = (u32, u32, u32);

/// Floating-point forms: the prefix of CuTe's name, shape, types of D, A, B, C.
#[rustfmt::skip]
const FLOATS: &[(&str, Shape, [MmaType; 4])] = &[
    ("SM75", (16, 8, 8),  [F16, F16,  F16,  F16]),
    ("SM75", (16, 8, 8),  [F32, F16,  F16,  F32]),
    ("SM80", (16, 8, 8),  [F16, F16,  F16,  F16]),
    ("SM80", (16, 8, 8),  [F32, F16,  F16,  F32]),
    ("SM80", (16, 8, 8),  [F32, Bf16, Bf16, F32]),
    ("SM80", (16, 8, 16), [F16, F16,  F16,  F16]),
    ("SM80", (16, 8, 16), [F32, F16,  F16,  F32]),
    ("SM80", (16, 8, 16), [F32, Bf16, Bf16, F32]),
    ("SM80", (16, 8, 4),  [F32, Tf32, Tf32, F32]),
    ("SM80", (16, 8, 8),  [F32, Tf32, Tf32, F32]),
    ("SM80", (8, 8, 4),   [F64, F64,  F64,  F64]),
    ("SM90", (16, 8, 4),  [F64, F64,  F64,  F64]),
    ("SM90", (16, 8, 8),  [F64, F64,  F64,  F64]),
    ("SM90", (16, 8, 16), [F64, F64,  F64,  F64]),
];

/// Complex products that CuTe computes from three or four products of f64.
#[rustfmt::skip]
const COMPLEX: &[(&str, Shape, [MmaType; 4])] = &[
    ("SM80", (8, 8, 4),   [C64,  C64, C64, C64]),
    ("SM80", (8, 8, 4),   [Gc64, C64, C64, Gc64]),
    ("SM90", (16, 8, 4),  [C64,  C64, C64, C64]),
    ("SM90", (16, 8, 8),  [C64,  C64, C64, C64]),
    ("SM90", (16, 8, 16), [C64,  C64, C64, C64]),
];

/// Integer forms for every combination of signed and unsigned types, wrapping and saturating.
#[rustfmt::skip]
const INTEGERS: &[(Shape, [MmaType; 2])] = &[
    ((8, 8, 16),  [S8, U8]),
    ((16, 8, 16), [S8, U8]),
    ((16, 8, 32), [S8, U8]),
    ((8, 8, 32),  [S4, U4]),
    ((16, 8, 32), [S4, U4]),
    ((16, 8, 64), [S4, U4]),
];

/// Shapes of single-bit products.
const BITS: &[Shape] = &[(8, 8, 128), (16, 8, 128), (16, 8, 256)];

/// Shapes of fp8 products, in every combination of types, with f32 or f16 accumulators.
const FP8: &[Shape] = &[(16, 8, 16), (16, 8, 32)];

/// The types of D and C of the quad-pair form.
const QUAD_PAIR_SUMS: &[(MmaType, MmaType)] = &[(F16, F16), (F32, F32), (F32, F16)];

pub(super) fn atoms() -> Vec<MmaAtom> {
    let mut atoms = quad_pairs();
    atoms.extend(FLOATS.iter().map(|&(since, shape, types)| row(since, shape, types, "").atom()));
    // CuTe has one integer form named after sm_75; all integer forms, including this one, also have a name with SM80.
    atoms.push(row("SM75", (8, 8, 16), [S32, S8, S8, S32], "").atom());
    for &(shape, signs) in INTEGERS {
        atoms.extend(pairs(&signs).flat_map(|(a, b)| integers(shape, [S32, a, b, S32])));
    }
    for &shape in BITS {
        atoms.push(bits(shape, BitOp::And, "and", "_ANDPOPC"));
        atoms.push(bits(shape, BitOp::Xor, "xor", "_XORPOPC"));
    }
    for &shape in FP8 {
        for sum in [F32, F16] {
            atoms.extend(pairs(&[E4m3, E5m2]).map(|(a, b)| row("SM89", shape, [sum, a, b, sum], "").atom()));
        }
    }
    atoms.extend(COMPLEX.iter().map(|&(since, shape, types)| {
        let target = if since == "SM80" { Target::SM_80 } else { Target::SM_90 };
        let row = Row { mnemonic: String::new(), ..row(since, shape, types, "") };
        row.atom().since(if since == "SM80" { Version::new(7, 0) } else { Version::new(7, 8) }, target)
    }));
    atoms
}

/// Returns the row of a warp-level atom with A row-major and B column-major (`TN`); `ending` is appended to the name.
fn row(since: &str, shape: Shape, types: [MmaType; 4], ending: &str) -> Row {
    let [d, a, b, c] = types.map(Registers::packed);
    Row {
        name: format!("{since}_{}_{}_TN{ending}", by(shape), letters(&types)),
        mnemonic: matrix_mnemonic::mma(shape, "", &dotted(&types)),
        shape,
        group: Group::Warp,
        operands: [d, a.ordered(Major::K), b.ordered(Major::K), c],
    }
}

/// Returns the wrapping and the saturating forms.
fn integers(shape: Shape, types: [MmaType; 4]) -> [MmaAtom; 2] {
    let wrapping = row("SM80", shape, types, "");
    let saturating = row("SM80", shape, types, "_SATURATE");
    let cute = format!("{}.satfinite", saturating.mnemonic);
    let mnemonic = matrix_mnemonic::mma(shape, ".satfinite", &dotted(&types));
    let saturating = Row { mnemonic, ..saturating }.atom().spelled_by_cute(cute).saturating(true);
    [wrapping.atom(), saturating]
}

fn bits(shape: Shape, op: BitOp, name: &str, ending: &str) -> MmaAtom {
    let row = row("SM80", shape, [S32, B1, B1, S32], ending);
    let mnemonic = format!("{}.{name}.popc", row.mnemonic);
    Row { mnemonic, ..row }.atom().on_bits(op)
}

/// Returns `mma.m8n8k4` on f16 for all orders of A and B.
fn quad_pairs() -> Vec<MmaAtom> {
    let orders = [
        ("TN", "row.col", Major::K, Major::K),
        ("NT", "col.row", Major::Mn, Major::Mn),
        ("NN", "col.col", Major::Mn, Major::K),
        ("TT", "row.row", Major::K, Major::Mn),
    ];
    let mut atoms = Vec::new();
    for &(d, c) in QUAD_PAIR_SUMS {
        for (letters_of_order, order, major_a, major_b) in orders {
            let types = [d, F16, F16, c];
            let [d, a, b, c] = types.map(Registers::packed);
            let row = Row {
                name: format!("SM70_8x8x4_{}_{letters_of_order}", letters(&types)),
                mnemonic: format!("mma.sync.aligned.m8n8k4.{order}.{}", dotted(&types)),
                shape: (8, 8, 4),
                group: Group::QuadPair,
                operands: [d, a.ordered(major_a), b.ordered(major_b), c],
            };
            atoms.push(row.atom());
        }
    }
    atoms
}
