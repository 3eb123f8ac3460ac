//! Slicing: fixing some coordinates and keeping the other modes.

use std::ops::RangeFull;

use super::codomain::Codomain;
use super::construct::Layout;
use super::error::LayoutError;
use super::tuple::{Coord, Tuple, saturate};

/// An entry of a [`Slicer`]: an index, or `..` (CuTe's `_`) for a whole mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    /// Keeps the mode.
    #[doc(alias = "_")]
    Keep,
    /// Fixes the mode at this index.
    At(i64),
}

/// A coordinate in which `..` marks the modes to keep, such as `(.., (1, ..))`.
pub type Slicer = Tuple<Slot>;

impl From<RangeFull> for Slicer {
    fn from(_: RangeFull) -> Self {
        Tuple::Leaf(Slot::Keep)
    }
}

impl From<Coord> for Slicer {
    fn from(coord: Coord) -> Self {
        coord.map(|&index| Slot::At(index))
    }
}

macro_rules! from_integers {
    ($($integer:ty)+) => {$(
        impl From<$integer> for Slicer {
            fn from(value: $integer) -> Self {
                Tuple::Leaf(Slot::At(saturate(value)))
            }
        }
    )+};
}

from_integers!(i64 i32 u32 usize);

impl Slicer {
    /// Returns the coordinate with 0 for the modes that are kept.
    fn fixed(&self) -> Coord {
        self.map(|slot| match slot {
            Slot::Keep => 0,
            Slot::At(index) => *index,
        })
    }
}

impl<D: Codomain> Layout<D> {
    /// Returns the layout of the modes that `at` keeps.
    ///
    /// The offset of the coordinates that `at` fixes is not included; [`slice_and_offset`](Self::slice_and_offset) also returns this
    /// offset. If `at` keeps no modes, the result is the empty layout `():()`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Coordinate`] if the nesting of `at` does not match the shape.
    pub fn slice(&self, at: impl Into<Slicer>) -> Result<Layout<D>, LayoutError> {
        Ok(self.slice_and_offset(at)?.0)
    }

    /// Returns the layout of the modes that `at` keeps, and the offset of the coordinates that `at` fixes.
    ///
    /// Postcondition: for every coordinate `c` of the slice, `slice(c) + offset = self(d)`, where `d` is `at` with the components of `c` in
    /// place of `..`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Coordinate`] if the nesting of `at` does not match the shape.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// let (column, offset) = Layout::row_major((4, 8))?.slice_and_offset((.., 3))?;
    /// assert_eq!((column.to_string().as_str(), offset), ("(4):(8)", 3));
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    pub fn slice_and_offset(&self, at: impl Into<Slicer>) -> Result<(Layout<D>, D), LayoutError> {
        let at = at.into();
        let offset = self.at(at.fixed())?;
        Ok((self.pick(&at, |slot| slot == Slot::Keep), offset))
    }

    /// Returns the layout of the modes that `at` fixes: those that [`slice`](Self::slice) omits.
    ///
    /// Postcondition: `size(slice(at)) · size(dice(at)) = size(self)`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Coordinate`] if the nesting of `at` does not match the shape.
    pub fn dice(&self, at: impl Into<Slicer>) -> Result<Layout<D>, LayoutError> {
        let at = at.into();
        self.at(at.fixed())?;
        Ok(self.pick(&at, |slot| slot != Slot::Keep))
    }

    /// Returns this layout and the offset of `coord`.
    ///
    /// Adding the offset to the base address makes coordinates relative to `coord`.
    ///
    /// Postcondition: if `coord` and `c` are nested like the shape, `self(coord + c) = self(c) + offset`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Coordinate`] if the nesting of `coord` does not match the shape.
    pub fn domain_offset(&self, coord: impl Into<Coord>) -> Result<(Layout<D>, D), LayoutError> {
        Ok((self.clone(), self.at(coord)?))
    }

    fn pick(&self, at: &Slicer, keep: fn(Slot) -> bool) -> Layout<D> {
        match at {
            Tuple::Leaf(slot) if keep(*slot) => self.clone(),
            Tuple::Leaf(_) => Layout { shape: Tuple::default(), stride: Tuple::default() },
            Tuple::Node(_) => Layout {
                shape: Tuple::Node(picked(&self.shape, at, keep)),
                stride: Tuple::Node(picked(&self.stride, at, keep)),
            },
        }
    }
}

/// Returns the modes of `tuple` at slots that satisfy `keep`, as a flat list. The nesting of `at` has already been checked.
fn picked<T: Clone>(tuple: &Tuple<T>, at: &Slicer, keep: fn(Slot) -> bool) -> Vec<Tuple<T>> {
    match at {
        Tuple::Leaf(slot) if keep(*slot) => vec![tuple.clone()],
        Tuple::Leaf(_) => vec![],
        Tuple::Node(slots) => {
            let modes = tuple.modes().iter().zip(slots);
            modes.flat_map(|(mode, slot)| picked(mode, slot, keep)).collect()
        }
    }
}
