//! `rcp` and `rsqrt` on f64.

use super::reciprocal::{rcp_of_significand, rsqrt_of_significand};
use crate::arith::{
    Float,
    float::propagated_nan,
    unpacked::{Exact, Unpacked},
};

/// Returns `1 / x`, computed from the upper 32 bits of `x`; the lower 32 bits of the result are zero (`rcp.approx.ftz.f64`).
///
/// See PTX ISA, "rcp.approx.ftz.f64". Subnormal operands and results are flushed. The interpolation is the same as for f32; the way its
/// result is reduced to 20 bits is not documented.
#[doc(alias = "rcp.approx.ftz.f64")]
pub fn rcp_f64(x: u64) -> u64 {
    let sign = x & 1 << 63;
    match Unpacked::new(Float::F64, upper(x)) {
        Unpacked::Nan => NAN_OF_UPPER,
        Unpacked::Inf { .. } => sign,
        Unpacked::Zero { .. } => sign | Float::F64.infinity(),
        Unpacked::Finite(x) => {
            let (exponent, fraction) = split(x);
            compose(sign, rcp_of_significand(false, fraction), -exponent)
        }
    }
}

/// Returns `1 / sqrt(x)`, computed from the upper 32 bits of `x`; the lower 32 bits of the result are zero (`rsqrt.approx.ftz.f64`).
///
/// See PTX ISA, "rsqrt.approx.ftz.f64", and [`rcp_f64`] for undocumented behavior.
#[doc(alias = "rsqrt.approx.ftz.f64")]
pub fn rsqrt_ftz_f64(x: u64) -> u64 {
    match Unpacked::new(Float::F64, upper(x)) {
        Unpacked::Nan => NAN_OF_UPPER,
        Unpacked::Zero { .. } => x & 1 << 63 | Float::F64.infinity(),
        x if x.sign() => NAN_OF_UPPER,
        Unpacked::Inf { .. } => 0,
        Unpacked::Finite(x) => {
            let (exponent, fraction) = split(x);
            compose(0, rsqrt_of_significand(exponent, fraction), -(exponent >> 1))
        }
    }
}

const UPPER: u64 = 0xffff_ffff_0000_0000;

/// The NaN that an H200 returns for instructions that read only upper words.
const NAN_OF_UPPER: u64 = 0x7fff_ffff_0000_0000;

/// Returns the upper word, flushed. A NaN whose payload is in the lower word becomes infinity.
fn upper(x: u64) -> u64 {
    Float::F64.flush(true, x & UPPER)
}

/// Returns the exponent of a normal number with at most 20 fraction bits, and its fraction in 23 bits.
fn split(x: Exact) -> (i32, u32) {
    (x.top(), (x.significand >> 29) as u32 & 0x7f_ffff)
}

/// Returns the product of an f32 near one and a power of two, as an f64 with 20 fraction bits; subnormals are flushed.
fn compose(sign: u64, near_one: u32, exponent: i32) -> u64 {
    let field = (near_one >> 23) as i32 - 127 + exponent + 1023;
    if field <= 0 { sign } else { sign | (field as u64) << 52 | u64::from(near_one & 0x7f_ffff) >> 3 << 32 }
}

/// Returns `1 / sqrt(x)` as ptxas computes it for `rsqrt.approx.f64`: one step of a third-order iteration that starts from
/// [`rsqrt_ftz_f64`]. The result is nearly always correctly rounded.
#[doc(alias = "rsqrt.approx.f64")]
pub fn rsqrt_f64(x: u64) -> u64 {
    match Unpacked::new(Float::F64, x) {
        Unpacked::Nan => propagated_nan(&[x]),
        Unpacked::Zero { sign } => u64::from(sign) << 63 | Float::F64.infinity(),
        x if x.sign() => Float::F64.canonical_nan(),
        Unpacked::Inf { .. } => 0,
        Unpacked::Finite(_) if Float::F64.is_subnormal(x) => {
            (refined_rsqrt(f64::from_bits(x) * 2f64.powi(54)) * 2f64.powi(27)).to_bits()
        }
        Unpacked::Finite(_) => refined_rsqrt(f64::from_bits(x)).to_bits(),
    }
}

fn refined_rsqrt(x: f64) -> f64 {
    let y = f64::from_bits(rsqrt_ftz_f64(x.to_bits()));
    let error = (-(y * y)).mul_add(x, 1.0);
    error.mul_add(0.375, 0.5).mul_add(y * error, y)
}
