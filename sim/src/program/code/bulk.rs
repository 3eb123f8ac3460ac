//! Bulk copies, tensor copies and asynchronous stores.

use crate::arith::{Float, Int};
use crate::program::code::{Addr, R, Reg, Space};

/// The operations of reducing copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReduceFn {
    AddInt(Int),
    MinInt(Int),
    MaxInt(Int),
    Inc,
    Dec,
    And,
    Or,
    Xor,
    AddFloat(Float),
    MinFloat(Float),
    MaxFloat(Float),
}

/// A reduction, and the size of an element in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) f: ReduceFn,
    pub(crate) bytes: u8,
}

/// The completion mechanism of a bulk copy.
#[derive(Clone, Debug)]
pub(crate) enum Completion {
    /// The mbarrier at this shared address counts the bytes.
    Mbarrier(Addr),
    /// The thread waits for bulk groups.
    Group,
}

/// `cp.async.bulk` or `cp.reduce.async.bulk`.
#[derive(Clone, Debug)]
pub(crate) struct Bulk {
    pub(crate) to: (Space, Addr),
    pub(crate) from: (Space, Addr),
    pub(crate) bytes: R,
    pub(crate) completion: Completion,
    /// The mask of the blocks of the cluster that receive the copy.
    pub(crate) multicast: Option<R>,
    pub(crate) reduce: Option<Reduction>,
}

/// `st.async` and `red.async`, which copy registers to the shared memory of a block of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct StoreAsync {
    /// The space of the destination and of the mbarrier.
    pub(crate) space: Space,
    pub(crate) to: Addr,
    pub(crate) values: Box<[Reg]>,
    /// The size of each value in bytes: 4 or 8.
    pub(crate) bytes: u8,
    pub(crate) mbarrier: Addr,
    pub(crate) reduce: Option<Reduction>,
}

/// `cp.async.bulk.tensor` or `cp.reduce.async.bulk.tensor`.
#[derive(Clone, Debug)]
pub(crate) struct BulkTensor {
    /// The address of the tensor map in generic space.
    pub(crate) map: Addr,
    pub(crate) coordinates: Box<[R]>,
    /// In im2col mode, the offsets that are added to the spatial coordinates of pixels.
    pub(crate) im2col: Option<Box<[R]>>,
    pub(crate) shared: (Space, Addr),
    /// Whether the copy is to shared memory.
    pub(crate) load: bool,
    pub(crate) completion: Completion,
    pub(crate) multicast: Option<R>,
    /// The reduction, if any. The map determines the element size.
    pub(crate) reduce: Option<TensorReduce>,
}

/// The operations of reducing tensor copies. The map determines the element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorReduce {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}
