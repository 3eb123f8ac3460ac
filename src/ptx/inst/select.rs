//! Selection (`selp`, `slct`) and logic on predicates (`and.pred` and others).

use std::ops::{BitAnd, BitOr, BitXor, Not};

use super::{
    Operands::{In, Known},
    operands,
};
use crate::ptx::{
    facts::{Compared, Condition},
    fold::Number,
    operand::Operand,
    types::Scalar,
    val::Val,
};

impl<'k> Val<'k, bool> {
    /// Returns `yes` if this predicate is true, and `no` otherwise. If the predicate is in a register, the builder rejects values of type
    /// `bool` and 128-bit values.
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
                let known = yes.known().or_else(no.known());
                let operands = [yes.operand(k), no.operand(k), Operand::Reg(reg)];
                let result: Val<'k, T> = k.result(["selp.", selected::<T>()], &operands);
                result.learn(known, yes.is_local() || no.is_local());
                result
            }
        }
    }

    #[track_caller]
    fn logic(self, operator: &'static str, other: Self, fold: fn(bool, bool) -> bool) -> Self {
        match operands(self, other) {
            Known(a, b) => fold(a, b).into(),
            In(k) => match (self.as_constant(), other.as_constant()) {
                (Some(c), None) if fold(c, false) == fold(c, true) => fold(c, false).into(),
                (Some(c), None) if !fold(c, false) => other,
                (None, Some(c)) if fold(false, c) == fold(true, c) => fold(false, c).into(),
                (None, Some(c)) if !fold(false, c) => self,
                _ => {
                    let (a, b) = (self.in_register(k), other.in_register(k));
                    let result: Self = k.result([operator, ".pred"], &[Operand::Reg(a), Operand::Reg(b)]);
                    if let Some((predicate, _)) = result.reg() {
                        match operator {
                            "and" => k.body().set_condition(predicate, Condition::And(a, b)),
                            "or" => k.body().set_condition(predicate, Condition::Or(a, b)),
                            _ => {}
                        }
                    }
                    result
                }
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
            Some((reg, k)) => {
                let condition = k.body().condition(reg);
                match condition {
                    Some(Condition::Not(p)) => Self::from_reg(p, k),
                    Some(Condition::Compare(Compared { comparison, ptx, operands, .. })) => {
                        self.bypassed();
                        let opposite = comparison.opposite();
                        let is_float = matches!(ptx.as_bytes()[0], b'f' | b'b');
                        k.compare(if is_float { opposite } else { opposite.ordered() }, ptx, operands)
                    }
                    _ => {
                        let result: Self = k.result(format_args!("not.pred"), &[Operand::Reg(reg)]);
                        if let Some((predicate, _)) = result.reg() {
                            k.body().set_condition(predicate, Condition::Not(reg));
                        }
                        result
                    }
                }
            }
        }
    }
}

/// A type that [`select_by_sign`](Val::select_by_sign) can test: `i32` or `f32`.
pub trait Selector: Number + PartialOrd {}

impl Selector for i32 {}
impl Selector for f32 {}

impl<'k, C: Selector> Val<'k, C> {
    /// Returns `yes` if `self` is at least 0 (including −0), and `no` if `self` is negative or NaN. If `self` is in a register, the builder
    /// rejects values of type `bool` and 128-bit values.
    #[doc(alias = "slct")]
    #[track_caller]
    pub fn select_by_sign<T: Scalar>(
        self,
        yes: impl Into<Val<'k, T>>,
        no: impl Into<Val<'k, T>>,
    ) -> Val<'k, T> {
        let (yes, no) = (yes.into(), no.into());
        match self.reg() {
            None if self.as_constant().is_some_and(|c| c >= C::ZERO) => yes,
            None => no,
            Some((_, k)) => {
                let operands = [yes.operand(k), no.operand(k), self.operand(k)];
                k.result(format_args!("slct.{}.{}", selected::<T>(), C::PTX), &operands)
            }
        }
    }
}

/// Returns the type suffix for `selp` and `slct`: the type itself, or a bit-size type such as `b16` for types that these instructions do
/// not support, such as f16.
fn selected<T: Scalar>() -> &'static str {
    if T::IMMEDIATE { T::PTX } else { T::CLASS.mov() }
}
