//! Instructions as data: which thread holds which element of which operand.
//!
//! [`MmaAtom`] is a matrix instruction, [`CopyAtom`] one that moves data; each stands once in a table ([`mma_atoms`],
//! [`copy_atoms`]) and is found by CuTe's name ([`mma_atom`], [`copy_atom`]). Their (thread, value) layouts are values of the
//! layout algebra. A [`FragmentMap`] is such a layout that is ready for questions: ask it who owns an element, list what a
//! lane holds, check that it is a bijection, print it as a table. [`rt_base`] gives the register tiles' maps.
#![forbid(unsafe_code)]

mod copy;
mod emit;
mod error;
mod fragment;
mod mma;
mod mma_type;
mod rt_base;

pub use copy::{CopyAtom, CopyKind, CopySide, Matrices, copy_atom, copy_atoms};
pub use emit::{Metadata, Scale};
pub use error::FragmentError;
pub use fragment::{Element, ElementWidth, FragmentMap, Owner};
pub use mma::{
    BitOp, BlockScale, Group, Major, MmaAtom, MmaOperand, ScaleVector, Source, Sparsity, UnknownAtom,
    mma_atom, mma_atoms, mma_with_mnemonic,
};
pub use mma_type::MmaType;
pub use rt_base::{TileLayout, rt_base};
