//! Outlines of views and fragments, from which copies are planned. Kernels contain many copies between equal outlines; their plan is
//! computed only once.

use std::rc::Rc;

use super::{
    element::TensorElement,
    fragment::Fragment,
    memory::{Axis, Tensor},
    moves::{Group, Location, Move, Place, Widths, plan},
    offset::{MAX_AXES, Offset, offsets},
    space::TensorSpace,
    step::Step,
};
use crate::{
    layout::Layout,
    ptx::{Computation, divisor::gcd},
};

/// The properties of a view in memory that determine the locations of its elements.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ViewOutline {
    /// The number of bytes per element.
    pub(super) size: u32,
    /// The known alignment of the view's start, in bytes.
    align: u64,
    start: Step,
    /// A known divisor of the stride along each axis; `None` for constant strides and axes that do not exist.
    strides: [Option<u64>; MAX_AXES],
    /// The [`periods`](Tensor::periods) of the view.
    periods: Group,
    pub(super) layout: Rc<Layout<Step>>,
}

/// The properties of a side of a copy that determine which of its elements one access can move.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outline {
    Memory(ViewOutline),
    Registers { per_word: usize, offset: i64, layout: Rc<Layout> },
}

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    pub(super) fn outline(&self) -> ViewOutline {
        let divisor = |axis: &Axis<'k>| axis.has_dynamic_stride().then(|| axis.stride.divisor());
        ViewOutline {
            size: T::SIZE,
            align: self.start_alignment(),
            start: self.offset,
            strides: std::array::from_fn(|axis| self.axes.get(axis).and_then(divisor)),
            periods: self.periods(),
            layout: Rc::clone(&self.layout),
        }
    }
}

impl ViewOutline {
    /// Returns the location of the element at an offset.
    fn locate(&self, offset: Offset) -> Location {
        let size = u64::from(self.size);
        let mut align = gcd(self.align, offset.elements.unsigned_abs().saturating_mul(size));
        for (stride, &coord) in self.strides.iter().zip(&offset.line).filter(|(_, coord)| **coord != 0) {
            let bytes = coord.unsigned_abs().saturating_mul(size);
            align = stride.map_or(align, |stride| gcd(align, stride.saturating_mul(bytes)));
        }
        let group = |axis: usize| offset.coords[axis].checked_div_euclid(self.periods[axis]).unwrap_or(0);
        Location { offset, align: align as u32, group: std::array::from_fn(group) }
    }
}

impl Computation for ViewOutline {
    /// The locations of all elements.
    type Result = Rc<[Location]>;

    fn compute(&self) -> Self::Result {
        let dynamic = self.strides.map(|stride| stride.is_some());
        let offsets = offsets(&self.layout, &self.start, dynamic, self.layout.size());
        offsets.into_iter().map(|offset| self.locate(offset)).collect()
    }
}

impl<T: TensorElement> Fragment<'_, T> {
    pub(super) fn outline(&self) -> Outline {
        let (offset, layout) = self.elements();
        Outline::Registers { per_word: T::PER_WORD, offset, layout: Rc::clone(layout) }
    }
}

impl Outline {
    fn places(&self) -> Vec<Place> {
        match self {
            Self::Memory(view) => view.compute().iter().copied().map(Place::Memory).collect(),
            Self::Registers { per_word, offset, layout } => (0..layout.size())
                .map(|element| {
                    let at = (offset + layout.index(element)).unsigned_abs() as usize;
                    Place::Register { word: at / per_word, slot: at % per_word }
                })
                .collect(),
        }
    }
}

/// The division of a copy into moves.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) to: Outline,
    pub(super) from: Outline,
    pub(super) widths: Widths,
}

impl Computation for Plan {
    type Result = Rc<[Move]>;

    fn compute(&self) -> Self::Result {
        plan(&self.to.places(), &self.from.places(), self.widths).into()
    }
}
