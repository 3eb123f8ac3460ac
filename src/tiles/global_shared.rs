//! Shared tiles from global memory: asynchronous copies where the alignment allows, plain ones else.

use std::panic::Location;

use arrayvec::ArrayVec;

use super::{
    element::TileElement,
    gl::GlTile,
    scope::{BlockThreads, divide},
    st::{Arrival, Pending, St, View},
    swizzle::SharedSwizzle,
};
use crate::ptx::{Builder, Features, Global, Ptr, Read, Readable, Shared, Val};

impl<'k, T: TileElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Fills the tile from global memory with all threads of the block; elements past the matrix's edges become 0.
    ///
    /// The widest copy that the known alignment allows is taken: `cp.async` of 16, 8 or 4 bytes (sm_80), or else loads and
    /// 16-byte stores. Whichever it is, the data are [`Pending`]. Inside an emitted loop a barrier comes first, as the
    /// iteration before may still read the tile.
    #[track_caller]
    pub fn fill(self, from: GlTile<'k, T, impl Readable>) -> Pending<Self> {
        let k = self.view.base.kernel();
        k.sync_in_loop();
        let by = k.located(Location::caller(), || self.view.fill(from.read_only(), Self::ROWS, Self::COLS));
        Pending { tile: self, by }
    }
}

impl<'k, T: TileElement> View<'k, T> {
    /// Copies a tile of `height`×`width` elements here.
    #[track_caller]
    pub(super) fn fill(&self, from: GlTile<'k, T, Read>, height: u32, width: u32) -> Arrival {
        let k = self.base.kernel();
        let (row, col) = from.origin(height, width);
        let known = from.matrix.row_align(col).min(self.address.align());
        let asynchronous = k.target().features().contains(Features::AMPERE) && from.is_row_contiguous();
        let bytes = [16, 8, 4].into_iter().find(|bytes| asynchronous && known.is_multiple_of(*bytes));
        let (origin, size) = ((row, col), (height, width));
        let walk =
            Walk { from, to: *self, origin, size, bytes: bytes.unwrap_or(16), asynchronous: bytes.is_some() };
        walk.each_chunk(k, |chunk| match bytes {
            Some(16) => chunk.copy_async::<16>(),
            Some(8) => chunk.copy_async::<8>(),
            Some(_) => chunk.copy_async::<4>(),
            None => chunk.copy_elements(),
        });
        if bytes.is_some() { Arrival::CpAsync } else { Arrival::Stores }
    }
}

/// A tile's chunks of `bytes` bytes, dealt out to the threads of the block row by row.
struct Walk<'k, T> {
    from: GlTile<'k, T, Read>,
    to: View<'k, T>,
    /// First row and column in the matrix.
    origin: (Val<'k, u32>, Val<'k, u32>),
    /// Rows and columns of the tile.
    size: (u32, u32),
    bytes: u32,
    /// Whether they are copied by `cp.async`.
    asynchronous: bool,
}

/// One thread's part of a row: where it comes from and goes to, and what of it exists.
#[derive(Clone)]
struct Chunk<'k, T> {
    from: Ptr<'k, T, Global, Read>,
    to: Ptr<'k, T, Shared>,
    /// Row in the matrix.
    row: Val<'k, u32>,
    row_exists: Val<'k, bool>,
    column: Column<'k>,
}

/// What of a chunk the matrix has, if it has the row: the same for all chunks of one column of chunks.
#[derive(Clone)]
enum Column<'k> {
    /// So many bytes; `None` if surely all.
    Bytes(Option<Val<'k, u32>>),
    /// Each element or not, and how far apart they lie.
    Elements(ArrayVec<Val<'k, bool>, 8>, Val<'k, u32>),
}

