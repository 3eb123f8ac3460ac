//! Unpacked numbers: the exact values that operands are decoded to and that results are rounded from.

use std::cmp::Ordering;

use super::format::{Float, Round};

/// A number decoded from its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unpacked {
    Nan,
    Inf { sign: bool },
    Zero { sign: bool },
    Finite(Exact),
}

/// A nonzero number `(-1)^sign · significand · 2^exponent`, or one slightly larger in magnitude (`sticky`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    pub(super) sign: bool,
    pub(super) exponent: i32,
    pub(super) significand: u128,
    /// Whether a nonzero amount below one unit of `significand` has been dropped.
    pub(super) sticky: bool,
}

impl Unpacked {
    pub(super) fn new(ty: Float, bits: u64) -> Self {
        let fraction_bits = ty.fraction_bits();
        let sign = bits & ty.sign_bit() != 0;
        if ty == Float::Ue8m0 {
            return match bits & 0xff {
                0xff => Self::Nan,
                e => Self::Finite(Exact::new(false, e as i32 - 127, 1)),
            };
        }
        let magnitude = (bits & ty.mask() & !ty.sign_bit()) >> ty.padding();
        if ty.is_nan(bits) {
            Self::Nan
        } else if magnitude == 0 {
            Self::Zero { sign }
        } else if ty.specials() == super::format::Specials::InfNan
            && magnitude == ty.infinity() >> ty.padding()
        {
            Self::Inf { sign }
        } else {
            let field = (magnitude >> fraction_bits) as i32;
            let fraction = magnitude & ((1 << fraction_bits) - 1);
            let hidden = u64::from(field != 0) << fraction_bits;
            let exponent = field.max(1) - ty.bias() - fraction_bits as i32;
            Self::Finite(Exact::new(sign, exponent, u128::from(fraction | hidden)))
        }
    }

    pub(super) fn sign(self) -> bool {
        match self {
            Self::Nan => false,
            Self::Inf { sign } | Self::Zero { sign } | Self::Finite(Exact { sign, .. }) => sign,
        }
    }
}

impl Exact {
    pub(super) fn new(sign: bool, exponent: i32, significand: u128) -> Self {
        Self { sign, exponent, significand, sticky: false }
    }

    /// Returns the exponent of the highest set bit.
    pub(super) fn top(self) -> i32 {
        self.exponent + 127 - self.significand.leading_zeros() as i32
    }

    /// Returns the product of two numbers with at most 64 significant bits each.
    pub(super) fn mul(self, other: Self) -> Self {
        Self::new(
            self.sign != other.sign,
            self.exponent + other.exponent,
            self.significand * other.significand,
        )
    }

    /// Returns the sum of two numbers with at most 106 significant bits each, or `None` if it is exactly zero.
    ///
    /// The larger number is shifted so that its highest bit is bit 125. Bits of the smaller number can then be lost only if it is at least
    /// 2^19 times smaller, so no cancellation moves the lost bits near the rounding position of any format.
    pub(super) fn add(self, other: Self) -> Option<Self> {
        let (large, small) = if self.top() >= other.top() { (self, other) } else { (other, self) };
        let up = large.significand.leading_zeros() as i32 - 2;
        let (large_sig, exponent) = (large.significand << up, large.exponent - up);
        let shift = exponent - small.exponent;
        let (small_sig, sticky) = match shift {
            ..=0 => (small.significand << -shift, false),
            1..=127 => (small.significand >> shift, small.significand & ((1 << shift) - 1) != 0),
            _ => (0, true),
        };
        let (sign, significand) = if large.sign == small.sign {
            (large.sign, large_sig + small_sig)
        } else {
            let small_sig = small_sig + u128::from(sticky);
            match large_sig.cmp(&small_sig) {
                Ordering::Less => (small.sign, small_sig - large_sig),
                _ => (large.sign, large_sig - small_sig),
            }
        };
        (significand != 0).then_some(Self { sign, exponent, significand, sticky })
    }

    /// Returns the magnitude in units of `2^unit`, rounded to an integer.
    ///
    /// `unit` must be at most 127 below the exponent of the highest set bit. The flag is true if the result is inexact.
    pub(super) fn round_to(self, unit: i32, round: Round) -> (u128, bool) {
        let shift = unit - self.exponent;
        if shift <= 0 {
            return (self.significand << -shift, self.sticky);
        }
        let (kept, cut, half) = match shift {
            1..=127 => {
                (self.significand >> shift, self.significand & ((1 << shift) - 1), 1u128 << (shift - 1))
            }
            // At least 128 bits are cut off: the number is treated as less than half a unit.
            _ => (0, u128::from(self.significand != 0), 2),
        };
        let inexact = cut != 0 || self.sticky;
        let half = match cut.cmp(&half) {
            Ordering::Equal if self.sticky => Ordering::Greater,
            order => order,
        };
        (kept + u128::from(round.up(self.sign, kept & 1 != 0, half, inexact)), inexact)
    }

    /// Returns the bits of the number in the format `ty`.
    ///
    /// With `ftz`, the result is a zero with the number's sign if the number, rounded to the precision of a normal number, is below the
    /// smallest normal number (as on an H200, for f32 and f16).
    pub(super) fn pack(self, ty: Float, round: Round, ftz: bool) -> u64 {
        if ty == Float::Ue8m0 {
            return self.pack_exponent(round);
        }
        let fraction_bits = ty.fraction_bits() as i32;
        let lowest = 1 - ty.bias();
        let sign = if self.sign { ty.sign_bit() } else { 0 };
        if ftz && self.top() < lowest {
            let (rounded, _) = self.round_to(self.top() - fraction_bits, round);
            if self.top() + i32::from(rounded >> (fraction_bits + 1) != 0) < lowest {
                return sign;
            }
        }
        let exponent = self.top().max(lowest);
        let (significand, _) = self.round_to(exponent - fraction_bits, round);
        // The hidden bit of a normal number adds one to the field; a carry out of the fraction adds another.
        let field = u128::from((exponent - lowest) as u32) << fraction_bits;
        let magnitude = (field + significand) << ty.padding();
        if magnitude > u128::from(ty.max_finite()) {
            let inf = if round.overflows_to_inf(self.sign) { ty.infinity() } else { ty.max_finite() };
            return sign | inf;
        }
        sign | magnitude as u64
    }

    /// Returns the bits of the number in the format `ty`. The magnitude is rounded up if the sum of the first `digits` discarded bits and
    /// `random` is at least one unit, and down otherwise. Overflow results in the largest finite number.
    pub(super) fn pack_stochastic(self, ty: Float, digits: u32, random: u32) -> u64 {
        let lowest = 1 - ty.bias();
        let exponent = self.top().max(lowest);
        let unit = exponent - ty.fraction_bits() as i32 - digits as i32;
        let (significand, _) = self.round_to(unit, Round::Rz);
        let field = u128::from((exponent - lowest) as u32) << ty.fraction_bits();
        let magnitude = field + ((significand + u128::from(random)) >> digits);
        let sign = if self.sign { ty.sign_bit() } else { 0 };
        sign | magnitude.min(ty.max_finite().into()) as u64
    }

    /// Returns the bits of the number in ue8m0: a power of two near the magnitude, clamped to 2^-127 .. 2^127.
    fn pack_exponent(self, round: Round) -> u64 {
        let exponent = self.top();
        let (power, _) = Self { sign: false, ..self }.round_to(exponent, round);
        // The significand is at least one unit and less than two, so it is rounded to one or two.
        let exponent = exponent + i32::from(power == 2);
        (exponent + 127).clamp(0, 254) as u64
    }
}
