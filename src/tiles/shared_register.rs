//! Register tiles from and to shared tiles: `ldmatrix` for 16-bit elements, plain accesses else.

use std::{fmt, marker::PhantomData, panic::Location};

use super::{
    element::{RegisterLayout, TileElement},
    rt::Rt,
    st::{Arrival, Filled, Pending, St, View},
    swizzle::SharedSwizzle,
};
use crate::{
    atoms::TileLayout,
    ptx::{Builder, Ptr, Shared, Val},
};

/// A rectangle of a [`Filled`] tile, as large as the register tile that it is loaded into.
pub struct Subtile<'a, 'k, T> {
    view: View<'k, T>,
    /// Rows and columns from the first element of the rectangle to the tile's edge; `None` for run-time places.
    room: (Option<u32>, Option<u32>),
    /// As long as this lives, the tile cannot be filled anew.
    tile: PhantomData<&'a ()>,
}

impl<'k, T: TileElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Loads the whole tile into registers: `ldmatrix` for a [`Row`](super::Row) tile of 16-bit elements, `ldmatrix.trans`
    /// for a [`Col`](super::Col) tile, plain accesses for f32.
    #[track_caller]
    pub fn load<L: RegisterLayout>(&self) -> Rt<'k, T, H, W, L> {
        self.subtile(0, 0).load()
    }

    /// The rectangle that begins at subtile (`row`, `col`), counted in 16×16 subtiles: a warp's own part of the tile.
    #[track_caller]
    pub fn subtile(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> Subtile<'_, 'k, T> {
        let (row, col) = (row.into(), col.into());
        let room = |size: u32, at: Val<'k, u32>| {
            at.as_constant().map(|at| size.saturating_sub(at.saturating_mul(16)))
        };
        let view = View { row: row * 16, byte: col * (16 * T::BYTES), ..self.tile.view };
        let room = (room(16 * H as u32, row), room(16 * W as u32, col));
        Subtile { view, room, tile: PhantomData }
    }
}

impl<T: TileElement> fmt::Debug for Subtile<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subtile of {:?} from row {:?}, byte {:?}", self.view.base, self.view.row, self.view.byte)
    }
}

impl<'k, T: TileElement> Subtile<'_, 'k, T> {
    /// Loads a rectangle of `H`×`W` subtiles into registers; instructions as in [`Filled::load`].
    #[track_caller]
    pub fn load<const H: usize, const W: usize, L: RegisterLayout>(&self) -> Rt<'k, T, H, W, L> {
        let k = self.view.base.kernel();
        let fits = |room: Option<u32>, size: usize| room.is_none_or(|room| room >= 16 * size as u32);
        if !fits(self.room.0, H) || !fits(self.room.1, W) {
            k.refuse(format!("a rectangle of {H}×{W} subtiles reaches past the edge of its shared tile"));
        }
        let load = if T::BYTES == 2 { View::load_matrices::<H, W, L> } else { View::load_pairs::<H, W, L> };
        Rt::from_registers(k, k.located(Location::caller(), || load(&self.view)))
    }
}

impl<'k, T: TileElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Stores a register tile of the same size; other threads may store the same values, or their own to other tiles.
    #[track_caller]
    pub fn store<L: RegisterLayout>(self, tile: &Rt<'k, T, H, W, L>) -> Pending<Self> {
        tile.k.sync_in_loop();
        tile.k.located(Location::caller(), || self.view.store_pairs(tile));
        Pending { tile: self, by: Arrival::Stores }
    }
}

