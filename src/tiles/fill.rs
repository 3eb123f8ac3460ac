//! Copies between global memory and shared tiles or vectors. All threads of the scope that owns the shared memory (by default, the block)
//! must take part. Copies to shared memory are asynchronous if the alignment allows it.

use std::panic::Location;

use super::{
    allocate::{Allocate, Filled, Owner, Pending},
    convert::fragment_of,
    gl::GlTile,
    st::St,
    stages::SourceOf,
    sv::Sv,
    swizzle::{Plain, SharedSwizzle},
};
use crate::{
    layout::Layout,
    ptx::{Features, Global, ReadWrite, Readable, Shared, Val, Writable, sealed::Sealed},
    tensor::{self, Tensor, TensorElement, copy, copy_issued, copy_or},
};

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Fills the tile from global memory; out-of-bounds elements become 0.
    ///
    /// All threads of the scope that owns the tile (by default, the block) must take part.
    ///
    /// The emitted copies are the widest that the known alignment allows: `cp.async` of 16, 8 or 4 bytes (sm_80 and later), or loads and
    /// stores. In either case, the result is [`Pending`]. Inside an emitted loop, a barrier of the scope is emitted first, because threads
    /// may still be reading the data of the previous iteration.
    ///
    /// The builder rejects the call if the coordinates of `from` may differ between the threads that fill the tile.
    #[doc(alias = "load_async")]
    #[track_caller]
    pub fn fill<A: Readable>(self, from: GlTile<'k, T, A>) -> Pending<'k, Self> {
        self.owner.sync_in_loop();
        let asynchronous = {
            let _located = self.tensor.kernel().locate(Location::caller());
            self.begin_fill(&from)
        };
        tensor::Pending::by(self.owner.0, self.filled(), asynchronous)
    }

    /// Fills the tile as [`fill`](Self::fill) does, but out-of-bounds elements become `value`, such as −∞ for a maximum reduction.
    ///
    /// The data passes through registers, because `cp.async` can fill out-of-bounds elements only with zeros.
    #[track_caller]
    pub fn fill_or<A: Readable>(self, from: GlTile<'k, T, A>, value: T) -> Pending<'k, Self> {
        self.owner.sync_in_loop();
        {
            let _located = self.tensor.kernel().locate(Location::caller());
            self.begin_fill_or(&from, value);
        }
        self.owner.pending(self)
    }

    /// Starts the copy into the tile and returns whether it is asynchronous.
    #[track_caller]
    pub(super) fn begin_fill<A: Readable>(&self, from: &GlTile<'k, T, A>) -> bool {
        let shape = Shape::of::<T, S>(Self::ROWS, Self::COLS);
        fill(self.owner, &self.tensor, &from.tensor([Self::ROWS, Self::COLS]), &shape)
    }

    /// Copies into the tile; out-of-bounds elements become `value`.
    #[track_caller]
    pub(super) fn begin_fill_or<A: Readable>(&self, from: &GlTile<'k, T, A>, value: T) {
        let shape = Shape::of::<T, S>(Self::ROWS, Self::COLS);
        fill_or(self.owner, &self.tensor, &from.tensor([Self::ROWS, Self::COLS]), &shape, value);
    }
}

impl<'k, T: TensorElement, const N: usize> Sv<'k, T, N> {
    /// Fills the vector from global memory, as [`St::fill`] does; elements past the end of the vector in global memory become 0. All
    /// threads of the scope that owns this vector (by default, the block) must take part.
    #[doc(alias = "load_async")]
    #[track_caller]
    pub fn fill<A: Readable>(self, from: GlTile<'k, T, A, 1>) -> Pending<'k, Self> {
        self.owner.sync_in_loop();
        let asynchronous = {
            let _located = self.tensor.kernel().locate(Location::caller());
            self.begin_fill(&from)
        };
        tensor::Pending::by(self.owner.0, self.filled(), asynchronous)
    }

    /// Fills the vector as [`fill`](Self::fill) does, but elements past the end of the vector in global memory become `value`. The data
    /// passes through registers.
    #[track_caller]
    pub fn fill_or<A: Readable>(self, from: GlTile<'k, T, A, 1>, value: T) -> Pending<'k, Self> {
        self.owner.sync_in_loop();
        {
            let _located = self.tensor.kernel().locate(Location::caller());
            self.begin_fill_or(&from, value);
        }
        self.owner.pending(self)
    }

    /// Starts the copy into the vector and returns whether it is asynchronous.
    #[track_caller]
    pub(super) fn begin_fill<A: Readable>(&self, from: &GlTile<'k, T, A, 1>) -> bool {
        fill(self.owner, &self.tensor, &from.tensor([Self::LENGTH]), &Shape::of::<T, Plain>(1, Self::LENGTH))
    }

    /// Copies into the vector; elements past the end become `value`.
    #[track_caller]
    pub(super) fn begin_fill_or<A: Readable>(&self, from: &GlTile<'k, T, A, 1>, value: T) {
        let shape = Shape::of::<T, Plain>(1, Self::LENGTH);
        fill_or(self.owner, &self.tensor, &from.tensor([Self::LENGTH]), &shape, value);
    }
}

impl<'k, T: TensorElement, A: Writable> GlTile<'k, T, A> {
    /// Stores a shared tile to this tile of the matrix; elements past the edges of the matrix are not written.
    ///
    /// All threads of the scope that owns the shared tile (by default, the block) must take part.
    ///
    /// Adjacent threads store adjacent elements of a row, with the widest accesses that the known alignment allows, up to 16 bytes. To
    /// store a register tile with such accesses, first store it to a shared tile with [`St::store_with`].
    ///
    /// The builder rejects the call if the coordinates of this tile may differ between the threads that store to it.
    #[doc(alias = "store")]
    #[track_caller]
    pub fn store_shared<const H: usize, const W: usize, S: SharedSwizzle>(
        self,
        tile: &Filled<St<'k, T, H, W, S>>,
    ) {
        let tile = &tile.tile;
        let [rows, cols] = [St::<T, H, W, S>::ROWS, St::<T, H, W, S>::COLS];
        let _located = self.kernel().locate(Location::caller());
        write_out(tile.owner, &self.tensor([rows, cols]), &tile.tensor, &Shape::of::<T, S>(rows, cols));
    }
}

impl<'k, T: TensorElement, A: Writable> GlTile<'k, T, A, 1> {
    /// Stores a shared vector to this tile of the vector in global memory; elements past the end of the vector in global memory are not
    /// written.
    ///
    /// All threads of the scope that owns the shared vector (by default, the block) must take part.
    #[track_caller]
    pub fn store_shared<const N: usize>(self, vector: &Filled<Sv<'k, T, N>>) {
        let vector = &vector.tile;
        let length = Sv::<T, N>::LENGTH;
        let _located = self.kernel().locate(Location::caller());
        write_out(vector.owner, &self.tensor([length]), &vector.tensor, &Shape::of::<T, Plain>(1, length));
    }
}

/// A tile in global memory whose out-of-bounds elements are read as a given value; see [`GlTile::or`].
#[derive(Clone, Debug)]
pub struct GlTileOr<'k, T: TensorElement, A, const R: usize> {
    tile: GlTile<'k, T, A, R>,
    value: T,
}

impl<T: TensorElement, A, const R: usize> Sealed for GlTileOr<'_, T, A, R> {}

impl<'k, T: TensorElement, A, const R: usize> GlTile<'k, T, A, R> {
    /// Returns this tile as a source for a pipeline stage, with out-of-bounds elements read as `value`:
    /// `stage.fill((x.tile(0, i).or(f32::NEG_INFINITY),))`.
    ///
    /// `cp.async` can fill out-of-bounds elements only with zeros, so the data passes through registers and the threads wait for the loads.
    #[must_use]
    pub fn or(self, value: T) -> GlTileOr<'k, T, A, R> {
        GlTileOr { tile: self, value }
    }
}

impl<'k, T: TensorElement, A: Readable, const H: usize, const W: usize, S: SharedSwizzle>
    SourceOf<'k, St<'k, T, H, W, S>> for GlTileOr<'k, T, A, 2>
{
    #[track_caller]
    fn begin_fill(&self, tile: &St<'k, T, H, W, S>) -> bool {
        tile.begin_fill_or(&self.tile, self.value);
        false
    }
}

impl<'k, T: TensorElement, A: Readable, const N: usize> SourceOf<'k, Sv<'k, T, N>> for GlTileOr<'k, T, A, 1> {
    #[track_caller]
    fn begin_fill(&self, vector: &Sv<'k, T, N>) -> bool {
        vector.begin_fill_or(&self.tile, self.value);
        false
    }
}

/// The total width of all banks in bytes.
const BANK_BYTES: u32 = 128;

/// The properties of a shared tile's shape that determine which elements each thread copies.
struct Shape {
    rows: u32,
    /// The number of bytes in a row, and the number of these bytes that are adjacent in shared memory.
    row_bytes: u32,
    adjacent: u32,
}

impl Shape {
    fn of<T: TensorElement, S: SharedSwizzle>(rows: u32, cols: u32) -> Self {
        let row_bytes = cols * T::SIZE;
        Self { rows, row_bytes, adjacent: S::of_row(row_bytes).1.min(row_bytes) }
    }
}

/// Starts a copy that uses all threads of the scope `by`, and returns whether it is asynchronous.
#[track_caller]
fn fill<'k, T: TensorElement, A: Readable>(
    by: Owner<'k>,
    to: &Tensor<'k, Shared, T, ReadWrite>,
    from: &Tensor<'k, Global, T, A>,
    shape: &Shape,
) -> bool {
    let (k, from) = (to.kernel(), from.read_only());
    k.check_copied_tile(from.coordinates(), by);
    let asynchronous = k.target().features().contains(Features::AMPERE);
    let bytes = aligned_bytes(&from).filter(|_| asynchronous).unwrap_or(16).max(T::SIZE);
    let mut copies = false;
    Split::new(by.0.size(), shape, bytes).for_each_thread(by, shape.rows, T::SIZE, |tv, index| {
        copies = copy_issued(&to.part_of(tv, index), &from.part_of(tv, index));
    });
    copies
}

