//! `mma.sp::ordered_metadata`, sm_80 to sm_90. CuTe defines no such atoms; the names follow those of its sm_120 atoms.
//!
//! `mma.sp` without ordered metadata is omitted because ptxas advises against it.

use MmaType::{Bf16, E4m3, E5m2, F16, F32, S4, S8, S32, Tf32, U4, U8};

use super::{Group, MmaAtom, MmaType, Registers, Row, Sparsity, by, dotted, letters, pairs};
use crate::{atoms::mma::Major, ptx::matrix_mnemonic};

type Shape = (u32, u32, u32);

/// Floating-point forms: shape, types of D, A, B, C.
#[rustfmt::skip]
const FLOATS: &[(Shape, [MmaType; 4])] = &[
    ((16, 8, 16), [F16, F16,  F16,  F16]),
    ((16, 8, 16), [F32, F16,  F16,  F32]),
    ((16, 8, 16), [F32, Bf16, Bf16, F32]),
    ((16, 8, 32), [F16, F16,  F16,  F16]),
    ((16, 8, 32), [F32, F16,  F16,  F32]),
    ((16, 8, 32), [F32, Bf16, Bf16, F32]),
    ((16, 8, 8),  [F32, Tf32, Tf32, F32]),
    ((16, 8, 16), [F32, Tf32, Tf32, F32]),
];

/// Integer forms for every combination of signed and unsigned types, wrapping and saturating.
#[rustfmt::skip]
const INTEGERS: &[(Shape, [MmaType; 2])] = &[
    ((16, 8, 32),  [S8, U8]),
    ((16, 8, 64),  [S8, U8]),
    ((16, 8, 64),  [S4, U4]),
    ((16, 8, 128), [S4, U4]),
];

pub(super) fn atoms() -> Vec<MmaAtom> {
    let mut atoms: Vec<_> = FLOATS.iter().map(|&(shape, types)| atom("SM80", shape, types, false)).collect();
    for &(shape, signs) in INTEGERS {
        for (a, b) in pairs(&signs) {
            atoms.extend([false, true].map(|saturates| atom("SM80", shape, [S32, a, b, S32], saturates)));
        }
    }
    atoms.extend(pairs(&[E4m3, E5m2]).map(|(a, b)| atom("SM89", (16, 8, 64), [F32, a, b, F32], false)));
    atoms
}

fn atom(since: &str, shape: Shape, types: [MmaType; 4], saturates: bool) -> MmaAtom {
    let [d, a, b, c] = types.map(Registers::packed);
    let (ending, qualifier) = if saturates { ("_SATURATE", ".satfinite") } else { ("", "") };
    let row = Row {
        name: format!("{since}_SPARSE_{}_{}_TN{ending}", by(shape), letters(&types)),
        mnemonic: matrix_mnemonic::sparse_mma(shape, qualifier, &dotted(&types)),
        shape,
        group: Group::Warp,
        operands: [d, a.ordered(Major::K), b.ordered(Major::K), c],
    };
    row.atom().saturating(saturates).sparse(Sparsity::new(types[1].bits(), shape.2))
}
