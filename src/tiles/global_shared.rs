//! Shared tiles from global memory: asynchronous copies where the alignment allows, plain ones else.

use super::{
    element::TileElement,
    gl::GlTile,
    scope::BlockThreads,
    st::{Arrival, Pending, St, View},
    swizzle::SharedSwizzle,
};
use crate::ptx::{Features, Global, K, Ptr, Read, Readable, Shared, Val};

impl<'k, T: TileElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Fills the tile from global memory with all threads of the block; elements past the matrix's edges become 0.
    ///
    /// The widest copy that the known alignment allows is taken: `cp.async` of 16, 8 or 4 bytes (sm_80), or else loads and
    /// 16-byte stores. Whichever it is, the data are [`Pending`].
    #[track_caller]
    pub fn fill(self, from: GlTile<'k, T, impl Readable>) -> Pending<Self> {
        let by = self.view.fill(from.read_only(), Self::ROWS, Self::COLS);
        Pending { tile: self, by }
    }
}

impl<'k, T: TileElement> View<'k, T> {
    /// Copies a tile of `height`×`width` elements here.
    #[track_caller]
    pub(super) fn fill(&self, from: GlTile<'k, T, Read>, height: u32, width: u32) -> Arrival {
        let k = self.base.kernel();
        let (row, col) = from.origin(height, width);
        let known = from.matrix.element(row, col).align().min(self.address.align());
        let asynchronous = k.target().features().contains(Features::AMPERE) && from.is_row_contiguous();
        let bytes = [16, 8, 4].into_iter().find(|bytes| asynchronous && known % bytes == 0);
        let walk = Walk { from, to: *self, origin: (row, col), size: (height, width), bytes: bytes.unwrap_or(16) };
        match bytes {
            Some(16) => walk.each_chunk(k, |chunk| chunk.copy_async::<16>()),
            Some(8) => walk.each_chunk(k, |chunk| chunk.copy_async::<8>()),
            Some(_) => walk.each_chunk(k, |chunk| chunk.copy_async::<4>()),
            None => walk.each_chunk(k, |chunk| chunk.copy_elements()),
        }
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
}

/// One thread's part of a row: where it comes from and goes to, and what of it exists.
struct Chunk<'k, T> {
    from: Ptr<'k, T, Global, Read>,
    to: Ptr<'k, T, Shared>,
    row_exists: Val<'k, bool>,
    column: Column<'k, T>,
}

/// What the chunks of one column of chunks have in common.
#[derive(Clone, Copy)]
struct Column<'k, T> {
    from: GlTile<'k, T, Read>,
    /// First column in the matrix.
    first: Val<'k, u32>,
    width: u32,
}

impl<'k, T: TileElement> Walk<'k, T> {
    #[track_caller]
    fn each_chunk(&self, k: K<'k>, copy: impl Fn(Chunk<'k, T>)) {
        let threads = BlockThreads::new(k);
        let (count, index) = (threads.count(), threads.index());
        let per_row = self.size.1 * T::BYTES / self.bytes;
        let total = self.size.0 * per_row;
        if count % per_row == 0 && total % count == 0 {
            return self.each_row(index, count / per_row, per_row, copy);
        }
        for start in (0..total).step_by(count as usize) {
            let index = index + start;
            let one = || copy(self.chunk(index / per_row, index % per_row));
            if start + count <= total { one() } else { k.if_(index.lt(total), one) }
        }
    }

    /// Every thread keeps its column and goes down `step` rows at a time, so most addresses differ by constants.
    #[track_caller]
    fn each_row(&self, index: Val<'k, u32>, step: u32, per_row: u32, copy: impl Fn(Chunk<'k, T>)) {
        let (row, place) = (index / per_row, index % per_row);
        let first = self.chunk(row, place);
        let (row_stride, _) = self.from.matrix.strides();
        let stride = row_stride.mul_wide(step * T::BYTES);
        // The permutation of rows repeats every 8 rows.
        let repeats = step % 8 == 0 || !self.to.address.swizzled;
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
            let row_exists = self.from.matrix.has_row(self.origin.0 + row + i * step, self.size.0);
            copy(Chunk { from, to, row_exists, column: first.column });
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
            row_exists: self.from.matrix.has_row(in_matrix, self.size.0),
            column: Column { from: self.from, first, width: self.size.1 },
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
        match self.column.valid_bytes(BYTES) {
            None if self.row_exists.as_constant() == Some(true) => self.to.copy_async::<BYTES>(self.from),
            valid => {
                let valid = self.row_exists.select(valid.unwrap_or(BYTES.into()), 0);
                self.to.copy_async_zero_fill::<BYTES>(self.from, valid);
            }
        }
    }

    /// Loads the elements one by one and stores all 16 bytes at once.
    #[track_caller]
    fn copy_elements(self) {
        let (_, col_stride) = self.column.from.matrix.strides();
        let elements: Vec<Val<'k, T>> = (0..16 / T::BYTES)
            .map(|e| {
                let exists = self.row_exists & self.column.exists(e);
                self.from.at(col_stride * e).load_if(exists, T::ZERO)
            })
            .collect();
        let mut registers = Vec::with_capacity(4);
        for pair in elements.chunks(2) {
            T::pack([pair[0], pair[1]], &mut registers);
        }
        self.to.cast::<T::Packed>().store_vector([registers[0], registers[1], registers[2], registers[3]]);
    }
}

impl<'k, T: TileElement> Column<'k, T> {
    /// Whether the matrix has element `e` of the chunk's columns.
    #[track_caller]
    fn exists(&self, e: u32) -> Val<'k, bool> {
        self.from.matrix.has_col(self.first + e, self.width)
    }

    /// How many bytes of a chunk of `bytes` the matrix has; `None` if surely all.
    #[track_caller]
    fn valid_bytes(&self, bytes: u32) -> Option<Val<'k, u32>> {
        let (exists, cols) = (self.exists(0), self.from.matrix.cols());
        let elements = bytes / T::BYTES;
        if exists.as_constant() == Some(true) {
            None
        } else if cols.is_multiple_of(elements) {
            Some(exists.select(bytes, 0))
        } else {
            Some(exists.select((cols - self.first).min(elements) * T::BYTES, 0))
        }
    }
}
