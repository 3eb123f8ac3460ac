//! Views that reorder the modes of a tensor with edges, move its first element, or reduce its extents.

use super::{
    element::TensorElement, index::Indices, memory::Tensor, moved::saturating_sum, space::TensorSpace,
};
use crate::{
    layout::{Layout, Tuple},
    ptx::Val,
};

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// Returns the view with its modes in another order: mode `order[i]` becomes mode `i`.
    pub(crate) fn with_modes(&self, order: &[usize]) -> Self {
        let modes: Vec<_> = self.layout.modes().collect();
        self.with_layout(Layout::concat(order.iter().filter_map(|&mode| modes.get(mode).cloned())))
    }

    /// Returns the view at one coordinate of the first mode.
    #[track_caller]
    pub(crate) fn first_mode_at(&self, at: Val<'k, u32>) -> Self {
        let rest = (1..self.rank()).map(|_| Indices::from(..));
        self.slice([Indices::from(at)].into_iter().chain(rest).collect::<Indices<'k>>())
    }

    /// Returns the view that starts at a coordinate (one index per mode) and extends to the same edges.
    #[track_caller]
    pub(crate) fn starting_at(&self, at: &[Val<'k, u32>]) -> Self {
        let mut view = self.clone();
        for (mode, &at) in self.layout.modes().zip(at) {
            view.add_coordinate(&mode, at);
        }
        view
    }

    /// Returns the view with its edges limited to `extents` coordinates (one count per mode) from its first element.
    #[track_caller]
    pub(crate) fn narrowed(&self, extents: &[Val<'k, u32>]) -> Self {
        let mut view = self.clone();
        // Whether an end is below the edge may be known only in the current lexical block.
        view.cut_here();
        for (mode, &extent) in extents.iter().enumerate() {
            for axis in self.axes_of(mode) {
                let start = u32::try_from(self.offset.component(1 + axis)).unwrap_or(u32::MAX);
                let facts = &mut view.axes[axis];
                let Some(edge) = facts.extent else { continue };
                let end = saturating_sum(saturating_sum(facts.at, start.into()), extent);
                facts.extent = Some(if end.is_below(&edge) { end } else { edge.min(end) });
            }
        }
        view
    }

    /// Returns the axes along which a mode extends.
    pub(super) fn axes_of(&self, mode: usize) -> impl Iterator<Item = usize> + use<'k, S, T, A> {
        let step = self.layout.stride().modes().get(mode).and_then(Tuple::as_leaf).copied();
        (0..self.axes.len()).filter(move |&axis| step.is_some_and(|step| step.component(1 + axis) != 0))
    }

    /// Returns the registers and constants that determine the start of the view: the coordinates of its first element.
    pub(crate) fn coordinates(&self) -> impl Iterator<Item = Val<'k, u32>> + '_ {
        self.axes.iter().map(|axis| axis.at)
    }
}
