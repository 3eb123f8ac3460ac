//! Shared tiles: matrices in a block's shared memory, and what may be done with them when.
//!
//! A tile is in one of three states, each a type of its own, so that what would be a race does not compile:
//!
//! | type              | holds                          | may be            | becomes                                   |
//! | ----------------- | ------------------------------ | ----------------- | ----------------------------------------- |
//! | [`St`]            | nothing of use                 | filled, stored to | [`Pending`] by `fill` or `store`          |
//! | `Pending<St>`     | data under way                 | waited for        | [`Filled`] by `wait`                      |
//! | `Filled<St>`      | data that every thread can see | loaded from       | [`St`] by `release`, when all are done    |

use std::{fmt, marker::PhantomData};

use super::{
    element::TileElement,
    scope::BlockThreads,
    swizzle::{Auto, SharedSwizzle, TileAddress},
};
use crate::ptx::{Builder, Ptr, Shared, Val};

/// A tile of `H`×`W` subtiles of 16×16 elements `T` in shared memory, with nothing in it yet.
///
/// Element (row, col) lies where [`TileAddress`] says; swizzle [`Auto`] makes every fragment access free of bank conflicts.
pub struct St<'k, T, const H: usize, const W: usize, S = Auto> {
    pub(super) view: View<'k, T>,
    swizzle: PhantomData<S>,
}

impl<T: TileElement, const H: usize, const W: usize, S> fmt::Debug for St<'_, T, H, W, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "St<{}, {H}, {W}> {:?}", T::NAME, self.view.address)
    }
}

/// A rectangle of a shared tile: where it starts, and how the tile lies.
pub(super) struct View<'k, T> {
    /// The whole tile's first byte.
    pub(super) base: Ptr<'k, T, Shared>,
    pub(super) address: TileAddress,
    /// First row and first byte of a row; multiples of 16 elements.
    pub(super) row: Val<'k, u32>,
    pub(super) byte: Val<'k, u32>,
    pub(super) lane: LaneAddress<'k>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

/// A lane's part of the addresses that `ldmatrix` takes: computed once a tile, outside of loops.
#[derive(Clone, Copy, Debug)]
pub struct LaneAddress<'k> {
    /// Offset of the lane's row, `lane mod 16`, in bytes.
    pub(super) row: Val<'k, u32>,
    /// Its chunk, `16 ⌊lane / 16⌋` bytes, permuted as the row wants.
    pub(super) chunk: Val<'k, u32>,
}

impl<'k, T: TileElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Rows.
    pub const ROWS: u32 = 16 * H as u32;
    /// Columns.
    pub const COLS: u32 = 16 * W as u32;
    /// Size in shared memory.
    pub const BYTES: u32 = Self::ROWS * Self::COLS * T::BYTES;

    /// Where each element lies.
    pub fn address() -> TileAddress {
        TileAddress::new::<T, S>(Self::ROWS, Self::COLS)
    }

    /// The byte offset of element (`row`, `col`) from the tile's start.
    pub fn offset(row: u32, col: u32) -> u32 {
        Self::address().offset(row, col * T::BYTES)
    }

    #[track_caller]
    pub(super) fn check_swizzle(k: Builder<'k>) {
        let pitch = Self::address().pitch;
        if Self::COLS * T::BYTES % pitch != 0 {
            k.refuse(format!(
                "a shared tile with rows of {} bytes cannot have a swizzle of {pitch}: it must divide the row",
                Self::COLS * T::BYTES
            ));
        }
    }

    pub(super) fn at(base: Ptr<'k, T, Shared>, lane: LaneAddress<'k>) -> Self {
        let view = View { base, address: Self::address(), row: 0.into(), byte: 0.into(), lane };
        Self { view, swizzle: PhantomData }
    }
}

impl<'k> LaneAddress<'k> {
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, address: TileAddress) -> Self {
        let lane = k.lane().rank();
        let row = lane & 15;
        Self { row: row * address.pitch, chunk: ((lane >> 4) << 4) ^ address.emit_permutation(row) }
    }
}

/// A shared tile that a kernel can allocate; see [`Builder::shared_tile`].
pub trait Allocate<'k> {
    /// Takes the tile's memory from the block's.
    #[track_caller]
    fn allocate(k: Builder<'k>) -> Self;
}

impl<'k, T: TileElement, const H: usize, const W: usize, S: SharedSwizzle> Allocate<'k>
    for St<'k, T, H, W, S>
{
    #[track_caller]
    fn allocate(k: Builder<'k>) -> Self {
        Self::check_swizzle(k);
        let base = k.shared_aligned(Self::ROWS * Self::COLS, Self::address().align());
        Self::at(base, LaneAddress::new(k, Self::address()))
    }
}

impl<'k> Builder<'k> {
    /// A tile in shared memory: `k.shared_tile::<St<bf16, 4, 4>>()`.
    #[track_caller]
    pub fn shared_tile<A: Allocate<'k>>(self) -> A {
        A::allocate(self)
    }
}

/// A tile that data are on their way to: nothing can be read from it until [`wait`](Pending::wait).
#[must_use = "data are on their way to this tile: wait for them"]
pub struct Pending<Tile> {
    pub(super) tile: Tile,
    pub(super) by: Arrival,
}

/// How data come into a shared tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// By stores of the block's threads: a barrier shows them to all.
    Stores,
    /// By `cp.async` of the block's threads: each waits for its own, and then a barrier.
    CpAsync,
}

/// A tile whose data every thread of the block can see.
pub struct Filled<Tile> {
    pub(super) tile: Tile,
}

impl<Tile> fmt::Debug for Pending<Tile> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("by", &self.by).finish_non_exhaustive()
    }
}

impl<Tile> fmt::Debug for Filled<Tile> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled").finish_non_exhaustive()
    }
}

impl<'k, T: TileElement, const H: usize, const W: usize, S: SharedSwizzle> Pending<St<'k, T, H, W, S>> {
    /// Waits until the data are there for every thread: for all of this thread's copies, then at the block's barrier.
    ///
    /// All threads of the block must come here.
    #[track_caller]
    pub fn wait(self) -> Filled<St<'k, T, H, W, S>> {
        let k = self.tile.view.base.kernel();
        if self.by == Arrival::CpAsync {
            k.cp_async_wait_all();
        }
        BlockThreads::new(k).sync();
        Filled { tile: self.tile }
    }
}

impl<'k, T: TileElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Waits at the block's barrier until every thread is done with the data; then the tile may be filled again.
    #[track_caller]
    pub fn release(self) -> St<'k, T, H, W, S> {
        BlockThreads::new(self.tile.view.base.kernel()).sync();
        self.tile
    }
}
