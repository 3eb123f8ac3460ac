//! The base of exponents: the value that is subtracted from all exponents before the exponentials are computed.

use crate::ptx::Val;

/// Returns the base for exponents whose maximum is `max`: 0 if `max` is −∞, and `max` otherwise. With a base of −∞, the exponent of an
/// excluded element would be −∞ − (−∞), which is NaN instead of −∞.
#[track_caller]
pub(super) fn base(max: Val<'_, f32>) -> Val<'_, f32> {
    max.eq(f32::NEG_INFINITY).select(0.0, max)
}
