//! Per-block tiles of a tensor and per-thread parts of a tile: CuTe's `local_tile` and `local_partition`, MoYe's `@tile` and
//! `@parallelize`.

use super::{
    error::TensorError,
    partition::{Partition, tile_slicer},
};
use crate::layout::{Codomain, Coord, Layout, LayoutError, Slicer, Slot, Tile, Tiler, Tuple};

/// Returns the tile of `tensor` at tile coordinate `coord`.
///
/// The result has the tile modes, followed by the rest modes (the modes that count tiles) whose entry in `coord` is `..` or missing.
///
/// If the tiler consists of extents, index `i` of tile `b` along a mode is index `b · extent + i` of the tensor. If a tile does not divide
/// a mode, the number of tiles is rounded up. The last tile then extends past the end of the mode, and accesses to it require predicates.
///
/// # Errors
/// Returns [`TensorError::Layout`] if [`Layout::zipped_divide`] returns an error, or if the nesting of `coord` does not match the rest
/// modes ([`LayoutError::Coordinate`]).
///
/// ```
/// use warpwright::{layout::Layout, tensor::local_tile};
/// let tile = local_tile(&Layout::column_major((6, 8))?, (3, 4), (0, 1))?;
/// assert_eq!(tile.to_string(), "24 + (3,4):(1,6)");
/// let tiles = local_tile(&Layout::column_major((2048, 256))?, (128, 8), (3, ..))?;
/// assert_eq!(tiles.to_string(), "384 + (128,8,32):(1,2048,16384)");
/// # Ok::<(), warpwright::tensor::TensorError>(())
/// ```
#[doc(alias = "@tile")]
pub fn local_tile<D: Codomain>(
    tensor: &Layout<D>,
    tiler: impl Into<Tiler>,
    coord: impl Into<Slicer>,
) -> Result<Partition<D>, TensorError> {
    let tiler = tiler.into();
    let divided = tensor.zipped_divide(&tiler)?;
    let (tile, rest) = (divided.mode(0)?, divided.mode(1)?);
    let coord = padded(coord.into(), rest.rank());
    let start = start(&tiler, &coord).map(|start| tensor.at(start)).transpose()?;
    let (layout, offset) = divided.slice_and_offset(tile_slicer(tile.rank(), coord))?;
    Ok(Partition { layout, offset: start.unwrap_or(offset) })
}

/// Returns the coordinate of a tile's first element if the tiler consists of extents; the coordinate is also valid past the last tile.
fn start(tiler: &Tiler, coord: &Slicer) -> Option<Coord> {
    let mode = |(position, slot): (usize, &Slicer)| match (tiler.mode(position), slot) {
        (Some(Tuple::Leaf(Tile::Extent(extent))), Tuple::Leaf(Slot::At(block))) => Some(block * extent),
        (None, Tuple::Leaf(Slot::At(index))) => Some(*index),
        (_, Tuple::Leaf(Slot::Keep)) => Some(0),
        _ => None,
    };
    coord
        .modes()
        .iter()
        .enumerate()
        .map(mode)
        .map(|at| at.map(Tuple::Leaf))
        .collect::<Option<Vec<_>>>()
        .map(Into::into)
}

/// Returns the [`local_tile`] of one operand of an MMA, given a tiler and a coordinate that all operands share.
///
/// `projection` selects the entries that apply to the operand. For example, operand A has the modes `(m, k)`; if the tiler and the
/// coordinate have entries for `(m, n, k)`, the projection for A is `[true, false, true]`.
///
/// # Errors
/// Returns the same errors as [`local_tile`], or [`TensorError::Layout`] with [`LayoutError::Rank`] if the lengths of the tiler, the
/// coordinate and `projection` differ.
#[doc(alias = "Step")]
pub fn local_tile_projected<D: Codomain>(
    tensor: &Layout<D>,
    tiler: impl Into<Tiler>,
    coord: impl Into<Slicer>,
    projection: &[bool],
) -> Result<Partition<D>, TensorError> {
    local_tile(tensor, project(&tiler.into(), projection)?, project(&coord.into(), projection)?)
}

/// Returns the modes of a tuple that `projection` keeps.
fn project<T: Clone + std::fmt::Display>(
    tuple: &Tuple<T>,
    projection: &[bool],
) -> Result<Tuple<T>, TensorError> {
    let (wanted, found) = (projection.len(), tuple.rank());
    if wanted != found {
        let (operation, value) = ("projection", tuple.to_string());
        return Err(LayoutError::Rank { operation, expected: wanted, found, value }.into());
    }
    let kept = tuple.modes().iter().zip(projection).filter(|(_, keep)| **keep);
    Ok(kept.map(|(mode, _)| mode.clone()).collect())
}

