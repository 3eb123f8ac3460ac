//! `rcp`, `rsqrt`, `sqrt` and the divisions that use them.

use super::{
    INFINITY, NAN,
    interpolate::{Interpolator, square, truncated},
    is_subnormal, normalized, scale, tables,
};
use crate::arith::{Float, Round, float};

const RCP: Interpolator = Interpolator {
    table: &tables::RCP,
    fraction_bits: 56,
    shifts: [30, 17],
    signs: [-1, 1],
    bias: 0x67e7 << 17,
};

const RSQRT: Interpolator = Interpolator {
    table: &tables::RSQRT,
    fraction_bits: 57,
    shifts: [31, 17],
    signs: [-1, 1],
    bias: 0xffff << 17,
};

const SQRT: Interpolator = Interpolator {
    table: &tables::SQRT,
    fraction_bits: 58,
    shifts: [33, 18],
    signs: [1, -1],
    bias: 0xffff << 18,
};

/// Returns `1 / x`, within 1 ulp.
#[doc(alias = "rcp.approx.f32")]
pub fn rcp(ftz: bool, x: u32) -> u32 {
    let sign = x & 1 << 31;
    match x & !(1 << 31) {
        0 => sign | INFINITY,
        INFINITY => sign,
        magnitude if magnitude > INFINITY => NAN,
        _ if ftz && is_subnormal(x) => sign | INFINITY,
        magnitude => {
            let (exponent, fraction) = normalized(magnitude);
            scale(rcp_of_significand(sign != 0, fraction), -exponent, ftz)
        }
    }
}

/// Returns the reciprocal of a number in [1, 2), given the 23 bits after the leading one.
pub(super) fn rcp_of_significand(sign: bool, fraction: u32) -> u32 {
    // Seven bits select the segment, so the offset is one bit shorter than the operand of the squarer.
    let offset = fraction & 0xffff;
    truncated(sign, RCP.sum(fraction >> 16, offset, square(offset << 1) >> 2), RCP.fraction_bits)
}

/// Returns `1 / sqrt(x)`, with a relative error of at most 2^-22.9; exact for powers of four.
#[doc(alias = "rsqrt.approx.f32")]
pub fn rsqrt(ftz: bool, x: u32) -> u32 {
    match x {
        _ if x << 1 == 0 || ftz && is_subnormal(x) => x & 1 << 31 | INFINITY,
        INFINITY => 0,
        _ if x > INFINITY => NAN,
        _ => {
            let (exponent, fraction) = normalized(x);
            scale(rsqrt_of_significand(exponent, fraction), -(exponent >> 1), false)
        }
    }
}

/// Returns the reciprocal of the square root of `1.fraction · 2^(exponent mod 2)`.
pub(super) fn rsqrt_of_significand(exponent: i32, fraction: u32) -> u32 {
    match (exponent & 1, fraction) {
        (0, 0) => 0x3f80_0000,
        (odd, _) => truncated(false, RSQRT.sum_of_fraction(64 * odd as u32, fraction), RSQRT.fraction_bits),
    }
}

/// Returns `sqrt(x)`, with a relative error of at most 2^-23.
#[doc(alias = "sqrt.approx.f32")]
pub fn sqrt(ftz: bool, x: u32) -> u32 {
    match x {
        _ if x << 1 == 0 || ftz && is_subnormal(x) => x & 1 << 31,
        INFINITY => INFINITY,
        _ if x > INFINITY => NAN,
        _ => {
            let (exponent, fraction) = normalized(x);
            let sum = SQRT.sum_of_fraction(64 * (exponent & 1) as u32, fraction);
            scale(truncated(false, sum, SQRT.fraction_bits), exponent >> 1, false)
        }
    }
}

/// Returns `a / b`, computed as `a · (1 / b)`, within 2 ulp for |b| in [2^-126, 2^126].
///
/// For larger |b|, the reciprocal is flushed: the result is zero, or NaN for an infinite `a`. Without `ftz`, subnormal divisors are scaled
/// up together with their dividends.
#[doc(alias = "div.approx.f32")]
pub fn div(ftz: bool, a: u32, b: u32) -> u32 {
    let (a, b) = if !ftz && is_subnormal(b) { (scale(a, 24, false), scale(b, 24, false)) } else { (a, b) };
    quotient(ftz, a, b)
}

/// Returns `a / b`, within 2 ulp over the full range: both operands are scaled by 1/4 if |b| exceeds 2^126.
#[doc(alias = "div.full.f32")]
pub fn div_full(ftz: bool, a: u32, b: u32) -> u32 {
    let large = (0x7e80_0001..INFINITY).contains(&(b & !(1 << 31)));
    if large { quotient(ftz, scale(a, -2, ftz), scale(b, -2, ftz)) } else { div(ftz, a, b) }
}

fn quotient(ftz: bool, a: u32, b: u32) -> u32 {
    float::mul(Float::F32, Round::Rn, ftz, false, a.into(), rcp(true, b).into()) as u32
}
