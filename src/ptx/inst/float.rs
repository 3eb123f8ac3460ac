//! Floating-point arithmetic with explicit rounding, flushing and clamping; reciprocals and square roots; rounding to integral values.

use std::cmp::Ordering;

use super::{
    Operands::{In, Known},
    operands,
    sign::Real,
};
use crate::ptx::{
    fold::{self, Float, Mode, Number, Rounding, exact},
    kernel::Builder,
    mnemonic::MnemonicText,
    types::{Scalar, bf16, bf16x2, f16, f16x2},
    val::Val,
};

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident, $ptx:literal, $bound:ident, $fold:expr;)*) => {$(
        impl<'k, T: $bound> Val<'k, T> {
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self, other: impl Into<Self>, mode: impl Into<Mode>) -> Self {
                let (other, mode) = (other.into(), mode.into());
                match operands(self, other) {
                    Known(a, b) => $fold(a, b, mode).into(),
                    In(k) => self.binary(k, format_args!(concat!($ptx, "{}.{}"), mode.suffix(), T::PTX), other),
                }
            }
        }
    )*};
}

binary! {
    /// Returns `self + other` with the given mode: `x.add_with(y, Rounding::Rz)` or `x.add_with(y, Mode::RN.ftz().sat())`.
    ///
    /// The builder rejects modes that the type does not support. The supported modes are:
    /// - f32: all modes
    /// - f64: all rounding modes, without flushing or clamping
    /// - f16: rounding to nearest even, with or without flushing and clamping
    /// - bf16: only [`Mode::RN`], on sm_90 and later
    #[doc(alias = "add")]
    add_with, "add", Float, exact::add;
    /// Returns `self − other` with the given mode. The supported modes are the same as for [`add_with`](Self::add_with).
    #[doc(alias = "sub")]
    sub_with, "sub", Float, exact::sub;
    /// Returns `self · other` with the given mode. The supported modes are the same as for [`add_with`](Self::add_with).
    #[doc(alias = "mul")]
    mul_with, "mul", Float, exact::mul;
    /// Returns `self / other` with the given mode, which may specify any rounding mode and, for f32, flushing of subnormals to zero
    /// (`.ftz`).
    #[doc(alias = "div")]
    div_with, "div", Real,  exact::div;
}

impl<'k, T: Float> Val<'k, T> {
    /// Returns `self · factor + addend`, rounded once with the given mode. The supported modes are the same as for
    /// [`add_with`](Self::add_with), except that bf16 requires only sm_80.
    #[doc(alias = "fma")]
    #[track_caller]
    pub fn fma_with(self, factor: impl Into<Self>, addend: impl Into<Self>, mode: impl Into<Mode>) -> Self {
        let (factor, addend, mode) = (factor.into(), addend.into(), mode.into());
        let known = (self.as_constant(), factor.as_constant(), addend.as_constant());
        match (known, kernel_of([self, factor, addend])) {
            ((Some(a), Some(b), Some(c)), _) => exact::fma(a, b, c, mode).into(),
            (_, Some(k)) => self.ternary(k, format_args!("fma{}.{}", mode.suffix(), T::PTX), factor, addend),
            (_, None) => self,
        }
    }

    /// Rounds to an integral value; `x.round(Rounding::Rm)`, for example, is the floor of `x`. bf16 requires sm_90 or later.
    #[doc(alias = "cvt.rni")]
    #[track_caller]
    pub fn round(self, rounding: Rounding) -> Self {
        match self.reg() {
            None => self.as_constant().map_or(self, |c| fold::round_to_integral(c, rounding).into()),
            Some((_, k)) => {
                let mnemonic = format_args!("cvt{}.{1}.{1}", rounding.integer_suffix(), T::PTX);
                k.result(mnemonic, &[self.operand(k)])
            }
        }
    }
}

/// Returns the kernel builder of the first value that is in a register.
pub(super) fn kernel_of<'k, T: Scalar, const N: usize>(values: [Val<'k, T>; N]) -> Option<Builder<'k>> {
    values.iter().find_map(Val::kernel)
}

impl<'k, T: Scalar> Val<'k, T> {
    #[track_caller]
    pub(super) fn ternary(self, k: Builder<'k>, mnemonic: impl MnemonicText, b: Self, c: Self) -> Self {
        k.result(mnemonic, &[self.operand(k), b.operand(k), c.operand(k)])
    }
}

/// A 16-bit floating-point type or a packed pair of such numbers: f16, bf16, f16x2 or bf16x2.
pub trait Half: Number {
    #[doc(hidden)]
    fn fold_relu(self) -> Self;
    #[doc(hidden)]
    fn fold_extremum_or_nan(self, other: Self, wanted: Ordering) -> Self;
}

