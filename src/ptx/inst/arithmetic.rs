//! Operators, sums, differences and products (`add`, `sub`, `mul`, `mad`/`fma`), minimum and maximum, and full-width products.
//!
//! The operators `+ - * / %` emit instructions, as do the methods. Floating-point instructions have an explicit rounding modifier
//! (`add.rn.f32`). Without it, ptxas could contract a multiplication and an addition into an `fma`, which would change the result.

use std::ops::{Add, Div, Mul, Rem, Sub};

use super::{
    Operands::{In, Known},
    chain::Product,
    division::{Divide, IntegerDivision},
    operands,
};
use crate::ptx::{
    facts,
    fold::{Integer, Number, Numeric},
    kernel::Builder,
    mnemonic::MnemonicText,
    target::Features,
    types::{Scalar, bf16, f16},
    val::Val,
};

/// Returns whether `T` is `bf16` or `bf16x2` and the target lacks `add`, `sub`, `mul` and `setp` for it. These require sm_90 or later; on
/// sm_80, `fma` and comparisons in f32 give the same results.
pub(super) fn lacks_bf16_arithmetic<T: Scalar>(k: Builder<'_>) -> bool {
    T::PTX.starts_with("bf16") && !k.target().features().contains(Features::HOPPER)
}

impl<'k, T: Number> Val<'k, T> {
    pub(super) fn is_constant(self, value: T) -> bool {
        self.as_constant().is_some_and(|c| c.to_bits() == value.to_bits())
    }

    /// Returns whether both values are unsigned or known to be nonnegative.
    pub(in crate::ptx) fn is_natural(self, other: Self) -> bool {
        T::PTX.starts_with('u') || T::EXACT && self.known().is_nonnegative() && other.known().is_nonnegative()
    }

    /// Returns whether both values are unsigned or known to be nonnegative wherever they are defined, as folding requires.
    pub(super) fn is_natural_everywhere(self, other: Self) -> bool {
        let is_nonnegative = |value: Self| value.settled().is_nonnegative();
        T::PTX.starts_with('u') || T::EXACT && is_nonnegative(self) && is_nonnegative(other)
    }

    #[track_caller]
    pub(super) fn binary(self, k: Builder<'k>, mnemonic: impl MnemonicText, other: Self) -> Self {
        k.result(mnemonic, &[self.operand(k), other.operand(k)])
    }

    #[track_caller]
    pub(super) fn sum(self, other: Self) -> Self {
        match operands(self, other) {
            Known(a, b) => a.fold_add(b).into(),
            In(_) if T::EXACT && other.is_constant(T::ZERO) => self,
            In(_) if T::EXACT && self.is_constant(T::ZERO) => other,
            In(k) if lacks_bf16_arithmetic::<T>(k) => self.mad(T::ONE, other),
            In(k) if T::EXACT => match (self.as_constant(), other.as_constant()) {
                (_, Some(addend)) => self.plus(k, addend),
                (Some(addend), _) => other.plus(k, addend),
                _ => {
                    let known = self.known().add(other.known());
                    k.integer::<T>(known, ["add.", T::PTX], &[self.operand(k), other.operand(k)])
                        .with_dim(|| Some(self.dim()? + other.dim()?))
                }
            },
            In(k) => self.binary(k, ["add", T::ROUND, ".", T::PTX], other),
        }
    }

    #[track_caller]
    pub(super) fn difference(self, other: Self) -> Self {
        match operands(self, other) {
            Known(a, b) => a.fold_sub(b).into(),
            In(_) if T::EXACT && other.is_constant(T::ZERO) => self,
            In(k) if lacks_bf16_arithmetic::<T>(k) => other.mad(T::ZERO.fold_sub(T::ONE), self),
            In(k) if T::EXACT => match other.as_constant() {
                Some(less) => self.plus(k, T::ZERO.fold_sub(less)),
                None => {
                    let known = self.known().sub(other.known());
                    k.integer(known, ["sub.", T::PTX], &[self.operand(k), other.operand(k)])
                }
            },
            In(k) => self.binary(k, ["sub", T::ROUND, ".", T::PTX], other),
        }
    }

    #[track_caller]
    pub(super) fn product(self, other: Self) -> Self {
        match operands(self, other) {
            Known(a, b) => a.fold_mul(b).into(),
            In(_) if T::EXACT && (self.is_constant(T::ZERO) || other.is_constant(T::ONE)) => self,
            In(_) if T::EXACT && (other.is_constant(T::ZERO) || self.is_constant(T::ONE)) => other,
            // −0, the identity element of addition, preserves the sign of a zero product.
            In(k) if lacks_bf16_arithmetic::<T>(k) => {
                self.mad(other, T::ZERO.fold_sub(T::ONE).fold_mul(T::ZERO))
            }
            In(k) if T::EXACT => match (self.as_constant(), other.as_constant()) {
                (_, Some(factor)) => self.times(k, factor, Product::Multiplied),
                (Some(factor), _) => other.times(k, factor, Product::Multiplied),
                _ => {
                    let known = self.known().mul(other.known());
                    k.integer::<T>(known, ["mul.lo.", T::PTX], &[self.operand(k), other.operand(k)])
                        .with_dim(|| Some(self.dim()? * other.dim()?))
                }
            },
            In(k) => self.binary(k, ["mul", T::MUL, ".", T::PTX], other),
        }
    }

