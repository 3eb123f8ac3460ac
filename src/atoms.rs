//! Instructions as data: which lane holds which element of which operand.
//!
//! A [`FragmentMap`] is a public value: ask it who owns an element, list what a lane holds, check that it is a bijection,
//! print it as a table. [`rt_base`] gives the register tiles' maps, [`mma_fragment`] those of `mma.sync`.
#![forbid(unsafe_code)]

mod error;
mod fragment;
mod mma;
mod rt_base;
#[cfg(feature = "proptest")]
pub mod strategies;

pub use error::FragmentError;
pub use fragment::{Element, ElementWidth, FragmentMap, Owner};
pub use mma::{MmaOperand, MmaShape, mma_fragment, mma_fragments};
pub use rt_base::{TileLayout, rt_base};
