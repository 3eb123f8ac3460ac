//! Instructions as data: which thread holds which element of which operand.
//!
//! [`MmaAtom`] is a matrix instruction, [`CopyAtom`] one that moves data; each stands once in a table ([`mma_atoms`],
//! [`copy_atoms`]) and is found by CuTe's name ([`mma_atom`], [`copy_atom`]). Their (thread, value) layouts are values of the
//! layout algebra. Their fragments are [`TvLayout`](crate::layout::TvLayout)s, which answer who owns an element and
//! which elements a lane owns. [`rt_base`] gives the fragments of register tiles.
#![forbid(unsafe_code)]

mod copy;
mod emit;
mod error;
mod mma;
mod mma_type;
mod rt_base;

pub use copy::{CopyAtom, CopyKind, CopySide, Matrices, copy_atom, copy_atoms};
pub use emit::{Metadata, Scale};
pub use error::NotInRegisters;
pub use mma::{
    BitOp, BlockScale, Group, Major, MmaAtom, MmaOperand, ScaleVector, Source, Sparsity, UnknownAtom,
    mma_atom, mma_atoms, mma_with_mnemonic,
};
pub use mma_type::MmaType;
pub use rt_base::{ElementWidth, TileLayout, rt_base};
