//! Instructions that exchange values between the lanes of a warp.

use super::{P, R, Reg};

/// Warp-wide instructions. `mask` is the register with the member mask; the older forms without one take the lanes
/// that execute together.
#[derive(Debug)]
pub(in crate::sim) enum WarpOp {
    Shfl(Box<Shfl>),
    Vote(VoteKind, Reg, P, bool, Option<R>),
    Match {
        all: bool,
        d: R,
        p: Option<P>,
        a: Reg,
        mask: R,
    },
    Redux {
        f: Redux,
        d: R,
        a: R,
        mask: R,
    },
    ActiveMask(R),
    /// `elect.sync d|p, mask`.
    Elect(R, P, R),
    /// `movmatrix … .trans`.
    MovMatrix(R, R),
}

/// `shfl` modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// `shfl[.sync].mode.b32 d|p, a, b, c, mask`.
#[derive(Debug)]
pub(in crate::sim) struct Shfl {
    pub(in crate::sim) mode: ShflMode,
    pub(in crate::sim) d: R,
    pub(in crate::sim) p: Option<P>,
    pub(in crate::sim) a: R,
    pub(in crate::sim) b: R,
    pub(in crate::sim) c: R,
    pub(in crate::sim) mask: Option<R>,
}

/// `vote` modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum VoteKind {
    All,
    Any,
    Uni,
    Ballot,
}

/// `redux.sync` functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Redux {
    Add,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
}
