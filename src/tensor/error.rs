//! What partitions and tilings refuse, and why.

use thiserror::Error;

use crate::layout::{AccessError, LayoutError, TvError};

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
    /// A (thread, value) layout that is not valid.
    #[error(transparent)]
    Tv(#[from] TvError),
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
}
