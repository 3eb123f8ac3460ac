//! Minima and maxima that are NaN if either operand is NaN. They are computed by `min.NaN` and `max.NaN` or, on sm_75, which does not
//! support these, by several instructions (PTX ISA, `min` and `max`).

use crate::ptx::{Features, Val};

type Number<'k> = Val<'k, f32>;

#[track_caller]
pub(super) fn max_or_nan<'k>(a: Number<'k>, b: Number<'k>) -> Number<'k> {
    if has_nan_forms(a, b) { a.max_nan(b) } else { nan_or(a, b, a.max(b)) }
}

#[track_caller]
pub(super) fn min_or_nan<'k>(a: Number<'k>, b: Number<'k>) -> Number<'k> {
    if has_nan_forms(a, b) { a.min_nan(b) } else { nan_or(a, b, a.min(b)) }
}

/// Returns whether the target supports the instructions. If both operands are constants, returns true, because no instruction is needed.
fn has_nan_forms<'k>(a: Number<'k>, b: Number<'k>) -> bool {
    let k = a.kernel().or(b.kernel());
    k.is_none_or(|k| k.target().features().contains(Features::AMPERE))
}

/// Returns `number`, or NaN if `a` or `b` is NaN.
#[track_caller]
fn nan_or<'k>(a: Number<'k>, b: Number<'k>, number: Number<'k>) -> Number<'k> {
    a.nan(b).select(f32::NAN, number)
}
