//! Offsets of all elements of a view, used to plan copies.

use super::step::Step;
use crate::layout::{Codomain, Layout};

/// The maximum number of axes of a tensor.
pub(super) const MAX_AXES: usize = 5;

/// The offset of an element: a constant number of elements, and coordinates along each axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Offset {
    /// Coordinates along dynamic strides; 0 along axes of constant stride.
    pub(super) line: [i64; MAX_AXES],
    /// The number of elements, from constant strides.
    pub(super) elements: i64,
    /// Coordinates along each axis, for comparison with its extent.
    pub(super) coords: [i64; MAX_AXES],
}

impl Offset {
    /// Returns the sort key for the memory order of elements.
    pub(super) fn in_memory(&self) -> (&[i64; MAX_AXES], i64) {
        (&self.line, self.elements)
    }

    fn of(step: &Step) -> Self {
        Self {
            line: [0; MAX_AXES],
            elements: step.component(0),
            coords: std::array::from_fn(|axis| step.component(1 + axis)),
        }
    }

    fn add(&mut self, other: &Self, times: i64) {
        self.elements = self.elements.wrapping_add(other.elements.wrapping_mul(times));
        for (sum, coord) in self.coords.iter_mut().zip(other.coords) {
            *sum = sum.wrapping_add(coord.wrapping_mul(times));
        }
    }
}

/// Returns the offsets of the first `count` elements of a view that starts at `start`, in order; `dynamic` marks the axes
/// with dynamic strides.
pub(super) fn offsets(
    layout: &Layout<Step>,
    start: &Step,
    dynamic: [bool; MAX_AXES],
    count: i64,
) -> Vec<Offset> {
    let leaves: Vec<(i64, Offset)> = layout
        .shape()
        .leaves()
        .zip(layout.stride().leaves())
        .map(|(&n, step)| (n, Offset::of(step)))
        .collect();
    let mut digits = vec![0_i64; leaves.len()];
    let mut current = Offset::of(start);
    let mut all = Vec::with_capacity(count.max(0) as usize);
    for _ in 0..count {
        let mut offset = current;
        offset.line = std::array::from_fn(|axis| if dynamic[axis] { offset.coords[axis] } else { 0 });
        all.push(offset);
        for (digit, (extent, step)) in digits.iter_mut().zip(&leaves) {
            *digit += 1;
            current.add(step, 1);
            if *digit < *extent {
                break;
            }
            current.add(step, -*extent);
            *digit = 0;
        }
    }
    all
}

/// Returns the offset of element `element` of a view.
pub(super) fn offset_of(
    layout: &Layout<Step>,
    start: &Step,
    dynamic: [bool; MAX_AXES],
    element: i64,
) -> Offset {
    let mut step = layout.index(element);
    step.step(start, 1);
    let mut offset = Offset::of(&step);
    offset.line = std::array::from_fn(|axis| if dynamic[axis] { offset.coords[axis] } else { 0 });
    offset
}
