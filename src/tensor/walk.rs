//! Addresses of a view's elements in order, each from the one before.

use super::{
    element::TensorElement,
    memory::{Axis, Tensor},
    offset::{MAX_AXES, Offset},
    space::TensorSpace,
};
use crate::ptx::{Ptr, Space};

/// A pointer that moves along the axes of a view whose strides only the launch knows: from one row to the next it is one sum, not a
/// product of the row's coordinate.
pub(super) struct Walk<'a, 'k, S: Space, T, A> {
    view: &'a Tensor<'k, S, T, A>,
    /// Pointer to coordinate 0 of the view, without its constant offset.
    start: Ptr<'k, T, S, A>,
    /// Pointer to these coordinates.
    pointer: Ptr<'k, T, S, A>,
    line: [i64; MAX_AXES],
}

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// Begins at the start of the view, by multiplying the coordinates along its axes by their strides.
    #[track_caller]
    pub(super) fn walk(&self) -> Walk<'_, 'k, S, T, A> {
        // What a thread adds along a dynamic axis, such as its row, is often the same in all iterations of a loop.
        let (dynamic, constant): (Vec<_>, Vec<_>) =
            self.axes.iter().partition(|axis| axis.has_dynamic_stride());
        let start = dynamic.into_iter().chain(constant).fold(self.pointer, along);
        Walk { view: self, start, pointer: start, line: [0; MAX_AXES] }
    }
}

/// The pointer moved by an axis' coordinate.
#[track_caller]
fn along<'k, S: TensorSpace, T: TensorElement, A>(
    pointer: Ptr<'k, T, S, A>,
    axis: &Axis<'k>,
) -> Ptr<'k, T, S, A> {
    match axis.stride.as_constant() {
        Some(stride) => S::at_steps(pointer, axis.at, stride.into()),
        None => S::at_products(pointer, axis.at, axis.stride),
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A> Walk<'_, 'k, S, T, A> {
    /// Pointer to element number `element` of the view.
    #[track_caller]
    pub(super) fn pointer_to(&mut self, element: i64) -> Ptr<'k, T, S, A> {
        self.pointer_at(&self.view.offset_of(element))
    }

    /// Pointer to the element at an offset.
    #[track_caller]
    pub(super) fn pointer_at(&mut self, offset: &Offset) -> Ptr<'k, T, S, A> {
        let bytes = offset.elements * i64::from(T::SIZE);
        if self.view.is_swizzled() {
            return self.view.swizzled(bytes);
        }
        if self.line.iter().zip(offset.line).any(|(&from, to)| to < from) {
            (self.pointer, self.line) = (self.start, [0; MAX_AXES]);
        }
        for ((axis, from), to) in self.view.axes.iter().zip(self.line).zip(offset.line) {
            if to != from {
                self.pointer = S::at_strides(self.pointer, to - from, axis.stride);
            }
        }
        self.line = offset.line;
        self.pointer.byte_offset(bytes)
    }
}
