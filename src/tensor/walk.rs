//! Accesses to a view's elements in order: offsets are computed once, and each address is derived from the previous one.

use std::rc::Rc;

use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;

use super::{
    element::TensorElement,
    memory::{Axis, Tensor},
    moves::Location,
    offset::{MAX_AXES, Offset},
    outline::ViewOutline,
    predicate::both,
    space::TensorSpace,
};
use crate::ptx::{Global, Ptr, ReadWrite, Space, Val};

/// A view whose elements are accessed in order.
pub(super) struct Walk<'k, S: Space, T> {
    pub(super) view: Tensor<'k, S, T, ReadWrite>,
    pub(super) outline: ViewOutline,
    /// The location of each element.
    locations: Rc<[Location]>,
    line: Line<'k, T, S, ReadWrite>,
    /// Comparisons of coordinates with extents, shared by the elements of a row or column.
    compared: FxHashMap<(usize, i64), Val<'k, bool>>,
}

/// A pointer that moves along axes with dynamic strides: moving to the next row requires an addition instead of a multiplication by
/// the row's coordinate.
pub(super) struct Line<'k, T, S: Space, A> {
    /// The pointer to coordinate 0 of the view, without its constant offset.
    start: Ptr<'k, T, S, A>,
    /// The pointer to the coordinates `coords`.
    pointer: Ptr<'k, T, S, A>,
    coords: [i64; MAX_AXES],
    /// The swizzled offset of the view's start; `None` until an access requires it.
    swizzled: Option<Val<'k, u32>>,
}

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// Returns a pointer to element `element` of the view.
    #[track_caller]
    pub(super) fn pointer_to(&self, element: i64) -> Ptr<'k, T, S, A> {
        self.pointer_at(&self.offset_of(element))
    }

    /// Returns a pointer to the element at an offset.
    #[track_caller]
    pub(super) fn pointer_at(&self, offset: &Offset) -> Ptr<'k, T, S, A> {
        self.line().pointer_at(self, offset)
    }

    /// Returns a line at the start of the view; the products of its coordinates and strides have been added to the pointer.
    #[track_caller]
    pub(super) fn line(&self) -> Line<'k, T, S, A> {
        self.check_open();
        // Use the oldest coordinate first: its part of the address has already been computed for earlier accesses or before the loop.
        let mut axes: ArrayVec<&Axis<'k>, MAX_AXES> = self.axes.iter().collect();
        axes.sort_by_key(|axis| axis.at.reg().map(|(reg, _)| reg.index));
        let start = axes.into_iter().fold(self.pointer, along);
        Line { start, pointer: start, coords: [0; MAX_AXES], swizzled: None }
    }
}

/// Returns the pointer advanced by a coordinate along an axis.
#[track_caller]
fn along<'k, S: TensorSpace, T: TensorElement, A>(
    pointer: Ptr<'k, T, S, A>,
    axis: &Axis<'k>,
) -> Ptr<'k, T, S, A> {
    match axis.stride.as_constant() {
        Some(stride) => S::at_steps(pointer, axis.at, stride),
        None => S::at_products(pointer, axis.at, axis.stride),
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A> Line<'k, T, S, A> {
    /// Returns a pointer to the element at an offset of the view from which this line was created.
    #[track_caller]
    pub(super) fn pointer_at(&mut self, view: &Tensor<'k, S, T, A>, offset: &Offset) -> Ptr<'k, T, S, A> {
        let bytes = offset.elements.wrapping_mul(T::SIZE.into());
        if view.is_swizzled() {
            return view.swizzled(bytes, &mut self.swizzled);
        }
        if self.coords.iter().zip(offset.line).any(|(&from, to)| to < from) {
            (self.pointer, self.coords) = (self.start, [0; MAX_AXES]);
        }
        for ((axis, from), to) in view.axes.iter().zip(self.coords).zip(offset.line) {
            if to != from {
                self.pointer = S::at_strides(self.pointer, to.wrapping_sub(from), axis.stride);
            }
        }
        self.coords = offset.line;
        self.pointer.byte_offset(bytes)
    }
}

impl<'k, S: TensorSpace, T: TensorElement> Walk<'k, S, T> {
    /// Creates the walk, at the start of a view.
    #[track_caller]
    pub(super) fn new(view: Tensor<'k, S, T, ReadWrite>) -> Self {
        let view = view.resolved();
        let outline = view.outline();
        let locations = view.kernel().computed(outline.clone());
        Self { outline, locations, line: view.line(), compared: FxHashMap::default(), view }
    }

    fn location(&self, element: i64) -> &Location {
        &self.locations[element as usize]
    }

    /// Returns a pointer to element `element` of the view.
    #[track_caller]
    pub(super) fn pointer_to(&mut self, element: i64) -> Ptr<'k, T, S, ReadWrite> {
        self.line.pointer_at(&self.view, &self.locations[element as usize].offset)
    }

    /// Returns whether an element is within the tensor.
    #[track_caller]
    pub(super) fn contains(&mut self, element: i64) -> Val<'k, bool> {
        let coords = self.location(element).offset.coords;
        let axes = 0..self.view.axes.len();
        axes.fold(true.into(), |inside, axis| both(inside, self.is_inside(axis, coords[axis])))
    }

    #[track_caller]
    fn is_inside(&mut self, axis: usize, coord: i64) -> Val<'k, bool> {
        if let Some(&inside) = self.compared.get(&(axis, coord)) {
            return inside;
        }
        let inside = self.view.axes[axis].contains(coord);
        self.compared.insert((axis, coord), inside);
        inside
    }
}

impl<'k, T: TensorElement> Walk<'k, Global, T> {
    /// Returns how many bytes of adjacent elements are in bounds along their axis, given that the first element is in bounds.
    #[track_caller]
    pub(super) fn valid_bytes(&self, elements: &[i64]) -> Val<'k, u32> {
        let count = elements.len() as u32;
        let (first, last) = (self.location(elements[0]), self.location(elements[elements.len() - 1]));
        let groups = first.group.into_iter().zip(last.group);
        // The plan allows an access to extend past an edge only along a single axis.
        let cut = self
            .view
            .axes
            .iter()
            .zip(first.offset.coords)
            .zip(groups)
            .find(|(_, (first, last))| first != last);
        match cut.and_then(|((axis, coord), _)| Some((axis.at + coord as u32, axis.extent?))) {
            Some((first, extent)) => (extent - first).min(count) * T::SIZE,
            None => (count * T::SIZE).into(),
        }
    }
}
