//! Operations on the sign bit: `abs`, `neg`, `copysign`.

use super::format::Float;

/// Returns the magnitude of `a` (PTX ISA, "abs"). With `ftz`, a subnormal becomes +0.
///
/// For f16 and bf16, the sign of any pattern is cleared. An f32 NaN becomes `0x7fffffff`, and an f64 NaN is quieted.
#[doc(alias = "abs.f32")]
pub fn abs(ty: Float, ftz: bool, a: u64) -> u64 {
    nan_rule(ty, a).unwrap_or_else(|| ty.flush(ftz, a & ty.mask() & !ty.sign_bit()))
}

/// Returns `-a` (PTX ISA, "neg"). With `ftz`, a subnormal becomes a zero.
#[doc(alias = "neg.f32")]
pub fn neg(ty: Float, ftz: bool, a: u64) -> u64 {
    nan_rule(ty, a).unwrap_or_else(|| ty.flush(ftz, (a & ty.mask()) ^ ty.sign_bit()))
}

/// Returns the magnitude of `b` with the sign of `a` (PTX ISA, "copysign"). NaN payloads are preserved.
#[doc(alias = "copysign.f32")]
pub fn copysign(ty: Float, a: u64, b: u64) -> u64 {
    (a & ty.sign_bit()) | (b & ty.mask() & !ty.sign_bit())
}

fn nan_rule(ty: Float, a: u64) -> Option<u64> {
    ty.is_nan(a).then(|| match ty {
        Float::F64 => a | 1 << 51,
        _ => ty.canonical_nan(),
    })
}
