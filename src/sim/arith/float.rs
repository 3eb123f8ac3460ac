//! Rounded floating-point arithmetic: add, sub, mul, fma, div, rcp, sqrt.
//!
//! PTX ISA, "Floating Point Instructions" and "Half Precision Floating Point Instructions". Results are correctly
//! rounded. A NaN result is `0x7fffffff` (f32) or `0x7fff` (f16, bf16) whatever went in; f64 passes a NaN operand
//! on, quieted (of several: the second operand, then the third, then the first), and makes `0xfff8000000000000`.

use super::format::{Float, Round};
use super::unpacked::{Exact, Unpacked};

/// The modifiers that `add`, `sub`, `mul` and `fma` share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// How to round.
    pub round: Round,
    /// `.ftz`: subnormal operands and results become zeros of their sign.
    pub ftz: bool,
    /// `.sat`: the result is clamped to [0, 1]; NaN becomes +0.
    pub sat: bool,
}

impl Default for Mode {
    /// `.rn`, no `.ftz`, no `.sat`.
    fn default() -> Self {
        Self { round: Round::Rn, ftz: false, sat: false }
    }
}

/// `a + b`.
///
/// A sum of zeros of both signs, or of numbers that cancel, is +0; with [`Round::Rm`] −0.
#[doc(alias = "add.f32")]
pub fn add(ty: Float, round: Round, ftz: bool, sat: bool, a: u64, b: u64) -> u64 {
    if ty == Float::F32 && round == Round::Rn && !ftz && !sat {
        return native_f32(f32::from_bits(a as u32) + f32::from_bits(b as u32));
    }
    let mode = Mode { round, ftz, sat };
    finish(ty, mode, &[a, b], sum(ty, mode, operand(ty, ftz, a), operand(ty, ftz, b)))
}

/// `a - b`.
#[doc(alias = "sub.f32")]
pub fn sub(ty: Float, round: Round, ftz: bool, sat: bool, a: u64, b: u64) -> u64 {
    let minus_b = if ty.is_nan(b) { b } else { b ^ ty.sign_bit() };
    add(ty, round, ftz, sat, a, minus_b)
}

/// `a · b`.
#[doc(alias = "mul.f32")]
pub fn mul(ty: Float, round: Round, ftz: bool, sat: bool, a: u64, b: u64) -> u64 {
    if ty == Float::F32 && round == Round::Rn && !ftz && !sat {
        return native_f32(f32::from_bits(a as u32) * f32::from_bits(b as u32));
    }
    let mode = Mode { round, ftz, sat };
    finish(ty, mode, &[a, b], pack(ty, mode, product(operand(ty, ftz, a), operand(ty, ftz, b))))
}

/// `a · b + c` with one rounding.
#[doc(alias = "fma.rn.f32")]
pub fn fma(ty: Float, round: Round, ftz: bool, sat: bool, a: u64, b: u64, c: u64) -> u64 {
    let mode = Mode { round, ftz, sat };
    let product = product(operand(ty, ftz, a), operand(ty, ftz, b));
    finish(ty, mode, &[a, b, c], sum(ty, mode, product, operand(ty, ftz, c)))
}

/// `a · b + c` on f16 or bf16 with `.relu`: a negative result becomes +0, NaN stays the canonical NaN.
///
/// `.oob` needs no function: the out-of-bounds NaN, for which it gives 0, has no documented bits, and every NaN tried
/// on an H200 (`0x7fff`, `0xffff`, quiet and signaling ones) comes out as without it.
#[doc(alias = "fma.rn.relu.f16")]
pub fn fma_relu(ty: Float, ftz: bool, a: u64, b: u64, c: u64) -> u64 {
    let bits = fma(ty, Round::Rn, ftz, false, a, b, c);
    if bits & ty.sign_bit() != 0 { 0 } else { bits }
}

/// `a / b`, correctly rounded (`div.rn` and the directed forms).
#[doc(alias = "div.rn.f32")]
pub fn div(ty: Float, round: Round, ftz: bool, a: u64, b: u64) -> u64 {
    let mode = Mode { round, ftz, sat: false };
    let quotient = match (operand(ty, ftz, a), operand(ty, ftz, b)) {
        (Unpacked::Nan, _)
        | (_, Unpacked::Nan)
        | (Unpacked::Inf { .. }, Unpacked::Inf { .. })
        | (Unpacked::Zero { .. }, Unpacked::Zero { .. }) => Unpacked::Nan,
        (x, y @ (Unpacked::Inf { .. } | Unpacked::Zero { .. }))
        | (x @ (Unpacked::Inf { .. } | Unpacked::Zero { .. }), y) => {
            let sign = x.sign() != y.sign();
            let infinite = matches!(x, Unpacked::Inf { .. }) || matches!(y, Unpacked::Zero { .. });
            if infinite { Unpacked::Inf { sign } } else { Unpacked::Zero { sign } }
        }
        (Unpacked::Finite(x), Unpacked::Finite(y)) => {
            // 53 bits at most in both: the quotient has 57 bits at least.
            let up = x.significand.leading_zeros() as i32 - 1;
            let numerator = x.significand << up;
            Unpacked::Finite(Exact {
                sign: x.sign != y.sign,
                exponent: x.exponent - up - y.exponent,
                significand: numerator / y.significand,
                sticky: !numerator.is_multiple_of(y.significand),
            })
        }
    };
    finish(ty, mode, &[a, b], pack(ty, mode, quotient))
}

