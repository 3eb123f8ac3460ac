//! Allocation of shared tiles and vectors, and the type that represents them once their data has arrived.

use std::fmt;

use crate::{
    ptx::{AnyScope, Builder, Ptr, Scope, Shared, State, Uniformity, Val, Visitor, sealed::Sealed},
    tensor,
};

/// A shared tile or vector that is being filled by a copy or store. [`wait`](tensor::Pending::wait) returns the tile or vector as
/// [`Filled`], or, if it is complex, as a pair of [`Filled`] values.
pub type Pending<'k, Tile> = tensor::Pending<'k, <Tile as Allocate<'k>>::Filled>;

/// A tile or vector type that [`Builder::shared_tile`] can allocate in shared memory.
pub trait Allocate<'k>: Sized + Sealed {
    /// The type of the tile or vector once its data has arrived: [`Filled`], or, if it is complex, a pair of [`Filled`] values.
    type Filled;
    /// The size of the tile or vector in bytes.
    const BYTES: u32;

    /// Allocates the tile or vector in the block's shared memory.
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

    /// Returns the tile with `owner` as the scope that owns its memory.
    #[doc(hidden)]
    #[must_use]
    fn owned_by(self, owner: Owner<'k>) -> Self;

    /// Returns the scope that owns the memory.
    #[doc(hidden)]
    #[track_caller]
    fn owner(&self) -> Owner<'k>;

    /// Returns the tile in its filled state.
    #[doc(hidden)]
    #[track_caller]
    fn filled(self) -> Self::Filled;

    /// Rejects a tile whose lease has ended.
    #[doc(hidden)]
    #[track_caller]
    fn check(&self);

    /// Replaces the lease of the tile, whose state changes here.
    #[doc(hidden)]
    #[track_caller]
    fn renew(&mut self);

    /// Ends the lease of a tile in a stage that is given back here.
    #[doc(hidden)]
    #[track_caller]
    fn end(filled: &Self::Filled);
}

/// The scope that owns the memory of a shared tile or vector.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'k>(pub(super) AnyScope<'k>);

impl<'k> Builder<'k> {
    /// Allocates a tile or vector in shared memory: `k.shared_tile::<St<bf16, 4, 4>>()`.
    #[doc(alias = "shared_allocator")]
    #[track_caller]
    pub fn shared_tile<A: Allocate<'k>>(self) -> A {
        A::allocate(self)
    }

    /// Allocates a separate shared tile or vector for each scope of this kind in the block, and returns the one that belongs to `scope`.
    /// For example, `k.shared_tile_of::<St<f32, 1, 4>>(k.warp())` allocates a tile for each warp.
    ///
    /// Unless documented otherwise, all threads of the scope must execute the operations on the tile, which use the scope's barrier instead
    /// of the block's.
    ///
    /// The builder rejects a scope that does not consist of whole warps or does not divide the block evenly.
    #[track_caller]
    pub fn shared_tile_of<A: Allocate<'k>>(self, scope: impl Scope<'k>) -> A {
        self.check_warps(scope);
        let (threads, block) = (scope.size(), self.this_block().size());
        if !Uniformity::Block.covers(scope.uniformity()) || threads == 0 || !block.is_multiple_of(threads) {
            self.refuse(format!(
                "expected a scope that divides the block of {block} threads, found one of {threads}"
            ));
            return A::allocate(self);
        }
        if threads == block {
            return A::allocate(self);
        }
        let alignment = A::alignment(self);
        let bytes = A::BYTES.next_multiple_of(alignment);
        let all = self.shared_aligned::<u8>(bytes * (block / threads), alignment);
        A::at(all.advance(scope.rank() * bytes)).owned_by(Owner(any_scope(self, scope)))
    }
}

