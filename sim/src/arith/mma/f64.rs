//! f64 `mma`.

use crate::arith::{Float, Round, float};

/// One element of `A · B + C` in f64: a chain of fused multiply-adds in order of k, starting from C.
///
/// A NaN operand is passed on, quieted; of several in one step, the one of B, then the sum, then A.
#[doc(alias = "mma.sync.m8n8k4.f64")]
pub fn dot_f64(round: Round, a: &[u64], b: &[u64], c: u64) -> u64 {
    a.iter().zip(b).fold(c, |sum, (&a, &b)| float::fma(Float::F64, round, false, false, a, b, sum))
}