/// `1 / a`, correctly rounded (`rcp.rn` and the directed forms).
#[doc(alias = "rcp.rn.f32")]
pub fn rcp(ty: Float, round: Round, ftz: bool, a: u64) -> u64 {
    let one = (ty.bias() as u64) << (ty.fraction_bits() + ty.padding());
    div(ty, round, ftz, one, a)
}

/// The square root of `a`, correctly rounded (`sqrt.rn` and the directed forms). −0 gives −0.
#[doc(alias = "sqrt.rn.f32")]
pub fn sqrt(ty: Float, round: Round, ftz: bool, a: u64) -> u64 {
    let mode = Mode { round, ftz, sat: false };
    let root = match operand(ty, ftz, a) {
        x @ (Unpacked::Nan | Unpacked::Zero { .. } | Unpacked::Inf { sign: false }) => x,
        x if x.sign() => Unpacked::Nan,
        Unpacked::Finite(x) => {
            // An even exponent, and at least 124 bits: the root has 62.
            let up = x.significand.leading_zeros() as i32 - 2;
            let up = up + ((x.exponent - up) & 1);
            let square = x.significand << up;
            let significand = square.isqrt();
            Unpacked::Finite(Exact {
                sign: false,
                exponent: (x.exponent - up) / 2,
                significand,
                sticky: significand * significand != square,
            })
        }
        x => x,
    };
    finish(ty, mode, &[a], pack(ty, mode, root))
}

fn native_f32(x: f32) -> u64 {
    u64::from(if x.is_nan() { 0x7fff_ffff } else { x.to_bits() })
}

fn operand(ty: Float, ftz: bool, bits: u64) -> Unpacked {
    Unpacked::new(ty, ty.flush(ftz, bits))
}

fn product(a: Unpacked, b: Unpacked) -> Unpacked {
    let sign = a.sign() != b.sign();
    match (a, b) {
        (Unpacked::Nan, _)
        | (_, Unpacked::Nan)
        | (Unpacked::Inf { .. }, Unpacked::Zero { .. })
        | (Unpacked::Zero { .. }, Unpacked::Inf { .. }) => Unpacked::Nan,
        (Unpacked::Inf { .. }, _) | (_, Unpacked::Inf { .. }) => Unpacked::Inf { sign },
        (Unpacked::Zero { .. }, _) | (_, Unpacked::Zero { .. }) => Unpacked::Zero { sign },
        (Unpacked::Finite(a), Unpacked::Finite(b)) => Unpacked::Finite(a.mul(b)),
    }
}

/// The rounded sum of two exact values; a zero comes out with its IEEE sign.
fn sum(ty: Float, mode: Mode, a: Unpacked, b: Unpacked) -> u64 {
    let exact = match (a, b) {
        (Unpacked::Nan, _) | (_, Unpacked::Nan) => Unpacked::Nan,
        (Unpacked::Inf { sign }, Unpacked::Inf { sign: other }) if sign != other => Unpacked::Nan,
        (inf @ Unpacked::Inf { .. }, _) | (_, inf @ Unpacked::Inf { .. }) => inf,
        (Unpacked::Zero { sign }, Unpacked::Zero { sign: other }) => {
            Unpacked::Zero { sign: if sign == other { sign } else { mode.round == Round::Rm } }
        }
        (Unpacked::Zero { .. }, x) | (x, Unpacked::Zero { .. }) => x,
        (Unpacked::Finite(a), Unpacked::Finite(b)) => match a.add(b) {
            Some(sum) => Unpacked::Finite(sum),
            None => Unpacked::Zero { sign: mode.round == Round::Rm },
        },
    };
    pack(ty, mode, exact)
}

fn pack(ty: Float, mode: Mode, value: Unpacked) -> u64 {
    let signed = |sign, magnitude| if sign { ty.sign_bit() | magnitude } else { magnitude };
    match value {
        Unpacked::Nan => ty.canonical_nan(),
        Unpacked::Inf { sign } => signed(sign, ty.infinity()),
        Unpacked::Zero { sign } => signed(sign, 0),
        Unpacked::Finite(x) => x.pack(ty, mode.round, mode.ftz),
    }
}

/// Applies the NaN rule of the type and `.sat` to a packed result.
fn finish(ty: Float, mode: Mode, operands: &[u64], bits: u64) -> u64 {
    if mode.sat {
        return saturate(ty, bits);
    }
    if ty == Float::F64 && ty.is_nan(bits) { propagated_nan(operands) } else { bits }
}

/// The NaN that an f64 operation passes on: of operand b, then c, then a, quieted.
pub(super) fn propagated_nan(operands: &[u64]) -> u64 {
    let quiet = 1 << 51;
    let in_order = operands.iter().skip(1).chain(operands.first());
    in_order
        .copied()
        .find(|&bits| Float::F64.is_nan(bits))
        .map_or(Float::F64.canonical_nan(), |bits| bits | quiet)
}

/// `.sat`: clamps to [0, 1]; NaN and negative numbers become +0.
pub(super) fn saturate(ty: Float, bits: u64) -> u64 {
    let one = (ty.bias() as u64) << (ty.fraction_bits() + ty.padding());
    if ty.is_nan(bits) || bits & ty.sign_bit() != 0 { 0 } else { bits.min(one) }
}
