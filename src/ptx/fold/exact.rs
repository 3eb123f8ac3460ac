//! Floating-point arithmetic on constants in any rounding mode: exact, or with a sticky bit for the discarded part.
//!
//! The significand of a result has at most 127 bits. If any discarded bit is 1, the least significant bit is set. That bit is far below the
//! rounding position of any format, so rounding is correct.

use std::cmp::Ordering;

use super::{
    convert::Numeric,
    format::{Exact, Format, Rounding},
};

/// The mode of a floating-point instruction: how it rounds, whether it flushes subnormals, and whether it clamps its result.
///
/// Examples: `Mode::from(Rounding::Rz)`, `Mode::RN.ftz().sat()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mode {
    pub(crate) rounding: Rounding,
    pub(crate) ftz: bool,
    pub(crate) sat: bool,
}

impl Mode {
    /// Rounding to nearest even, without flushing or clamping.
    pub const RN: Self = Self { rounding: Rounding::Rn, ftz: false, sat: false };

    /// Returns this mode with `.ftz`, which flushes subnormal inputs and results to zeros of the same sign. Only f32 and f16 instructions
    /// support it.
    #[doc(alias = ".ftz")]
    #[must_use]
    pub const fn ftz(self) -> Self {
        Self { ftz: true, ..self }
    }

    /// Returns this mode with `.sat`, which clamps results to the range from 0 to 1 and replaces NaN with 0. Only f32 and f16 instructions
    /// support it.
    #[doc(alias = ".sat")]
    #[must_use]
    pub const fn sat(self) -> Self {
        Self { sat: true, ..self }
    }

    /// Returns the modifiers of the mnemonic, such as `".rn.ftz.sat"`.
    pub(crate) fn suffix(self) -> String {
        let flag = |on, name| if on { name } else { "" };
        format!("{}{}{}", self.rounding.suffix(), flag(self.ftz, ".ftz"), flag(self.sat, ".sat"))
    }
}

impl From<Rounding> for Mode {
    fn from(rounding: Rounding) -> Self {
        Self { rounding, ..Self::RN }
    }
}

/// The NaN that an invalid operation on numbers generates, such as ∞ − ∞.
const INVALID: Exact = Exact::Nan { negative: true, payload: 1 << 63 };

/// Returns the exact value of an operand; subnormals are flushed to zero if the mode requires it.
fn operand<T: Numeric>(value: T, mode: Mode) -> Exact {
    T::FORMAT.read(if mode.ftz { flush::<T>(value.to_bits()) } else { value.to_bits() })
}

/// Replaces a subnormal with a zero of the same sign.
fn flush<T: Numeric>(bits: u64) -> u64 {
    let Format::Float { exponent, significand } = T::FORMAT else { return bits };
    let sign = 1 << (exponent + significand);
    if (bits & !sign) >> significand == 0 { bits & sign } else { bits }
}

/// Converts a result to its format: rounds it, flushes subnormals to zero, and clamps it.
fn result<T: Numeric>(number: Exact, mode: Mode) -> T {
    if let Exact::Nan { .. } = number {
        return if mode.sat { T::ZERO } else { nan(number) };
    }
    // An H200 determines after rounding whether a result is subnormal.
    let flushed = mode.ftz && T::FORMAT.is_subnormal(number, mode.rounding);
    let number = if flushed { zero(is_negative(number)) } else { number };
    let bits = T::FORMAT.write(number, mode.rounding);
    let negative = bits >> (8 * T::BYTES - 1) == 1;
    match mode.sat {
        false => T::from_bits(bits),
        true if negative => T::ZERO,
        true => T::from_bits(bits.min(T::ONE.to_bits())),
    }
}

/// Returns a NaN result: in f64, an operand's NaN, quieted; in other formats, the canonical NaN, with all bits except the sign bit set.
/// (PTX ISA, "Floating Point Instructions", leaves the payload unspecified; this is the behavior of an H200.)
fn nan<T: Numeric>(number: Exact) -> T {
    let canonical = Exact::Nan { negative: false, payload: u64::MAX };
    T::from_bits(T::FORMAT.write(if T::BYTES == 8 { number } else { canonical }, Rounding::Rz))
}

fn zero(negative: bool) -> Exact {
    Exact::Finite { negative, significand: 0, exponent: 0 }
}

fn is_nan(number: Exact) -> bool {
    matches!(number, Exact::Nan { .. })
}

