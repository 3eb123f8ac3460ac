//! Number formats: conversion of bits to exact numbers, and rounding of exact numbers to bits.

/// The rounding mode for results that are not exactly representable (PTX ISA, "Rounding Modifiers").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even: `.rn`, `.rni`.
    #[default]
    #[doc(alias = ".rn")]
    Rn,
    /// Toward zero: `.rz`, `.rzi`.
    #[doc(alias = ".rz")]
    Rz,
    /// Toward −∞: `.rm`, `.rmi`.
    #[doc(alias = ".rm")]
    Rm,
    /// Toward +∞: `.rp`, `.rpi`.
    #[doc(alias = ".rp")]
    Rp,
}

impl Rounding {
    /// All rounding modes.
    pub const ALL: [Self; 4] = [Self::Rn, Self::Rz, Self::Rm, Self::Rp];

    /// Returns the modifier, such as `".rn"`.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Rn => ".rn",
            Self::Rz => ".rz",
            Self::Rm => ".rm",
            Self::Rp => ".rp",
        }
    }

    /// Returns the modifier that rounds to an integer, such as `".rni"`.
    pub(crate) const fn integer_suffix(self) -> &'static str {
        match self {
            Self::Rn => ".rni",
            Self::Rz => ".rzi",
            Self::Rm => ".rmi",
            Self::Rp => ".rpi",
        }
    }

    /// Returns whether the magnitude `quotient` is rounded up, given the discarded part `remainder / unit`.
    fn up(self, negative: bool, quotient: u128, remainder: u128, unit: u128) -> bool {
        match self {
            Self::Rn => remainder > unit / 2 || remainder == unit / 2 && quotient & 1 == 1,
            Self::Rz => false,
            Self::Rm => negative && remainder != 0,
            Self::Rp => !negative && remainder != 0,
        }
    }

    /// Returns whether a number too large for the format becomes infinity instead of the largest finite number.
    fn overflows_to_infinity(self, negative: bool) -> bool {
        match self {
            Self::Rn => true,
            Self::Rz => false,
            Self::Rm => negative,
            Self::Rp => !negative,
        }
    }
}

/// The bit format of a numeric type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An integer, in two's complement if it is signed.
    Integer {
        /// Whether the integer is signed.
        signed: bool,
        /// The width in bits.
        bits: u32,
    },
    /// An IEEE 754 binary format, or bf16, which has the same structure.
    Float {
        /// The width of the exponent field in bits.
        exponent: u32,
        /// The width of the significand field in bits, without the implicit leading one.
        significand: u32,
    },
}

/// A number, independent of any format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exact {
    /// ± significand · 2^exponent; the significand is below 2^127.
    Finite { negative: bool, significand: u128, exponent: i32 },
    /// ± ∞.
    Infinite { negative: bool },
    /// NaN, with its significand field at the top of 64 bits.
    Nan { negative: bool, payload: u64 },
}

impl Format {
    pub(super) fn read(self, bits: u64) -> Exact {
        match self {
            Self::Integer { signed, bits: width } => {
                let unused = 64 - width;
                let negative = signed && (bits >> (width - 1)) & 1 == 1;
                let significand = match negative {
                    true => ((bits << unused) as i64 >> unused).unsigned_abs(),
                    false => bits << unused >> unused,
                };
                Exact::Finite { negative, significand: significand.into(), exponent: 0 }
            }
            Self::Float { exponent: width, significand: digits } => {
                let negative = (bits >> (width + digits)) & 1 == 1;
                let field = (bits >> digits) & ((1 << width) - 1);
                let fraction = bits & ((1 << digits) - 1);
                let lowest = self.lowest_exponent() - digits as i32;
                let finite = |significand: u64, exponent| Exact::Finite {
                    negative,
                    significand: significand.into(),
                    exponent,
                };
                match field {
                    0 => finite(fraction, lowest),
                    f if f < (1 << width) - 1 => finite(fraction | 1 << digits, lowest + f as i32 - 1),
                    _ if fraction == 0 => Exact::Infinite { negative },
                    _ => Exact::Nan { negative, payload: fraction << (64 - digits) },
                }
            }
        }
    }

