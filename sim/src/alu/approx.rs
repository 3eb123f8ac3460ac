//! Dispatch of the approximate functions by type.

use crate::arith::Float;
use crate::arith::approx::{
    cos, div, div_full, ex2, ex2_half, lg2, rcp, rcp_f64, rsqrt, rsqrt_f64, rsqrt_ftz_f64, sin, sqrt, tanh,
    tanh_half,
};
use crate::program::code::FloatFn;

/// Computes an approximate function of the operand `a` (and `b`, for divisions), given as bits.
pub(crate) fn one(f: FloatFn, ty: Float, ftz: bool, a: u64, b: u64) -> u64 {
    let (x, y) = (a as u32, b as u32);
    let single = match (f, ty) {
        (FloatFn::RcpApprox, Float::F64) => return rcp_f64(a),
        (FloatFn::RsqrtApprox, Float::F64) if ftz => return rsqrt_ftz_f64(a),
        (FloatFn::RsqrtApprox, Float::F64) => return rsqrt_f64(a),
        (FloatFn::Ex2Approx, Float::F16 | Float::Bf16) => ex2_half(ty, x),
        (FloatFn::TanhApprox, Float::F16 | Float::Bf16) => tanh_half(ty, x),
        (FloatFn::DivApprox, _) => div(ftz, x, y),
        (FloatFn::DivFull, _) => div_full(ftz, x, y),
        (FloatFn::RcpApprox, _) => rcp(ftz, x),
        (FloatFn::RsqrtApprox, _) => rsqrt(ftz, x),
        (FloatFn::SqrtApprox, _) => sqrt(ftz, x),
        (FloatFn::SinApprox, _) => sin(x),
        (FloatFn::CosApprox, _) => cos(x),
        (FloatFn::Ex2Approx, _) => ex2(ftz, x),
        (FloatFn::Lg2Approx, _) => lg2(ftz, x),
        _ => tanh(x),
    };
    u64::from(single)
}
