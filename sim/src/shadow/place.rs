//! Locations in the shared memory of a cluster.

/// A checked location in the shared memory of a block of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) rank: usize,
    pub(crate) offset: usize,
}
