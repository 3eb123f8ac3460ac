//! Constant folding, with results that are bit-identical to those of the instructions.
//!
//! A NaN result has the same bits as on hardware: all bits except the sign bit are 1 or, in f64, the bits are those of a NaN operand.
//! Integer division by zero, which PTX leaves unspecified, returns all ones.

mod convert;
pub(crate) mod exact;
mod format;

use std::cmp::Ordering;

pub use convert::Numeric;
pub(crate) use convert::{convert, round_to_integral, saturate, to_tf32};
pub use exact::Mode;
pub use format::{Format, Rounding};

use super::types::{Scalar, bf16, bf16x2, f16, f16x2};

/// A type that supports arithmetic instructions.
pub trait Number: Scalar {
    /// The rounding modifier of arithmetic instructions: `".rn"` for floating-point types, where it prevents ptxas from contracting
    /// operations, and empty for integers.
    const ROUND: &'static str;
    /// The modifier of `mul`: `".lo"` for integers, and the rounding modifier for floating-point types.
    const MUL: &'static str;
    /// The multiply-add instruction: `"mad.lo"` for integers, and `"fma.rn"` for floating-point types.
    const MAD: &'static str;
    /// The number 0.
    const ZERO: Self;
    /// The number 1.
    const ONE: Self;
    /// Whether `x + 0`, `x · 1` and `x · 0` may be folded even if `x` is not a constant. This is true only for integers, because
    /// floating-point types have −0 and NaN.
    const EXACT: bool;

    #[doc(hidden)]
    fn fold_add(self, other: Self) -> Self;
    #[doc(hidden)]
    fn fold_sub(self, other: Self) -> Self;
    #[doc(hidden)]
    fn fold_mul(self, other: Self) -> Self;
    #[doc(hidden)]
    fn fold_mad(self, factor: Self, addend: Self) -> Self;
    #[doc(hidden)]
    fn fold_min(self, other: Self) -> Self;
    #[doc(hidden)]
    fn fold_max(self, other: Self) -> Self;
    #[doc(hidden)]
    fn fold_compare(self, other: Self) -> Option<Ordering>;
}

/// A 16-bit, 32-bit or 64-bit integer type. It supports wrapping arithmetic, shifts and bit operations.
pub trait Integer: Numeric {
    /// Whether the type is signed.
    const SIGNED: bool;
    /// The untyped PTX type of the same width, such as `"b32"`.
    const BITS: &'static str;

    #[doc(hidden)]
    fn fold_div(self, other: Self) -> Self;
    #[doc(hidden)]
    fn fold_rem(self, other: Self) -> Self;
}

/// A scalar floating-point type that supports arithmetic instructions.
pub trait Float: Numeric {}

macro_rules! integers {
    ($($t:ty, $signed:literal, $bits:literal;)*) => {$(
        impl Number for $t {
            const ROUND: &'static str = "";
            const MUL: &'static str = ".lo";
            const MAD: &'static str = "mad.lo";
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const EXACT: bool = true;

            fn fold_add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn fold_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn fold_mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn fold_mad(self, factor: Self, addend: Self) -> Self {
                self.wrapping_mul(factor).wrapping_add(addend)
            }
            fn fold_min(self, other: Self) -> Self {
                self.min(other)
            }
            fn fold_max(self, other: Self) -> Self {
                self.max(other)
            }
            fn fold_compare(self, other: Self) -> Option<Ordering> {
                Some(self.cmp(&other))
            }
        }

        impl Integer for $t {
            const SIGNED: bool = $signed;
            const BITS: &'static str = $bits;

            fn fold_div(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }
            fn fold_rem(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_rem(other) }
            }
        }
    )*};
}

integers! {
    u16, false, "b16";
    i16, true,  "b16";
    u32, false, "b32";
    i32, true,  "b32";
    u64, false, "b64";
    i64, true,  "b64";
}

macro_rules! floats {
    ($($t:ty, $zero:expr, $one:expr;)*) => {$(
        impl Number for $t {
            const ROUND: &'static str = ".rn";
            const MUL: &'static str = ".rn";
            const MAD: &'static str = "fma.rn";
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const EXACT: bool = false;

            fn fold_add(self, other: Self) -> Self {
                exact::add(self, other, Mode::RN)
            }
            fn fold_sub(self, other: Self) -> Self {
                exact::sub(self, other, Mode::RN)
            }
            fn fold_mul(self, other: Self) -> Self {
                exact::mul(self, other, Mode::RN)
            }
            fn fold_mad(self, factor: Self, addend: Self) -> Self {
                exact::fma(self, factor, addend, Mode::RN)
            }
            fn fold_min(self, other: Self) -> Self {
                exact::extremum(self, other, Ordering::Less)
            }
            fn fold_max(self, other: Self) -> Self {
                exact::extremum(self, other, Ordering::Greater)
            }
            fn fold_compare(self, other: Self) -> Option<Ordering> {
                self.partial_cmp(&other)
            }
        }

        impl Float for $t {}
    )*};
}

floats! {
    f16,  f16::ZERO,  f16::ONE;
    bf16, bf16::ZERO, bf16::ONE;
    f32,  0.0,        1.0;
    f64,  0.0,        1.0;
}

macro_rules! pairs {
    ($($t:ident, $half:ident;)*) => {$(
        impl $t {
            fn each(self, other: Self, f: impl Fn($half, $half) -> $half) -> Self {
                Self([f(self.0[0], other.0[0]), f(self.0[1], other.0[1])])
            }
        }

        impl Number for $t {
            const ROUND: &'static str = ".rn";
            const MUL: &'static str = ".rn";
            const MAD: &'static str = "fma.rn";
            const ZERO: Self = Self([$half::ZERO; 2]);
            const ONE: Self = Self([$half::ONE; 2]);
            const EXACT: bool = false;

            fn fold_add(self, other: Self) -> Self {
                self.each(other, $half::fold_add)
            }
            fn fold_sub(self, other: Self) -> Self {
                self.each(other, $half::fold_sub)
            }
            fn fold_mul(self, other: Self) -> Self {
                self.each(other, $half::fold_mul)
            }
            fn fold_mad(self, factor: Self, addend: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i].fold_mad(factor.0[i], addend.0[i])))
            }
            fn fold_min(self, other: Self) -> Self {
                self.each(other, $half::fold_min)
            }
            fn fold_max(self, other: Self) -> Self {
                self.each(other, $half::fold_max)
            }
            fn fold_compare(self, _: Self) -> Option<Ordering> {
                None
            }
        }
    )*};
}

pairs! {
    f16x2,  f16;
    bf16x2, bf16;
}