fn any_scope<'k, S: Scope<'k>>(k: Builder<'k>, _: S) -> AnyScope<'k> {
    AnyScope::of::<S>(k)
}

impl<'k> Owner<'k> {
    pub(super) fn block(k: Builder<'k>) -> Self {
        Self(AnyScope::block(k))
    }

    /// Visits the scope, which must be the same in every iteration of a loop.
    #[track_caller]
    pub(super) fn visit(self, visitor: &mut Visitor<'_, 'k>) {
        visitor.form(&format_args!("memory of {}", self.0.uniformity()));
    }

    /// Inside an emitted loop, emits a barrier of the scope, because threads may still be reading the data that is about to be overwritten.
    #[track_caller]
    pub(super) fn sync_in_loop(self) {
        self.0.sync_in_loop();
    }

    /// Returns the tile as pending: the threads of the scope are storing its data.
    pub(super) fn pending<Tile: Allocate<'k>>(self, tile: Tile) -> Pending<'k, Tile> {
        tensor::Pending::by(self.0, tile.filled(), false)
    }

    /// Rejects `to`, the owner of a destination, unless it is the same as this owner, which owns the source. The owners must match because
    /// every warp of the source's owner writes a part of the result.
    #[track_caller]
    pub(super) fn check_result(self, to: Self) {
        let (own, found) = (self.0.uniformity(), to.0.uniformity());
        if own != found {
            self.0
                .kernel()
                .refuse(format!("expected a result that {own} own, like the source, found one of {found}"));
        }
    }

    /// Rejects `to`, the owner of a destination, if it is larger than this owner, which owns the source. For
    /// example, a block cannot copy from a tile that belongs to one warp.
    #[track_caller]
    pub(super) fn check_copy(self, to: Self) {
        if !self.0.uniformity().covers(to.0.uniformity()) {
            self.check_result(to);
        }
    }

    /// Divides `count` items among the warps of the scope, as [`Builder::over_warps`] does.
    #[track_caller]
    pub(super) fn over_warps(self, count: u32, work: impl Fn(Val<'k, u32>)) {
        let (warp, warps) = self.0.warp();
        for round in 0..count.div_ceil(warps) {
            let item = warp + round * warps;
            if (round + 1) * warps <= count {
                work(item);
            } else {
                self.0.kernel().if_(item.lt(count), || work(item));
            }
        }
    }
}

/// Returns a tile of a different type that reuses the memory of `from`, which must be at least as large.
#[track_caller]
pub(super) fn reuse<'k, From: Allocate<'k>, To: Allocate<'k>>(from: From) -> To {
    const { assert!(To::BYTES <= From::BYTES, "the memory of a tile is reused for one that is not larger") };
    from.check();
    at_aligned(from.address(), from.owner())
}

/// Returns two tiles that reuse the memory of `from`, which must be large enough for both.
#[track_caller]
pub(super) fn reuse_for_two<'k, From, First, Second>(from: From) -> (First, Second)
where
    From: Allocate<'k>,
    First: Allocate<'k>,
    Second: Allocate<'k>,
{
    const {
        assert!(
            First::BYTES + Second::BYTES <= From::BYTES,
            "the memory of a tile is reused for tiles that are not larger together"
        );
    };
    from.check();
    let (address, owner) = (from.address(), from.owner());
    let k = address.kernel();
    let offset = First::BYTES.next_multiple_of(Second::alignment(k));
    if offset + Second::BYTES > From::BYTES {
        k.refuse(format!(
            "expected {} bytes for a tile of {} and one of {} that starts at an aligned address, found {}",
            offset + Second::BYTES,
            First::BYTES,
            Second::BYTES,
            From::BYTES
        ));
    }
    (at_aligned(address, owner), at_aligned(address.byte_offset(offset.into()), owner))
}

/// Returns a tile at an address; rejects an address that is not known to have the required alignment.
#[track_caller]
fn at_aligned<'k, Tile: Allocate<'k>>(address: Ptr<'k, u8, Shared>, owner: Owner<'k>) -> Tile {
    let (k, found) = (address.kernel(), address.align());
    let expected = Tile::alignment(k);
    if !found.is_multiple_of(expected) {
        k.refuse(format!(
            "expected memory aligned to {expected} bytes for the swizzle of the tile, found {found}: allocate the tile with the \
             widest swizzle first"
        ));
    }
    Tile::at(address).owned_by(owner)
}

/// A shared tile or vector whose data is visible to all threads of the scope that owns it (by default, the block).
pub struct Filled<Tile> {
    pub(in crate::tiles) tile: Tile,
}

impl<Tile> fmt::Debug for Filled<Tile> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled").finish_non_exhaustive()
    }
}

impl<'k, Tile: Allocate<'k>> Filled<Tile> {
    /// Waits until all threads of the scope that owns the memory (by default, the block) have finished reading, and returns the tile or
    /// vector, which can then be filled again.
    ///
    /// All threads of that scope must execute the emitted barrier. `wgmma`s that read the tile must be complete; the simulator reports those
    /// that are not. The builder rejects the call in a loop that began after the data arrived and does not carry the tile.
    #[doc(alias = "sync")]
    #[track_caller]
    pub fn release(self) -> Tile {
        let Self { mut tile } = self;
        tile.owner().0.sync();
        tile.renew();
        tile
    }
}

impl<'k, Tile: Allocate<'k>> tensor::Leased for Filled<Tile> {
    #[track_caller]
    fn renew(&mut self) {
        self.tile.renew();
    }
}

impl<'k, Tile: State<'k>> State<'k> for Filled<Tile> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.tile.visit(visitor);
    }
}
