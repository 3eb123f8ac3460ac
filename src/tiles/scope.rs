//! The threads that work together on a tile.

use crate::{
    ptx::{Builder, Features, Val},
    tensor::{block_barrier, divide},
};

/// All threads of the block, whose number the kernel must have said with [`Builder::block`].
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockThreads<'k> {
    k: Builder<'k>,
    shape: [u32; 3],
}

impl<'k> BlockThreads<'k> {
    #[track_caller]
    pub(super) fn new(k: Builder<'k>) -> Self {
        match k.block_shape() {
            Some(shape) => Self { k, shape },
            None => {
                k.refuse("tiles in shared memory need the block's shape: call `block` first".into());
                Self { k, shape: [32, 1, 1] }
            }
        }
    }

    /// How many there are.
    pub(super) fn count(self) -> u32 {
        self.shape.iter().product()
    }

    /// This thread's number among them.
    #[track_caller]
    pub(super) fn index(self) -> Val<'k, u32> {
        let [x, y, z] = self.shape;
        let mut index = Val::from(0);
        if z > 1 {
            index = self.k.unchanging("%tid.z");
        }
        if y > 1 {
            index = index.mad(y, self.k.unchanging("%tid.y"));
        }
        if x > 1 { index.mad(x, self.k.unchanging("%tid.x")) } else { index }
    }
}

impl<'k> Builder<'k> {
    /// Waits for all threads of the block if this is written into an emitted loop, where the iteration before may still
    /// read what is about to be filled.
    #[track_caller]
    pub(super) fn sync_in_loop(self) {
        if self.in_loop() {
            block_barrier(self);
        }
    }

    /// Makes the copies begun so far a group, on targets that have asynchronous copies.
    #[track_caller]
    pub(super) fn commit_copies(self) {
        if self.target().features().contains(Features::AMPERE) {
            self.cp_async_commit_group();
        }
    }

    /// Waits for all but the `pending` newest groups of copies, on targets that have asynchronous copies.
    #[track_caller]
    pub(super) fn wait_copies(self, pending: u32) {
        if self.target().features().contains(Features::AMPERE) {
            self.cp_async_wait_group(pending);
        }
    }

    /// This warp's place in a grid of `rows`×`cols` warps that the block is made of, row by row.
    ///
    /// The block must be [declared](Builder::block) with 32 · `rows` · `cols` threads.
    #[track_caller]
    pub fn warp_grid(self, rows: u32, cols: u32) -> (Val<'k, u32>, Val<'k, u32>) {
        let threads = BlockThreads::new(self);
        if threads.count() != 32 * rows * cols {
            self.refuse(format!(
                "a grid of {rows}×{cols} warps is {} threads, but the block has {}",
                32 * rows * cols,
                threads.count()
            ));
        }
        let warp = threads.index() >> 5;
        divide(warp, cols.into())
    }
}
