//! Errors of partitions and tilings.

use thiserror::Error;

use crate::layout::{AccessError, LayoutError, TvError};

/// An error in a tiling or partition.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TensorError {
    /// An error from the layout algebra.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// An access that no load or store instruction can perform.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// An invalid (thread, value) layout.
    #[error(transparent)]
    Tv(#[from] TvError),
    /// A thread that is not part of a tiling.
    #[error("{what}: expected a thread below {threads}, found {thread}")]
    Thread {
        /// The name of the tiling.
        what: String,
        /// The index of the thread.
        thread: i64,
        /// The number of threads.
        threads: i64,
    },
    /// A tensor with fewer modes than the tiling.
    #[error("{what}: expected a tensor of at least {expected} modes, found {found}")]
    Rank {
        /// The name of the tiling.
        what: String,
        /// The minimum number of modes.
        expected: usize,
        /// The tensor's layout.
        found: String,
    },
    /// Atoms of a tiled MMA that share threads, or whose threads are spread over more warps than they fill.
    #[error(
        "{what}: expected each thread of {warps} warps to occur once, found threads {ids} for atoms {atoms}"
    )]
    Atoms {
        /// The name of the tiling.
        what: String,
        /// The layout of the atoms.
        atoms: String,
        /// The layout that maps (V, M, N, K) to thread indices.
        ids: String,
        /// The number of warps that the threads fill, rounded up.
        warps: i64,
    },
    /// An atom layout or permutation of a tiled MMA that has more than three modes.
    #[error("{what}: expected at most {expected} modes, found {found}")]
    Modes {
        /// The name of the tiling.
        what: String,
        /// The maximum number of modes.
        expected: usize,
        /// The modes found.
        found: String,
    },
    /// A number of values per thread that is not a multiple of the number per instruction.
    #[error("{what}: expected a multiple of {instruction} values per thread, found {values}")]
    Values {
        /// The name of the tiling.
        what: String,
        /// The number of values per thread.
        values: i64,
        /// The number of values per instruction.
        instruction: i64,
    },
    /// A number of threads that is not a multiple of the number per instruction.
    #[error("{what}: expected a multiple of {instruction} threads, found {threads}")]
    Threads {
        /// The name of the tiling.
        what: String,
        /// The number of threads.
        threads: i64,
        /// The number of threads per instruction.
        instruction: i64,
    },
}