/// Copies a tile through registers, using all threads of the scope `by`; out-of-bounds elements become `value`.
#[track_caller]
fn fill_or<'k, T: TensorElement, A: Readable>(
    by: Owner<'k>,
    to: &Tensor<'k, Shared, T, ReadWrite>,
    from: &Tensor<'k, Global, T, A>,
    shape: &Shape,
    value: T,
) {
    let (k, from) = (to.kernel(), from.read_only());
    k.check_copied_tile(from.coordinates(), by);
    let bytes = aligned_bytes(&from).unwrap_or(0).max(T::SIZE);
    Split::new(by.0.size(), shape, bytes).for_each_thread(by, shape.rows, T::SIZE, |tv, index| {
        let (to, from) = (to.part_of(tv, index), from.part_of(tv, index));
        let registers = fragment_of(k, to.size());
        copy_or(&registers, &from, value);
        let _ = copy(&to, &registers);
    });
}

/// Copies a tile to global memory, using all threads of the scope `by`.
#[track_caller]
fn write_out<'k, T: TensorElement, A: Writable>(
    by: Owner<'k>,
    to: &Tensor<'k, Global, T, A>,
    from: &Tensor<'k, Shared, T, ReadWrite>,
    shape: &Shape,
) {
    to.kernel().check_copied_tile(to.coordinates(), by);
    // Unaligned rows are stored element by element, so that adjacent threads store adjacent elements.
    let bytes = aligned_bytes(to).unwrap_or(0).max(T::SIZE);
    Split::new(by.0.size(), shape, bytes).for_each_thread(by, shape.rows, T::SIZE, |tv, index| {
        copy(&to.part_of(tv, index), &from.part_of(tv, index));
    });
}

