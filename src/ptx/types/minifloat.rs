//! 8-bit floating-point numbers on the host: e4m3 and e5m2 (PTX ISA, "Alternate Floating-Point Data Formats"; OCP, "8-bit Floating Point
//! Specification").

use std::{cmp::Ordering, fmt, ops::Neg};

/// The parameters of an 8-bit format.
struct Fp8 {
    /// The width of the significand field, without the leading one.
    digits: u32,
    /// The exponent field of 1.
    bias: u32,
    /// The largest finite number.
    max: u8,
}

const NAN: u8 = 0x7f;
/// The NaN that devices compute in f32.
const CANONICAL_NAN: f32 = f32::from_bits(0x7fff_ffff);

impl Fp8 {
    /// Rounds the magnitude of a number to nearest even, as if exponents were unbounded; `None` for NaN.
    fn round(&self, x: f32) -> Option<u32> {
        if x.is_nan() {
            return None;
        }
        let magnitude = x.abs();
        let lowest_exponent = 1 - self.bias as i32;
        if magnitude < 2f32.powi(lowest_exponent) {
            // A multiple of the smallest number; scaling by a power of two is exact.
            return Some(
                (magnitude * 2f32.powi(self.digits as i32 - lowest_exponent)).round_ties_even() as u32
            );
        }
        let (bits, dropped) = (magnitude.to_bits(), f32::MANTISSA_DIGITS - 1 - self.digits);
        let rounded = bits + (1 << (dropped - 1)) - 1 + (bits >> dropped & 1);
        Some((rounded >> dropped) - ((127 - self.bias) << self.digits))
    }

    /// Rounds a number; magnitudes beyond the largest finite number become `over`.
    fn narrow(&self, x: f32, over: u8) -> u8 {
        let Some(rounded) = self.round(x) else { return NAN };
        let magnitude = if rounded > self.max.into() { over } else { rounded as u8 };
        u8::from(x.is_sign_negative()) << 7 | magnitude
    }

    /// Widens a finite number.
    fn widen(&self, bits: u8) -> f32 {
        let (field, fraction) = (u32::from(bits & 0x7f) >> self.digits, bits & ((1 << self.digits) - 1));
        let magnitude = match field {
            0 => f32::from(fraction) * 2f32.powi(1 - self.bias as i32 - self.digits as i32),
            _ => {
                let fraction = u32::from(fraction) << (f32::MANTISSA_DIGITS - 1 - self.digits);
                f32::from_bits((field + 127 - self.bias) << 23 | fraction)
            }
        };
        if bits >> 7 == 1 { -magnitude } else { magnitude }
    }
}

const E4M3: Fp8 = Fp8 { digits: 3, bias: 7, max: 0x7e };
const E5M2: Fp8 = Fp8 { digits: 2, bias: 15, max: 0x7b };

/// An 8-bit floating-point number with 4 bits of exponent and 3 of significand: `.e4m3`.
///
/// Finite magnitudes reach 448; the format has NaN (0x7f, 0xff), but no infinities. PTX has no scalar arithmetic instructions for e4m3, but
/// `mma` multiplies it, and [`Val::to_f32`](crate::ptx::Val::to_f32) converts it to f32.
#[allow(non_camel_case_types, reason = "named like the PTX type and like half's own types")]
#[doc(alias = "fp8e4m3")]
#[doc(alias = "float8_e4m3fn")]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct e4m3(u8);

/// An 8-bit floating-point number with 5 bits of exponent and 2 of significand: `.e5m2`, the upper half of an f16.
///
/// Finite magnitudes reach 57,344; the format has infinities and NaN. PTX has no scalar arithmetic instructions for e5m2, but `mma`
/// multiplies it, and [`Val::to_f32`](crate::ptx::Val::to_f32) converts it to f32.
#[allow(non_camel_case_types, reason = "named like the PTX type and like half's own types")]
#[doc(alias = "fp8e5m2")]
#[doc(alias = "float8_e5m2")]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct e5m2(u8);

