//! The `cp.async` copies in flight.

use crate::lanes::{Lanes32, Lanes64};

/// The copies of one instruction that are still in flight.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The lanes whose copies are still in flight.
    pub(crate) mask: u32,
    pub(crate) bytes: u64,
    /// The instruction that issued the copies.
    pub(crate) pc: u32,
    pub(crate) to: Lanes64,
    /// The group to which each lane's copy belongs.
    pub(crate) group: Lanes32,
    pub(crate) data: [[u32; 4]; 32],
}

/// A warp's asynchronous copies.
#[derive(Debug, Default)]
#[allow(clippy::vec_box, reason = "an entry is 1.4 KB, and moves between the two lists")]
pub(crate) struct AsyncCopies {
    /// The entries in use, and empty entries kept for reuse.
    pub(crate) entries: Vec<Pending>,
    /// The entries in use, oldest first.
    pub(crate) pending: Vec<usize>,
    pub(crate) spare: Vec<usize>,
    /// The number of groups that each lane has committed.
    pub(crate) committed: Lanes32,
}

impl AsyncCopies {
    pub(crate) fn reset(&mut self) {
        self.spare.append(&mut self.pending);
        self.committed = [0; 32];
    }
}
