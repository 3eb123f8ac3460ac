//! The base of exponentials: the number to which they are relative.

use crate::ptx::Val;

/// Returns the maximum of some exponents, or 0 if it is −∞: its difference with itself, the exponent of an element that does not count,
/// would be NaN instead of −∞.
#[track_caller]
pub(super) fn base(max: Val<'_, f32>) -> Val<'_, f32> {
    max.eq(f32::NEG_INFINITY).select(0.0, max)
}
