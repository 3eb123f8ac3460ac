//! What is wrong with a fragment map or a question put to it.

use thiserror::Error;

use super::fragment::Owner;
use crate::layout::LayoutError;

/// A map that is not what it should be, or an element outside it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// The layout cannot be read as (thread, value).
    #[error("{map}: wanted a layout of rank 2, (thread, value), found {layout}")]
    Rank {
        /// The map.
        map: String,
        /// Its layout.
        layout: String,
    },
    /// A lane's elements do not fill whole registers.
    #[error("{map}: {values} values per thread do not fill registers of {per_register}")]
    Registers {
        /// The map.
        map: String,
        /// Values per thread.
        values: i64,
        /// Elements in one register.
        per_register: u32,
    },
    /// A tile of more elements than any register file holds.
    #[error("{map}: wanted at most {most} elements, found {rows}×{cols}")]
    TooLarge {
        /// The map.
        map: String,
        /// Rows of the tile.
        rows: u64,
        /// Columns of the tile.
        cols: u64,
        /// Most elements of a tile.
        most: u64,
    },
    /// A lane would hold an element outside the tile.
    #[error("{map}: lane {lane}, value {value} maps to offset {offset}, outside {rows}×{cols}")]
    Outside {
        /// The map.
        map: String,
        /// The lane.
        lane: u32,
        /// Its value, in register order.
        value: u32,
        /// `row + col · rows`.
        offset: i64,
        /// Rows of the tile.
        rows: u32,
        /// Columns of the tile.
        cols: u32,
    },
    /// No such element.
    #[error("{map}: element ({row}, {col}) is outside {rows}×{cols}")]
    NoElement {
        /// The map.
        map: String,
        /// Row asked for.
        row: u32,
        /// Column asked for.
        col: u32,
        /// Rows of the tile.
        rows: u32,
        /// Columns of the tile.
        cols: u32,
    },
    /// An element that no lane holds.
    #[error("{map}: no lane holds element ({row}, {col})")]
    Unowned {
        /// The map.
        map: String,
        /// Its row.
        row: u32,
        /// Its column.
        col: u32,
    },
    /// An element that is held twice.
    #[error("{map}: element ({row}, {col}) is held by {first} and by {second}")]
    Shared {
        /// The map.
        map: String,
        /// Its row.
        row: u32,
        /// Its column.
        col: u32,
        /// The first owner.
        first: Owner,
        /// Another one.
        second: Owner,
    },
    /// An operand that is no fragment: it lies in shared memory.
    #[error("{map}: read from shared memory, so no lane holds its elements")]
    InMemory {
        /// The operand.
        map: String,
    },
    /// The tile would not fit the algebra.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}
