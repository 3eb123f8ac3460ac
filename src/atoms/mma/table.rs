//! The table of all matrix atoms. It is generated from families; a family is a shape with the types that it supports.

mod blackwell;
mod dense;
mod scalar;
mod sparse;
mod wgmma;

use std::{collections::HashMap, sync::LazyLock};

use thiserror::Error;

use super::{BitOp, BlockScale, Group, MmaAtom, Registers, Sparsity};
use crate::{
    atoms::mma_type::MmaType,
    ptx::{Target, Version},
};

/// An unrecognized atom name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected the name of {what} atom, found `{name}`{}", closest.as_ref().map_or_else(String::new, |closest| format!(": the closest name is `{closest}`")))]
pub struct UnknownAtom {
    /// `"an mma"` or `"a copy"`.
    what: &'static str,
    /// The unrecognized name.
    name: String,
    /// The closest known name, if it shares a prefix with `name` that is at least half as long as `name`.
    closest: Option<String>,
}

impl UnknownAtom {
    /// Selects the known name with the longest common prefix.
    pub(in crate::atoms) fn new<'a>(
        what: &'static str,
        name: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let common = |a: &str| a.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        let closest = known.max_by_key(|known| (common(known), std::cmp::Reverse(known.len())));
        // A name with a short common prefix is not a useful suggestion.
        let closest = closest.filter(|known| 2 * common(known) >= name.len());
        UnknownAtom { what, name: name.to_owned(), closest: closest.map(str::to_owned) }
    }
}

/// Atoms with an index of their names.
struct Table {
    atoms: Vec<MmaAtom>,
    by_name: HashMap<String, usize>,
}

impl Table {
    fn new(atoms: Vec<MmaAtom>) -> Self {
        let by_name = atoms.iter().enumerate().map(|(place, atom)| (atom.name.clone(), place)).collect();
        Table { atoms, by_name }
    }

    fn find(&self, name: &str) -> Option<&MmaAtom> {
        self.by_name.get(name).map(|&place| &self.atoms[place])
    }
}

/// All atoms except those of `wgmma`. The more than 2000 `wgmma` atoms have their own table, so that kernels without `wgmma` need not build
/// it.
static WARP: LazyLock<Table> = LazyLock::new(|| {
    Table::new(
        [scalar::atoms(), dense::atoms(), blackwell::atoms(), sparse::atoms()]
            .into_iter()
            .flatten()
            .collect(),
    )
});

static WGMMA: LazyLock<Table> = LazyLock::new(|| Table::new(wgmma::atoms()));

/// Returns all atoms, ordered by group: single thread, quad pair, warp, warpgroup.
pub fn mma_atoms() -> impl Iterator<Item = &'static MmaAtom> {
    WARP.atoms.iter().chain(&WGMMA.atoms)
}

/// Returns the atom named `name`, such as `SM80_16x8x16_F32BF16BF16F32_TN` or `SM90_64x128x16_F32F16F16_SS`.
///
/// # Errors
/// Returns [`UnknownAtom`] if no atom has this name. The error message suggests a similar name, if any.
pub fn mma_atom(name: &str) -> Result<&'static MmaAtom, UnknownAtom> {
    let found = WARP.find(name).or_else(|| WGMMA.find(name));
    found.ok_or_else(|| UnknownAtom::new("an mma", name, mma_atoms().map(MmaAtom::name)))
}

/// Returns the first atom with the given mnemonic, in either the PTX manual's or CuTe's spelling, or `None` if no atom has this mnemonic.
#[must_use]
pub fn mma_with_mnemonic(mnemonic: &str) -> Option<&'static MmaAtom> {
    let is = |atom: &&MmaAtom| atom.mnemonic == mnemonic || atom.cute_mnemonic == mnemonic;
    mma_atoms().find(|atom| !mnemonic.is_empty() && is(atom))
}

/// The properties from which an atom is derived.
struct Row {
    name: String,
    mnemonic: String,
    shape: (u32, u32, u32),
    group: Group,
    /// D, A, B, C, in the order of PTX.
    operands: [Registers; 4],
}

impl Row {
    fn atom(self) -> MmaAtom {
        let [d, a, b, c] = self.operands;
        MmaAtom {
            name: self.name,
            cute_mnemonic: self.mnemonic.clone(),
            mnemonic: self.mnemonic,
            shape: self.shape,
            group: self.group,
            operands: [a, b, c, d],
            saturates: false,
            bit_op: None,
            sparsity: None,
            block_scale: None,
            support: None,
            layouts: Default::default(),
            threads: Default::default(),
        }
    }
}

impl MmaAtom {
    fn saturating(self, saturates: bool) -> Self {
        MmaAtom { saturates, ..self }
    }

    fn on_bits(self, op: BitOp) -> Self {
        MmaAtom { bit_op: Some(op), ..self }
    }

    fn sparse(self, sparsity: Sparsity) -> Self {
        MmaAtom { sparsity: Some(sparsity), ..self }
    }

    fn scaled(self, block_scale: Option<BlockScale>) -> Self {
        MmaAtom { block_scale, ..self }
    }

    fn spelled_by_cute(self, cute_mnemonic: String) -> Self {
        MmaAtom { cute_mnemonic, ..self }
    }

    fn since(self, version: Version, target: Target) -> Self {
        MmaAtom { support: Some((version, target)), ..self }
    }
}

/// Formats a shape as in names: `16x8x16`.
fn by((m, n, k): (u32, u32, u32)) -> String {
    format!("{m}x{n}x{k}")
}

/// Formats a shape as in mnemonics: `m16n8k16`.
fn mnk((m, n, k): (u32, u32, u32)) -> String {
    format!("m{m}n{n}k{k}")
}

/// Formats types as in the names of atoms: `F32BF16BF16F32`.
fn letters(types: &[MmaType]) -> String {
    types.iter().map(|ty| ty.cute_name()).collect()
}

/// Formats types as in mnemonics: `f32.bf16.bf16.f32`.
fn dotted(types: &[MmaType]) -> String {
    types.iter().map(|ty| ty.name()).collect::<Vec<_>>().join(".")
}

/// Returns all pairs of types of A and B.
fn pairs(types: &[MmaType]) -> impl Iterator<Item = (MmaType, MmaType)> + '_ {
    types.iter().flat_map(move |&a| types.iter().map(move |&b| (a, b)))
}
