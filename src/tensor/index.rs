//! Coordinates in kernels: each index selects a whole mode, or is a constant or a register.

use std::ops::RangeFull;

use crate::{
    layout::{Slicer, Slot, Tuple},
    ptx::Val,
};

/// An entry of a tensor coordinate ([`Indices`]) in a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Index<'k> {
    /// The whole mode (`..`, CuTe's `_`).
    All,
    /// A static index.
    Constant(i64),
    /// An index in a register.
    Value(Val<'k, u32>),
}

/// A coordinate of a tensor in a kernel, such as `(row, ..)`.
///
/// Its entries are integers, [`Val`]s, `..` (the whole mode), and nested coordinates.
pub type Indices<'k> = Tuple<Index<'k>>;

impl From<RangeFull> for Indices<'_> {
    fn from(_: RangeFull) -> Self {
        Tuple::Leaf(Index::All)
    }
}

impl<'k> From<Val<'k, u32>> for Indices<'k> {
    fn from(value: Val<'k, u32>) -> Self {
        Tuple::Leaf(value.as_constant().map_or(Index::Value(value), |index| Index::Constant(index.into())))
    }
}

impl From<Slicer> for Indices<'_> {
    fn from(slicer: Slicer) -> Self {
        slicer.map(|slot| match slot {
            Slot::Keep => Index::All,
            Slot::At(index) => Index::Constant(*index),
        })
    }
}

macro_rules! from_integers {
    ($($integer:ty)+) => {$(
        impl From<$integer> for Indices<'_> {
            fn from(value: $integer) -> Self {
                Tuple::Leaf(Index::Constant(i64::try_from(value).unwrap_or(i64::MAX)))
            }
        }
    )+};
}

from_integers!(i64 i32 u32 usize);

/// Returns the constant part of a coordinate, with 0 for indices in registers.
pub(super) fn constants(indices: &Indices<'_>) -> Slicer {
    indices.map(|index| match index {
        Index::All => Slot::Keep,
        Index::Constant(at) => Slot::At(*at),
        Index::Value(_) => Slot::At(0),
    })
}
