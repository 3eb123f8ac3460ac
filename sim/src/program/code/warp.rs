//! Instructions that exchange values between the lanes of a warp.

use crate::arith::minmax::Extremum;
use crate::program::code::properties::{Passes, Properties};
use crate::program::code::{P, R, Reg};

/// Warp-wide instructions. `mask` is the register that contains the member mask. The older variants without a mask apply to the lanes that
/// execute them together.
#[derive(Clone, Debug)]
pub(crate) enum WarpOp {
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

/// The modes of `shfl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// `shfl[.sync].mode.b32 d|p, a, b, c, mask`.
#[derive(Clone, Debug)]
pub(crate) struct Shfl {
    pub(crate) mode: ShflMode,
    pub(crate) d: R,
    pub(crate) p: Option<P>,
    pub(crate) a: R,
    pub(crate) b: R,
    pub(crate) c: R,
    pub(crate) mask: Option<R>,
}

/// The modes of `vote`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteKind {
    All,
    Any,
    Uni,
    Ballot,
}

/// The functions of `redux.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redux {
    Add,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
    /// The extremum of f32 numbers or, with `abs`, of their magnitudes. With `nan`, the result is NaN if an operand is NaN.
    Float {
        which: Extremum,
        abs: bool,
        nan: bool,
    },
}

impl WarpOp {
    /// Returns the properties of the instruction.
    pub(crate) fn properties(&self) -> Properties<'_> {
        match self {
            WarpOp::Shfl(shfl) => {
                Properties { passes: Passes::Register(Reg::R(shfl.a)), ..Properties::DEFAULT }
            }
            WarpOp::Vote(..)
            | WarpOp::Match { .. }
            | WarpOp::Redux { .. }
            | WarpOp::ActiveMask(_)
            | WarpOp::Elect(..)
            | WarpOp::MovMatrix(..) => Properties::DEFAULT,
        }
    }
}
