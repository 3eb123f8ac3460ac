//! Parts of a tensor: a layout and its start.

use std::fmt;

use super::error::TensorError;
use crate::layout::{Codomain, Coord, Layout, Slicer, Slot, Tuple};

/// A coordinate of the threads of a divided tensor.
pub(super) type At = Coord;

/// A part of a tensor, given by a layout and an offset.
///
/// The element at coordinate `c` of the part has offset `offset + layout(c)` in the tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition<D: Codomain = i64> {
    /// The layout of the part.
    pub layout: Layout<D>,
    /// The offset of the part in the tensor.
    pub offset: D,
}

impl<D: Codomain> Partition<D> {
    /// Returns `offset + layout(c)` for every coordinate `c`, in colexicographic order.
    pub fn values(&self) -> impl Iterator<Item = D> + '_ {
        self.layout.values().map(|mut value| {
            value.step(&self.offset, 1);
            value
        })
    }

    /// Returns the slice that `at` selects.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if the nesting of `at` does not match the shape of the layout.
    pub fn slice(&self, at: impl Into<Slicer>) -> Result<Self, TensorError> {
        let (layout, mut offset) = self.layout.slice_and_offset(at)?;
        offset.step(&self.offset, 1);
        Ok(Self { layout, offset })
    }
}

impl<D: Codomain> fmt::Display for Partition<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} + {}", self.offset, self.layout)
    }
}

/// Converts `(thread, value, (rest, rest, …))` to one thread's `(value, rest, rest, …)`.
pub(super) fn unzip_rest<D: Codomain>(divided: &Layout<D>, thread: &At) -> Result<Partition<D>, TensorError> {
    let offset = divided.mode(0)?.at(thread.clone())?;
    Ok(Partition { layout: without_threads(divided)?, offset })
}

/// Converts `(thread, value, (rest, rest, …))` to `(value, rest, rest, …)`.
pub(super) fn without_threads<D: Codomain>(divided: &Layout<D>) -> Result<Layout<D>, TensorError> {
    let rest = divided.mode(2)?;
    // The rest mode of a tensor with one mode is not unpacked, as in CuTe.
    let rest: Vec<_> = if rest.rank() == 1 { vec![rest] } else { rest.modes().collect() };
    Ok(Layout::concat([divided.mode(1)?].into_iter().chain(rest)))
}

/// Returns a slicer that keeps the tile modes of `((tile, …), (rest, …))` and slices the rest by `coord`.
pub(super) fn tile_slicer(tile_modes: usize, coord: Slicer) -> Slicer {
    Slicer::from(vec![vec![Tuple::Leaf(Slot::Keep); tile_modes].into(), coord])
}
