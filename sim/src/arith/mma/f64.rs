//! f64 `mma`.

use crate::arith::{Float, Round, float};

/// Computes one element of `A · B + C` in f64: a chain of fused multiply-adds in order of k, starting from C.
///
/// A NaN operand is quieted and propagated. If several operands of a step are NaN, B takes precedence, then the sum.
#[doc(alias = "mma.sync.m8n8k4.f64")]
pub fn dot_f64(round: Round, a: &[u64], b: &[u64], c: u64) -> u64 {
    a.iter().zip(b).fold(c, |sum, (&a, &b)| float::fma(Float::F64, round, false, false, a, b, sum))
}
