//! Register tiles from and to global memory, with the edges predicated.

use std::panic::Location;

use super::{
    element::{RegisterLayout, TileElement},
    gl::{Gl, GlTile},
    rt::Rt,
};
use crate::{
    atoms::TileLayout,
    ptx::{Builder, Global, Ptr, Readable, Val, Writable},
};

impl<'k, T: TileElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Loads a tile of global memory; elements past the matrix's edges are 0 and not read.
    ///
    /// Each lane reads its own pairs: as one access where a pair is adjacent in memory and known to be aligned, as two
    /// otherwise.
    #[track_caller]
    pub fn load(from: GlTile<'k, T, impl Readable>) -> Self {
        let k = from.matrix.pointer.kernel();
        k.located(Location::caller(), || Self::load_pairs(k, from))
    }

    fn load_pairs(k: Builder<'k>, from: GlTile<'k, T, impl Readable>) -> Self {
        let places = Places::new::<H, W, L>(k, from);
        let mut registers = Vec::with_capacity(Self::REGISTERS);
        for (line, along) in places.pairs::<H, W>() {
            match places.pair(line, along) {
                Pair::Together(pointer, exist) => T::load_pair(pointer, exist, &mut registers),
                Pair::Apart(elements) => {
                    let pair = elements.map(|(pointer, exists)| pointer.load_if(exists, T::ZERO));
                    T::pack(pair, &mut registers);
                }
            }
        }
        Self::from_registers(k, registers)
    }
}

impl<'k, T: TileElement, A> GlTile<'k, T, A> {
    /// Stores a register tile; elements past the matrix's edges are not written.
    #[track_caller]
    pub fn store<const H: usize, const W: usize, L: RegisterLayout>(self, tile: &Rt<'k, T, H, W, L>)
    where
        A: Writable,
    {
        tile.k.located(Location::caller(), || self.store_pairs(tile));
    }

    fn store_pairs<const H: usize, const W: usize, L: RegisterLayout>(self, tile: &Rt<'k, T, H, W, L>)
    where
        A: Writable,
    {
        let k = tile.k;
        let places = Places::new::<H, W, L>(k, self);
        let pairs = tile.registers.chunks(T::REGISTERS / 4);
        for ((line, along), registers) in places.pairs::<H, W>().zip(pairs) {
            match places.pair(line, along) {
                Pair::Together(pointer, exist) => k.when(exist, || T::store_pair(pointer, registers)),
                Pair::Apart(elements) => {
                    for ((pointer, exists), value) in elements.into_iter().zip(T::unpack(registers)) {
                        k.when(exists, || pointer.store(value));
                    }
                }
            }
        }
    }
}

/// Where a lane's pairs lie in global memory.
///
/// A row-layout tile has its pairs along rows, so its lines are rows; a column-layout tile's lines are columns.
struct Places<'k, T, A> {
    layout: TileLayout,
    /// Two lines for each subtile across: pointer to the lane's first element, and whether the matrix has the line.
    lines: Vec<(Ptr<'k, T, Global, A>, Val<'k, bool>)>,
    /// Two pairs for each subtile along: whether the matrix has each of its elements.
    along: Vec<[Val<'k, bool>; 2]>,
    /// Elements from one element of a line to the next, in memory.
    stride: Val<'k, u32>,
}

/// The two elements of a pair: one access, or two.
enum Pair<'k, T, A> {
    Together(Ptr<'k, T, Global, A>, Val<'k, bool>),
    Apart([(Ptr<'k, T, Global, A>, Val<'k, bool>); 2]),
}

impl<'k, T: TileElement, A> Places<'k, T, A> {
    #[track_caller]
    fn new<const H: usize, const W: usize, L: RegisterLayout>(
        k: Builder<'k>,
        tile: GlTile<'k, T, A>,
    ) -> Self {
        let (height, width) = (16 * H as u32, 16 * W as u32);
        let matrix: Gl<'k, T, A> = tile.matrix;
        let (top, left) = tile.origin(height, width);
        let lane = k.lane().rank();
        let (group, within) = (lane >> 2, (lane & 3) << 1);
        let (row_stride, col_stride) = matrix.strides();
        match L::LAYOUT {
            TileLayout::Row => {
                let (row, col) = (top + group, left + within);
                let exists = |i: u32| matrix.has_row(row + 8 * i, top, height);
                Self {
                    layout: TileLayout::Row,
                    lines: lines(matrix.element(row, col), row_stride, 2 * H as u32, exists),
                    along: (0..2 * W as u32)
                        .map(|j| {
                            both(matrix.has_even_cols(), |e| matrix.has_col(col + (8 * j + e), left, width))
                        })
                        .collect(),
                    stride: col_stride,
                }
            }
            TileLayout::Col => {
                let (row, col) = (top + within, left + group);
                let exists = |j: u32| matrix.has_col(col + 8 * j, left, width);
                Self {
                    layout: TileLayout::Col,
                    lines: lines(matrix.element(row, col), col_stride, 2 * W as u32, exists),
                    along: (0..2 * H as u32)
                        .map(|i| {
                            both(matrix.has_even_rows(), |e| matrix.has_row(row + (8 * i + e), top, height))
                        })
                        .collect(),
                    stride: row_stride,
                }
            }
        }
    }

    /// (line, place along it) of every pair, in register order.
    fn pairs<const H: usize, const W: usize>(
        &self,
    ) -> impl Iterator<Item = (usize, usize)> + use<'k, T, A, H, W> {
        let layout = self.layout;
        (0..H).flat_map(move |i| (0..W).flat_map(move |j| (0..4).map(move |p| (i, j, p)))).map(
            move |(i, j, p)| {
                let (across, along) = match layout {
                    TileLayout::Row => (i, j),
                    TileLayout::Col => (j, i),
                };
                (2 * across + p % 2, 2 * along + p / 2)
            },
        )
    }

    #[track_caller]
    fn pair(&self, line: usize, along: usize) -> Pair<'k, T, A> {
        let (start, line_exists) = self.lines[line];
        let exist = self.along[along];
        let element = |e: u32| start.at(self.stride * (8 * along as u32 + e));
        let first = element(0);
        let together = exist[0].is_same(&exist[1]);
        if together && self.stride.as_constant() == Some(1) && first.align() % (2 * T::BYTES) == 0 {
            Pair::Together(first, line_exists & exist[0])
        } else {
            Pair::Apart([(first, line_exists & exist[0]), (element(1), line_exists & exist[1])])
        }
    }
}

/// `count` lines, 8 apart: their pointers and whether they exist.
#[track_caller]
fn lines<'k, T: TileElement, A>(
    first: Ptr<'k, T, Global, A>,
    stride: Val<'k, u32>,
    count: u32,
    exists: impl Fn(u32) -> Val<'k, bool>,
) -> Vec<(Ptr<'k, T, Global, A>, Val<'k, bool>)> {
    let step = stride.mul_wide(8 * T::BYTES);
    let mut pointer = first;
    (0..count)
        .map(|i| {
            if i > 0 {
                pointer = pointer.advance(step);
            }
            (pointer, exists(i))
        })
        .collect()
}

/// Whether the two elements of a pair exist; one predicate serves both if they come and go together.
fn both<'k>(together: bool, exists: impl Fn(u32) -> Val<'k, bool>) -> [Val<'k, bool>; 2] {
    let first = exists(0);
    [first, if together { first } else { exists(1) }]
}
