//! Coordinates in kernels: places may be kept, known to the host, or in a register.

use std::ops::RangeFull;

use crate::{
    layout::{Slicer, Slot, Tuple},
    ptx::Val,
};

/// One place of a kernel's coordinate.
#[derive(Clone, Copy, Debug)]
pub enum Pick<'k> {
    /// Keep the mode (`..`, CuTe's `_`).
    Keep,
    /// Fix it at a number that the host knows.
    At(i64),
    /// Fix it at a register's value.
    Var(Val<'k, u32>),
}

/// A coordinate of a kernel's tensor: `(row, ..)`, with integers, [`Val`]s and `..` in any nesting.
pub type Picks<'k> = Tuple<Pick<'k>>;

impl From<RangeFull> for Picks<'_> {
    fn from(_: RangeFull) -> Self {
        Tuple::Leaf(Pick::Keep)
    }
}

impl<'k> From<Val<'k, u32>> for Picks<'k> {
    fn from(value: Val<'k, u32>) -> Self {
        Tuple::Leaf(value.as_constant().map_or(Pick::Var(value), |index| Pick::At(index.into())))
    }
}

impl From<Slicer> for Picks<'_> {
    fn from(slicer: Slicer) -> Self {
        slicer.map(|slot| match slot {
            Slot::Keep => Pick::Keep,
            Slot::At(index) => Pick::At(*index),
        })
    }
}

macro_rules! from_integers {
    ($($integer:ty)+) => {$(
        impl From<$integer> for Picks<'_> {
            fn from(value: $integer) -> Self {
                Tuple::Leaf(Pick::At(i64::try_from(value).unwrap_or(i64::MAX)))
            }
        }
    )+};
}

from_integers!(i64 i32 u32 usize);

/// The host's part of a coordinate, with 0 at the places that are in registers.
pub(super) fn known(picks: &Picks<'_>) -> Slicer {
    picks.map(|pick| match pick {
        Pick::Keep => Slot::Keep,
        Pick::At(index) => Slot::At(*index),
        Pick::Var(_) => Slot::At(0),
    })
}
