//! Views of tensors: slices, tiles, and thread partitions.

use std::rc::Rc;

use super::{
    bounds::reach,
    construct::MOST_TILE,
    element::TensorElement,
    error::TensorError,
    index::{Index, Indices, constants},
    local::{Digit, rest_of, thread_digits, thread_divide},
    memory::Tensor,
    moved::{Moved, coordinate, divide, saturating_sum, walk},
    partition::{tile_slicer, without_threads},
    space::TensorSpace,
    step::Step,
};
use crate::{
    layout::{Codomain, Layout, LayoutError, Slicer, Slot, Tile, Tiler, Tuple},
    ptx::{Computation, Inside, Val},
};

/// The part of a view at constant coordinates.
#[derive(PartialEq)]
struct Slice {
    layout: Rc<Layout<Step>>,
    slicer: Slicer,
}

impl Computation for Slice {
    /// The layout of the part, and the offset of its first element.
    type Result = Result<(Rc<Layout<Step>>, Step), LayoutError>;

    fn compute(&self) -> Self::Result {
        let (layout, offset) = self.layout.slice_and_offset(self.slicer.clone())?;
        Ok((layout.into(), offset))
    }
}

/// The division of a view into tiles.
#[derive(PartialEq)]
struct Division {
    layout: Rc<Layout<Step>>,
    tiler: Tiler,
}

impl Computation for Division {
    type Result = Result<Rc<Layout<Step>>, LayoutError>;

    fn compute(&self) -> Self::Result {
        Ok(self.layout.zipped_divide(&self.tiler)?.into())
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// Returns the view that `coord` selects.
    ///
    /// For example, `(.., 3)` selects index 3 of the second mode. Entries may be integers, registers or `..`. Unless accesses along the
    /// mode are predicated, the builder rejects a constant index that is out of bounds and, in global memory, a dynamic index that is not
    /// known to be in bounds.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, coord: impl Into<Indices<'k>>) -> Self {
        self.sliced(&coord.into())
    }

    #[track_caller]
    fn sliced(&self, coord: &Indices<'k>) -> Self {
        let k = self.kernel();
        self.check_coord(coord);
        match k.computed(Slice { layout: Rc::clone(&self.layout), slicer: constants(coord) }) {
            Ok((layout, offset)) => {
                let mut view = self.with_layout(layout);
                view.offset.step(&offset, 1);
                let mut moved = Moved::default();
                walk(&self.layout, coord, &mut |mode, index| {
                    self.check_index(&mode, index);
                    moved.add(&mode, index);
                });
                view.advance(moved);
                view
            }
            Err(error) => {
                k.refuse(error.to_string());
                self.clone()
            }
        }
    }

    /// Returns the tile at tile coordinate `coord`. The result has the tile modes, followed by the rest modes whose entry in `coord` is
    /// `..` or missing; see [`local_tile`](super::local_tile()).
    ///
    /// For a tensor created by [`Builder::tensor`](crate::ptx::Builder::tensor), copies are predicated at the edges, unless the tile is
    /// known to be in bounds.
    #[doc(alias = "@tile")]
    #[must_use]
    #[track_caller]
    pub fn local_tile(&self, tiler: impl Into<Tiler>, coord: impl Into<Indices<'k>>) -> Self {
        let (tiler, coord) = (tiler.into(), coord.into());
        self.check_tile(&tiler);
        let division = Division { layout: Rc::clone(&self.layout), tiler: tiler.clone() };
        let tiled = self.relaid(self.kernel().computed(division));
        let modes = tiled.layout.mode(0).map_or(1, |tile| tile.rank());
        let rest = tiled.layout.mode(1).map_or(1, |rest| rest.rank());
        let mut places = coord.modes().to_vec();
        places.resize(rest.max(places.len()), Tuple::Leaf(Index::All));
        let slicer = tile_slicer(modes, Tuple::Leaf(Slot::Keep));
        let tile_places = slicer.modes()[0].map(|_| Index::All);
        let mut view = tiled.sliced(&Indices::from(vec![tile_places, Indices::from(places.clone())]));
        view.settle_edges(self, &tiler, &Indices::from(places));
        view
    }

    /// Rejects a tile that exceeds [`MOST_TILE`] along a dynamic extent, or the extent's placeholder, because no tile would follow it.
    #[track_caller]
    fn check_tile(&self, tiler: &Tiler) {
        for mode in 0..self.rank() {
            let unknown =
                |axis: usize| self.axes[axis].extent.is_some_and(|extent| extent.as_constant().is_none());
            let most = self.size_of(mode).min(MOST_TILE.into());
            if let (true, Some(Tuple::Leaf(Tile::Extent(tile)))) =
                (self.axes_of(mode).any(unknown), tiler.mode(mode))
                && *tile > most
            {
                let modes = self.rank();
                self.kernel().refuse(format!(
                    "expected at most {most} elements in a tile along mode {mode} of {modes}, whose extent a launch determines, found {tile}"
                ));
            }
        }
    }

