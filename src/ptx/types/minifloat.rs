//! Minifloats on the host: floating-point numbers of at most 8 bits that are stored in a byte (PTX ISA, "Alternate Floating-Point Data
//! Formats"; OCP, "8-bit Floating Point Specification" and "Microscaling Formats Specification").

use std::{cmp::Ordering, fmt, ops::Neg};

use super::{Element, Scalar};

/// A floating-point type of at most 8 bits that is stored in a byte: [`e4m3`], [`e5m2`], [`e3m2`] or [`e2m3`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating-point type of at most 8 bits",
    note = "the floating-point types of at most 8 bits are `e4m3`, `e5m2`, `e3m2` and `e2m3`"
)]
#[doc(alias = "fp8")]
#[doc(alias = "fp6")]
pub trait Minifloat: Scalar + Element<Reg = Self> {
    /// The type of a packed pair in PTX, such as `"e4m3x2"`.
    #[doc(hidden)]
    const PAIR: &'static str;
    /// Whether `cvt` converts f16x2 to the type.
    #[doc(hidden)]
    const FROM_F16X2: bool;
    #[doc(hidden)]
    fn fold_from_f32(x: f32) -> Self;
    #[doc(hidden)]
    fn fold_to_f32(self) -> f32;
}

/// A format. From the highest used bit down, it consists of the sign bit, the exponent field, and the significand field without the leading
/// one.
struct Format {
    /// The width of the exponent field.
    exponent: u32,
    /// The width of the significand field.
    digits: u32,
    /// The largest finite number. Larger magnitudes are NaN; if there are several, the smallest of them is infinity instead.
    max: u8,
}

/// The f32 NaN that GPUs produce.
const CANONICAL_NAN: f32 = f32::from_bits(0x7fff_ffff);

impl Format {
    /// Returns the sign bit.
    const fn sign(&self) -> u8 {
        1 << (self.exponent + self.digits)
    }

    /// Returns the largest magnitude, which is NaN if the format has NaN.
    const fn top(&self) -> u8 {
        self.sign() - 1
    }

    /// Returns the exponent field of the number 1, which is the exponent bias.
    const fn bias(&self) -> u32 {
        (1 << (self.exponent - 1)) - 1
    }

    const fn is_infinite(&self, bits: u8) -> bool {
        bits & self.top() == self.max + 1 && self.max + 1 < self.top()
    }

    const fn is_finite(&self, bits: u8) -> bool {
        bits & self.top() <= self.max
    }

    /// Rounds the magnitude of a number to nearest even, as if the format had no largest number. Returns `None` for NaN.
    fn round(&self, x: f32) -> Option<u32> {
        if x.is_nan() {
            return None;
        }
        let magnitude = x.abs();
        let lowest_exponent = 1 - self.bias() as i32;
        if magnitude < 2f32.powi(lowest_exponent) {
            // The result is a multiple of the smallest number; scaling by a power of two is exact.
            return Some(
                (magnitude * 2f32.powi(self.digits as i32 - lowest_exponent)).round_ties_even() as u32
            );
        }
        let (bits, dropped) = (magnitude.to_bits(), f32::MANTISSA_DIGITS - 1 - self.digits);
        let rounded = bits + (1 << (dropped - 1)) - 1 + (bits >> dropped & 1);
        Some((rounded >> dropped) - ((127 - self.bias()) << self.digits))
    }

    /// Rounds a number to nearest even. If the rounded magnitude exceeds the largest finite number, the result has the magnitude `over` and
    /// the sign of `x`.
    fn narrow(&self, x: f32, over: u8) -> u8 {
        let Some(rounded) = self.round(x) else { return self.top() };
        let magnitude = if rounded > self.max.into() { over } else { rounded as u8 };
        if x.is_sign_negative() { magnitude | self.sign() } else { magnitude }
    }

    /// Widens a number to f32.
    fn widen(&self, bits: u8) -> f32 {
        let (field, fraction) =
            (u32::from(bits & self.top()) >> self.digits, bits & ((1 << self.digits) - 1));
        let magnitude = match field {
            _ if self.is_infinite(bits) => f32::INFINITY,
            _ if !self.is_finite(bits) => return CANONICAL_NAN,
            0 => f32::from(fraction) * 2f32.powi(1 - self.bias() as i32 - self.digits as i32),
            _ => {
                let fraction = u32::from(fraction) << (f32::MANTISSA_DIGITS - 1 - self.digits);
                f32::from_bits((field + 127 - self.bias()) << 23 | fraction)
            }
        };
        if bits & self.sign() == 0 { magnitude } else { -magnitude }
    }
}