impl<'k, T: TileElement> View<'k, T> {
    /// One `ldmatrix.x4` for each subtile: lane `l` addresses row `l mod 16`, columns from `8 ⌊l / 16⌋`.
    #[track_caller]
    fn load_matrices<const H: usize, const W: usize, L: RegisterLayout>(&self) -> Vec<Val<'k, T::Packed>> {
        let mut columns: Vec<MatrixColumn<'k, T>> = Vec::with_capacity(W);
        for j in 0..W as u32 {
            let column = MatrixColumn::new(self, j, &columns);
            columns.push(column);
        }
        let mut registers = Vec::with_capacity(H * W * 4);
        for i in 0..H {
            for column in &columns {
                let address = column.pointer.byte_offset(i64::from(16 * i as u32 * self.address.pitch));
                match L::LAYOUT {
                    TileLayout::Row => registers.extend(address.ldmatrix::<4, T::Packed>()),
                    // Transposed, the matrices come as pairs 0, 2, 1, 3 of the column layout.
                    TileLayout::Col => {
                        let [a, b, c, d] = address.ldmatrix_trans::<4, T::Packed>();
                        registers.extend([a, c, b, d]);
                    }
                }
            }
        }
        registers
    }

    #[track_caller]
    fn load_pairs<const H: usize, const W: usize, L: RegisterLayout>(&self) -> Vec<Val<'k, T::Packed>> {
        let k = self.base.kernel();
        let mut registers = Vec::with_capacity(H * W * T::REGISTERS);
        for pair in self.pairs::<H, W, L>(k) {
            match pair {
                PairPlace::Along(pointer) => T::load_pair(pointer, true.into(), &mut registers),
                PairPlace::Across(pointers) => T::pack(pointers.map(|p| p.load()), &mut registers),
            }
        }
        registers
    }

    #[track_caller]
    fn store_pairs<const H: usize, const W: usize, L: RegisterLayout>(&self, tile: &Rt<'k, T, H, W, L>) {
        let k = self.base.kernel();
        for (pair, registers) in
            self.pairs::<H, W, L>(k).into_iter().zip(tile.registers.chunks(T::REGISTERS / 4))
        {
            match pair {
                PairPlace::Along(pointer) => T::store_pair(pointer, registers),
                PairPlace::Across(pointers) => {
                    for (pointer, value) in pointers.into_iter().zip(T::unpack(registers)) {
                        pointer.store(value);
                    }
                }
            }
        }
    }

    /// Where this lane's pairs lie, in register order.
    #[track_caller]
    fn pairs<const H: usize, const W: usize, L: RegisterLayout>(
        &self,
        k: Builder<'k>,
    ) -> Vec<PairPlace<'k, T>> {
        let lane = k.lane().rank();
        let (group, within) = (lane >> 2, (lane & 3) << 1);
        let (row, col) = match L::LAYOUT {
            TileLayout::Row => (group, within),
            TileLayout::Col => (within, group),
        };
        // Rows 0 to 7 apart repeat their permutation every 8 rows, and columns step by whole 16-byte chunks or 8 elements.
        let element = |row: Val<'k, u32>, col: Val<'k, u32>| {
            let offset = self.address.emit(self.row + row, self.byte + col * T::BYTES);
            self.base.advance(offset).assume_aligned(T::BYTES)
        };
        let mut places = Vec::with_capacity(H * W * 4);
        for (i, j, p) in
            (0..H).flat_map(|i| (0..W).flat_map(move |j| (0..4).map(move |p| (i as u32, j as u32, p))))
        {
            match L::LAYOUT {
                TileLayout::Row => {
                    let pointer = element(row + (16 * i + 8 * (p % 2)), col + (16 * j + 8 * (p / 2)));
                    places.push(PairPlace::Along(pointer.assume_aligned(2 * T::BYTES)));
                }
                TileLayout::Col => {
                    let (row, col) = (row + (16 * i + 8 * (p / 2)), col + (16 * j + 8 * (p % 2)));
                    places.push(PairPlace::Across([element(row, col), element(row + 1, col)]));
                }
            }
        }
        places
    }
}

/// The two elements of a pair in shared memory.
enum PairPlace<'k, T> {
    /// Neighbours: one access.
    Along(Ptr<'k, T, Shared>),
    /// In two rows: two accesses.
    Across([Ptr<'k, T, Shared>; 2]),
}

/// What `ldmatrix` addresses for one column of subtiles.
struct MatrixColumn<'k, T> {
    /// Place within the swizzled row, which the lane's chunk is permuted with.
    within: Val<'k, u32>,
    /// The lane's address without the column block's offset.
    start: Ptr<'k, T, Shared>,
    pointer: Ptr<'k, T, Shared>,
}

impl<'k, T: TileElement> MatrixColumn<'k, T> {
    /// Column `j` of subtiles; a column that lies in the same place of its swizzled row as an earlier one shares its address.
    #[track_caller]
    fn new(view: &View<'k, T>, j: u32, earlier: &[Self]) -> Self {
        let address = view.address;
        let byte = view.byte + j * 16 * T::BYTES;
        let (block, within) = if address.swizzled {
            (byte >> address.pitch.trailing_zeros(), byte & (address.pitch - 1))
        } else {
            (Val::from(0), byte)
        };
        let start = match earlier.iter().find(|column| column.within.is_same(&within)) {
            Some(column) => column.start,
            None => {
                let chunk =
                    if address.swizzled { view.lane.chunk ^ within } else { view.lane.chunk + within };
                let row = view.row.mad(address.pitch, view.lane.row);
                view.base.advance(row + chunk).assume_aligned(16)
            }
        };
        let pointer = start.advance(block * (address.rows * address.pitch)).assume_aligned(16);
        Self { within, start, pointer }
    }
}
