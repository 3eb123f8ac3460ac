//! Errors of (thread, value) layouts.

use thiserror::Error;

use super::Owner;
use crate::layout::LayoutError;

/// An invalid (thread, value) layout, or a query without a valid result.
///
/// The messages of all variants except [`Layout`](Self::Layout) start with the name of the layout.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TvError {
    /// A layout that is not a (thread, value) layout.
    #[error("{name}: expected a layout of rank 2, (thread, value), found {found}")]
    Rank {
        /// The name of the layout.
        name: String,
        /// The layout found.
        found: String,
    },
    /// Values that do not fill whole registers.
    #[error("{name}: expected whole registers of {per_register} values, found {values} values per thread")]
    Registers {
        /// The name of the layout.
        name: String,
        /// The number of values in one register.
        per_register: i64,
        /// The number of values of each thread.
        values: i64,
    },
    /// A layout or a tile with too many elements to visit.
    #[error("{name}: expected at most {max} elements, found {found}")]
    TooLarge {
        /// The name of the layout.
        name: String,
        /// The maximum number of elements.
        max: i64,
        /// The number of elements of the tile, or the total number of values of all threads.
        found: i64,
    },
    /// A value outside the tile.
    #[error(
        "{name}: expected indices within the tile {shape}, found {index} at thread {thread}, value {value}"
    )]
    Outside {
        /// The name of the layout.
        name: String,
        /// The thread that owns the lowest index if that index is negative, otherwise the thread that owns the highest index.
        thread: i64,
        /// The index of the value within the thread.
        value: i64,
        /// The column-major index of the value in the tile.
        index: i64,
        /// The shape of the tile.
        shape: String,
    },
    /// A coordinate that does not exist in the tile.
    #[error("{name}: expected a coordinate of the tile {shape}, found {coord}")]
    Coordinate {
        /// The name of the layout.
        name: String,
        /// The shape of the tile.
        shape: String,
        /// The coordinate.
        coord: String,
    },
    /// A thread that does not exist in the layout.
    #[error("{name}: expected a thread below {threads}, found {thread}")]
    Thread {
        /// The name of the layout.
        name: String,
        /// The number of threads.
        threads: i64,
        /// The index of the thread.
        thread: i64,
    },
    /// An element without an owner.
    #[error("{name}: expected an owner of element {coord}, found none")]
    Unowned {
        /// The name of the layout.
        name: String,
        /// The coordinate of the element.
        coord: String,
    },
    /// An element with several owners.
    #[error("{name}: expected one owner of element {coord}, found {first} and {second}")]
    Shared {
        /// The name of the layout.
        name: String,
        /// The coordinate of the element.
        coord: String,
        /// The first owner of the element.
        first: Owner,
        /// Another owner of the element.
        second: Owner,
    },
    /// A tile that is to be repeated but is not a matrix.
    #[error("{name}: expected a tile of rank 2 to repeat, found {shape}")]
    Matrix {
        /// The name of the layout.
        name: String,
        /// The shape of the tile.
        shape: String,
    },
    /// An axis that does not exist in the tile.
    #[error("{name}: expected an axis of the tile {shape}, found axis {axis}")]
    Axis {
        /// The name of the layout.
        name: String,
        /// The shape of the tile.
        shape: String,
        /// The index of the axis.
        axis: usize,
    },
    /// A mode of the layout that varies along several axes of the tile.
    #[error(
        "{name}: expected a step of {step} in the {index} index that varies along one axis, found {displacement}"
    )]
    Diagonal {
        /// The name of the layout.
        name: String,
        /// The index that the mode belongs to: `thread` or `value`.
        index: &'static str,
        /// The step of the mode in the thread index or value index.
        step: i64,
        /// The displacement in the tile that corresponds to one step, as a coordinate.
        displacement: String,
    },
    /// A mode of the layout that wraps from one axis of the tile to the next.
    #[error("{name}: expected steps that each move along one axis: {fault}")]
    Wraps {
        /// The name of the layout.
        name: String,
        /// The reason why the layout does not compose with the tile's coordinates.
        fault: Box<LayoutError>,
    },
    /// Threads along an axis that do not correspond to bits of the thread index.
    #[error(
        "{name}: expected a power-of-2 number of threads along axis {axis}, found {extent} in steps of {step} threads"
    )]
    Bits {
        /// The name of the layout.
        name: String,
        /// The index of the axis.
        axis: usize,
        /// The extent of the thread mode.
        extent: i64,
        /// The step of the mode in the thread index.
        step: i64,
    },
    /// An error of the layout algebra.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}
