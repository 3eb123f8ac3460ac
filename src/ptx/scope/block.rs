//! The scope of all threads of the block.

use super::{Scope, by_own_methods, sealed};
use crate::ptx::{FULL_MASK, kernel::Builder, uniform::Uniformity, val::Val};

/// All threads of the block. The block's shape must be [declared](Builder::block).
#[derive(Clone, Copy, Debug)]
pub struct Block<'k> {
    pub(super) k: Builder<'k>,
    shape: [u32; 3],
}

impl<'k> Block<'k> {
    /// Returns the block with its declared shape.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>) -> Self {
        match k.block_shape() {
            Some(shape) => Self { k, shape },
            None => {
                k.refuse("scopes require the block's shape: call `block` first".into());
                Self { k, shape: [32, 1, 1] }
            }
        }
    }

    /// Returns the minimum [`Uniformity`] that a value must have to be the same in all threads of the block.
    pub fn uniformity(self) -> Uniformity {
        Uniformity::Block
    }

    /// Returns the number of threads in the block.
    pub fn size(self) -> u32 {
        self.shape.iter().product()
    }

    /// Returns the index of the block in its cluster, or 0 if no cluster has been [declared](Builder::cluster).
    #[doc(alias = "%cluster_ctarank")]
    #[track_caller]
    pub fn rank(self) -> Val<'k, u32> {
        match self.k.cluster_shape() {
            Some(_) => self.k.cluster_ctarank(),
            None => 0.into(),
        }
    }

    /// Returns the index of this thread in the block. Threads are numbered with x varying fastest, then y, then z.
    #[doc(alias = "%tid")]
    #[track_caller]
    pub fn thread(self) -> Val<'k, u32> {
        self.k.thread_index(self.shape)
    }

    /// Waits until all threads of the block have arrived. Their earlier writes are then visible to all threads of the block.
    #[doc(alias = "bar.sync")]
    #[doc(alias = "__syncthreads")]
    #[track_caller]
    pub fn sync(self) {
        if self.size() == 32 { self.k.sync_warp(FULL_MASK) } else { self.k.sync_threads() }
    }
}

impl sealed::Sealed for Block<'_> {}

impl<'k> Scope<'k> for Block<'k> {
    by_own_methods!();

    #[track_caller]
    fn any_thread(self, holds: Val<'k, bool>) -> Val<'k, bool> {
        self.any(holds)
    }
}

impl<'k> Builder<'k> {
    /// Returns the scope of all threads of the block. The block's shape must be [declared](Self::block).
    #[track_caller]
    pub fn this_block(self) -> Block<'k> {
        Block::new(self)
    }

    /// Returns the index of this thread in a block of this shape.
    #[track_caller]
    fn thread_index(self, [x, y, z]: [u32; 3]) -> Val<'k, u32> {
        let mut index = Val::from(0);
        if z > 1 {
            index = self.tid_z();
        }
        if y > 1 {
            index = index.mad(y, self.tid_y());
        }
        if x > 1 {
            index = index.mad(x, self.tid_x());
        }
        if let Some((reg, _)) = index.reg() {
            self.body().uniform.set_thread_index(reg);
        }
        index
    }
}