/// Returns the elements of `tensor` that belong to thread `index` of the thread layout `threads`.
///
/// The thread's coordinate is the one that `threads` maps to `index`. Along a mode in which `threads` has extent `e` and the coordinate has
/// component `i`, the thread owns the indices `i`, `i + e`, `i + 2e`, …. The strides of `threads` affect only the thread's coordinate.
///
/// # Errors
/// Returns [`TensorError::Layout`] if [`Layout::zipped_divide`] returns an error.
///
/// ```
/// use warpwright::{layout::Layout, tensor::local_partition};
/// let part = local_partition(&Layout::column_major((6, 8))?, &Layout::new((2, 2), (2, 1))?, 1)?;
/// assert_eq!(part.to_string(), "6 + (3,4):(2,12)");
/// # Ok::<(), warpwright::tensor::TensorError>(())
/// ```
#[doc(alias = "@parallelize")]
pub fn local_partition<D: Codomain>(
    tensor: &Layout<D>,
    threads: &Layout,
    index: i64,
) -> Result<Partition<D>, TensorError> {
    let divided = thread_divide(tensor, threads)?;
    let coord: Coord = thread_digits(threads).iter().map(|mode| mode.of(index)).collect();
    let offset = divided.mode(0)?.at(coord)?;
    Ok(Partition { layout: rest_of(&divided)?, offset })
}

/// Returns the [`local_partition`] for the modes of `threads` that `projection` selects.
///
/// Threads whose coordinates differ only in modes that are not selected share elements.
///
/// # Errors
/// Returns the same errors as [`local_partition`], or [`TensorError::Layout`] with [`LayoutError::Rank`] if the rank of `threads` differs
/// from the length of `projection`.
pub fn local_partition_projected<D: Codomain>(
    tensor: &Layout<D>,
    threads: &Layout,
    index: i64,
    projection: &[bool],
) -> Result<Partition<D>, TensorError> {
    local_partition(tensor, &project_threads(threads, projection)?, index)
}

/// Returns the modes of a thread layout that `projection` keeps.
pub(super) fn project_threads(threads: &Layout, projection: &[bool]) -> Result<Layout, TensorError> {
    let (shape, stride) = (project(threads.shape(), projection)?, project(threads.stride(), projection)?);
    Ok(Layout::new(shape, stride)?)
}

/// Returns `((thread, …), (rest, …))`.
pub(super) fn thread_divide<D: Codomain>(
    tensor: &Layout<D>,
    threads: &Layout,
) -> Result<Layout<D>, TensorError> {
    let extents: Tiler = threads.shape().modes().iter().map(|mode| Tiler::from(mode.size())).collect();
    Ok(tensor.zipped_divide(extents)?)
}

/// Returns the rest modes of `((thread, …), (rest, …))`.
pub(super) fn rest_of<D: Codomain>(divided: &Layout<D>) -> Result<Layout<D>, TensorError> {
    let rest = divided.mode(1)?;
    Ok(Layout::concat(rest.modes()))
}

/// A digit of a thread number: `number / weight mod extent`, or 0 if the weight is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digit {
    pub(super) extent: i64,
    pub(super) weight: i64,
}

impl Digit {
    fn of(self, index: i64) -> i64 {
        if self.weight == 0 { 0 } else { index / self.weight % self.extent }
    }
}

/// The digits of a top-level mode of a thread layout, with the fastest digit first.
#[derive(Debug, Clone)]
pub(super) struct Digits(pub(super) Vec<Digit>);

impl Digits {
    /// Returns the mode's linear coordinate for thread `index`.
    pub(super) fn of(&self, index: i64) -> i64 {
        let mut unit = 1;
        let mut coord = 0;
        for digit in &self.0 {
            coord += digit.of(index) * unit;
            unit *= digit.extent;
        }
        coord
    }
}

/// Returns the digits of each top-level mode of a thread layout.
pub(super) fn thread_digits(threads: &Layout) -> Vec<Digits> {
    let mode = |mode: Layout| {
        let leaves = mode.shape().leaves().zip(mode.stride().leaves());
        Digits(leaves.map(|(&extent, &weight)| Digit { extent, weight }).collect())
    };
    threads.modes().map(mode).collect()
}

/// Returns `coord` with `..` for the modes past its end.
fn padded(coord: Slicer, rank: usize) -> Slicer {
    let mut slots = coord.modes().to_vec();
    slots.resize(rank.max(slots.len()), Tuple::Leaf(Slot::Keep));
    Slicer::from(slots)
}
