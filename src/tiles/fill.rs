//! Filling shared tiles from global memory: asynchronous copies where the alignment allows, plain copies otherwise.

use std::panic::Location;

use super::{
    gl::GlTile,
    st::{Filled, Pending, St},
    swizzle::SharedSwizzle,
};
use crate::{
    layout::Layout,
    ptx::{Features, Global, Read, Readable},
    tensor::{self, Tensor, TensorElement, copy_issued},
};

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Fills the tile from global memory with all threads of the block; out-of-bounds elements become 0.
    ///
    /// Uses the widest copy that the known alignment allows: `cp.async` of 16, 8 or 4 bytes (sm_80), otherwise loads and
    /// stores. Either way, the data are [`Pending`]. In an emitted loop, a barrier is emitted first, because threads may still
    /// be reading the tile of the previous iteration.
    #[track_caller]
    pub fn fill<A: Readable>(self, from: GlTile<'k, T, A>) -> Pending<'k, Self> {
        let k = self.tensor.kernel();
        k.sync_in_loop();
        let asynchronous = k.located(Location::caller(), || self.begin_fill(&from));
        tensor::Pending::new(k, Filled { tile: self }, asynchronous)
    }

    /// Starts the copy into the tile and returns whether it is asynchronous.
    #[track_caller]
    pub(super) fn begin_fill<A: Readable>(&self, from: &GlTile<'k, T, A>) -> bool {
        let k = self.tensor.kernel();
        let from = from.tensor(Self::ROWS, Self::COLS).read_only();
        let block = k.this_block();
        let split = Split::new(block.size(), Self::ROWS, Self::COLS * T::SIZE, access_bytes(&from));
        let tv = split.layout(Self::ROWS, T::SIZE);
        let index = block.thread();
        let begin = || copy_issued(&self.tensor.part_of(&tv, index), &from.part_of(&tv, index));
        if split.threads() == block.size() {
            return begin();
        }
        let mut asynchronous = false;
        k.if_(index.lt(split.threads()), || asynchronous = begin());
        asynchronous
    }
}

/// Returns the bytes per access to a row: the largest `cp.async` that the alignment allows, or 16 if single elements are loaded
/// and stored together.
fn access_bytes<T: TensorElement>(from: &Tensor<'_, Global, T, Read>) -> u32 {
    let asynchronous = from.kernel().target().features().contains(Features::AMPERE);
    let aligned = [16, 8, 4].into_iter().find(|&bytes| from.has_aligned_rows(bytes));
    aligned.filter(|_| asynchronous).unwrap_or(16).max(T::SIZE)
}

/// The distribution of a tile's rows over threads: `cols`×`rows` threads, each of which copies one access of a row at a time.
struct Split {
    /// Threads along a row and across rows; both divide the tile.
    cols: u32,
    rows: u32,
    /// Accesses per row, and bytes per access.
    per_row: u32,
    bytes: u32,
}

impl Split {
    /// Uses the largest number of threads, at most `threads`, that divides a tile of `rows` rows of `row_bytes` bytes.
    fn new(threads: u32, rows: u32, row_bytes: u32, bytes: u32) -> Self {
        let per_row = row_bytes / bytes;
        let largest =
            |of: u32, most: u32| (1..=of.min(most)).rev().find(|n| of.is_multiple_of(*n)).unwrap_or(1);
        let cols = largest(per_row, threads);
        Self { cols, rows: largest(rows, threads / cols), per_row, bytes }
    }

    fn threads(&self) -> u32 {
        self.cols * self.rows
    }

    /// Returns the layout (thread, value) → `row + rows · col` of a tile with elements of `size` bytes.
    fn layout(&self, rows: u32, size: u32) -> Layout {
        let access = self.bytes / size;
        let (threads, thread_steps) = ((self.cols, self.rows), (access * rows, 1));
        let values = (access, self.per_row / self.cols, rows / self.rows);
        let value_steps = (rows, self.cols * access * rows, self.rows);
        Layout::new((threads, values), (thread_steps, value_steps)).expect("the extents of a tile are small")
    }
}