    /// Returns `self · factor + addend`. For integers, the result wraps around (`mad.lo`); for floating-point types, it is rounded once
    /// (`fma.rn`). bf16 and bf16x2 require sm_80 or later.
    #[doc(alias = "fma")]
    #[track_caller]
    pub fn mad(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        let (factor, addend) = (factor.into(), addend.into());
        match (operands(self, factor), addend.as_constant()) {
            (Known(a, b), Some(c)) => a.fold_mad(b, c).into(),
            (Known(a, b), None) if T::EXACT => Self::from(a.fold_mul(b)).sum(addend),
            (In(_), Some(c)) if T::EXACT && c == T::ZERO => self.product(factor),
            (In(_), _) if T::EXACT && (self.is_constant(T::ZERO) || factor.is_constant(T::ZERO)) => addend,
            (In(_), _) if T::EXACT && self.is_constant(T::ONE) => factor.sum(addend),
            (In(_), _) if T::EXACT && factor.is_constant(T::ONE) => self.sum(addend),
            (In(k), _) => self.emit_mad(k, factor, addend),
            (Known(..), _) => match addend.kernel() {
                Some(k) => self.emit_mad(k, factor, addend),
                None => self,
            },
        }
    }

    #[track_caller]
    fn emit_mad(self, k: Builder<'k>, factor: Self, addend: Self) -> Self {
        let (value, factor) = match factor.as_constant().filter(|_| T::EXACT) {
            Some(constant) => {
                let (value, factor) = self.without_factor(constant);
                (value, factor.into())
            }
            None => (self, factor),
        };
        if T::EXACT && factor.is_constant(T::ZERO) {
            return addend;
        }
        let operands = [value.operand(k), factor.operand(k), addend.operand(k)];
        if !T::EXACT {
            return k.result([T::MAD, ".", T::PTX], &operands);
        }
        let known = value.known().mul(factor.known()).add(addend.known());
        k.integer::<T>(known, ["mad.lo.", T::PTX], &operands)
            .with_dim(|| Some(value.dim()? * factor.dim()? + addend.dim()?))
    }

    /// Returns the minimum of the operands. For floating-point types, −0 is less than +0, and the result is NaN only if both operands are
    /// NaN. 16-bit floating-point types and pairs of them require sm_80 or later.
    #[track_caller]
    pub fn min(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => a.fold_min(b).into(),
            In(_)
                if self.is_natural_everywhere(other) && self.settled().most() <= other.settled().least() =>
            {
                self
            }
            In(_)
                if self.is_natural_everywhere(other) && other.settled().most() <= self.settled().least() =>
            {
                other
            }
            In(k) => {
                let result = self.binary(k, ["min.", T::PTX], other);
                if self.is_natural(other) {
                    result.learn(self.known().min(other.known()), self.is_local() || other.is_local());
                }
                result
            }
        }
    }

    /// Returns the maximum of the operands. For floating-point types, +0 is greater than −0, and the result is NaN only if both operands
    /// are NaN. 16-bit floating-point types and pairs of them require sm_80 or later.
    #[track_caller]
    pub fn max(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => a.fold_max(b).into(),
            In(_)
                if self.is_natural_everywhere(other) && self.settled().most() <= other.settled().least() =>
            {
                other
            }
            In(_)
                if self.is_natural_everywhere(other) && other.settled().most() <= self.settled().least() =>
            {
                self
            }
            In(k) => {
                let result = self.binary(k, ["max.", T::PTX], other);
                if T::EXACT {
                    result.learn(self.known().or_else(other.known()), self.is_local() || other.is_local());
                }
                result
            }
        }
    }
}

impl<'k, T: Number> Val<'k, T> {
    /// Clamps the value to the range from `low` to `high`. NaN becomes `low`. If `low` is greater than `high`, the result is `high`. 16-bit
    /// floating-point types and pairs of them require sm_80 or later.
    #[track_caller]
    pub fn clamp(self, low: impl Into<Self>, high: impl Into<Self>) -> Self {
        self.max(low).min(high)
    }

    /// Returns the maximum of `self` and 0; NaN becomes 0. 16-bit floating-point types and pairs of them require sm_80 or later.
    #[track_caller]
    pub fn relu(self) -> Self {
        self.max(T::ZERO)
    }
}

/// An integer type that supports [`mul_hi`](Val::mul_hi) and [`mad_hi`](Val::mad_hi): any 16-bit, 32-bit or 64-bit integer.
pub trait WideProduct: Integer {
    #[doc(hidden)]
    fn fold_mul_hi(self, other: Self) -> Self;
}

macro_rules! wide_products {
    ($($t:ty, $wide:ty;)*) => {$(
        impl WideProduct for $t {
            fn fold_mul_hi(self, other: Self) -> Self {
                ((<$wide>::from(self) * <$wide>::from(other)) >> <$t>::BITS) as $t
            }
        }
    )*};
}

