//! Single-thread multiply-adds: dot products of packed integers, and plain multiply-adds.

use MmaType::{Bf16, F16, F32, F64, S8, S16, S32};

use super::{Group, MmaAtom, MmaType, Registers, Row};

/// Dot products in one register: CuTe's name, the PTX manual's mnemonic, CuTe's mnemonic, k, types of A and B.
#[rustfmt::skip]
const DOTS: &[(&str, &str, &str, u32, MmaType, MmaType)] = &[
    ("SM61_DP4A", "dp4a.s32.s32",    "dp4a.s32.s32", 4, S8,  S8),
    ("SM61_DP2A", "dp2a.lo.s32.s32", "dp2a.s32.s32", 2, S16, S8),
];

/// `d = a · b + c`; floating-point results are rounded once.
const UNIVERSAL: &[(MmaType, &str)] = &[
    (F32, "fma.rn.f32"),
    (F64, "fma.rn.f64"),
    (F16, "fma.rn.f16"),
    (Bf16, "fma.rn.bf16"),
    (S32, "mad.lo.s32"),
];

pub(super) fn atoms() -> Vec<MmaAtom> {
    let dots = DOTS.iter().map(|&(name, mnemonic, cute, k, a, b)| {
        let row = Row {
            name: name.to_owned(),
            mnemonic: mnemonic.to_owned(),
            shape: (1, 1, k),
            group: Group::Thread,
            operands: [S32, a, b, S32].map(Registers::packed),
        };
        row.atom().spelled_by_cute(cute.to_owned())
    });
    let universal = UNIVERSAL.iter().map(|&(ty, mnemonic)| {
        let row = Row {
            name: format!("UniversalFMA<{ty}>"),
            mnemonic: mnemonic.to_owned(),
            shape: (1, 1, 1),
            group: Group::Thread,
            operands: [Registers::single(ty); 4],
        };
        row.atom()
    });
    dots.chain(universal).collect()
}
