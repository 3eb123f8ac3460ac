//! tf32 numbers on the host (PTX ISA, "Alternate Floating-Point Data Formats").

use std::{cmp::Ordering, fmt, ops::Neg};

/// The f32 bits that tf32 lacks.
const DROPPED: u32 = 0x1fff;
/// Half a unit in the last place of tf32.
const HALF: u32 = 0x1000;

/// An f32 with 10 explicit significand bits instead of 23: `.tf32`. A value occupies 32 bits; constructors and conversions clear the lower
/// 13 bits.
///
/// `mma` ignores the lower 13 bits of tf32 operands, so a tf32 buffer may contain any f32 values.
#[allow(non_camel_case_types, reason = "named like the PTX type and like half's own types")]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct tf32(u32);

impl tf32 {
    /// The number 0.
    pub const ZERO: Self = Self(0);
    /// The number 1.
    pub const ONE: Self = Self(0x3f80_0000);
    /// The largest finite number.
    pub const MAX: Self = Self(0x7f7f_e000);
    /// The smallest finite number, equal to −[`MAX`](Self::MAX).
    pub const MIN: Self = Self(0xff7f_e000);
    /// +∞.
    pub const INFINITY: Self = Self(0x7f80_0000);
    /// −∞.
    pub const NEG_INFINITY: Self = Self(0xff80_0000);
    /// NaN.
    pub const NAN: Self = Self(0x7fff_e000);

    /// Creates a number from the bits of an f32. The lower 13 bits are cleared.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & !DROPPED)
    }

    /// Returns the bits, which are identical to those of the same number in f32.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Converts from f32 as `cvt.rna.tf32.f32` does, rounding to nearest, ties away from zero. All targets that support tf32 have this
    /// instruction. NaN keeps the upper bits of its payload; if these bits are 0, the result is infinity.
    pub const fn from_f32(x: f32) -> Self {
        let half = if x.is_finite() { HALF } else { 0 };
        Self::from_bits(x.to_bits() + half)
    }

    /// Converts from f32 as `cvt.rn.tf32.f32` does, rounding to nearest, ties to even. NaN becomes [`NAN`](Self::NAN).
    pub const fn from_f32_ties_even(x: f32) -> Self {
        let bits = x.to_bits();
        match x.is_nan() {
            true => Self::NAN,
            false => Self::from_bits(bits + (HALF - 1) + (bits >> 13 & 1)),
        }
    }

    /// Converts to f32 without rounding.
    pub const fn to_f32(self) -> f32 {
        f32::from_bits(self.0)
    }

    /// Returns whether the number is NaN.
    pub const fn is_nan(self) -> bool {
        self.to_f32().is_nan()
    }

    /// Returns whether the number is +∞ or −∞.
    pub const fn is_infinite(self) -> bool {
        self.to_f32().is_infinite()
    }

    /// Returns whether the number is neither infinite nor NaN.
    pub const fn is_finite(self) -> bool {
        self.to_f32().is_finite()
    }
}

impl From<tf32> for f32 {
    fn from(x: tf32) -> f32 {
        x.to_f32()
    }
}

impl Neg for tf32 {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0 ^ 0x8000_0000)
    }
}

/// Compares values as f32 does: NaN is not equal to any value, and −0 equals +0.
impl PartialEq for tf32 {
    fn eq(&self, other: &Self) -> bool {
        self.to_f32() == other.to_f32()
    }
}

impl PartialOrd for tf32 {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.to_f32().partial_cmp(&other.to_f32())
    }
}

impl fmt::Debug for tf32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_f32(), f)
    }
}

impl fmt::Display for tf32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f32(), f)
    }
}