macro_rules! formats {
    ($($(#[$doc:meta])* $t:ident: $exponent:literal, $digits:literal, $max:literal, $from_f16x2:literal;)*) => {$(
        $(#[$doc])*
        /// PTX has no scalar arithmetic instructions for this type, but `mma` multiplies matrices of this type, and
        /// [`Val::to_f32`](crate::ptx::Val::to_f32) converts values to f32.
        #[allow(non_camel_case_types, reason = "named like the PTX type and like half's own types")]
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $t(u8);

        impl $t {
            const FORMAT: Format = Format { exponent: $exponent, digits: $digits, max: $max };
            /// The number 0.
            pub const ZERO: Self = Self(0);
            /// The number 1.
            pub const ONE: Self = Self((Self::FORMAT.bias() << $digits) as u8);
            /// The largest finite number.
            pub const MAX: Self = Self($max);
            /// The smallest finite number, equal to −[`MAX`](Self::MAX).
            pub const MIN: Self = Self($max | Self::FORMAT.sign());
            /// The smallest positive normal number.
            pub const MIN_POSITIVE: Self = Self(1 << $digits);
            /// The smallest positive number.
            pub const MIN_POSITIVE_SUBNORMAL: Self = Self(1);

            /// Creates a number from its bits. Bits that the format does not use are preserved.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Returns the bits.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Converts from f32, rounding to nearest even. Infinities and numbers out of range become [`MAX`](Self::MAX) or
            /// [`MIN`](Self::MIN), according to their sign. NaN becomes 0x7f if the format has NaN, and [`MAX`](Self::MAX) otherwise.
            /// Unused bits of the result are 0.
            #[doc = concat!("\n\nThe result is that of `cvt.rn.satfinite.", stringify!($t), "x2.f32`.")]
            pub fn from_f32(x: f32) -> Self {
                Self(Self::FORMAT.narrow(x, $max))
            }

            /// Converts to f32 without rounding. NaN becomes the canonical NaN (0x7fff_ffff). Unused bits are ignored.
            pub fn to_f32(self) -> f32 {
                Self::FORMAT.widen(self.0)
            }

            /// Returns whether the number is NaN. The result is always `false` if the format has no NaN.
            pub const fn is_nan(self) -> bool {
                !self.is_finite() && !self.is_infinite()
            }

            /// Returns whether the number is +∞ or −∞. The result is always `false` if the format has no infinities.
            pub const fn is_infinite(self) -> bool {
                Self::FORMAT.is_infinite(self.0)
            }

            /// Returns whether the number is neither infinite nor NaN.
            pub const fn is_finite(self) -> bool {
                Self::FORMAT.is_finite(self.0)
            }

            /// Returns whether the sign bit is set, that is, whether the number is negative, −0 or a negative NaN.
            pub const fn is_sign_negative(self) -> bool {
                self.0 & Self::FORMAT.sign() != 0
            }

            /// Returns the absolute value.
            pub const fn abs(self) -> Self {
                Self(self.0 & !Self::FORMAT.sign())
            }
        }

        impl Minifloat for $t {
            const PAIR: &'static str = concat!(stringify!($t), "x2");
            const FROM_F16X2: bool = $from_f16x2;

            fn fold_from_f32(x: f32) -> Self {
                Self::from_f32(x)
            }

            fn fold_to_f32(self) -> f32 {
                self.to_f32()
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
                Self(self.0 ^ Self::FORMAT.sign())
            }
        }

        /// Compares values as f32 does: NaN is not equal to any value, and −0 equals +0.
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

// Type: widths of the exponent and the significand, largest finite number, whether `cvt` converts f16x2 to the type.
formats! {
    /// An 8-bit floating-point number with 4 exponent bits and 3 significand bits: `.e4m3`.
    ///
    /// The largest finite magnitude is 448. The format has NaN (0x7f and 0xff), but no infinities. Conversion instructions require sm_89 or
    /// later.
    #[doc(alias = "fp8e4m3")]
    #[doc(alias = "float8_e4m3fn")]
    e4m3: 4, 3, 0x7e, true;

    /// An 8-bit floating-point number with 5 exponent bits and 2 significand bits: `.e5m2`. The format is that of the upper byte of an f16.
    ///
    /// The largest finite magnitude is 57,344. The format has infinities and NaN. Conversion instructions require sm_89 or later.
    #[doc(alias = "fp8e5m2")]
    #[doc(alias = "float8_e5m2")]
    e5m2: 5, 2, 0x7b, true;

    /// A 6-bit floating-point number with 3 exponent bits and 2 significand bits, in the low bits of a byte: `.e3m2`.
    ///
    /// The largest magnitude is 28. The format has neither infinities nor NaN. Conversion instructions require sm_100a or sm_120a.
    #[doc(alias = "fp6e3m2")]
    #[doc(alias = "float6_e3m2fn")]
    e3m2: 3, 2, 0x1f, false;

    /// A 6-bit floating-point number with 2 exponent bits and 3 significand bits, in the low bits of a byte: `.e2m3`.
    ///
    /// The largest magnitude is 7.5. The format has neither infinities nor NaN. Conversion instructions require sm_100a or sm_120a.
    #[doc(alias = "fp6e2m3")]
    #[doc(alias = "float6_e2m3fn")]
    e2m3: 2, 3, 0x1f, false;
}

impl e4m3 {
    /// The NaN that conversions return.
    pub const NAN: Self = Self(Self::FORMAT.top());
}

impl e5m2 {
    /// The NaN that conversions return.
    pub const NAN: Self = Self(Self::FORMAT.top());
    /// +∞.
    pub const INFINITY: Self = Self(0x7c);
    /// −∞.
    pub const NEG_INFINITY: Self = Self(0xfc);

    /// Converts from f32 as [`from_f32`](Self::from_f32) does, except that numbers out of range become infinite, as in IEEE 754. PTX has no
    /// such conversion.
    pub fn from_f32_with_infinity(x: f32) -> Self {
        Self(Self::FORMAT.narrow(x, Self::INFINITY.0))
    }
}
