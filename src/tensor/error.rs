//! What partitions and tilings refuse, and why.

use thiserror::Error;

use crate::layout::{AccessError, LayoutError};

/// A tiling or a partition that has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The layout algebra has no answer.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// An access that no instruction can make.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A thread that a tiling does not have.
    #[error("{what}: thread {thread} of {threads}")]
    Thread {
        /// The tiling.
        what: String,
        /// The thread asked for.
        thread: i64,
        /// Threads there are.
        threads: i64,
    },
    /// A map too large to look at every element.
    #[error("{what}: wanted at most {most} elements, found {found}")]
    TooLarge {
        /// The map.
        what: String,
        /// Most elements.
        most: i64,
        /// Elements found.
        found: i64,
    },
    /// A tensor with fewer modes than the tiling has.
    #[error("{what}: wanted a tensor of at least {wanted} modes, found {found}")]
    Rank {
        /// The tiling.
        what: String,
        /// Modes wanted.
        wanted: usize,
        /// The tensor's layout.
        found: String,
    },
    /// Atoms of a tiled product that share threads, or lie in threads of more warps than they make up.
    #[error("{what}: atoms {atoms} give threads {ids}, wanted each of them once within {warps} warps")]
    Atoms {
        /// The tiling.
        what: String,
        /// How atoms lie side by side.
        atoms: String,
        /// Thread numbers by (V, M, N, K).
        ids: String,
        /// Warps that the threads make up.
        warps: i64,
    },
    /// More modes than M, N and K.
    #[error("{what}: wanted at most {wanted} modes, found {found}")]
    Modes {
        /// The tiling.
        what: String,
        /// Modes there may be.
        wanted: usize,
        /// What was given.
        found: String,
    },
    /// Values of a thread that do not make up whole instructions.
    #[error(
        "{what}: {values} values a thread are no multiple of the {instruction} that an instruction moves"
    )]
    Values {
        /// The tiling.
        what: String,
        /// Values of a thread.
        values: i64,
        /// Values of one instruction.
        instruction: i64,
    },
    /// Threads that do not make up whole instructions.
    #[error("{what}: {threads} threads are no multiple of the {instruction} that an instruction takes")]
    Threads {
        /// The tiling.
        what: String,
        /// Threads.
        threads: i64,
        /// Threads of one instruction.
        instruction: i64,
    },
    /// A coordinate outside of a tile.
    #[error("{what}: no element {coord} in a tile of {shape}")]
    NoElement {
        /// The map.
        what: String,
        /// The coordinate.
        coord: String,
        /// The tile.
        shape: String,
    },
    /// An element that no thread holds.
    #[error("{what}: element {coord} is held by no thread")]
    Unowned {
        /// The map.
        what: String,
        /// The element.
        coord: String,
    },
    /// An element that is held more than once.
    #[error(
        "{what}: element {coord} is held by thread {} value {} and by thread {} value {}",
        first.0, first.1, second.0, second.1
    )]
    Shared {
        /// The map.
        what: String,
        /// The element.
        coord: String,
        /// Thread and value that hold it.
        first: (i64, i64),
        /// Thread and value that hold it too.
        second: (i64, i64),
    },
    /// A value outside of its tile.
    #[error("{what}: thread {thread}, value {value} lies outside of the tile {shape}")]
    Outside {
        /// The map.
        what: String,
        /// The thread.
        thread: i64,
        /// Its value.
        value: i64,
        /// The tile.
        shape: String,
    },
}
