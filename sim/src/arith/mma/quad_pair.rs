//! The f16 `mma.m8n8k4`, a Volta instruction, with the results that Volta and later hardware produce.

use super::{Accumulator, TensorArch, dot};
use crate::arith::{
    Float, Round,
    cvt::{CvtMode, cvt},
    float,
};

/// Computes one element of `A · B + C` for `mma.m8n8k4`; `c_ty` and `d_ty` are the types of C and D.
///
/// On Volta, the operation is a fused dot product with accumulation. For Turing and later (as observed on sm_90), ptxas emits f32
/// arithmetic, rounded to nearest: f32 results are C plus a chain of fused multiply-adds from zero; f16 results are C plus two pairs of
/// products, rounded to f16 at the end.
#[doc(alias = "mma.sync.m8n8k4")]
pub fn dot_quad_pair(
    arch: TensorArch,
    (c_ty, d_ty): (Accumulator, Accumulator),
    a: &[u32; 4],
    b: &[u32; 4],
    c: u32,
) -> u32 {
    let wide = |bits: u32| cvt(Float::F32.into(), Float::F16.into(), CvtMode::default(), bits.into());
    let c = if c_ty == Accumulator::F16 { wide(c) } else { c.into() };
    if arch == TensorArch::Sm70 {
        let (f16, f32) = (Float::F16, Float::F32);
        let c = if d_ty == Accumulator::F16 { cvt(f16.into(), f32.into(), CvtMode::default(), c) } else { c };
        return dot(arch, (f16, f16), d_ty, a, b, c as u32);
    }
    let (a, b) = (a.map(wide), b.map(wide));
    let fma = |k: usize, sum| float::fma(Float::F32, Round::Rn, false, false, a[k], b[k], sum);
    let add = |x, y| float::add(Float::F32, Round::Rn, false, false, x, y);
    let product = |k: usize| float::mul(Float::F32, Round::Rn, false, false, a[k], b[k]);
    match d_ty {
        Accumulator::F32 => add((0..4).fold(0, |sum, k| fma(k, sum)), c) as u32,
        Accumulator::F16 => {
            let sum = add(add(c, fma(1, product(0))), fma(3, product(2)));
            cvt(Float::F16.into(), Float::F32.into(), CvtMode::default(), sum) as u32
        }
    }
}
