//! mbarrier, bulk copies, tensor copies, clusters.

use super::{Addr, D, P, R, Reg, Space};
use crate::sim::arith::{Float, Int};

/// `mbarrier.…` on the object at an address.
#[derive(Debug)]
pub(in crate::sim) struct Mbarrier {
    pub(in crate::sim) f: MbarrierFn,
    pub(in crate::sim) space: Space,
    pub(in crate::sim) addr: Addr,
}

/// What is done to an mbarrier object.
#[derive(Debug)]
pub(in crate::sim) enum MbarrierFn {
    Init(R),
    Inval,
    ExpectTx(R),
    CompleteTx(R),
    Arrive(Arrive),
    /// `test_wait`, `try_wait`.
    Test {
        d: P,
        phase: PhaseOperand,
    },
    /// `cp.async.mbarrier.arrive[.noinc]`.
    CopiesArrive {
        noinc: bool,
    },
}

/// `mbarrier.arrive[_drop][.expect_tx]`.
#[derive(Debug)]
pub(in crate::sim) struct Arrive {
    pub(in crate::sim) count: Option<R>,
    pub(in crate::sim) expect: Option<R>,
    pub(in crate::sim) drop: bool,
    pub(in crate::sim) no_complete: bool,
    pub(in crate::sim) state: Option<D>,
}

/// Which phase a wait is about.
#[derive(Debug)]
pub(in crate::sim) enum PhaseOperand {
    State(D),
    Parity(R),
}

/// Functions of reducing copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum ReduceFn {
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
pub(in crate::sim) struct Reduction {
    pub(in crate::sim) f: ReduceFn,
    pub(in crate::sim) bytes: u8,
}

/// How a bulk copy tells that it is done.
#[derive(Debug)]
pub(in crate::sim) enum Completion {
    /// Bytes counted by the mbarrier at this shared address.
    Mbarrier(Addr),
    /// The thread's bulk groups.
    Group,
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`.
#[derive(Debug)]
pub(in crate::sim) struct Bulk {
    pub(in crate::sim) to: (Space, Addr),
    pub(in crate::sim) from: (Space, Addr),
    pub(in crate::sim) bytes: R,
    pub(in crate::sim) completion: Completion,
    /// Blocks of the cluster that receive it.
    pub(in crate::sim) multicast: Option<R>,
    pub(in crate::sim) reduce: Option<Reduction>,
}

/// `st.async`, `red.async`: registers on their way to the shared memory of a block of the cluster.
#[derive(Debug)]
pub(in crate::sim) struct StoreAsync {
    /// Also that of the mbarrier.
    pub(in crate::sim) space: Space,
    pub(in crate::sim) to: Addr,
    pub(in crate::sim) values: Box<[Reg]>,
    /// Bytes of each value: 4 or 8.
    pub(in crate::sim) bytes: u8,
    pub(in crate::sim) mbarrier: Addr,
    pub(in crate::sim) reduce: Option<Reduction>,
}

/// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` in tile mode.
#[derive(Debug)]
pub(in crate::sim) struct BulkTensor {
    /// Generic address of the tensor map.
    pub(in crate::sim) map: Addr,
    pub(in crate::sim) coordinates: Box<[R]>,
    pub(in crate::sim) shared: (Space, Addr),
    /// Towards shared memory.
    pub(in crate::sim) load: bool,
    pub(in crate::sim) completion: Completion,
    pub(in crate::sim) multicast: Option<R>,
    /// The operation; element bytes follow from the map.
    pub(in crate::sim) reduce: Option<TensorReduce>,
}

/// Functions of reducing tensor copies; the map says on what type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum TensorReduce {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}

/// `mapa`: an address in another block's shared memory.
#[derive(Debug)]
pub(in crate::sim) struct Mapa {
    pub(in crate::sim) d: Reg,
    pub(in crate::sim) a: Reg,
    pub(in crate::sim) rank: R,
}