    /// Returns the exponent of the smallest normal number: −126 for f32.
    fn lowest_exponent(self) -> i32 {
        match self {
            Self::Float { exponent, .. } => 2 - (1 << (exponent - 1)),
            Self::Integer { .. } => 0,
        }
    }

    /// Returns whether the magnitude of a nonzero number, rounded to the precision of a normal number as if exponents were unbounded, is
    /// less than the smallest normal number.
    pub(super) fn is_subnormal(self, number: Exact, rounding: Rounding) -> bool {
        let (Self::Float { significand: digits, .. }, Exact::Finite { negative, significand, exponent }) =
            (self, number)
        else {
            return false;
        };
        if significand == 0 {
            return false;
        }
        let leading = leading(significand, exponent);
        let rounded = scale(negative, significand, exponent - (leading - digits as i32), rounding);
        let carry = rounded >> (digits + 1) != 0;
        leading + i32::from(carry) < self.lowest_exponent()
    }

    pub(super) fn write(self, number: Exact, rounding: Rounding) -> u64 {
        match self {
            Self::Integer { signed, bits } => integer(number, rounding, signed, bits),
            Self::Float { exponent, significand } => self.float(number, rounding, exponent, significand),
        }
    }

    fn float(self, number: Exact, rounding: Rounding, width: u32, digits: u32) -> u64 {
        let sign = |negative: bool| u64::from(negative) << (width + digits);
        let infinity = ((1 << width) - 1) << digits;
        match number {
            Exact::Infinite { negative } => sign(negative) | infinity,
            Exact::Nan { negative, payload } => {
                sign(negative) | infinity | 1 << (digits - 1) | payload >> (64 - digits)
            }
            Exact::Finite { negative, significand: 0, .. } => sign(negative),
            Exact::Finite { negative, significand, exponent } => {
                let lowest = self.lowest_exponent();
                let leading = leading(significand, exponent).max(lowest);
                let rounded = scale(negative, significand, exponent - (leading - digits as i32), rounding);
                // The leading one of a normal number adds one to the exponent field, as does a carry from rounding.
                let finite = u128::from((leading - lowest) as u32) << digits;
                let bits = finite + rounded;
                sign(negative)
                    | match bits >= u128::from(infinity) {
                        false => bits as u64,
                        true if rounding.overflows_to_infinity(negative) => infinity,
                        true => infinity - 1,
                    }
            }
        }
    }
}

/// Returns the exponent of the leading one.
fn leading(significand: u128, exponent: i32) -> i32 {
    exponent + 127 - significand.leading_zeros() as i32
}

/// Returns `significand · 2^exponent` rounded to an integer, or a number above 2^64 if the result would exceed 127 bits.
pub(super) fn scale(negative: bool, significand: u128, exponent: i32, rounding: Rounding) -> u128 {
    if exponent >= 0 {
        return significand << exponent.min(significand.leading_zeros() as i32 - 1);
    }
    // The significand is below 2^127, so larger shifts leave less than one half.
    let shift = exponent.unsigned_abs().min(127);
    let unit = 1 << shift;
    let (quotient, remainder) = (significand / unit, significand % unit);
    quotient + u128::from(rounding.up(negative, quotient, remainder, unit))
}

/// Rounds a number to an integer and clamps it to the range of the type; NaN becomes 0 here, and `convert` handles it separately.
fn integer(number: Exact, rounding: Rounding, signed: bool, bits: u32) -> u64 {
    let (least, most) = match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    let value = match number {
        Exact::Infinite { negative: true } => least,
        Exact::Infinite { negative: false } => most,
        Exact::Nan { .. } => 0,
        Exact::Finite { negative, significand, exponent } => {
            let rounded = scale(negative, significand, exponent, rounding).min(1 << 100) as i128;
            if negative { -rounded } else { rounded }
        }
    };
    value.clamp(least, most) as u64
}
