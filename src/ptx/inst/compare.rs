//! Comparison and selection: `setp`, `selp`, and logic on predicates.

use std::{
    cmp::Ordering,
    ops::{BitAnd, BitOr, BitXor, Not},
};

use super::{
    Operands::{In, Known},
    operands,
};
use crate::ptx::{fold::Number, operand::Operand, types::Scalar, val::Val};

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident, $ptx:literal, $holds:expr;)*) => {
        impl<'k, T: Number> Val<'k, T> {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(self, other: impl Into<Self>) -> Val<'k, bool> {
                    let holds: fn(Option<Ordering>) -> bool = $holds;
                    self.compare($ptx, other.into(), holds)
                }
            )*
        }
    };
}

comparisons! {
    /// `self == other`; false if either is NaN.
    #[doc(alias = "setp.eq")]
    eq, "eq", |o| o == Some(Ordering::Equal);
    /// `self != other`; false if either is NaN, as PTX has it (Rust's `!=` is true then).
    #[doc(alias = "setp.ne")]
    ne, "ne", |o| matches!(o, Some(Ordering::Less | Ordering::Greater));
    /// `self < other`; false if either is NaN.
    #[doc(alias = "setp.lt")]
    lt, "lt", |o| o == Some(Ordering::Less);
    /// `self <= other`; false if either is NaN.
    #[doc(alias = "setp.le")]
    le, "le", |o| matches!(o, Some(Ordering::Less | Ordering::Equal));
    /// `self > other`; false if either is NaN.
    #[doc(alias = "setp.gt")]
    gt, "gt", |o| o == Some(Ordering::Greater);
    /// `self >= other`; false if either is NaN.
    #[doc(alias = "setp.ge")]
    ge, "ge", |o| matches!(o, Some(Ordering::Greater | Ordering::Equal));
}

impl<'k, T: Number> Val<'k, T> {
    #[track_caller]
    fn compare(self, operator: &str, other: Self, holds: fn(Option<Ordering>) -> bool) -> Val<'k, bool> {
        match operands(self, other) {
            Known(a, b) => holds(a.fold_compare(b)).into(),
            // A constant stands on the right.
            In(_) if self.as_constant().is_some() => {
                let mirrored = match operator {
                    "lt" => "gt",
                    "le" => "ge",
                    "gt" => "lt",
                    "ge" => "le",
                    same => same,
                };
                other.compare(mirrored, self, holds)
            }
            In(k) => {
                k.result(format_args!("setp.{operator}.{}", T::PTX), &[self.operand(k), other.operand(k)])
            }
        }
    }
}

impl<'k> Val<'k, bool> {
    /// `yes` where this holds and `no` elsewhere.
    #[doc(alias = "selp")]
    #[track_caller]
    pub fn select<T: Scalar>(self, yes: impl Into<Val<'k, T>>, no: impl Into<Val<'k, T>>) -> Val<'k, T> {
        let (yes, no) = (yes.into(), no.into());
        match self.reg() {
            None => {
                if self.as_constant() == Some(true) {
                    yes
                } else {
                    no
                }
            }
            Some((reg, k)) => {
                // `selp` has no half types: bits are bits.
                let ptx = if T::IMMEDIATE { T::PTX } else { T::CLASS.mov() };
                k.result(format_args!("selp.{ptx}"), &[yes.operand(k), no.operand(k), Operand::Reg(reg)])
            }
        }
    }

    #[track_caller]
    fn logic(self, operator: &str, other: Self, fold: fn(bool, bool) -> bool) -> Self {
        match operands(self, other) {
            Known(a, b) => fold(a, b).into(),
            In(k) => match (self.as_constant(), other.as_constant()) {
                (Some(c), None) if fold(c, false) == fold(c, true) => fold(c, false).into(),
                (Some(c), None) if !fold(c, false) => other,
                (None, Some(c)) if fold(false, c) == fold(true, c) => fold(false, c).into(),
                (None, Some(c)) if !fold(false, c) => self,
                _ => k.result(
                    format_args!("{operator}.pred"),
                    &[Operand::Reg(self.in_register(k)), Operand::Reg(other.in_register(k))],
                ),
            },
        }
    }
}

macro_rules! logic {
    ($($op:ident, $method:ident, $ptx:literal, $fold:expr;)*) => {$(
        impl<'k, R: Into<Val<'k, bool>>> $op<R> for Val<'k, bool> {
            type Output = Self;

            #[track_caller]
            fn $method(self, other: R) -> Self {
                self.logic($ptx, other.into(), $fold)
            }
        }
    )*};
}

logic! {
    BitAnd, bitand, "and", |a, b| a & b;
    BitOr,  bitor,  "or",  |a, b| a | b;
    BitXor, bitxor, "xor", |a, b| a ^ b;
}

impl Not for Val<'_, bool> {
    type Output = Self;

    #[track_caller]
    fn not(self) -> Self {
        match self.reg() {
            None => (self.as_constant() != Some(true)).into(),
            Some((reg, k)) => k.result(format_args!("not.pred"), &[Operand::Reg(reg)]),
        }
    }
}
