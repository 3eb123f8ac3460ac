//! Drawing errors.

use thiserror::Error;

use crate::layout::{AccessError, LayoutError};
use crate::tensor::TensorError;

/// An error that occurs when a picture is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DrawError {
    /// A table has too many cells, or the threads of a layout have too many values in total.
    #[error("{what}: expected at most {max} cells, found {rows}×{cols}")]
    TooLarge {
        /// The subject of the picture.
        what: String,
        /// The number of rows of the table, or of threads of the layout.
        rows: i64,
        /// The number of columns of the table, or of values per thread.
        cols: i64,
        /// The maximum number of cells of a table, or of values of a layout.
        max: i64,
    },
    /// A layout is not a (thread, value) layout of rank 2.
    #[error("expected a (thread, value) layout of rank 2, found {layout}")]
    Rank {
        /// The layout.
        layout: String,
    },
    /// A (thread, value) layout maps a value to an offset outside the tile.
    #[error("thread {thread}, value {value}: expected an offset within {rows}×{cols}, found {offset}")]
    Outside {
        /// The index of the thread.
        thread: i64,
        /// The index of the value.
        value: i64,
        /// The offset, `row + col · rows`.
        offset: i64,
        /// The number of rows of the tile.
        rows: i64,
        /// The number of columns of the tile.
        cols: i64,
    },
    /// The index of an access is past the last access.
    #[error("expected an access below {count}, the number of accesses of all warps, found {access}")]
    Access {
        /// The index of the requested access.
        access: usize,
        /// The number of accesses.
        count: usize,
    },
    /// The period of a swizzle is too long for a picture.
    #[error("{swizzle}: expected a period of at most {max} bytes, found {period}")]
    Period {
        /// The swizzle.
        swizzle: String,
        /// The period of the swizzle, in bytes.
        period: i64,
        /// The maximum number of bytes in a picture.
        max: i64,
    },
    /// An operation of the layout algebra failed.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A tiled copy or tiled MMA has no valid (thread, value) layout.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// No load or store instruction can perform the access.
    #[error(transparent)]
    Pattern(#[from] AccessError),
}
