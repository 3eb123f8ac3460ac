//! What cannot be drawn, and why.

use thiserror::Error;

use crate::layout::{AccessError, LayoutError};
use crate::tensor::TensorError;

/// A picture that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DrawError {
    /// More cells than anyone can look at.
    #[error("{what}: wanted at most {most} cells, found {rows}×{cols}")]
    TooLarge {
        /// What was to be drawn.
        what: String,
        /// Rows of the table.
        rows: i64,
        /// Columns of the table.
        cols: i64,
        /// Most cells of a table.
        most: i64,
    },
    /// A layout that cannot be read as (thread, value).
    #[error("wanted a layout of rank 2, (thread, value), found {layout}")]
    Rank {
        /// The layout.
        layout: String,
    },
    /// An offset outside of the table.
    #[error("thread {thread}, value {value}: offset {offset} lies outside of {rows}×{cols}")]
    Outside {
        /// The thread.
        thread: i64,
        /// The value.
        value: i64,
        /// `row + col · rows`.
        offset: i64,
        /// Rows of the table.
        rows: i64,
        /// Columns of the table.
        cols: i64,
    },
    /// An access beyond the last.
    #[error("wanted one of the {count} accesses that each warp makes, from 0, found {access}")]
    Access {
        /// The access asked for.
        access: usize,
        /// Accesses there are.
        count: usize,
    },
    /// A swizzle whose pattern is no table of 16-byte chunks.
    #[error("{swizzle} repeats after {period} bytes: wanted at most {most}")]
    Period {
        /// The swizzle.
        swizzle: String,
        /// Bytes after which it repeats.
        period: i64,
        /// Most bytes that are drawn.
        most: i64,
    },
    /// What was asked of the algebra has no answer.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A tiled copy or product without an answer.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// An access that no instruction can make.
    #[error(transparent)]
    Pattern(#[from] AccessError),
}
