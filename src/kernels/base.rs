//! The base of exponentials: the number to which they are relative.

use crate::ptx::Val;

/// Returns the maximum of some exponents, or 0 if the maximum is −∞: otherwise, the exponent of an excluded element would be −∞ − (−∞),
/// which is NaN instead of −∞.
#[track_caller]
pub(super) fn base(max: Val<'_, f32>) -> Val<'_, f32> {
    max.eq(f32::NEG_INFINITY).select(0.0, max)
}
