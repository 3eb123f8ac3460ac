//! Comparisons and classification: `setp`, `set`, `testp`.

use std::cmp::Ordering;

use super::format::{Float, Ty};

/// A comparison operator (PTX ISA, "Comparison and Selection Instructions").
///
/// If an operand is NaN, the ordered forms (`eq`, `lt`, …) are false and the `u` forms are true. The forms `lo`, `ls`, `hi` and `hs`
/// correspond to `lt`, `le`, `gt` and `ge` on unsigned integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the operators of the PTX ISA")]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

impl Compare {
    pub(super) fn holds(self, order: Option<Ordering>) -> bool {
        let Some(order) = order else {
            return matches!(
                self,
                Self::Equ | Self::Neu | Self::Ltu | Self::Leu | Self::Gtu | Self::Geu | Self::Nan
            );
        };
        match self {
            Self::Eq | Self::Equ => order.is_eq(),
            Self::Ne | Self::Neu => order.is_ne(),
            Self::Lt | Self::Ltu => order.is_lt(),
            Self::Le | Self::Leu => order.is_le(),
            Self::Gt | Self::Gtu => order.is_gt(),
            Self::Ge | Self::Geu => order.is_ge(),
            Self::Num => true,
            Self::Nan => false,
        }
    }
}

/// Returns whether `a op b` holds. With `ftz`, subnormal operands compare as zeros.
#[doc(alias = "setp")]
#[doc(alias = "set")]
pub fn compare(ty: Ty, op: Compare, ftz: bool, a: u64, b: u64) -> bool {
    let order = match ty {
        Ty::Int(int) => Some(int.value(a).cmp(&int.value(b))),
        Ty::Float(float) => float_order(float, float.flush(ftz, a), float.flush(ftz, b)),
    };
    op.holds(order)
}

fn float_order(ty: Float, a: u64, b: u64) -> Option<Ordering> {
    let value = |bits: u64| {
        let magnitude = i128::from(bits & ty.mask() & !ty.sign_bit());
        if bits & ty.sign_bit() != 0 { -magnitude } else { magnitude }
    };
    (!ty.is_nan(a) && !ty.is_nan(b)).then(|| value(a).cmp(&value(b)))
}

/// The classes that `testp` tests (PTX ISA, "testp").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Neither infinity nor NaN.
    Finite,
    /// Infinity of either sign.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Neither NaN, infinity nor subnormal. On an H200, zeros are normal, contrary to the PTX ISA.
    Normal,
    /// Nonzero and smaller in magnitude than the smallest normal number.
    Subnormal,
}

/// Returns whether `a` is in a class.
pub fn testp(ty: Float, class: Class, a: u64) -> bool {
    let magnitude = a & ty.mask() & !ty.sign_bit();
    let infinity = ty.infinity();
    match class {
        Class::Finite => magnitude < infinity,
        Class::Infinite => magnitude == infinity,
        Class::Number => magnitude <= infinity,
        Class::NotANumber => magnitude > infinity,
        Class::Normal => magnitude < infinity && !ty.is_subnormal(a),
        Class::Subnormal => ty.is_subnormal(a),
    }
}

/// Returns `a` if `c >= 0`, otherwise `b` (PTX ISA, "slct"). −0 counts as zero; NaN selects `b`.
pub fn slct(condition: Ty, ftz: bool, a: u64, b: u64, c: u64) -> u64 {
    let zero = 0;
    if compare(condition, Compare::Ge, ftz, c, zero) { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::Int;

    #[test]
    fn unsigned_integers_order_above_the_sign_bit() {
        let (a, b) = (0x8000_0000, 1);
        assert!(compare(Int::U32.into(), Compare::Gt, false, a, b));
        assert!(compare(Int::S32.into(), Compare::Lt, false, a, b));
    }
}
