//! Shared tiles and vectors: allocation, and the state after their data have arrived.

use std::fmt;

use crate::{
    ptx::{Builder, Ptr, Shared, State, Visitor},
    tensor,
};

/// A tile or vector that a copy or store is filling: [`wait`](tensor::Pending::wait) returns it as [`Filled`].
pub type Pending<'k, Tile> = tensor::Pending<'k, Filled<Tile>>;

/// A tile or vector that a kernel can allocate in shared memory; see [`Builder::shared_tile`].
pub trait Allocate<'k>: Sized {
    /// The size in bytes.
    const BYTES: u32;

    /// Allocates the tile from the block's shared memory.
    #[track_caller]
    fn allocate(k: Builder<'k>) -> Self {
        Self::at(k.shared_aligned(Self::BYTES, Self::alignment(k)))
    }

    /// Returns the alignment in bytes that the layout requires.
    #[doc(hidden)]
    #[track_caller]
    fn alignment(k: Builder<'k>) -> u32;

    /// Returns the tile at an address.
    #[doc(hidden)]
    #[track_caller]
    fn at(pointer: Ptr<'k, u8, Shared>) -> Self;

    /// Returns the address.
    #[doc(hidden)]
    fn address(&self) -> Ptr<'k, u8, Shared>;
}

impl<'k> Builder<'k> {
    /// Allocates a tile or vector in shared memory: `k.shared_tile::<St<bf16, 4, 4>>()`, `k.shared_tile::<Sv<f32, 4>>()`.
    #[track_caller]
    pub fn shared_tile<A: Allocate<'k>>(self) -> A {
        A::allocate(self)
    }
}

/// Returns another tile in the memory of one that is free and at least as large.
#[track_caller]
pub(super) fn reuse<'k, From: Allocate<'k>, To: Allocate<'k>>(from: From) -> To {
    const { assert!(To::BYTES <= From::BYTES, "the memory of a tile is reused for one that is not larger") };
    let address = from.address();
    let (k, found) = (address.kernel(), address.align());
    let expected = To::alignment(k);
    if !found.is_multiple_of(expected) {
        k.refuse(format!(
            "expected memory aligned to {expected} bytes for the swizzle of the tile, found {found}: allocate the tile with the \
             widest swizzle first"
        ));
    }
    To::at(address)
}

/// A tile or vector whose data are visible to all threads of the block.
pub struct Filled<Tile> {
    pub(super) tile: Tile,
}

impl<Tile> fmt::Debug for Filled<Tile> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled").finish_non_exhaustive()
    }
}

impl<'k, Tile: Allocate<'k>> Filled<Tile> {
    /// Waits at the block's barrier until all threads have finished reading; the tile can then be filled again.
    #[track_caller]
    pub fn release(self) -> Tile {
        self.tile.address().kernel().this_block().sync();
        self.tile
    }
}

impl<'k, Tile: State<'k>> State<'k> for Filled<Tile> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.tile.visit(visitor);
    }
}