macro_rules! formats {
    ($($t:ident, $format:ident, $one:literal, $smallest_normal:literal;)*) => {$(
        impl $t {
            /// The number 0.
            pub const ZERO: Self = Self(0);
            /// The number 1.
            pub const ONE: Self = Self($one);
            /// The largest finite number.
            pub const MAX: Self = Self($format.max);
            /// The smallest finite number, −[`MAX`](Self::MAX).
            pub const MIN: Self = Self($format.max | 0x80);
            /// The smallest positive normal number.
            pub const MIN_POSITIVE: Self = Self($smallest_normal);
            /// The smallest positive number.
            pub const MIN_POSITIVE_SUBNORMAL: Self = Self(1);
            /// The NaN that conversions return.
            pub const NAN: Self = Self(NAN);

            /// Creates the number from its bits.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Returns the bits.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Converts from f32, rounding to nearest even. Numbers out of range and infinities become the largest finite number with the
            /// same sign, and NaN becomes the positive [`NAN`](Self::NAN).
            #[doc = concat!("\n\nThe result is that of `cvt.rn.satfinite.", stringify!($t), "x2.f32`.")]
            pub fn from_f32(x: f32) -> Self {
                Self($format.narrow(x, $format.max))
            }

            /// Returns whether the sign bit is set, that is, whether the number is negative, −0 or a negative NaN.
            pub const fn is_sign_negative(self) -> bool {
                self.0 >> 7 == 1
            }

            /// Returns the magnitude.
            pub const fn abs(self) -> Self {
                Self(self.0 & 0x7f)
            }
        }

        impl From<$t> for f32 {
            fn from(x: $t) -> f32 {
                x.to_f32()
            }
        }

        impl Neg for $t {
            type Output = Self;

            fn neg(self) -> Self {
                Self(self.0 ^ 0x80)
            }
        }

        /// Compares like f32: NaN is not equal to any number, and −0 equals +0.
        impl PartialEq for $t {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $t {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    )*};
}

formats! {
    e4m3, E4M3, 0x38, 0x08;
    e5m2, E5M2, 0x3c, 0x04;
}

impl e4m3 {
    /// Returns the same number in f32; NaN becomes the canonical NaN, 0x7fff_ffff.
    pub fn to_f32(self) -> f32 {
        if self.is_nan() { CANONICAL_NAN } else { E4M3.widen(self.0) }
    }

    /// Returns whether the number is NaN.
    pub const fn is_nan(self) -> bool {
        self.0 & 0x7f == NAN
    }

    /// Returns whether the number is finite, that is, not NaN.
    pub const fn is_finite(self) -> bool {
        !self.is_nan()
    }
}

impl e5m2 {
    /// +∞.
    pub const INFINITY: Self = Self(0x7c);
    /// −∞.
    pub const NEG_INFINITY: Self = Self(0xfc);

    /// Converts from f32 as [`from_f32`](Self::from_f32) does, but numbers out of range become infinite, as in IEEE 754. PTX has no such
    /// conversion.
    pub fn from_f32_with_infinity(x: f32) -> Self {
        Self(E5M2.narrow(x, Self::INFINITY.0))
    }

    /// Returns the same number in f32; NaN becomes the canonical NaN, 0x7fff_ffff.
    pub fn to_f32(self) -> f32 {
        match self.0 & 0x7f {
            0x7c if self.is_sign_negative() => f32::NEG_INFINITY,
            0x7c => f32::INFINITY,
            0x7d.. => CANONICAL_NAN,
            _ => E5M2.widen(self.0),
        }
    }

    /// Returns whether the number is NaN.
    pub const fn is_nan(self) -> bool {
        self.0 & 0x7f > Self::INFINITY.0
    }

    /// Returns whether the number is +∞ or −∞.
    pub const fn is_infinite(self) -> bool {
        self.0 & 0x7f == Self::INFINITY.0
    }

    /// Returns whether the number is neither infinite nor NaN.
    pub const fn is_finite(self) -> bool {
        self.0 & 0x7f < Self::INFINITY.0
    }
}
