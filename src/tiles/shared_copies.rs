//! Copies between register tiles and shared tiles or rectangles of them, in the (lane, value) layout of the register tile's type.

use std::{fmt, panic::Location};

use super::{
    allocate::{Filled, Owner, Pending},
    convert::{Convert, loaded, stored},
    element::{RegisterLayout, RegisterTile},
    registers::Registers,
    rt::Rt,
    st::St,
    swizzle::SharedSwizzle,
};
use crate::{
    atoms::MmaOperand,
    layout::{IntTuple, Layout},
    ptx::{ReadWrite, Scope, Shared, Val},
    tensor::{Fragment, SUBTILE_SIDE, Tensor, TensorElement, copy},
};

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Converts the elements of a register tile of the same size and stores them.
    ///
    /// Only one warp of the scope that owns the tile (by default, the block) may execute the emitted code; if the scope has several warps,
    /// use [`store_with`](Self::store_with). On sm_90 and later, emits `stmatrix` wherever [`load`](Filled::load) emits `ldmatrix`.
    #[track_caller]
    pub fn store<U: Convert<T>, L: RegisterLayout>(self, tile: &Rt<'k, U, H, W, L>) -> Pending<'k, Self> {
        const { assert_whole::<T, U, L>() };
        let _located = tile.kernel().locate(Location::caller());
        self.store_with(|whole| whole.subtile(0, 0).store(tile))
    }

    /// Calls `store`, which stores register tiles, usually one per warp, to rectangles of this tile.
    ///
    /// All threads of the scope that owns the tile (by default, the block) must execute the emitted code. [`wait`](Pending::wait) waits for
    /// all of these stores.
    ///
    /// ```
    /// # use warpwright::prelude::*;
    /// # Kernel::<(Out<bf16>,)>::build("f", Target::SM_80, |k, (d,)| {
    /// # let block = k.block([128]);
    /// # k.grid([1]);
    /// # let d = k.global(d, row_major(128, 64));
    /// # let acc = k.zeros::<Rt<f32, 2, 4>>();
    /// // Each of the four warps owns 32 rows; the block writes them out in 16-byte accesses.
    /// let tile = k.shared_tile::<St<bf16, 8, 4>>();
    /// let tile = tile.store_with(|tile| tile.tile_of(block).store(&acc)).wait();
    /// d.tile(0, 0).store_shared(&tile);
    /// # })?;
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    #[track_caller]
    pub fn store_with(self, store: impl FnOnce(&Storing<'k, T>)) -> Pending<'k, Self> {
        self.owner.sync_in_loop();
        store(&self.storing());
        self.owner.pending(self)
    }

    /// Returns the tile as a destination for stores.
    pub(super) fn storing(&self) -> Storing<'k, T> {
        Storing { tile: self.tensor.clone(), owner: self.owner }
    }
}

/// Asserts that a register tile of `U` in layout `L` has the same shape as the shared tile of `T` with the same number of subtiles.
pub(super) const fn assert_whole<T: TensorElement, U: TensorElement, L: RegisterLayout>() {
    let [rows, cols] = Rt::<U, 1, 1, L>::SUBTILE;
    assert!(
        rows == SUBTILE_SIDE && cols == T::SUBTILE_LENGTH,
        "subtiles of 8-bit elements are 16×32, in the column layout 32×16: access a rectangle with the size of the register tile, \
         with `subtile(0, 0)`"
    );
}

/// The destination of stores in the closure of [`St::store_with`].
pub struct Storing<'k, T: TensorElement> {
    pub(super) tile: Tensor<'k, Shared, T, ReadWrite>,
    pub(super) owner: Owner<'k>,
}

impl<T: TensorElement> fmt::Debug for Storing<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storing to {:?}", self.tile)
    }
}

impl<'k, T: TensorElement> Storing<'k, T> {
    /// Returns the rectangle that starts at subtile (`row`, `col`), as [`Filled::subtile`] does.
    pub fn subtile(
        &self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
    ) -> SubtileMut<'_, 'k, T> {
        SubtileMut(Rectangle::new(&self.tile, row.into(), col.into()), self.owner)
    }

    /// Returns this warp's share of the tile's rows, which are divided evenly among the warps of `scope`, in warp order.
    #[track_caller]
    pub fn tile_of(&self, scope: impl Scope<'k>) -> SubtileMut<'_, 'k, T> {
        SubtileMut(Rectangle::of_warp(&self.tile, scope), self.owner)
    }
}

/// A rectangle of a [`Filled`] tile. It has the size of the register tile that is loaded from it. While the `Subtile` exists, the shared
/// tile cannot be filled again.
pub struct Subtile<'a, 'k, T: TensorElement>(pub(super) Rectangle<'a, 'k, T>);

