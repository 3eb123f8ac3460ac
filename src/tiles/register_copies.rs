//! Copies between register tiles and global or shared memory, with the (lane, value) layout of the tile's type.

use std::{fmt, panic::Location};

use super::{
    convert::Convert,
    element::{RegisterLayout, register_layout},
    gl::GlTile,
    registers::{Registers, words_of},
    rt::Rt,
    st::{Filled, Pending, St},
    swizzle::SharedSwizzle,
};
use crate::{
    layout::{IntTuple, Layout},
    ptx::{ReadWrite, Readable, Scalar, Shared, Val, Writable},
    tensor::{Fragment, Tensor, TensorElement, copy, copy_or},
};

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Loads a tile from global memory; see [`GlTile::load`].
    #[track_caller]
    pub fn load<U: Convert<T>, A: Readable>(from: GlTile<'k, U, A>) -> Self {
        from.load()
    }
}

impl<'k, T: TensorElement, A: Readable> GlTile<'k, T, A> {
    /// Loads a register tile, and converts its elements; elements past the matrix's edges are 0 and are not read.
    ///
    /// Each lane loads its own elements, with the widest accesses that are known to be aligned.
    #[track_caller]
    pub fn load<U, const H: usize, const W: usize, L>(self) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        self.load_filled(T::from_mem_bits(0))
    }

    /// Loads a register tile like [`load`](Self::load); elements past the matrix's edges are `fill`, such as −∞ before a maximum.
    ///
    /// Rejected when the kernel is built if the matrix's element type cannot represent `fill` exactly.
    #[track_caller]
    pub fn load_or<U, const H: usize, const W: usize, L>(self, fill: U) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        let exact = T::exactly(fill);
        if exact.is_none() {
            self.kernel().refuse(format!(
                "expected a value that {} represents exactly to fill past the edges, found {fill:?}",
                T::NAME
            ));
        }
        self.load_filled(exact.unwrap_or(T::from_mem_bits(0)))
    }

    #[track_caller]
    fn load_filled<U, const H: usize, const W: usize, L>(self, fill: T) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        let k = self.kernel();
        k.located(Location::caller(), || {
            k.check_warp_tile(self.coordinates(), false);
            // In the layout of the result, so that conversion moves nothing between lanes.
            let layout = register_layout::<U, L>(H, W);
            let whole = self.tensor(Rt::<U, H, W, L>::ROWS, Rt::<U, H, W, L>::COLS);
            let loaded = Fragment::<T>::uninitialized(k, &in_order(layout.values()), T::Word::CLASS);
            copy_or(&loaded, &whole.lane_part(&layout, k.lane().rank()), fill);
            let words = T::convert_words(&words_of(&loaded));
            Rt::of_registers(k, words.into_iter().map(|word| word.in_register(k)).collect())
        })
    }
}

