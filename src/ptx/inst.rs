//! The instructions as methods and operators, one file a chapter of the manual.

mod arithmetic;
mod compare;
mod convert;
mod cp_async;
mod logic;
mod matrix;
mod memory;
mod pack;
mod predicated;
mod special;
mod sync;

pub use arithmetic::{Divide, Signed, Whole, WideProduct, Widen};
pub use logic::Bits;
pub use matrix::Accumulator;
pub use memory::{Load, Store};
pub use pack::{HalfPair, Pair};

use super::{
    kernel::K,
    types::Scalar,
    val::{Repr, Val},
};

/// Two operands: both known to the host, or at least one in a register of a kernel.
pub(crate) enum Operands<'k, T, U> {
    Known(T, U),
    In(K<'k>),
}

/// Tells whether an instruction on `a` and `b` folds, and which kernel it belongs to if not.
pub(crate) fn operands<'k, T: Scalar, U: Scalar>(a: Val<'k, T>, b: Val<'k, U>) -> Operands<'k, T, U> {
    match (a.0, b.0) {
        (Repr::Const(a), Repr::Const(b)) => Operands::Known(a, b),
        (Repr::Reg(_, k), _) | (_, Repr::Reg(_, k)) => Operands::In(k),
    }
}