/// Returns +0 if the sign bit of `x` is set (even if `x` is NaN), and `x` otherwise.
fn relu<T: Float>(x: T) -> T {
    let negative = x.to_bits() >> (8 * T::BYTES - 1) == 1;
    if negative { T::ZERO } else { x }
}

macro_rules! halves {
    ($($half:ident, $pair:ident;)*) => {$(
        impl Half for $half {
            fn fold_relu(self) -> Self {
                relu(self)
            }
            fn fold_extremum_or_nan(self, other: Self, wanted: Ordering) -> Self {
                exact::extremum_or_nan(self, other, wanted)
            }
        }

        impl Half for $pair {
            fn fold_relu(self) -> Self {
                Self(self.0.map(relu))
            }
            fn fold_extremum_or_nan(self, other: Self, wanted: Ordering) -> Self {
                Self(std::array::from_fn(|i| exact::extremum_or_nan(self.0[i], other.0[i], wanted)))
            }
        }
    )*};
}

halves! {
    f16,  f16x2;
    bf16, bf16x2;
}

impl<'k, T: Half> Val<'k, T> {
    /// Returns `self · factor + addend`, rounded once; a negative result becomes 0. Requires sm_80 or later.
    #[doc(alias = "fma.relu")]
    #[track_caller]
    pub fn fma_relu(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        let (factor, addend) = (factor.into(), addend.into());
        let known = (self.as_constant(), factor.as_constant(), addend.as_constant());
        match (known, kernel_of([self, factor, addend])) {
            ((Some(a), Some(b), Some(c)), _) => a.fold_mad(b, c).fold_relu().into(),
            (_, Some(k)) => self.ternary(k, ["fma.rn.relu.", T::PTX], factor, addend),
            (_, None) => self,
        }
    }
}

/// A type for which `min` and `max` can propagate NaN: f32, f16, bf16, f16x2 or bf16x2.
pub trait NanExtremum: Number {
    #[doc(hidden)]
    fn fold_nan_extremum(self, other: Self, wanted: Ordering) -> Self;
}

impl NanExtremum for f32 {
    fn fold_nan_extremum(self, other: Self, wanted: Ordering) -> Self {
        exact::extremum_or_nan(self, other, wanted)
    }
}

macro_rules! nan_extrema {
    ($($t:ty)*) => {$(
        impl NanExtremum for $t {
            fn fold_nan_extremum(self, other: Self, wanted: Ordering) -> Self {
                self.fold_extremum_or_nan(other, wanted)
            }
        }
    )*};
}

nan_extrema! { f16 bf16 f16x2 bf16x2 }

impl<'k, T: NanExtremum> Val<'k, T> {
    /// Returns the minimum of the operands, or NaN if either operand is NaN. Requires sm_80 or later.
    #[doc(alias = "min.NaN")]
    #[track_caller]
    pub fn min_nan(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => a.fold_nan_extremum(b, Ordering::Less).into(),
            In(k) => self.binary(k, ["min.NaN.", T::PTX], other),
        }
    }

    /// Returns the maximum of the operands, or NaN if either operand is NaN. Requires sm_80 or later.
    #[doc(alias = "max.NaN")]
    #[track_caller]
    pub fn max_nan(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => a.fold_nan_extremum(b, Ordering::Greater).into(),
            In(k) => self.binary(k, ["max.NaN.", T::PTX], other),
        }
    }
}

impl<'k, T: Real> Val<'k, T> {
    /// Returns `1 / self` with the given mode, which may specify any rounding mode and, for f32, flushing of subnormals to zero (`.ftz`).
    #[doc(alias = "rcp")]
    #[track_caller]
    pub fn rcp_with(self, mode: impl Into<Mode>) -> Self {
        let mode = mode.into();
        match self.reg() {
            None => self.as_constant().map_or(self, |c| exact::div(T::ONE, c, mode).into()),
            Some((_, k)) => k.result(format_args!("rcp{}.{}", mode.suffix(), T::PTX), &[self.operand(k)]),
        }
    }

    /// Returns the square root with the given mode, which may specify any rounding mode and, for f32, flushing of subnormals to zero
    /// (`.ftz`).
    #[doc(alias = "sqrt")]
    #[track_caller]
    pub fn sqrt_with(self, mode: impl Into<Mode>) -> Self {
        let mode = mode.into();
        match self.reg() {
            None => self.as_constant().map_or(self, |c| exact::sqrt(c, mode).into()),
            Some((_, k)) => k.result(format_args!("sqrt{}.{}", mode.suffix(), T::PTX), &[self.operand(k)]),
        }
    }
}
