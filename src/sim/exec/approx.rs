//! The approximate functions, by rounding a double-precision result once.

use crate::sim::arith::Float;
use crate::sim::code::FloatFn;

/// The value of a number's bits.
fn value(ty: Float, bits: u64) -> f64 {
    match ty {
        Float::F16 => f64::from(half::f16::from_bits(bits as u16)),
        Float::Bf16 => f64::from(half::bf16::from_bits(bits as u16)),
        Float::F64 => f64::from_bits(bits),
        _ => f64::from(f32::from_bits(bits as u32)),
    }
}

/// `.ftz`: subnormals become zeros of their sign.
fn flush(ty: Float, ftz: bool, bits: u64) -> u64 {
    if ftz && ty.is_subnormal(bits) { bits & ty.sign_bit() } else { bits }
}

/// The bits of a value rounded to nearest.
fn bits(ty: Float, x: f64) -> u64 {
    if x.is_nan() {
        return ty.canonical_nan();
    }
    match ty {
        Float::F16 => u64::from(half::f16::from_f64(x).to_bits()),
        Float::Bf16 => u64::from(half::bf16::from_f64(x).to_bits()),
        Float::F64 => x.to_bits(),
        _ => u64::from((x as f32).to_bits()),
    }
}

/// One approximate function.
pub(super) fn one(f: FloatFn, ty: Float, ftz: bool, a: u64, b: u64) -> u64 {
    let x = value(ty, flush(ty, ftz, a));
    let y = value(ty, flush(ty, ftz, b));
    let result = match f {
        FloatFn::DivApprox | FloatFn::DivFull => x / y,
        FloatFn::RcpApprox => 1.0 / x,
        FloatFn::RsqrtApprox => 1.0 / x.sqrt(),
        FloatFn::SqrtApprox => x.sqrt(),
        FloatFn::SinApprox => x.sin(),
        FloatFn::CosApprox => x.cos(),
        FloatFn::Ex2Approx => x.exp2(),
        FloatFn::Lg2Approx => x.log2(),
        FloatFn::TanhApprox => x.tanh(),
        _ => f64::NAN,
    };
    flush(ty, ftz, bits(ty, result))
}