impl<'k, T: TensorElement, A: Writable> GlTile<'k, T, A> {
    /// Stores a register tile, and converts its elements; elements past the matrix's edges are not written.
    #[track_caller]
    pub fn store<U, const H: usize, const W: usize, L>(self, tile: &Rt<'k, U, H, W, L>)
    where
        U: Convert<T>,
        L: RegisterLayout,
    {
        let k = tile.kernel();
        k.located(Location::caller(), || {
            k.check_warp_tile(self.coordinates(), true);
            let layout = register_layout::<U, L>(H, W);
            let whole = self.tensor(Rt::<U, H, W, L>::ROWS, Rt::<U, H, W, L>::COLS);
            let converted = U::convert_words(&tile.words()).into_iter().map(|word| word.in_register(k));
            let converted = Fragment::<T>::over(k, converted, in_order(layout.values()));
            copy(&whole.lane_part(&layout, k.lane().rank()), &converted);
        });
    }
}

/// Returns the layout of a lane's values in register order.
pub(super) fn in_order(values: i64) -> Layout {
    Layout::new(values, 1).expect("the registers of a tile are few")
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Stores a register tile of the same size, with `stmatrix` if the target supports it (sm_90).
    #[track_caller]
    pub fn store<L: RegisterLayout>(self, tile: &Rt<'k, T, H, W, L>) -> Pending<'k, Self> {
        let k = tile.kernel();
        k.sync_in_loop();
        let stored = k.located(Location::caller(), || {
            k.check_warp_tile([0.into(); 2], true);
            let part = self.tensor.lane_part(&register_layout::<T, L>(H, W), k.lane().rank());
            copy(&part, &tile.fragment)
        });
        self.written(stored)
    }
}

/// A rectangle of a [`Filled`] tile, with the size of the register tile that it is loaded into. While it exists, the tile
/// cannot be filled again.
pub struct Subtile<'a, 'k, T: TensorElement> {
    tile: &'a Tensor<'k, Shared, T, ReadWrite>,
    row: Val<'k, u32>,
    col: Val<'k, u32>,
}

impl<T: TensorElement> fmt::Debug for Subtile<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subtile ({:?}, {:?}) of {:?}", self.row, self.col, self.tile)
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Loads the whole tile into registers: with `ldmatrix` for a [`Row`](super::Row) tile, `ldmatrix.trans` for a
    /// [`Col`](super::Col) tile of 16-bit elements, otherwise with plain accesses.
    #[track_caller]
    pub fn load<L: RegisterLayout>(&self) -> Rt<'k, T, H, W, L> {
        self.subtile(0, 0).load()
    }

    /// Returns the rectangle that starts at subtile (`row`, `col`), in units of 16×16 subtiles (16×32 for 8-bit elements):
    /// the part of the tile that one warp uses.
    pub fn subtile(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> Subtile<'_, 'k, T> {
        Subtile { tile: &self.tile.tensor, row: row.into(), col: col.into() }
    }
}

impl<'k, T: TensorElement> Subtile<'_, 'k, T> {
    /// Loads a rectangle of `H`×`W` subtiles into registers, with the instructions of [`Filled::load`].
    #[track_caller]
    pub fn load<const H: usize, const W: usize, L: RegisterLayout>(&self) -> Rt<'k, T, H, W, L> {
        let k = self.tile.kernel();
        k.located(Location::caller(), || {
            self.check_bounds([H, W], Rt::<'k, T, 1, 1, L>::SUBTILE);
            let tile = Rt::<T, H, W, L>::uninitialized(k);
            if self.is_contiguous(W, Rt::<'k, T, 1, 1, L>::SUBTILE[1]) {
                self.load_part::<L>(&tile.fragment, self.col, H, W);
            } else {
                // Columns of subtiles may be in different blocks of the swizzle, so each has its own start address.
                let columns = tile.subtile_columns();
                for (j, column) in (0..).zip(columns) {
                    self.load_part::<L>(&column, self.col + j, H, 1);
                }
            }
            tile
        })
    }

    #[track_caller]
    fn load_part<L: RegisterLayout>(
        &self,
        fragment: &Fragment<'k, T>,
        col: Val<'k, u32>,
        height: usize,
        width: usize,
    ) {
        let unit = Rt::<'k, T, 1, 1, L>::SUBTILE;
        let size = [unit[0] * height as u32, unit[1] * width as u32];
        let rectangle = self.tile.rectangle(size, unit, [self.row, col]);
        let lane = self.tile.kernel().lane().rank();
        copy(fragment, &rectangle.lane_part(&register_layout::<T, L>(height, width), lane));
    }

    /// Returns whether `width` columns of subtiles, starting here, have one affine layout: within a block of the swizzle, or in
    /// whole blocks.
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
        let modes = [(self.row, height, unit[0]), (self.col, width, unit[1])];
        for (mode, (at, count, unit)) in modes.into_iter().enumerate() {
            let end = at.as_constant().map_or(0, |at| (u64::from(at) + count as u64) * u64::from(unit));
            if end > self.tile.size_of(mode).unsigned_abs() {
                self.tile.kernel().refuse(format!(
                    "a rectangle of {height}×{width} subtiles reaches past the edge of its shared tile"
                ));
                return;
            }
        }
    }
}
