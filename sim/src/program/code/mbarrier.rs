//! Instructions on mbarriers.

use crate::program::code::{Addr, D, P, R, Space};

/// `mbarrier.…` on the object at an address.
#[derive(Clone, Debug)]
pub(crate) struct Mbarrier {
    pub(crate) f: MbarrierFn,
    pub(crate) space: Space,
    pub(crate) addr: Addr,
}

/// The operation on an mbarrier object.
#[derive(Clone, Debug)]
pub(crate) enum MbarrierFn {
    Init(R),
    Inval,
    ExpectTx(R),
    CompleteTx(R),
    Arrive(Arrive),
    /// `test_wait` or `try_wait`.
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
#[derive(Clone, Debug)]
pub(crate) struct Arrive {
    pub(crate) count: Option<R>,
    pub(crate) expect: Option<R>,
    pub(crate) drop: bool,
    pub(crate) no_complete: bool,
    pub(crate) state: Option<D>,
}

/// The operand that identifies the phase of a wait.
#[derive(Clone, Debug)]
pub(crate) enum PhaseOperand {
    State(D),
    Parity(R),
}