/// A rectangle of a shared tile, to which a warp stores a register tile of the same size.
pub struct SubtileMut<'a, 'k, T: TensorElement>(pub(super) Rectangle<'a, 'k, T>, pub(super) Owner<'k>);

impl<T: TensorElement> fmt::Debug for Subtile<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subtile ({:?}, {:?}) of {:?}", self.0.row, self.0.col, self.0.tile)
    }
}

impl<T: TensorElement> fmt::Debug for SubtileMut<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SubtileMut ({:?}, {:?}) of {:?}", self.0.row, self.0.col, self.0.tile)
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Loads the whole tile into registers: with `ldmatrix` for a [`Row`](super::Row) tile of 8-bit or 16-bit elements, with
    /// `ldmatrix.trans` for a [`Col`](super::Col) tile of 16-bit elements, and with ordinary loads otherwise.
    #[track_caller]
    pub fn load<L: RegisterLayout>(&self) -> Rt<'k, T, H, W, L> {
        const { assert_whole::<T, T, L>() };
        self.subtile(0, 0).load()
    }

    /// Loads the whole tile as [`load`](Self::load) does, and converts its elements.
    #[track_caller]
    pub fn load_as<U: TensorElement, L: RegisterLayout>(&self) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
    {
        const { assert_whole::<T, U, L>() };
        self.subtile(0, 0).load_as()
    }

    /// Returns the rectangle that starts at subtile (`row`, `col`), for example one warp's part of the tile.
    ///
    /// The rectangle has the size of the register tile that is loaded from it. `row` and `col` are in units of the register tile's
    /// subtiles: 16×16 elements; for 8-bit elements, 16×32, or 32×16 in the column layout.
    #[doc(alias = "st_subtile")]
    pub fn subtile(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> Subtile<'_, 'k, T> {
        Subtile(Rectangle::new(&self.tile.tensor, row.into(), col.into()))
    }

    /// Returns this warp's share of the tile's rows, which are divided evenly among the warps of `scope`, in warp order.
    #[track_caller]
    pub fn tile_of(&self, scope: impl Scope<'k>) -> Subtile<'_, 'k, T> {
        Subtile(Rectangle::of_warp(&self.tile.tensor, scope))
    }
}

impl<'k, T: TensorElement> Subtile<'_, 'k, T> {
    /// Loads a rectangle of `H`×`W` subtiles into registers, with the same instructions as [`Filled::load`].
    #[track_caller]
    pub fn load<const H: usize, const W: usize, L: RegisterLayout>(&self) -> Rt<'k, T, H, W, L> {
        self.load_as()
    }

    /// Loads a rectangle as [`load`](Self::load) does, but with the registers in the order that `mma.sync` expects for the given operand.
    ///
    /// `load` assumes that a `Row` tile is operand A and a `Col` tile is operand B. In other cases, such as a `Row` tile that is operand B
    /// of [`mma_abt`](Rt::mma_abt), the register order of `load` would force ptxas to move registers before the MMA.
    #[track_caller]
    pub fn load_operand<const H: usize, const W: usize, L: RegisterLayout>(
        &self,
        operand: MmaOperand,
    ) -> Rt<'k, T, H, W, L> {
        self.loaded(Some(operand))
    }

    /// Loads a rectangle as [`load`](Self::load) does, and converts its elements.
    #[track_caller]
    pub fn load_as<U, const H: usize, const W: usize, L>(&self) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        self.loaded(None)
    }

    #[track_caller]
    fn loaded<U, const H: usize, const W: usize, L>(&self, operand: Option<MmaOperand>) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        let k = self.0.tile.kernel();
        let _located = k.locate(Location::caller());
        k.check_warp_tile(self.0.coordinates(), false);
        loaded(k, |fragment| {
            let fragment = fragment.for_operand(operand);
            self.0.each_part::<U, H, W, L>(&fragment, |registers, memory| copy(registers, memory));
        })
    }
}

impl<'k, T: TensorElement> SubtileMut<'_, 'k, T> {
    /// Converts the elements of a register tile and stores them to the rectangle.
    ///
    /// The builder rejects the call if the position of the rectangle may differ between lanes of a warp, or if the scope that owns the tile
    /// has several warps that would all store to the same rectangle.
    #[track_caller]
    pub fn store<U, const H: usize, const W: usize, L>(&self, tile: &Rt<'k, U, H, W, L>)
    where
        U: Convert<T>,
        L: RegisterLayout,
    {
        let k = tile.kernel();
        let _located = k.locate(Location::caller());
        k.check_stored_tile(self.0.coordinates(), self.1);
        self.0.each_part::<U, H, W, L>(&stored(tile), |registers, memory| {
            let _ = copy(memory, registers);
        });
    }
}

/// A rectangle of a shared tile that starts at a subtile.
pub(super) struct Rectangle<'a, 'k, T: TensorElement> {
    pub(super) tile: &'a Tensor<'k, Shared, T, ReadWrite>,
    pub(super) row: Val<'k, u32>,
    pub(super) col: Val<'k, u32>,
    /// This warp's share of the rows, if they are divided among warps; `row` is relative to it.
    band: Option<Band<'k>>,
}

