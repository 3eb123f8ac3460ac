//! Bounds of views, relative to the tensors that contain them.
//!
//! Accesses past the edges of a tensor created by [`Builder::tensor`](crate::ptx::Builder::tensor) are predicated. All other tensors
//! have exactly the elements of their layout, so a view that extends past them is an error.

use super::{
    element::TensorElement,
    index::{Index, Indices},
    memory::{Axis, Tensor, elements_of},
    space::TensorSpace,
    step::Step,
};
use crate::{
    layout::{IntTuple, Layout, Tuple},
    ptx::Val,
};

/// Returns the first and last offset of a component: component 0 counts elements, component 1 + a counts coordinates along axis a.
pub(super) fn reach(layout: &Layout<Step>, component: usize) -> (i64, i64) {
    let leaves = layout.shape().leaves().zip(layout.stride().leaves());
    leaves.fold((0, 0), |(first, last), (&extent, step)| {
        let far = (extent - 1).saturating_mul(step.component(component));
        (first.saturating_add(far.min(0)), last.saturating_add(far.max(0)))
    })
}

/// Returns whether an index is known to be less than `end`.
fn is_below(index: Val<'_, u32>, end: i64) -> bool {
    u32::try_from(end).map_or(end > 0, |end| index.is_below(&end.into()))
}

/// Returns the layout in elements, for error messages.
fn shown(layout: &Layout<Step>) -> String {
    elements_of(layout).map_or_else(|error| error.to_string(), |plain| plain.to_string())
}

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// Rejects a division or composition that extends past the tensor's elements because it does not divide them.
    #[track_caller]
    pub(super) fn check_view(&self, view: &Layout<Step>) {
        self.check_part(&self.layout, view);
    }

    /// Returns whether the view has element `index`; rejects an index that is out of bounds.
    #[track_caller]
    pub(super) fn has_element(&self, index: i64) -> bool {
        let exists = (0..self.size()).contains(&index);
        if !exists {
            self.kernel().refuse(format!("expected an element below {}, found element {index}", self.size()));
        }
        exists
    }

    /// Applies [`check_view`](Self::check_view) to a mode.
    #[track_caller]
    pub(super) fn check_part(&self, mode: &Layout<Step>, view: &Layout<Step>) {
        for component in self.bounded() {
            let ((first, last), (from, to)) = (reach(mode, component), reach(view, component));
            if from < first || to > last {
                self.kernel().refuse(format!(
                    "a tile does not divide the tensor: {} reaches from element {from} to {to}, but {} from {first} to {last}; only \
                     tensors created by `k.tensor` have predicated edges",
                    shown(view),
                    shown(mode)
                ));
            }
        }
    }

    /// Returns the bounded components of steps: accesses along them are not checked against an edge, so no part may extend past this view.
    /// These are the elements of a tensor with a constant layout, and the coordinates of a tile that is entirely in or out of bounds.
    fn bounded(&self) -> impl Iterator<Item = usize> {
        let elements = self.divided_whole.then_some(0);
        let settled = |axis: &Axis<'_>| axis.extent.is_none() || axis.tile.is_some();
        elements
            .into_iter()
            .chain((1..).zip(&self.axes).filter(move |(_, axis)| settled(axis)).map(|(at, _)| at))
    }

    /// Returns whether a mode has steps along a [bounded](Self::bounded) component.
    fn is_bounded(&self, mode: &Layout<Step>) -> bool {
        self.bounded().any(|component| mode.stride().leaves().any(|step| step.component(component) != 0))
    }

    /// Returns whether an index may access memory outside the buffer: it is not known to be less than `extent`, and the mode is
    /// [bounded](Self::is_bounded).
    fn may_leave(&self, mode: &Layout<Step>, index: Val<'k, u32>, extent: i64) -> bool {
        !is_below(index, extent) && S::as_shared(self).is_none() && self.is_bounded(mode)
    }

    /// Rejects an index that may be past the end of a [bounded](Self::is_bounded) mode, because its accesses may be outside the buffer.
    /// Accesses past a tensor in shared memory affect only the block, and the simulator reports them.
    #[track_caller]
    pub(super) fn check_index(&self, mode: &Layout<Step>, index: Val<'k, u32>) {
        let (most, extent) = (index.known().most(), mode.size());
        if self.may_leave(mode, index, extent) {
            self.kernel().refuse(format!(
                "expected an index known to be less than {extent}, found an index of at most {most}: nothing compares it with the edge of \
                 {}. Mask or compare it, give the grid or the loop a constant bound, or make the tensor with `k.tensor`",
                shown(mode)
            ));
        }
    }

    /// Rejects a constant thread index that is out of bounds. If the index is `%tid.x`, also rejects more threads than the block has along
    /// x, because part of the work would be omitted.
    #[track_caller]
    pub(super) fn check_threads(&self, index: Val<'k, u32>, threads: i64) {
        let k = self.kernel();
        if let Some(index) = index.as_constant().filter(|&index| i64::from(index) >= threads) {
            k.refuse(format!("expected a thread below {threads}, found thread {index}"));
        }
        let along_x = index.special().filter(|&name| name == "%tid.x").and(k.block_shape());
        if let Some([found, ..]) = along_x.filter(|shape| i64::from(shape[0]) < threads) {
            k.refuse(format!(
                "expected at most {found} threads, the extent of the block along x, found {threads}"
            ));
        }
    }

    /// Rejects a thread that might not exist, unless accesses to its part are checked against an edge; `parts` is indexed by thread.
    #[track_caller]
    pub(super) fn check_thread_exists(&self, index: Val<'k, u32>, threads: i64, parts: &Layout<Step>) {
        let most = index.known().most();
        if self.may_leave(parts, index, threads) {
            self.kernel().refuse(format!(
                "expected a thread index known to be less than {threads}, found an index of at most {most}: nothing compares its part with \
                 the edge of {}. Use as many threads as the block has, or compare the index",
                shown(&self.layout)
            ));
        }
    }

    /// Rejects a constant coordinate past the end of a [bounded](Self::is_bounded) mode.
    #[track_caller]
    pub(super) fn check_coord(&self, coord: &Indices<'k>) {
        if let Some((index, extent)) = self.outside(&self.layout, coord) {
            self.kernel().refuse(format!(
                "coordinate {index} is out of bounds of a mode of {extent}: the tensor has shape {}",
                self.shape()
            ));
        }
    }

    /// Returns the first constant index in `coord` that is out of bounds for its mode, and the extent of this mode.
    fn outside(&self, layout: &Layout<Step>, coord: &Indices<'k>) -> Option<(i64, i64)> {
        match coord {
            Tuple::Leaf(Index::Constant(index)) => {
                let is_outside = !(0..layout.size()).contains(index) && self.is_bounded(layout);
                is_outside.then(|| (*index, layout.size()))
            }
            Tuple::Leaf(_) => None,
            Tuple::Node(places) => {
                layout.modes().zip(places).find_map(|(mode, place)| self.outside(&mode, place))
            }
        }
    }
}

/// Returns the first constant index in `coord` that is out of bounds for its mode of a fragment's shape, and the extent of this mode.
pub(super) fn outside(shape: &IntTuple, coord: &Indices<'_>) -> Option<(i64, i64)> {
    match coord {
        Tuple::Leaf(Index::Constant(index)) => {
            (!(0..shape.size()).contains(index)).then(|| (*index, shape.size()))
        }
        Tuple::Leaf(_) => None,
        Tuple::Node(places) => {
            shape.modes().iter().zip(places).find_map(|(mode, place)| outside(mode, place))
        }
    }
}
