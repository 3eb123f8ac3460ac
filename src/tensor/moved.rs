//! The dynamic offset of a view's start.

use super::{
    construct::MOST_TILE,
    index::{Index, Indices},
    local::Digit,
    offset::MAX_AXES,
    step::Step,
};
use crate::{
    layout::{Layout, Tuple},
    ptx::{Builder, Val, quotient, remainder},
};

/// The offset of a view's start.
#[derive(Default)]
pub(super) struct Moved<'k> {
    /// Steps along constant strides: the number of steps, in a register, and the number of elements per step.
    pub(super) elements: Vec<(Val<'k, u32>, i64)>,
    /// Coordinates along each axis.
    pub(super) coords: [Option<Val<'k, u32>>; MAX_AXES],
}

impl<'k> Moved<'k> {
    /// Adds the value of `mode` at `index`. If accesses are checked against the edges, an index past the end selects coordinates past the
    /// edges; otherwise, the index must be less than the size of the mode.
    #[track_caller]
    pub(super) fn add(&mut self, mode: &Layout<Step>, index: Val<'k, u32>) {
        let has_axis = |step: &Step| (1..=MAX_AXES).any(|component| step.component(component) != 0);
        let flat =
            if mode.stride().leaves().any(has_axis) { mode.coalesce_unbounded() } else { mode.coalesce() };
        let leaves: Vec<_> = flat.shape().leaves().copied().zip(flat.stride().leaves()).collect();
        let mut rest = index;
        for (position, (extent, step)) in leaves.iter().enumerate() {
            let digit = if position + 1 == leaves.len() {
                rest
            } else {
                let (quotient, remainder) = divide(rest, *extent);
                rest = quotient;
                remainder
            };
            self.step(step, digit);
        }
    }

    /// Adds the value of `mode` at the coordinate whose digits are those of a thread number.
    #[track_caller]
    pub(super) fn add_digits(
        &mut self,
        k: Builder<'k>,
        mode: &Layout<Step>,
        digits: &[Digit],
        thread: Val<'k, u32>,
        threads: i64,
    ) {
        let mut unit = 1;
        for &Digit { extent, weight } in digits {
            if extent == 1 || weight == 0 {
                continue;
            }
            let (above, _) = divide(thread, weight);
            let digit = if weight * extent >= threads { above } else { divide(above, extent).1 };
            // The part of the mode that this digit indexes.
            match Layout::new(extent, unit).and_then(|digit| mode.compose(digit)) {
                Ok(part) => self.add(&part, digit),
                Err(error) => k.refuse(error.to_string()),
            }
            unit *= extent;
        }
    }

    /// Adds `times` steps.
    #[track_caller]
    fn step(&mut self, step: &Step, times: Val<'k, u32>) {
        let elements = step.component(0);
        if elements != 0 {
            self.elements.push((times, elements));
        }
        for (axis, sum) in self.coords.iter_mut().enumerate() {
            let by = step.component(1 + axis);
            if by != 0 {
                let add = coordinate(times, by);
                *sum = Some(sum.map_or(add, |sum| saturating_sum(sum, add)));
            }
        }
    }
}

/// Returns `times · by`, clamped to the largest multiple of `by` in 32 bits: a tile past 2³² is past the edge and must not wrap
/// around to the first tile.
///
/// That multiple is also past every edge, because launches reject extents above [`MOST_COORDINATES`](super::construct::MOST_COORDINATES).
/// The builder rejects a factor that might violate this.
#[track_caller]
pub(crate) fn coordinate(times: Val<'_, u32>, by: i64) -> Val<'_, u32> {
    let factor = u32::try_from(by).unwrap_or(0);
    if factor != 0 && times.product_fits(factor) {
        return times * factor;
    }
    if !(1..=MOST_TILE).contains(&factor) {
        if let Some(k) = times.kernel() {
            k.refuse(format!(
                "expected an index with a known bound, or steps of 1 to {MOST_TILE} coordinates, found an unknown index of steps of {by}"
            ));
        }
        return 0.into();
    }
    times.min(u32::MAX / factor) * factor
}

/// Returns `a + b`, clamped to 2³² − 1: a coordinate past 2³² is past the edge.
#[track_caller]
pub(crate) fn saturating_sum<'k>(a: Val<'k, u32>, b: Val<'k, u32>) -> Val<'k, u32> {
    if a.sum_fits(&b) { a + b } else { a.min(!b) + b }
}

/// Returns the quotient and the remainder of a division by a constant.
#[track_caller]
pub(crate) fn divide(value: Val<'_, u32>, by: i64) -> (Val<'_, u32>, Val<'_, u32>) {
    match u32::try_from(by) {
        Ok(by) => (quotient(value, by), remainder(value, by)),
        // Every 32-bit number is less than `by`.
        Err(_) => (0.into(), value),
    }
}

/// Calls `visit` for each mode to which a coordinate assigns a register.
pub(super) fn walk<'k>(
    layout: &Layout<Step>,
    coord: &Indices<'k>,
    visit: &mut impl FnMut(Layout<Step>, Val<'k, u32>),
) {
    match coord {
        Tuple::Leaf(Index::Value(index)) => visit(layout.clone(), *index),
        Tuple::Leaf(_) => {}
        Tuple::Node(indices) => {
            for (mode, index) in layout.modes().zip(indices) {
                walk(&mode, index, visit);
            }
        }
    }
}