/// One warp's share of rows that are divided among several warps.
#[derive(Clone, Copy)]
struct Band<'k> {
    index: Val<'k, u32>,
    count: u32,
}

impl<'a, 'k, T: TensorElement> Rectangle<'a, 'k, T> {
    pub(super) fn new(
        tile: &'a Tensor<'k, Shared, T, ReadWrite>,
        row: Val<'k, u32>,
        col: Val<'k, u32>,
    ) -> Self {
        Self { tile, row, col, band: None }
    }

    #[track_caller]
    pub(super) fn of_warp(tile: &'a Tensor<'k, Shared, T, ReadWrite>, scope: impl Scope<'k>) -> Self {
        let (index, count) = scope.kernel().warp_of(scope);
        Self { tile, row: 0.into(), col: 0.into(), band: Some(Band { index, count }) }
    }

    /// Returns the values that determine the position.
    pub(super) fn coordinates(&self) -> impl Iterator<Item = Val<'k, u32>> + use<'k, T> {
        [self.row, self.col].into_iter().chain(self.band.map(|band| band.index))
    }

    /// Divides the registers and the memory into parts, each of which has a single affine layout, and calls `each` with each part.
    #[track_caller]
    pub(super) fn each_part<U: TensorElement, const H: usize, const W: usize, L: RegisterLayout>(
        &self,
        registers: &Fragment<'k, T>,
        each: impl Fn(&Fragment<'k, T>, &Tensor<'k, Shared, T, ReadWrite>),
    ) {
        let unit = Rt::<'k, U, 1, 1, L>::SUBTILE;
        let row = self.band.map_or(self.row, |band| self.row + band.index * H as u32);
        self.check_bounds([H, W], unit);
        let lane = self.tile.kernel().lane().rank();
        let part = |registers: &Fragment<'k, T>, col: Val<'k, u32>, width: usize| {
            let size = [unit[0] * H as u32, unit[1] * width as u32];
            let memory = self.tile.rectangle(size, unit, [row, col]);
            let layout = self.tile.kernel().computed(RegisterTile::of::<U, L>(H, width));
            each(registers, &memory.lane_part(&layout, lane));
        };
        if self.is_contiguous(W, unit[1]) {
            return part(registers, self.col, W);
        }
        // Columns of subtiles may be in different blocks of the swizzle, so each has its own start address.
        let values = i64::from(unit[0] * unit[1] / 32);
        let all = Layout::column_major((values, W as i64, H as i64)).expect("a tile's extents are small");
        let all = registers.with_layout(all);
        for (j, at) in (0..W as i64).zip(0u32..) {
            part(&all.slice((.., j, ..)), self.col + at, 1);
        }
    }

    /// Returns whether `width` columns of subtiles, starting at column `col`, have a single affine layout. This is the case if they are
    /// within one block of the swizzle or consist of whole blocks.
    fn is_contiguous(&self, width: usize, unit: u32) -> bool {
        let cols = self.tile.shape().mode(1);
        let block = cols.and_then(|cols| cols.mode(0)).map_or(1, IntTuple::size) / i64::from(unit);
        let (block, width) = (block.max(1) as u32, width as u32);
        let whole = block.is_multiple_of(width) || width.is_multiple_of(block);
        whole && self.col.is_multiple_of(width.min(block))
    }

    /// Rejects a rectangle at a constant position that extends past the tile's edge.
    #[track_caller]
    fn check_bounds(&self, [height, width]: [usize; 2], unit: [u32; 2]) {
        let (rows, cols) = (self.tile.size_of(0), self.tile.size_of(1));
        let k = self.tile.kernel();
        if let Some(Band { count, .. }) = self.band
            && i64::from(unit[0]) * height as i64 * i64::from(count) != rows
        {
            k.refuse(format!(
                "expected register tiles of {} rows to divide the {rows} rows of a shared tile among {count} warps, found {}",
                rows / i64::from(count),
                unit[0] as usize * height
            ));
            return;
        }
        let height = height * self.band.map_or(1, |band| band.count as usize);
        let modes = [(self.row, height, unit[0]), (self.col, width, unit[1])];
        for (mode, (at, count, side)) in modes.into_iter().enumerate() {
            let end = at.as_constant().map_or(0, |at| (u64::from(at) + count as u64) * u64::from(side));
            if end > self.tile.size_of(mode).unsigned_abs() {
                let [row, col] = [self.row, self.col]
                    .map(|at| at.as_constant().map_or_else(|| "?".into(), |at| at.to_string()));
                k.refuse(format!(
                    "a rectangle of {height}×{width} subtiles of {}×{} elements at subtile ({row}, {col}) extends past the edge of a \
                     shared tile of {rows}×{cols} elements",
                    unit[0], unit[1]
                ));
                return;
            }
        }
    }
}
