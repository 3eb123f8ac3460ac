//! The f16 and bf16 variants, which truncate the results of the f32 functions.

use super::{ex2, tanh};
use crate::arith::{
    Float, Round,
    cvt::{CvtMode, cvt},
};

/// Returns `2^x` for f16, or for bf16 with subnormals flushed (the only bf16 variant in PTX).
#[doc(alias = "ex2.approx.f16")]
#[doc(alias = "ex2.approx.ftz.bf16")]
pub fn ex2_half(ty: Float, x: u32) -> u32 {
    truncate(ty, ex2(ty == Float::Bf16, widen(ty, x)))
}

/// Returns `tanh(x)` for f16 or bf16.
#[doc(alias = "tanh.approx.f16")]
#[doc(alias = "tanh.approx.bf16")]
pub fn tanh_half(ty: Float, x: u32) -> u32 {
    truncate(ty, tanh(widen(ty, x)))
}

fn widen(ty: Float, x: u32) -> u32 {
    cvt(Float::F32.into(), ty.into(), CvtMode::default(), x.into()) as u32
}

/// Rounds toward zero, except that numbers above the largest finite number become infinity.
fn truncate(ty: Float, x: u32) -> u32 {
    let mode = CvtMode { round: Round::Rz, ..CvtMode::default() };
    let limit = 0x4780_0000;
    if ty == Float::F16 && (limit..super::INFINITY).contains(&(x & !(1 << 31))) {
        return x >> 16 & 0x8000 | ty.infinity() as u32;
    }
    cvt(ty.into(), Float::F32.into(), mode, x.into()) as u32
}
