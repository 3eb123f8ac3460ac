//! `mma.sync` and `mma.sp` of sm_120a on 4-bit, 6-bit and 8-bit elements, with and without block scaling.
//!
//! `kind::f8f6f4` and `kind::mxf8f6f4` store each element in 8 bits; `kind::mxf4` and `kind::mxf4nvf4` pack eight e2m1 into a
//! register.

use MmaType::{E2m1, E2m3, E3m2, E4m3, E5m2, F16, F32, Ue4m3, Ue8m0};

use super::{BlockScale, Group, MmaAtom, MmaType, Registers, Row, Sparsity, dotted, mnk, pairs};
use crate::{
    atoms::mma::{Major, ScaleVector},
    ptx::{Target, Version},
};

/// Types of A and B of `kind::f8f6f4`, in CuTe's order.
const NARROW: [MmaType; 5] = [E2m1, E3m2, E2m3, E4m3, E5m2];

/// Products of packed 4-bit e2m1: kind, scales per row, type of the scales, and whether CuTe defines the atom.
#[rustfmt::skip]
const E2M1: &[(&str, ScaleVector, MmaType, bool)] = &[
    ("mxf4nvf4", ScaleVector::X4, Ue8m0, true),
    ("mxf4nvf4", ScaleVector::X2, Ue8m0, true),
    ("mxf4nvf4", ScaleVector::X4, Ue4m3, true),
    ("mxf4",     ScaleVector::X2, Ue8m0, false),
];

pub(super) fn atoms() -> Vec<MmaAtom> {
    let mut atoms = Vec::new();
    for sparse in [false, true] {
        for sum in [F32, F16] {
            atoms.extend(
                pairs(&NARROW).map(|(a, b)| Product { sparse, types: [sum, a, b, sum], scale: None }.atom()),
            );
        }
        let scale = Some(("mxf8f6f4", ScaleVector::X1, Ue8m0, true));
        atoms.extend(pairs(&NARROW).map(|(a, b)| Product { sparse, types: [F32, a, b, F32], scale }.atom()));
        atoms.extend(
            E2M1.iter()
                .map(|&scale| Product { sparse, types: [F32, E2m1, E2m1, F32], scale: Some(scale) }.atom()),
        );
    }
    atoms
}

struct Product {
    sparse: bool,
    types: [MmaType; 4],
    /// Kind, scales per row, type of the scales, and whether CuTe defines the atom.
    scale: Option<(&'static str, ScaleVector, MmaType, bool)>,
}

impl Product {
    /// Returns whether A and B are packed 4-bit elements.
    fn is_packed(&self) -> bool {
        self.scale.is_some_and(|(_, vector, ..)| vector != ScaleVector::X1)
    }

    fn shape(&self) -> (u32, u32, u32) {
        let k = if self.is_packed() { 64 } else { 32 };
        (16, 8, if self.sparse { 2 * k } else { k })
    }

    fn name(&self) -> String {
        let [d, a, b, _] = self.types.map(cpp_name);
        let (_, _, k) = self.shape();
        let prefix = if self.sparse { "SM120_SPARSE" } else { "SM120" };
        match self.scale {
            None => format!("{prefix}_16x8x{k}_TN<{a}, {b}, {d}>"),
            Some((kind, vector, scale, in_cute)) => {
                let infix = if in_cute { String::new() } else { format!("_{}", kind.to_uppercase()) };
                let (scale, block) = (cpp_name(scale), k / vector.count());
                format!("{prefix}_16x8x{k}_TN_VS{infix}<{a}, {b}, {d}, {scale}, {block}>")
            }
        }
    }

    /// Returns `kind::…` with its qualifiers.
    fn kind(&self, infix: &str) -> String {
        match self.scale {
            None => format!("kind::f8f6f4{infix}"),
            Some((kind, vector, ..)) => {
                format!("kind::{kind}{infix}.block_scale.scale_vec::{}X", vector.count())
            }
        }
    }

    fn mnemonics(&self) -> (String, String) {
        let shape = mnk(self.shape());
        let mut types = dotted(&self.types);
        if let Some((_, _, scale, _)) = self.scale {
            types = format!("{types}.{scale}");
        }
        let sp = if self.sparse { ".sp::ordered_metadata" } else { "" };
        let manual = format!("mma{sp}.sync.aligned.{shape}.row.col.{}.{types}", self.kind(""));
        let cute = format!("mma.sync.aligned.{}.{shape}.row.col.{types}", self.kind(sp));
        // CuTe spells the newest forms as the manual does.
        if self.is_young() { (manual.clone(), manual) } else { (manual, cute) }
    }

    /// Returns whether the form has four scales of type ue8m0, which requires PTX 9.1.
    fn is_young(&self) -> bool {
        matches!(self.scale, Some((_, ScaleVector::X4, Ue8m0, _)))
    }

    fn atom(self) -> MmaAtom {
        let [d, a, b, c] = self.types.map(Registers::packed);
        let factor = |x: Registers| if self.is_packed() { x } else { x.in_bytes() }.ordered(Major::K);
        let (mnemonic, cute) = self.mnemonics();
        let shape = self.shape();
        let operands = [d, factor(a), factor(b), c];
        let row = Row { name: self.name(), mnemonic, shape, group: Group::Warp, operands };
        let scale = self.scale.map(|(_, vector, ty, _)| BlockScale { ty, vector, k: shape.2 });
        let mut atom = row.atom().spelled_by_cute(cute).scaled(scale);
        if self.sparse {
            atom = atom.sparse(Sparsity::new(if self.is_packed() { 4 } else { 8 }, shape.2));
        }
        if self.is_young() {
            atom = atom.since(Version::new(9, 1), Target::SM_120A);
        }
        atom
    }
}

/// Returns the type's name in CUTLASS.
fn cpp_name(ty: MmaType) -> String {
    match ty {
        F32 => "float".to_owned(),
        F16 => "half_t".to_owned(),
        _ => format!("float_{ty}_t"),
    }
}
