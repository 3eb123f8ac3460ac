//! Views of tensors: slices, tiles of a block, parts of a thread.

use std::rc::Rc;

use super::{
    element::TensorElement,
    error::TensorError,
    local::{Digit, rest_of, thread_digits, thread_divide},
    memory::{Step, Tensor},
    moved::{Moved, walk},
    partition::{tile_slicer, without_threads},
    pick::{Pick, Picks, known},
    space::TensorSpace,
};
use crate::{
    layout::{Codomain, Layout, Slot, Tile, Tiler, Tuple},
    ptx::Val,
};

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// The view that `coord` keeps: `(.., 3)`, `(.., .., i)`. Places may be integers, registers or `..`.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, coord: impl Into<Picks<'k>>) -> Self {
        self.sliced(&coord.into())
    }

    #[track_caller]
    fn sliced(&self, coord: &Picks<'k>) -> Self {
        let k = self.kernel();
        self.check_coord(coord);
        match self.layout.slice_and_offset(known(coord)) {
            Ok((layout, offset)) => {
                let operand = self.operand.as_ref().and_then(|part| part.sliced(coord)).map(Rc::new);
                let mut view = Self { operand, ..self.with_layout(layout) };
                view.offset.step(&offset, 1);
                let mut moved = Moved::default();
                walk(&self.layout, coord, &mut |mode, index| moved.add(&mode, index));
                view.advance(moved);
                view
            }
            Err(error) => {
                k.refuse(error.to_string());
                self.clone()
            }
        }
    }

    /// The tile of extents `tiler` at block coordinate `coord`: `(tile modes …, kept rest modes …)`; see
    /// [`local_tile`](super::local_tile()). What lies past the edges of a tensor made by [`Builder::tensor`](crate::ptx::Builder::tensor) is predicated by
    /// copies, unless the tile surely divides the tensor.
    #[doc(alias = "@tile")]
    #[must_use]
    #[track_caller]
    pub fn local_tile(&self, tiler: impl Into<Tiler>, coord: impl Into<Picks<'k>>) -> Self {
        let (tiler, coord) = (tiler.into(), coord.into());
        self.check_tile(&tiler);
        let tiled = self.zipped_divide(&tiler);
        let modes = tiled.layout.mode(0).map_or(1, |tile| tile.rank());
        let rest = tiled.layout.mode(1).map_or(1, |rest| rest.rank());
        let mut places = coord.modes().to_vec();
        places.resize(rest.max(places.len()), Tuple::Leaf(Pick::Keep));
        let slicer = tile_slicer(modes, Tuple::Leaf(Slot::Keep));
        let tile_places = slicer.modes()[0].map(|_| Pick::Keep);
        let mut view = tiled.sliced(&Picks::from(vec![tile_places, Picks::from(places)]));
        view.forget_edges(&self.layout, &tiler);
        view
    }

    /// Refuses a tile that is longer than what stands for an extent that only the launch knows: it would have no next tile.
    #[track_caller]
    fn check_tile(&self, tiler: &Tiler) {
        for (axis, facts) in self.axes.iter().enumerate() {
            let unknown = facts.extent.is_some_and(|extent| extent.as_constant().is_none());
            if let (true, Some(Tuple::Leaf(Tile::Extent(tile)))) = (unknown, tiler.mode(axis))
                && *tile > self.size_of(axis)
            {
                let (modes, most) = (self.rank(), self.size_of(axis));
                self.kernel().refuse(format!(
                    "a tile of {tile} along mode {axis}, whose extent the launch decides: at most {most} in a tensor of {modes} modes"
                ));
            }
        }
    }

    /// Drops the edges of axes that the tile divides.
    fn forget_edges(&mut self, whole: &Layout<Step>, tiler: &Tiler) {
        for (mode, step) in whole.stride().modes().iter().enumerate() {
            let (Some(Tuple::Leaf(Tile::Extent(tile))), Tuple::Leaf(step)) = (tiler.mode(mode), step) else {
                continue;
            };
            for (axis, facts) in self.axes.iter_mut().enumerate() {
                let divides = |extent: &Val<'k, u32>| extent.is_multiple_of(*tile as u32);
                if step.component(1 + axis) == 1 && facts.extent.as_ref().is_some_and(divides) {
                    facts.extent = None;
                }
            }
        }
    }

    /// The elements that thread `index` of `threads` takes: see [`local_partition`](super::local_partition()).
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
            for (mode, digits) in modes.modes().zip(thread_digits(threads)) {
                moved.add_digits(k, &mode, &digits.0, index, all);
            }
        }
        view.advance(moved);
        view
    }

    /// One thread's part of `(thread, value, (rest, …))`, where the thread's coordinates are digits of `index`.
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
        let mut view = self.with_layout(rest);
        let mut moved = Moved::default();
        for (path, digits) in digits {
            let mode = path.iter().try_fold(by_thread.clone(), |mode, &at| mode.mode(at));
            if let Ok(mode) = mode {
                moved.add_digits(k, &mode, digits, index, threads);
            }
        }
        view.advance(moved);
        view
    }

    /// Moves the view's start by what is in registers.
    #[track_caller]
    fn advance(&mut self, moved: Moved<'k>) {
        let bits = moved.bits.map(|bits| bits * u64::from(T::SIZE));
        for (component, by) in moved.by {
            if component == 0 {
                if self.is_swizzled() {
                    self.inner = self.inner + by * T::SIZE;
                    self.inner_bits = match bits {
                        Some(bits) if bits & self.inner_bits == 0 => bits | self.inner_bits,
                        _ => u64::MAX,
                    };
                } else {
                    self.pointer = self.pointer.at(by);
                }
                continue;
            }
            let axis = &mut self.axes[component - 1];
            axis.at = axis.at + by;
            if let Some(stride) = axis.stride {
                self.pointer = S::far(self.pointer, by, stride);
            }
        }
    }
}
