//! rcp and rsqrt on f64.

use super::reciprocal::{rcp_of_significand, rsqrt_of_significand};
use crate::arith::{
    Float, Round,
    float::propagated_nan,
    unpacked::{Exact, Unpacked},
};

/// `1 / x` from the upper 32 bits of `x`; the lower 32 bits of the result are zero (`rcp.approx.ftz.f64`).
///
/// PTX ISA, "rcp.approx.ftz.f64". Subnormal operands and results are flushed. The interpolation is that of f32;
/// how its last bits are cut to 20 is not documented.
#[doc(alias = "rcp.approx.ftz.f64")]
pub fn rcp_f64(x: u64) -> u64 {
    let sign = x & 1 << 63;
    match Unpacked::new(Float::F64, upper(x)) {
        Unpacked::Nan => propagated_nan(&[x]) & UPPER,
        Unpacked::Inf { .. } => sign,
        Unpacked::Zero { .. } => sign | Float::F64.infinity(),
        Unpacked::Finite(x) => {
            let (exponent, fraction) = split(x);
            compose(sign, rcp_of_significand(false, fraction), -exponent)
        }
    }
}

/// `1 / sqrt(x)` from the upper 32 bits of `x`; the lower 32 bits of the result are zero
/// (`rsqrt.approx.ftz.f64`).
///
/// PTX ISA, "rsqrt.approx.ftz.f64"; see [`rcp_f64`] for what is open.
#[doc(alias = "rsqrt.approx.ftz.f64")]
pub fn rsqrt_ftz_f64(x: u64) -> u64 {
    match Unpacked::new(Float::F64, upper(x)) {
        Unpacked::Nan => propagated_nan(&[x]) & UPPER,
        Unpacked::Zero { .. } => x & 1 << 63 | Float::F64.infinity(),
        x if x.sign() => Float::F64.canonical_nan(),
        Unpacked::Inf { .. } => 0,
        Unpacked::Finite(x) => {
            let (exponent, fraction) = split(x);
            compose(0, rsqrt_of_significand(exponent, fraction), -(exponent >> 1))
        }
    }
}

const UPPER: u64 = 0xffff_ffff_0000_0000;

/// The upper word, flushed.
fn upper(x: u64) -> u64 {
    if Float::F64.is_nan(x) { x } else { Float::F64.flush(true, x & UPPER) }
}

/// The exponent of a normal number with at most 20 fraction bits, and its fraction in 23 bits.
fn split(x: Exact) -> (i32, u32) {
    (x.top(), (x.significand >> 29) as u32 & 0x7f_ffff)
}

/// An f32 near one, times a power of two, as an f64 with 20 fraction bits; subnormals are flushed.
fn compose(sign: u64, near_one: u32, exponent: i32) -> u64 {
    let field = (near_one >> 23) as i32 - 127 + exponent + 1023;
    if field <= 0 { sign } else { sign | (field as u64) << 52 | u64::from(near_one & 0x7f_ffff) >> 3 << 32 }
}

/// `1 / sqrt(x)` correctly rounded, which is what `rsqrt.approx.f64` (a routine of the assembler) returns.
#[doc(alias = "rsqrt.approx.f64")]
pub fn rsqrt_f64(x: u64) -> u64 {
    match Unpacked::new(Float::F64, x) {
        Unpacked::Nan => propagated_nan(&[x]),
        Unpacked::Zero { sign } => u64::from(sign) << 63 | Float::F64.infinity(),
        x if x.sign() => Float::F64.canonical_nan(),
        Unpacked::Inf { .. } => 0,
        Unpacked::Finite(x) => rounded_rsqrt(x),
    }
}

fn rounded_rsqrt(x: Exact) -> u64 {
    // significand · 2^exponent with an even exponent and a significand in [2^52, 2^54)
    let up = x.significand.leading_zeros() as i32 - 75;
    let up = up + ((x.exponent - up) & 1);
    let (significand, exponent) = ((x.significand << up) as u64, x.exponent - up);
    // root = floor(2^82 / sqrt(significand)), from an estimate good to a few units
    let mut root = (2f64.powi(82) / (significand as f64).sqrt()) as u64;
    while square_times(root, significand) > (1 << 36, 0) {
        root -= 1;
    }
    while square_times(root + 1, significand) <= (1 << 36, 0) {
        root += 1;
    }
    let sticky = square_times(root, significand) != (1 << 36, 0);
    let exact = Exact { sign: false, exponent: -82 - exponent / 2, significand: root.into(), sticky };
    exact.pack(Float::F64, Round::Rn, false)
}

/// `root² · factor` as a high part and the low 128 bits.
fn square_times(root: u64, factor: u64) -> (u128, u128) {
    let square = u128::from(root) * u128::from(root);
    let low = (square & u128::from(u64::MAX)) * u128::from(factor);
    let high = (square >> 64) * u128::from(factor) + (low >> 64);
    (high >> 64, high << 64 | low & u128::from(u64::MAX))
}
