//! Floating-point minimum and maximum.

use super::float::propagated_nan;
use super::format::Float;

/// Minimum or maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extremum {
    /// The smaller operand.
    Min,
    /// The larger operand.
    Max,
}

/// The modifiers of `min` and `max` for floating-point operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MinMaxMode {
    /// `.ftz`: subnormal operands become zeros of the same sign.
    pub ftz: bool,
    /// `.NaN`: the result is the canonical NaN if an operand is NaN.
    pub nan: bool,
    /// `.xorsign.abs`: compares magnitudes; the sign of the result is the exclusive or of the operands' signs.
    pub xorsign_abs: bool,
}

/// Returns the smaller or larger operand (PTX ISA, "min", "max").
///
/// −0 is less than +0. Without `.NaN`, if one operand is NaN, the result is the other operand; if both are, the result is the canonical NaN
/// or, for f64, the quieted `b`.
#[doc(alias = "min.f32")]
#[doc(alias = "max.f32")]
pub fn minmax(ty: Float, which: Extremum, mode: MinMaxMode, a: u64, b: u64) -> u64 {
    let (a, b) = (ty.flush(mode.ftz, a & ty.mask()), ty.flush(mode.ftz, b & ty.mask()));
    let sign = (a ^ b) & ty.sign_bit();
    let (x, y) = if mode.xorsign_abs { (a & !ty.sign_bit(), b & !ty.sign_bit()) } else { (a, b) };
    let picked = match (ty.is_nan(a), ty.is_nan(b)) {
        (true, true) if ty == Float::F64 => return propagated_nan(&[a, b]),
        (true, true) => return ty.canonical_nan(),
        (true, _) | (_, true) if mode.nan => return ty.canonical_nan(),
        (true, false) => y,
        (false, true) => x,
        (false, false) => {
            let below = ordered(ty, x) < ordered(ty, y);
            if below == (which == Extremum::Min) { x } else { y }
        }
    };
    if mode.xorsign_abs { picked | sign } else { picked }
}

/// Computes `min` for any floating-point type; see [`minmax`].
#[doc(alias = "min.f32")]
pub fn min(ty: Float, mode: MinMaxMode, a: u64, b: u64) -> u64 {
    minmax(ty, Extremum::Min, mode, a, b)
}

/// Computes `max` for any floating-point type; see [`minmax`].
#[doc(alias = "max.f32")]
pub fn max(ty: Float, mode: MinMaxMode, a: u64, b: u64) -> u64 {
    minmax(ty, Extremum::Max, mode, a, b)
}

/// Returns the extremum of three f32 operands, combined pairwise from the left (PTX ISA, "min", "max" with `c`, sm_100 and later).
///
/// `abs` (`.abs`) compares and returns magnitudes. `.xorsign.abs` is not available.
pub fn minmax3(which: Extremum, ftz: bool, nan: bool, abs: bool, operands: [u64; 3]) -> u64 {
    let ty = Float::F32;
    let mode = MinMaxMode { ftz, nan, xorsign_abs: false };
    let [a, b, c] = operands.map(|bits| if abs { bits & !ty.sign_bit() } else { bits });
    minmax(ty, which, mode, minmax(ty, which, mode, a, b), c)
}

/// Maps bits to integers that are ordered like the numbers; −0 is just below +0.
fn ordered(ty: Float, bits: u64) -> i128 {
    let magnitude = i128::from(bits & !ty.sign_bit());
    if bits & ty.sign_bit() != 0 { -1 - magnitude } else { magnitude }
}