    /// Drops the edges of axes along which this tile of `whole` is known to be in bounds, and marks a tile that divides an axis
    /// as entirely in or out of bounds. The tile's index must determine its position, so only the tile's mode may extend along
    /// the axis, starting at the first coordinate.
    #[track_caller]
    fn settle_edges(&mut self, whole: &Self, tiler: &Tiler, coord: &Indices<'k>) {
        self.cut_here();
        for (mode, step) in whole.layout.stride().modes().iter().enumerate() {
            let (Some(Tuple::Leaf(Tile::Extent(tile))), Tuple::Leaf(step)) = (tiler.mode(mode), step) else {
                continue;
            };
            let (tile, index) = (*tile as u32, coord.mode(mode).and_then(Tuple::as_leaf));
            let index = match index {
                Some(Index::Value(index)) => *index,
                Some(Index::Constant(index)) => u32::try_from(*index).unwrap_or(u32::MAX).into(),
                _ => continue,
            };
            for axis in (0..self.axes.len()).filter(|axis| step.component(1 + axis) != 0) {
                let by = step.component(1 + axis);
                let begins =
                    (whole.axes[axis].at.as_constant(), whole.offset.component(1 + axis)) == (Some(0), 0);
                let mut others = whole.layout.modes().enumerate().filter(|(other, _)| *other != mode);
                let is_alone = others.all(|(_, other)| reach(&other, 1 + axis) == (0, 0));
                let start = u32::try_from(self.offset.component(1 + axis)).unwrap_or(u32::MAX);
                let facts = &mut self.axes[axis];
                let Some(extent) = facts.extent else { continue };
                // A mode of one tile has no step to a next tile: its index affects only the coordinate.
                if whole.size_of(mode) <= tile.into() {
                    facts.at = saturating_sum(facts.at, coordinate(index, by * i64::from(tile)));
                }
                let start = saturating_sum(facts.at, start.into());
                if !is_alone || by != 1 {
                    continue;
                }
                if begins && index.tile_is_inside(tile, extent) == Inside::Whole {
                    facts.extent = None;
                } else if facts.tile.is_none() && extent.is_multiple_of(tile) && start.is_multiple_of(tile) {
                    facts.tile = Some(start);
                }
            }
        }
    }

    /// Returns the elements that belong to thread `index` of the thread layout `threads`; see
    /// [`local_partition`](super::local_partition()).
    #[doc(alias = "@parallelize")]
    #[must_use]
    #[track_caller]
    pub fn local_partition(&self, threads: &Layout, index: Val<'k, u32>) -> Self {
        let k = self.kernel();
        let divided = match thread_divide(&self.layout, threads) {
            Ok(divided) => divided,
            Err(error) => {
                k.refuse(error.to_string());
                return self.clone();
            }
        };
        let all = threads.size();
        self.check_view(&divided);
        self.check_threads(index, all);
        let mut view = self.relaid(rest_of(&divided));
        let mut moved = Moved::default();
        if let Ok(modes) = divided.mode(0) {
            self.check_thread_exists(index, all, &modes);
            for (mode, digits) in modes.modes().zip(thread_digits(threads)) {
                moved.add_digits(k, &mode, &digits.0, index, all);
            }
        }
        view.advance(moved);
        view.share(self);
        view
    }

    /// Returns one thread's part of `(thread, value, (rest, …))`, where the thread's coordinates are digits of `index`.
    #[track_caller]
    pub(super) fn thread_part(
        &self,
        divided: Result<Layout<Step>, TensorError>,
        digits: &[(Vec<usize>, Vec<Digit>)],
        index: Val<'k, u32>,
        threads: i64,
    ) -> Self {
        let k = self.kernel();
        self.check_threads(index, threads);
        let parts = divided.and_then(|divided| {
            self.check_view(&divided);
            Ok((divided.mode(0)?, without_threads(&divided)?))
        });
        let (by_thread, rest) = match parts {
            Ok(parts) => parts,
            Err(error) => {
                k.refuse(error.to_string());
                return self.clone();
            }
        };
        self.check_thread_exists(index, threads, &by_thread);
        let mut view = self.with_layout(rest);
        let mut moved = Moved::default();
        let mut lanes = None;
        for (path, digits) in digits {
            let mode = path.iter().try_fold(by_thread.clone(), |mode, &at| mode.mode(at));
            match (mode, digits.as_slice()) {
                // Keep the offsets of a warp's lanes separate, because each lane of a matrix instruction addresses rows for other lanes.
                (Ok(mode), [Digit { extent: 32, weight: 1 }]) => {
                    let lane = if threads > 32 { divide(index, 32).1 } else { index };
                    lanes = Some((mode, lane));
                }
                (Ok(mode), digits) => moved.add_digits(k, &mode, digits, index, threads),
                (Err(error), _) => k.refuse(error.to_string()),
            }
        }
        view.advance(moved);
        view.share(self);
        match lanes {
            Some((layout, lane)) => view.in_lanes(layout, lane),
            None => view,
        }
    }

    /// Records the view shared by all threads; this view is one thread's part of it.
    pub(super) fn share(&mut self, whole: &Self) {
        if S::as_shared(whole).is_some() {
            self.shared_view = Some(Rc::new(whole.whole()));
        }
    }

    /// Advances the view's start by a dynamic offset.
    #[track_caller]
    pub(super) fn advance(&mut self, moved: Moved<'k>) {
        self.cut_here();
        if !self.axes.is_empty() {
            for (axis, by) in self.axes.iter_mut().zip(moved.coords) {
                axis.at = by.map_or(axis.at, |by| saturating_sum(axis.at, by));
            }
        } else if self.is_swizzled() {
            // The swizzle does not affect whole periods.
            let period = self.swizzle.period() / i64::from(T::SIZE);
            let (periods, rest): (Vec<_>, Vec<_>) =
                moved.elements.into_iter().partition(|(_, elements)| elements % period == 0);
            for (times, elements) in periods {
                self.pointer = S::at_steps(self.pointer, times, elements);
            }
            for &(times, elements) in &rest {
                self.inner = self.inner + times * (elements as u32).wrapping_mul(T::SIZE);
            }
        } else {
            for (times, elements) in moved.elements {
                self.pointer = S::at_steps(self.pointer, times, elements);
            }
        }
    }
}
