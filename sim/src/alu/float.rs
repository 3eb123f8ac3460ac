//! Floating-point instructions with any modifiers, executed lane by lane.

use crate::alu::approx;
use crate::arith::cvt::{CvtMode, cvt};
use crate::arith::minmax::{minmax, minmax3};
use crate::arith::{Float, float, sign};
use crate::lanes::{Lanes64, lanes};
use crate::machine::registers::Regs;
use crate::program::code::{FloatFn, FloatOp};

/// Computes the operation on the bits of one number per operand.
fn one(op: &FloatOp, a: u64, b: u64, c: u64) -> u64 {
    let (ty, round, ftz, sat) = (op.ty, op.round, op.ftz, op.sat);
    match op.f {
        FloatFn::Add => float::add(ty, round, ftz, sat, a, b),
        FloatFn::Sub => float::sub(ty, round, ftz, sat, a, b),
        FloatFn::Mul => float::mul(ty, round, ftz, sat, a, b),
        FloatFn::Fma => float::fma(ty, round, ftz, sat, a, b, c),
        FloatFn::AddMixed(from) => float::add(ty, round, ftz, sat, widen(from, a), b),
        FloatFn::SubMixed(from) => float::sub(ty, round, ftz, sat, widen(from, a), b),
        FloatFn::FmaMixed(from) => float::fma(ty, round, ftz, sat, widen(from, a), widen(from, b), c),
        FloatFn::Contracted { minus_product, minus_addend } => {
            float::contracted(ty, ftz, sat, [a, b, c], minus_product, minus_addend)
        }
        FloatFn::FmaRelu => relu(ty, float::fma(ty, round, ftz, sat, a, b, c)),
        FloatFn::Div => float::div(ty, round, ftz, a, b),
        FloatFn::Rcp => float::rcp(ty, round, ftz, a),
        FloatFn::Sqrt => float::sqrt(ty, round, ftz, a),
        FloatFn::Neg => sign::neg(ty, ftz, a),
        FloatFn::Abs => sign::abs(ty, ftz, a),
        FloatFn::Copysign => sign::copysign(ty, a, b),
        FloatFn::MinMax(which, mode) => minmax(ty, which, mode, a, b),
        FloatFn::MinMax3 { which, nan, abs } => minmax3(which, ftz, nan, abs, [a, b, c]),
        FloatFn::DivApprox
        | FloatFn::DivFull
        | FloatFn::RcpApprox
        | FloatFn::RsqrtApprox
        | FloatFn::SqrtApprox
        | FloatFn::SinApprox
        | FloatFn::CosApprox
        | FloatFn::Ex2Approx
        | FloatFn::Lg2Approx
        | FloatFn::TanhApprox => approx::one(op.f, ty, ftz, a, b),
    }
}

/// Converts a 16-bit floating-point number to f32, which is exact.
fn widen(from: Float, bits: u64) -> u64 {
    cvt(Float::F32.into(), from.into(), CvtMode::default(), bits)
}

/// Applies `.relu`: negative numbers become +0, and NaN becomes the canonical NaN.
fn relu(ty: Float, bits: u64) -> u64 {
    if ty.is_nan(bits) {
        ty.canonical_nan()
    } else if bits & ty.sign_bit() != 0 {
        0
    } else {
        bits
    }
}

pub(crate) fn execute(regs: &mut Regs, m: u32, op: &FloatOp) {
    let (a, b, c) = (regs.get(op.a), regs.get(op.b), regs.get(op.c));
    let mut out: Lanes64 = [0; 32];
    for lane in lanes(m) {
        let (a, b, c) = (a[lane], b[lane], c[lane]);
        out[lane] = if op.pair {
            let (mask, bits) = (op.ty.mask(), op.ty.bits());
            one(op, a & mask, b & mask, c & mask) | one(op, a >> bits, b >> bits, c >> bits) << bits
        } else {
            one(op, a, b, c)
        };
    }
    regs.put(op.d, m, &out);
}