wide_products! { u16, u32; i16, i32; u32, u64; i32, i64; u64, u128; i64, i128; }

impl<'k, T: WideProduct> Val<'k, T> {
    /// Returns the upper half of the full-width product `self · other`.
    #[doc(alias = "mul.hi")]
    #[track_caller]
    pub fn mul_hi(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => a.fold_mul_hi(b).into(),
            In(k) => {
                let result = self.binary(k, ["mul.hi.", T::PTX], other);
                if self.is_natural(other) {
                    result.learn(self.known().mul_high(other.known()), self.is_local() || other.is_local());
                }
                result
            }
        }
    }
}

/// An integer type that supports full-width products: any 16-bit or 32-bit integer.
pub trait Widen: Integer + Numeric {
    /// The integer type that is twice as wide.
    type Wide: Integer + Numeric + From<Self>;
}

impl Widen for u16 {
    type Wide = u32;
}
impl Widen for i16 {
    type Wide = i32;
}
impl Widen for u32 {
    type Wide = u64;
}
impl Widen for i32 {
    type Wide = i64;
}

impl<'k, T: Widen> Val<'k, T> {
    /// Returns the full-width product `self · other` in a type twice as wide.
    #[doc(alias = "mul.wide")]
    #[track_caller]
    pub fn mul_wide(self, other: impl Into<Self>) -> Val<'k, T::Wide> {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => T::Wide::from(a).fold_mul(b.into()).into(),
            In(_) if self.is_constant(T::ZERO) || other.is_constant(T::ZERO) => T::Wide::ZERO.into(),
            In(_) if other.is_constant(T::ONE) => self.cast(),
            In(_) if self.is_constant(T::ONE) => other.cast(),
            In(k) => {
                let operands = [self.operand(k), other.operand(k)];
                k.integer::<T::Wide>(self.wide_product(other), ["mul.wide.", T::PTX], &operands)
                    .with_dim(|| Some(self.dim()? * other.dim()?))
            }
        }
    }

    /// Returns the full-width product `self · other` plus `addend` in a type twice as wide. The sum wraps around.
    #[doc(alias = "mad.wide")]
    #[track_caller]
    pub fn mad_wide(self, other: impl Into<Self>, addend: impl Into<Val<'k, T::Wide>>) -> Val<'k, T::Wide> {
        let (other, addend) = (other.into(), addend.into());
        match operands(self, other) {
            Known(a, b) => Val::from(T::Wide::from(a).fold_mul(b.into())).sum(addend),
            In(_) if addend.is_constant(T::Wide::ZERO) => self.mul_wide(other),
            In(_) if self.is_constant(T::ZERO) || other.is_constant(T::ZERO) => addend,
            In(k) => {
                let known = self.wide_product(other).add(addend.known());
                let operands = [self.operand(k), other.operand(k), addend.operand(k)];
                k.integer::<T::Wide>(known, ["mad.wide.", T::PTX], &operands)
                    .with_dim(|| Some(self.dim()? * other.dim()? + addend.dim()?))
            }
        }
    }

    /// Returns the known facts about the full-width product.
    fn wide_product(self, other: Self) -> facts::Known {
        let [a, b] = [self, other].map(|value| value.known().resized(16 * T::BYTES, T::SIGNED));
        a.mul(b)
    }
}

macro_rules! operators {
    ($($op:ident, $method:ident, $bound:ident, $body:expr;)*) => {$(
        impl<'k, T: $bound, R: Into<Val<'k, T>>> $op<R> for Val<'k, T> {
            type Output = Self;

            #[track_caller]
            fn $method(self, other: R) -> Self {
                $body(self, other.into())
            }
        }
    )*};
}

operators! {
    Add, add, Number,          Val::sum;
    Sub, sub, Number,          Val::difference;
    Mul, mul, Number,          Val::product;
    Div, div, Divide,          T::quotient;
    Rem, rem, IntegerDivision, Val::remainder;
}

/// Implements operators with a constant on the left: `constant + value`.
macro_rules! constant_on_the_left {
    ($($t:ty: $($op:ident $method:ident),*;)*) => {$($(
        impl<'k> $op<Val<'k, $t>> for $t {
            type Output = Val<'k, $t>;

            #[track_caller]
            fn $method(self, other: Val<'k, $t>) -> Val<'k, $t> {
                $op::$method(Val::from(self), other)
            }
        }
    )*)*};
}

constant_on_the_left! {
    u16:  Add add, Sub sub, Mul mul, Div div, Rem rem;
    i16:  Add add, Sub sub, Mul mul, Div div, Rem rem;
    u32:  Add add, Sub sub, Mul mul, Div div, Rem rem;
    i32:  Add add, Sub sub, Mul mul, Div div, Rem rem;
    u64:  Add add, Sub sub, Mul mul, Div div, Rem rem;
    i64:  Add add, Sub sub, Mul mul, Div div, Rem rem;
    f32:  Add add, Sub sub, Mul mul, Div div;
    f64:  Add add, Sub sub, Mul mul, Div div;
    f16:  Add add, Sub sub, Mul mul, Div div;
    bf16: Add add, Sub sub, Mul mul, Div div;
}
