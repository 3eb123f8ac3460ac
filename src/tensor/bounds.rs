//! What views may not exceed: the tensor that they are views of.
//!
//! Edges of a tensor made by [`Builder::tensor`](crate::ptx::Builder::tensor) are predicated. All other tensors have the elements of
//! their layout and no more, so that a view beyond them is a mistake.

use super::{
    element::TensorElement,
    index::{Index, Indices},
    memory::{Step, Tensor, elements_of},
    space::TensorSpace,
};
use crate::{
    layout::{IntTuple, Layout, Tuple},
    ptx::Val,
};

/// First and last offset in elements.
fn reach(layout: &Layout<Step>) -> (i64, i64) {
    let leaves = layout.shape().leaves().zip(layout.stride().leaves());
    leaves.fold((0, 0), |(first, last), (&extent, step)| {
        let far = (extent - 1).saturating_mul(step.component(0));
        (first.saturating_add(far.min(0)), last.saturating_add(far.max(0)))
    })
}

/// The layout in elements, for errors.
fn shown(layout: &Layout<Step>) -> String {
    elements_of(layout).map_or_else(|error| error.to_string(), |plain| plain.to_string())
}

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// Refuses a division or composition that takes in more than the tensor's elements: it does not divide them.
    #[track_caller]
    pub(super) fn check_view(&self, view: &Layout<Step>) {
        self.check_part(&self.layout, view);
    }

    /// [`check_view`](Self::check_view) of a mode.
    #[track_caller]
    pub(super) fn check_part(&self, mode: &Layout<Step>, view: &Layout<Step>) {
        let ((first, last), (from, to)) = (reach(mode), reach(view));
        if self.divided_whole && (from < first || to > last) {
            self.kernel().refuse(format!(
                "a tile does not divide the tensor: {} reaches from element {from} to {to}, but {} from {first} to {last}; edges \
                 are predicated of tensors made by `k.tensor`",
                shown(view),
                shown(mode)
            ));
        }
    }

    /// Refuses a constant thread that is not there, and threads of which a block has fewer: the rest would be left undone.
    #[track_caller]
    pub(super) fn check_threads(&self, index: Val<'k, u32>, threads: i64) {
        let k = self.kernel();
        if let Some(index) = index.as_constant().filter(|&index| i64::from(index) >= threads) {
            k.refuse(format!("a part for thread {index} of {threads}"));
        }
        let along_x = index.special().filter(|&name| name == "%tid.x").and(k.block_shape());
        if let Some([found, ..]) = along_x.filter(|shape| i64::from(shape[0]) < threads) {
            k.refuse(format!("parts for {threads} threads in a block that has {found} along x"));
        }
    }

    /// Refuses a constant coordinate past the tensor's end.
    #[track_caller]
    pub(super) fn check_coord(&self, coord: &Indices<'k>) {
        if let (true, Some((index, extent))) = (self.divided_whole, outside(self.shape(), coord)) {
            self.kernel()
                .refuse(format!("coordinate {index} in a mode of {extent}: the tensor has {}", self.shape()));
        }
    }
}

/// The first constant of a coordinate that lies outside of its mode, and the mode's extent.
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
