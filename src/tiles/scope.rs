//! The threads that execute a tile operation together.

use super::allocate::Owner;
use crate::{
    ptx::{Builder, Features, Scope, Uniformity, Val},
    tensor::divide,
};

const DIFFERENT_TILES: &str = "expected the same tile for all lanes of a warp, but its coordinates may differ: use `assume_uniform` if they do not";

impl<'k> Builder<'k> {
    /// Commits the copies issued so far as a group if the target has asynchronous copies.
    #[track_caller]
    pub(super) fn commit_copies(self) {
        if self.target().features().contains(Features::AMPERE) {
            self.cp_async_commit_group();
        }
    }

    /// Waits for all but the `pending` newest groups of copies if the target has asynchronous copies.
    #[track_caller]
    pub(super) fn wait_copies(self, pending: u32) {
        if self.target().features().contains(Features::AMPERE) {
            self.cp_async_wait_group(pending);
        }
    }

    /// Rejects a tile that differs between lanes of a warp and, if `written` is true, a tile that all warps of the block would store to.
    #[track_caller]
    pub(super) fn check_warp_tile(self, coordinates: impl IntoIterator<Item = Val<'k, u32>>, written: bool) {
        self.check_whole_warps();
        let shared_by = self.shared_by(coordinates);
        if !shared_by.covers(Uniformity::WARP) {
            self.refuse(DIFFERENT_TILES.into());
        } else if written && shared_by.covers(Uniformity::Block) && self.has_several_warps() {
            self.refuse(
                "expected a tile that differs between warps, found one to which all warps of the block store: let its coordinates depend on `k.warp()`, or store in `k.when_warp`"
                    .into(),
            );
        }
    }

    /// Rejects a tile in the memory of scope `owner` if the tile differs between lanes of a warp, or if all warps of the scope would store
    /// to it.
    #[track_caller]
    pub(super) fn check_stored_tile(
        self,
        coordinates: impl IntoIterator<Item = Val<'k, u32>>,
        owner: Owner<'k>,
    ) {
        if owner.0.is_block() {
            return self.check_warp_tile(coordinates, true);
        }
        let shared_by = self.shared_by(coordinates);
        if !shared_by.covers(Uniformity::WARP) {
            self.refuse(DIFFERENT_TILES.into());
        } else if owner.0.size() > 32 && shared_by.covers(owner.0.uniformity()) {
            self.refuse(
                "expected a tile that differs between warps, found one to which all warps of the scope store: let its coordinates depend on `k.warp()`, or store in `k.when_warp`"
                    .into(),
            );
        }
    }

    /// Rejects a tile in global memory that differs between the threads of the scope that owns the shared tile, which copy it together.
    #[track_caller]
    pub(super) fn check_copied_tile(
        self,
        coordinates: impl IntoIterator<Item = Val<'k, u32>>,
        owner: Owner<'k>,
    ) {
        let threads = owner.0.uniformity();
        if !self.shared_by(coordinates).covers(threads) {
            self.refuse(format!(
                "expected the same tile for {threads}, which copy it together, but its coordinates may differ: use `assume_uniform` if they do not"
            ));
        }
    }

    /// Rejects a block whose number of threads is not a multiple of 32, because each lane of a warp owns a part of every tile.
    #[track_caller]
    pub(super) fn check_whole_warps(self) {
        let threads = self.block_shape().map_or(32, |shape| shape.iter().product::<u32>());
        if !threads.is_multiple_of(32) {
            self.refuse(format!(
                "expected a block of whole warps for tiles and vectors in registers, found one of {threads} threads"
            ));
        }
    }

    /// Returns the index of this warp among the warps of a scope, and the number of warps.
    #[track_caller]
    pub(in crate::tiles) fn warp_of(self, scope: impl Scope<'k>) -> (Val<'k, u32>, u32) {
        let warps = scope.size() / 32;
        self.check_warps(scope);
        (if warps > 1 { scope.thread() >> 5 } else { 0.into() }, warps.max(1))
    }

    /// Rejects a scope that does not consist of whole warps of one block, such as a lane or a cluster.
    #[track_caller]
    pub(super) fn check_warps(self, scope: impl Scope<'k>) {
        if !Uniformity::Block.covers(scope.uniformity()) {
            self.refuse(
                "expected a scope of whole warps of a block to divide a tile among, found a cluster".into(),
            );
            return;
        }
        let threads = scope.size();
        if threads == 0 || !threads.is_multiple_of(32) {
            self.refuse(format!(
                "expected a scope of whole warps, each of which has a part of a tile, found one of {threads} threads"
            ));
        }
    }

    fn has_several_warps(self) -> bool {
        self.block_shape().is_some_and(|shape| shape.iter().product::<u32>() > 32)
    }

    /// Returns the row and column of this warp in a grid of `rows`×`cols` warps. The warps of the block are numbered in row-major order.
    ///
    /// The block must be [declared](Builder::block) with 32 · `rows` · `cols` threads; the builder rejects other blocks.
    #[track_caller]
    pub fn warp_grid(self, rows: u32, cols: u32) -> (Val<'k, u32>, Val<'k, u32>) {
        let threads = self.this_block().size();
        let expected = 32 * u128::from(rows) * u128::from(cols);
        if u128::from(threads) != expected {
            self.refuse(format!(
                "{rows}×{cols} warps: expected a block of {expected} threads, found {threads}"
            ));
        }
        divide(self.warp().into(), cols.into())
    }
}