/// Returns the largest alignment of 16, 8 or 4 bytes that all rows are known to have, if any.
fn aligned_bytes<T: TensorElement, A>(of: &Tensor<'_, Global, T, A>) -> Option<u32> {
    [16, 8, 4].into_iter().find(|&bytes| of.has_aligned_rows(bytes))
}

/// The distribution of a tile's rows over threads: `cols`×`rows` threads, each of which copies one access at a time.
struct Split {
    /// The number of threads along a row and the number along a column; both divide the tile.
    cols: u32,
    rows: u32,
    /// The number of accesses per row, and the number of bytes per access.
    per_row: u32,
    bytes: u32,
}

impl Split {
    /// Divides a tile among as many threads as possible, up to `threads`. If a swizzled row is shorter than 128 bytes (the width of all
    /// banks), the threads along a row access adjacent bytes of one swizzle block, because corresponding bytes of different blocks are in
    /// the same bank.
    fn new(threads: u32, shape: &Shape, bytes: u32) -> Self {
        let per_row = shape.row_bytes / bytes;
        let largest =
            |of: u32, most: u32| (1..=of.min(most)).rev().find(|n| of.is_multiple_of(*n)).unwrap_or(1);
        let run = if shape.adjacent < BANK_BYTES { shape.adjacent } else { shape.row_bytes };
        let cols = largest(per_row, threads.min(run / bytes));
        Self { cols, rows: largest(shape.rows, threads / cols), per_row, bytes }
    }

    /// Emits code in which each thread copies its elements of a tile with `size`-byte elements. `part` receives the tile's (thread, value)
    /// layout and the index of the thread. Threads that own no elements skip the copy.
    #[track_caller]
    fn for_each_thread<'k>(
        &self,
        by: Owner<'k>,
        rows: u32,
        size: u32,
        part: impl FnOnce(&Layout, Val<'k, u32>),
    ) {
        let (threads, tv) = (self.cols * self.rows, self.layout(rows, size));
        let index = by.0.thread();
        if threads == by.0.size() {
            part(&tv, index);
        } else {
            by.0.kernel().if_(index.lt(threads), || part(&tv, index));
        }
    }

    /// Returns the layout that maps (thread, value) to the column-major index `row + rows · col`, for a tile with `size`-byte elements.
    fn layout(&self, rows: u32, size: u32) -> Layout {
        let access = self.bytes / size;
        let (threads, thread_steps) = ((self.cols, self.rows), (access * rows, 1));
        let values = (access, self.per_row / self.cols, rows / self.rows);
        let value_steps = (rows, self.cols * access * rows, self.rows);
        Layout::new((threads, values), (thread_steps, value_steps)).expect("the extents of a tile are small")
    }
}