/// Returns `a + b`.
pub(crate) fn add<T: Numeric>(a: T, b: T, mode: Mode) -> T {
    result(sum(operand(a, mode), operand(b, mode), mode.rounding), mode)
}

/// Returns `a - b`.
pub(crate) fn sub<T: Numeric>(a: T, b: T, mode: Mode) -> T {
    result(sum(operand(a, mode), negated(operand(b, mode)), mode.rounding), mode)
}

/// Returns `a · b`.
pub(crate) fn mul<T: Numeric>(a: T, b: T, mode: Mode) -> T {
    result(product(operand(a, mode), operand(b, mode)), mode)
}

/// Returns `a · b + c`.
pub(crate) fn fma<T: Numeric>(a: T, b: T, c: T, mode: Mode) -> T {
    let (a, b, c) = (operand(a, mode), operand(b, mode), operand(c, mode));
    // If several operands are NaN, the NaN of `b` is propagated or, if `b` is a number, that of `c`.
    let exact = match (is_nan(b), is_nan(c)) {
        (true, _) => b,
        (false, true) => c,
        (false, false) => sum(product(a, b), c, mode.rounding),
    };
    result(exact, mode)
}

/// Returns `a / b`.
pub(crate) fn div<T: Numeric>(a: T, b: T, mode: Mode) -> T {
    result(quotient(operand(a, mode), operand(b, mode)), mode)
}

/// Returns `√a`.
pub(crate) fn sqrt<T: Numeric>(a: T, mode: Mode) -> T {
    result(root(operand(a, mode)), mode)
}

/// Returns `−a`; if `a` is NaN, returns the NaN that arithmetic instructions return for it.
pub(crate) fn neg<T: Numeric>(a: T) -> T {
    result(negated(T::FORMAT.read(a.to_bits())), Mode::RN)
}

/// Returns `|a|`; if `a` is NaN, returns the NaN that arithmetic instructions return for it.
pub(crate) fn abs<T: Numeric>(a: T) -> T {
    match T::FORMAT.read(a.to_bits()) {
        number @ Exact::Nan { .. } => nan(number),
        _ => T::from_bits(a.to_bits() & !(1 << (8 * T::BYTES - 1))),
    }
}

/// Returns the minimum (`Less`) or maximum (`Greater`), as computed by the hardware: −0 is less than +0, and numbers are preferred to NaN.
pub(crate) fn extremum<T: Numeric + PartialOrd>(a: T, b: T, wanted: Ordering) -> T {
    let (x, y) = (T::FORMAT.read(a.to_bits()), T::FORMAT.read(b.to_bits()));
    match (is_nan(x), is_nan(y)) {
        // In f64, the second NaN is propagated, as on an H200; in narrower types, all NaN results are equal.
        (true, true) => nan(y),
        (true, false) => b,
        (false, true) => a,
        // Equal numbers differ at most in the sign of zero; −0 is the lesser.
        (false, false) => {
            let order =
                a.partial_cmp(&b).filter(|o| o.is_ne()).unwrap_or(is_negative(y).cmp(&is_negative(x)));
            if order == wanted || order.is_eq() { a } else { b }
        }
    }
}

/// Returns the [`extremum`], but prefers NaN to numbers: `.NaN`.
pub(crate) fn extremum_or_nan<T: Numeric + PartialOrd>(a: T, b: T, wanted: Ordering) -> T {
    let (x, y) = (T::FORMAT.read(a.to_bits()), T::FORMAT.read(b.to_bits()));
    if is_nan(y) {
        nan(y)
    } else if is_nan(x) {
        nan(x)
    } else {
        extremum(a, b, wanted)
    }
}

fn is_negative(a: Exact) -> bool {
    match a {
        Exact::Finite { negative, .. } | Exact::Infinite { negative } | Exact::Nan { negative, .. } => {
            negative
        }
    }
}

fn negated(a: Exact) -> Exact {
    match a {
        Exact::Finite { negative, significand, exponent } => {
            Exact::Finite { negative: !negative, significand, exponent }
        }
        Exact::Infinite { negative } => Exact::Infinite { negative: !negative },
        Exact::Nan { .. } => a,
    }
}

