//! Instructions as data: which thread owns which element of each operand.
//!
//! [`MmaAtom`] is a matrix instruction, and [`CopyAtom`] is an instruction that moves data. [`mma_atoms`] and [`copy_atoms`] list all
//! atoms; [`mma_atom`] and [`copy_atom`] look them up by their CuTe names.
//!
//! The (thread, value) layouts of an atom are [`Layout`](crate::layout::Layout)s. Its fragments are [`TvLayout`](crate::layout::TvLayout)s,
//! which determine the owner of each element and the elements of each lane. [`rt_base`] returns the fragments of register tiles.
#![forbid(unsafe_code)]

mod copy;
mod emit;
mod emit_wgmma;
mod error;
mod mma;
mod mma_type;
mod rt_base;

pub use copy::{CopyAtom, CopyKind, CopySide, Matrices, copy_atom, copy_atoms};
pub use emit::{Metadata, Scale};
pub use emit_wgmma::WgmmaOptions;
pub use error::NotInRegisters;
pub use mma::{
    BitOp, BlockScale, Group, Major, MmaAtom, MmaOperand, ScaleVector, Source, Sparsity, UnknownAtom,
    mma_atom, mma_atoms, mma_with_mnemonic,
};
pub use mma_type::MmaType;
pub use rt_base::{ElementWidth, TileLayout, rt_base};
