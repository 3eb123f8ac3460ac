//! `wgmma.mma_async`: M is 64, N is a legal multiple of 8 up to 256, A is in registers or in shared memory, and B is in shared memory (PTX
//! ISA, "Asynchronous Warpgroup Level Matrix Instructions").

use MmaType::{B1, Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};

use super::{BitOp, Group, MmaAtom, MmaType, Registers, Row, Sparsity, by, dotted, letters, pairs};
use crate::{atoms::mma::Major, ptx::matrix_mnemonic};

/// A family: K, and the types of D, A and B.
type Family = (u32, [MmaType; 3]);

/// 16-bit elements in shared memory may be in either order; others are K-major.
const EITHER: &[Major] = &[Major::K, Major::Mn];
const K_MAJOR: &[Major] = &[Major::K];

/// Returns the legal values of N: every multiple of 8 for floating-point types, and a subset for integers.
fn legal_n(d: MmaType) -> impl Iterator<Item = u32> {
    (1..=32).map(|n| 8 * n).filter(move |&n| d != S32 || n % 16 == 0 || n < 32)
}

pub(super) fn atoms() -> Vec<MmaAtom> {
    let halves = [(16, [F16, F16, F16]), (16, [F32, F16, F16]), (16, [F32, Bf16, Bf16])];
    let mut families: Vec<Family> = halves.to_vec();
    families.push((8, [F32, Tf32, Tf32]));
    families.extend(pairs(&[E4m3, E5m2]).flat_map(|(a, b)| [F16, F32].map(|d| (32, [d, a, b]))));
    let signs: Vec<Family> = pairs(&[S8, U8]).map(|(a, b)| (32, [S32, a, b])).collect();
    let mut atoms: Vec<_> = families.iter().flat_map(|&family| each(family, plain)).collect();
    for &family in &signs {
        atoms.extend(each(family, plain).chain(each(family, saturating)));
    }
    atoms.extend(each((256, [S32, B1, B1]), bits));
    // With a sparse A, K is twice as large.
    let double = |(k, types): Family| (2 * k, types);
    atoms.extend(families.into_iter().flat_map(|family| each(double(family), sparse)));
    for family in signs.into_iter().map(double) {
        atoms.extend(each(family, sparse).chain(each(family, sparse_saturating)));
    }
    atoms
}

/// Builds the atoms for every N, with A in shared memory and in registers.
fn each(family: Family, make: fn(Family, u32, bool) -> MmaAtom) -> impl Iterator<Item = MmaAtom> {
    let (_, [d, ..]) = family;
    legal_n(d).flat_map(move |n| [false, true].map(|registers| make(family, n, registers)))
}

/// Returns a row of the family, named `PREFIX_…_ENDING`, with qualifiers before and after the shape.
fn row(
    (k, types): Family,
    n: u32,
    registers: bool,
    [prefix, sp]: [&str; 2],
    [ending, qualifier]: [&str; 2],
) -> Row {
    let [d, a, b] = types.map(Registers::packed);
    let shape = (64, n, k);
    let majors = if types[1].bits() == 16 { EITHER } else { K_MAJOR };
    let source = if registers { "RS" } else { "SS" };
    // The orders of 16-bit atoms are options and not part of the name; other atoms have only one order.
    let order = if types[1].bits() == 16 { "" } else { "_TN" };
    Row {
        name: format!("{prefix}_{}_{}_{source}{order}{ending}", by(shape), letters(&types)),
        mnemonic: matrix_mnemonic::wgmma(sp, shape, qualifier, &dotted(&types)),
        shape,
        group: Group::Warpgroup,
        operands: [d, if registers { a.ordered(Major::K) } else { a.shared(majors) }, b.shared(majors), d],
    }
}

/// The prefixes of dense and sparse atoms.
const DENSE: [&str; 2] = ["SM90", ""];
const SPARSE: [&str; 2] = ["SM90_SPARSE", ".sp"];

const PLAIN: [&str; 2] = ["", ""];
const SATURATING: [&str; 2] = ["_SATURATE", ".satfinite"];

fn plain(family: Family, n: u32, registers: bool) -> MmaAtom {
    row(family, n, registers, DENSE, PLAIN).atom()
}

fn saturating(family: Family, n: u32, registers: bool) -> MmaAtom {
    saturated(row(family, n, registers, DENSE, SATURATING))
}

fn sparse(family: Family, n: u32, registers: bool) -> MmaAtom {
    compressed(row(family, n, registers, SPARSE, PLAIN).atom(), family)
}

fn sparse_saturating(family: Family, n: u32, registers: bool) -> MmaAtom {
    compressed(saturated(row(family, n, registers, SPARSE, SATURATING)), family)
}

/// In CuTe's mnemonics, `.satfinite` is at the end.
fn saturated(row: Row) -> MmaAtom {
    let cute = format!("{}.satfinite", row.mnemonic.replace(".satfinite", ""));
    row.atom().spelled_by_cute(cute).saturating(true)
}

fn compressed(atom: MmaAtom, (k, types): Family) -> MmaAtom {
    atom.sparse(Sparsity::new(types[1].bits(), k))
}

fn bits(family: Family, n: u32, registers: bool) -> MmaAtom {
    let row = row(family, n, registers, DENSE, ["_ANDPOPC", ""]);
    let mnemonic = format!("{}.and.popc", row.mnemonic);
    Row { mnemonic, ..row }.atom().on_bits(BitOp::And)
}
