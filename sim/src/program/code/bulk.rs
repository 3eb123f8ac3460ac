//! Bulk copies, tensor copies, asynchronous stores.

use crate::arith::{Float, Int};
use crate::program::code::{Addr, R, Reg, Space};

/// Functions of reducing copies.
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

/// A reduction and the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) f: ReduceFn,
    pub(crate) bytes: u8,
}

/// How a bulk copy tells that it is done.
#[derive(Clone, Debug)]
pub(crate) enum Completion {
    /// Bytes counted by the mbarrier at this shared address.
    Mbarrier(Addr),
    /// The thread's bulk groups.
    Group,
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`.
#[derive(Clone, Debug)]
pub(crate) struct Bulk {
    pub(crate) to: (Space, Addr),
    pub(crate) from: (Space, Addr),
    pub(crate) bytes: R,
    pub(crate) completion: Completion,
    /// Blocks of the cluster that receive it.
    pub(crate) multicast: Option<R>,
    pub(crate) reduce: Option<Reduction>,
}

/// `st.async`, `red.async`: registers copied to the shared memory of a block of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct StoreAsync {
    /// Also that of the mbarrier.
    pub(crate) space: Space,
    pub(crate) to: Addr,
    pub(crate) values: Box<[Reg]>,
    /// Bytes of each value: 4 or 8.
    pub(crate) bytes: u8,
    pub(crate) mbarrier: Addr,
    pub(crate) reduce: Option<Reduction>,
}

/// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`.
#[derive(Clone, Debug)]
pub(crate) struct BulkTensor {
    /// Generic address of the tensor map.
    pub(crate) map: Addr,
    pub(crate) coordinates: Box<[R]>,
    /// In im2col mode, what is added to the spatial coordinates of pixels.
    pub(crate) im2col: Option<Box<[R]>>,
    pub(crate) shared: (Space, Addr),
    /// Towards shared memory.
    pub(crate) load: bool,
    pub(crate) completion: Completion,
    pub(crate) multicast: Option<R>,
    /// The operation; element bytes follow from the map.
    pub(crate) reduce: Option<TensorReduce>,
}

/// Functions of reducing tensor copies; the map says on what type.
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