fn product(a: Exact, b: Exact) -> Exact {
    let negative = is_negative(a) != is_negative(b);
    match (a, b) {
        (_, Exact::Nan { .. }) => b,
        (Exact::Nan { .. }, _) => a,
        (Exact::Infinite { .. }, Exact::Finite { significand: 0, .. })
        | (Exact::Finite { significand: 0, .. }, Exact::Infinite { .. }) => INVALID,
        (Exact::Infinite { .. }, _) | (_, Exact::Infinite { .. }) => Exact::Infinite { negative },
        (
            Exact::Finite { significand: a, exponent: i, .. },
            Exact::Finite { significand: b, exponent: j, .. },
        ) => Exact::Finite { negative, significand: a * b, exponent: i + j },
    }
}

/// Returns the significand shifted up to a leading one at bit 125, and the corresponding exponent.
fn normalized(significand: u128, exponent: i32) -> (u128, i32) {
    let shift = significand.leading_zeros() as i32 - 2;
    (if shift >= 0 { significand << shift } else { drop_bits(significand, -shift) }, exponent - shift)
}

/// Returns `significand >> bits`, with the least significant bit set if a one was discarded.
fn drop_bits(significand: u128, bits: i32) -> u128 {
    let bits = bits.min(127);
    let kept = significand >> bits;
    kept | u128::from(kept << bits != significand)
}

fn sum(a: Exact, b: Exact, rounding: Rounding) -> Exact {
    match (a, b) {
        (_, Exact::Nan { .. }) => b,
        (Exact::Nan { .. }, _) => a,
        (Exact::Infinite { negative: a }, Exact::Infinite { negative: b }) if a != b => INVALID,
        (Exact::Infinite { .. }, _) => a,
        (_, Exact::Infinite { .. }) => b,
        (
            Exact::Finite { negative: na, significand: sa, exponent: ea },
            Exact::Finite { negative: nb, significand: sb, exponent: eb },
        ) => match (sa, sb) {
            // Zeros of opposite sign give +0, and −0 when rounding down (IEEE 754, 6.3).
            (0, 0) => Exact::Finite {
                negative: if na == nb { na } else { rounding == Rounding::Rm },
                significand: 0,
                exponent: 0,
            },
            (0, _) => b,
            (_, 0) => a,
            _ => {
                let ((sa, ea), (sb, eb)) = (normalized(sa, ea), normalized(sb, eb));
                let exponent = ea.max(eb);
                let signed = |negative, significand, e| {
                    let aligned = drop_bits(significand, exponent - e) as i128;
                    if negative { -aligned } else { aligned }
                };
                let sum = signed(na, sa, ea) + signed(nb, sb, eb);
                let negative = if sum == 0 { rounding == Rounding::Rm } else { sum < 0 };
                Exact::Finite { negative, significand: sum.unsigned_abs(), exponent }
            }
        },
    }
}

fn quotient(a: Exact, b: Exact) -> Exact {
    let negative = is_negative(a) != is_negative(b);
    match (a, b) {
        (Exact::Nan { .. }, _) => a,
        (_, Exact::Nan { .. }) => b,
        (Exact::Infinite { .. }, Exact::Infinite { .. }) => INVALID,
        (Exact::Infinite { .. }, _) => Exact::Infinite { negative },
        (_, Exact::Infinite { .. }) => zero(negative),
        (
            Exact::Finite { significand: a, exponent: i, .. },
            Exact::Finite { significand: b, exponent: j, .. },
        ) => match (a, b) {
            (0, 0) => INVALID,
            (0, _) => zero(negative),
            (_, 0) => Exact::Infinite { negative },
            _ => {
                let (a, i) = normalized(a, i);
                let significand = (a / b) | u128::from(a % b != 0);
                Exact::Finite { negative, significand, exponent: i - j }
            }
        },
    }
}

fn root(a: Exact) -> Exact {
    match a {
        Exact::Nan { .. } => a,
        Exact::Finite { significand: 0, .. } | Exact::Infinite { negative: false } => a,
        Exact::Infinite { negative: true } | Exact::Finite { negative: true, .. } => INVALID,
        Exact::Finite { significand, exponent, .. } => {
            let (significand, exponent) = normalized(significand, exponent);
            // The exponent must be even to be halved.
            let (significand, exponent) = match exponent % 2 {
                0 => (significand, exponent),
                _ => (significand << 1, exponent - 1),
            };
            let root = significand.isqrt();
            let significand = root | u128::from(root * root != significand);
            Exact::Finite { negative: false, significand, exponent: exponent / 2 }
        }
    }
}