impl<'k, T: TileElement> Walk<'k, T> {
    #[track_caller]
    fn each_chunk(&self, k: Builder<'k>, copy: impl Fn(Chunk<'k, T>)) {
        let threads = BlockThreads::new(k);
        let (count, index) = (threads.count(), threads.index());
        let per_row = self.size.1 * T::BYTES / self.bytes;
        let total = self.size.0 * per_row;
        if count % per_row == 0 && total.is_multiple_of(count) {
            return self.each_row(index, count / per_row, per_row, copy);
        }
        for start in (0..total).step_by(count as usize) {
            let index = index + start;
            let one = || {
                let (row, place) = divide(index, per_row);
                copy(self.chunk(row, place));
            };
            if start + count <= total { one() } else { k.if_(index.lt(total), one) }
        }
    }

    /// Every thread keeps its column and goes down `step` rows at a time, so most addresses differ by constants.
    #[track_caller]
    fn each_row(&self, index: Val<'k, u32>, step: u32, per_row: u32, copy: impl Fn(Chunk<'k, T>)) {
        let (row, place) = divide(index, per_row);
        let first = self.chunk(row, place);
        let (row_stride, _) = self.from.matrix.strides();
        let stride = row_stride.mul_wide(step * T::BYTES);
        // The permutation of rows repeats every 8 rows.
        let repeats = step.is_multiple_of(8) || !self.to.address.swizzled;
        let mut from = first.from;
        for i in 0..self.size.0 / step {
            if i > 0 {
                from = from.advance(stride);
            }
            let to = match i {
                0 => first.to,
                _ if repeats => first.to.byte_offset(i64::from(i * step * self.to.address.pitch)),
                _ => self.destination(row + i * step, place),
            };
            let row_exists = match i {
                0 => first.row_exists,
                _ => self.from.matrix.has_row(first.row + i * step, self.origin.0, self.size.0),
            };
            copy(Chunk { from, to, row_exists, ..first.clone() });
        }
    }

    /// Chunk `place` of row `row` of the tile.
    #[track_caller]
    fn chunk(&self, row: Val<'k, u32>, place: Val<'k, u32>) -> Chunk<'k, T> {
        let in_matrix = self.origin.0 + row;
        let first = self.origin.1 + place * (self.bytes / T::BYTES);
        Chunk {
            from: self.from.matrix.element(in_matrix, first),
            to: self.destination(row, place),
            row_exists: self.from.matrix.has_row(in_matrix, self.origin.0, self.size.0),
            row: in_matrix,
            column: Column::new(self, first),
        }
    }

    #[track_caller]
    fn destination(&self, row: Val<'k, u32>, place: Val<'k, u32>) -> Ptr<'k, T, Shared> {
        let offset = self.to.address.emit(self.to.row + row, self.to.byte + place * self.bytes);
        self.to.base.advance(offset).assume_aligned(self.bytes)
    }
}

impl<'k, T: TileElement> Chunk<'k, T> {
    #[track_caller]
    fn copy_async<const BYTES: u32>(self) {
        match self.column {
            Column::Bytes(None) if self.row_exists.as_constant() == Some(true) => {
                self.to.copy_async::<BYTES>(self.from);
            }
            Column::Bytes(valid) => {
                let valid = self.row_exists.select(valid.unwrap_or(BYTES.into()), 0);
                self.to.copy_async_zero_fill::<BYTES>(self.from, valid);
            }
            Column::Elements(..) => self.copy_elements(),
        }
    }

    /// Loads the elements one by one and stores all 16 bytes at once.
    #[track_caller]
    fn copy_elements(self) {
        let Column::Elements(exist, stride) = self.column else { return };
        let elements: ArrayVec<Val<'k, T>, 8> = (0..)
            .zip(exist)
            .map(|(e, exists)| self.from.at(stride * e).load_if(self.row_exists & exists, T::ZERO))
            .collect();
        let mut registers = Vec::with_capacity(4);
        for pair in elements.chunks(2) {
            T::pack([pair[0], pair[1]], &mut registers);
        }
        self.to.cast::<T::Packed>().store_vector([registers[0], registers[1], registers[2], registers[3]]);
    }
}

impl<'k> Column<'k> {
    /// What the matrix has of a chunk that begins at column `first`.
    #[track_caller]
    fn new<T: TileElement>(walk: &Walk<'k, T>, first: Val<'k, u32>) -> Self {
        let (matrix, width) = (walk.from.matrix, walk.size.1);
        let elements = walk.bytes / T::BYTES;
        if !walk.asynchronous {
            let (_, stride) = matrix.strides();
            return Self::Elements(
                (0..elements).map(|e| matrix.has_col(first + e, walk.origin.1, width)).collect(),
                stride,
            );
        }
        let (exists, cols) = (matrix.has_col(first, walk.origin.1, width), matrix.cols());
        Self::Bytes(if exists.as_constant() == Some(true) {
            None
        } else if cols.is_multiple_of(elements) {
            Some(exists.select(walk.bytes, 0))
        } else {
            Some(exists.select((cols - first).min(elements) * T::BYTES, 0))
        })
    }
}
