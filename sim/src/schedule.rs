//! Execution of warps, blocks, clusters and grids.

pub(crate) mod cluster;
pub(crate) mod error;
pub(crate) mod grid;
pub(crate) mod launch;
pub(crate) mod random;
pub(crate) mod run;
pub(crate) mod spin;
