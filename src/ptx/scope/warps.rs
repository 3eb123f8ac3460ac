//! The scopes of a warp, several warps, or a warpgroup.

use super::{Scope, by_own_methods, quotient, remainder, sealed};
use crate::ptx::{FULL_MASK, kernel::Builder, uniform::Uniformity, val::Val};

/// `N` consecutive warps of the block; the index of the first warp is a multiple of `N`.
#[doc(alias = "group")]
#[derive(Clone, Copy, Debug)]
pub struct Warps<'k, const N: usize> {
    pub(super) k: Builder<'k>,
}

/// This thread's warp, which has 32 lanes.
pub type Warp<'k> = Warps<'k, 1>;

/// This thread's warpgroup: four warps that execute `wgmma` together.
#[doc(alias = "warpgroup")]
pub type WarpGroup<'k> = Warps<'k, 4>;

impl<'k, const N: usize> Warps<'k, N> {
    /// The number of threads in the scope.
    pub const SIZE: u32 = {
        assert!(N > 0 && N <= 32, "a block has 1 to 32 warps");
        32 * N as u32
    };

    #[track_caller]
    pub(super) fn new(k: Builder<'k>) -> Self {
        let threads = k.this_block().size();
        if !threads.is_multiple_of(Self::SIZE) {
            k.refuse(format!(
                "expected a block whose size is a multiple of {} threads for a scope of {N} warps, found {threads}",
                Self::SIZE
            ));
        }
        Self { k }
    }

    /// Returns the minimum [`Uniformity`] that a value must have to be the same in all threads of the scope.
    pub fn uniformity(self) -> Uniformity {
        Uniformity::Threads(Self::SIZE)
    }

    /// Returns the number of threads in the scope, which is 32·N.
    pub fn size(self) -> u32 {
        Self::SIZE
    }

    /// Returns the index of the scope in the block, in units of `N` warps.
    #[track_caller]
    pub fn rank(self) -> Val<'k, u32> {
        quotient(self.k.this_block().thread(), Self::SIZE)
    }

    /// Returns the number of scopes of `N` warps in the block.
    #[track_caller]
    pub fn scopes(self) -> u32 {
        self.k.this_block().size() / Self::SIZE
    }

    /// Returns the index of this thread in the scope, from 0 to 32·N − 1.
    #[track_caller]
    pub fn thread(self) -> Val<'k, u32> {
        if N == 1 { self.k.lane().rank() } else { remainder(self.k.this_block().thread(), Self::SIZE) }
    }

    /// Returns this thread as a lane of its warp.
    pub fn lane(self) -> super::Lane<'k> {
        self.k.lane()
    }

    /// Waits until all threads of the scope have arrived. Their earlier writes are then visible to all threads of the scope. Emits
    /// `bar.warp.sync` if the scope is one warp, and `bar.sync` otherwise.
    ///
    /// A scope of several warps that is smaller than the block uses its own named barrier (1 to 15). The builder rejects the call if too
    /// few named barriers remain.
    #[doc(alias = "bar.warp.sync")]
    #[doc(alias = "bar.sync")]
    #[track_caller]
    pub fn sync(self) {
        let block = self.k.this_block();
        if N == 1 {
            self.k.sync_warp(FULL_MASK);
        } else if block.size() == Self::SIZE {
            block.sync();
        } else {
            self.k.require_uniform(self, "bar.sync");
            self.k.sync_at(self.named_barrier(), Self::SIZE);
        }
    }

    /// Returns the number of the scope's own named barrier.
    #[track_caller]
    fn named_barrier(self) -> Val<'k, u32> {
        let first = self.k.named_barriers(Self::SIZE, self.scopes());
        self.rank() + first
    }
}

impl<const N: usize> sealed::Sealed for Warps<'_, N> {}

impl<'k, const N: usize> Scope<'k> for Warps<'k, N> {
    by_own_methods!();

    #[track_caller]
    fn any_thread(self, holds: Val<'k, bool>) -> Val<'k, bool> {
        let block = self.k.this_block();
        let any = if N == 1 {
            self.k.vote_any(holds, FULL_MASK)
        } else if block.size() == Self::SIZE {
            block.any(holds)
        } else {
            self.k.require_uniform(self, "bar.red");
            self.k.any_at(self.named_barrier(), Self::SIZE, holds)
        };
        any.known_uniform(self.uniformity())
    }
}

impl<'k> Builder<'k> {
    /// Returns this thread's warp. The block's shape must be [declared](Self::block) with a multiple of 32 threads.
    #[track_caller]
    pub fn warp(self) -> Warp<'k> {
        Warps::new(self)
    }

    /// Returns this thread's warpgroup: four consecutive warps. The block's shape must be [declared](Self::block) with a multiple of 128
    /// threads.
    #[track_caller]
    pub fn warp_group(self) -> WarpGroup<'k> {
        Warps::new(self)
    }

    /// Returns the scope of `N` consecutive warps that contains this thread. The block's shape must be [declared](Self::block) with a
    /// multiple of 32·N threads.
    #[track_caller]
    pub fn warps<const N: usize>(self) -> Warps<'k, N> {
        Warps::new(self)
    }

    /// Emits a branch in which only warp `rank` of the block executes `work`. `work` receives the warp. If the block has several warps, the
    /// builder rejects block-wide barriers in `work`.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// let kernel = Kernel::<(Out<u32>,)>::build("f(y)", Target::SM_80, |k, (y,)| {
    ///     let block = k.block([128]);
    ///     let shared = k.shared::<u32>(32);
    ///     k.when_warp(0, |warp| shared.at(warp.thread()).store(warp.thread() * 2));
    ///     block.sync();
    ///     k.slice(y, 128).at(block.thread()).store(shared.at(k.lane().rank()).load());
    /// })?;
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    #[track_caller]
    pub fn when_warp(self, rank: impl Into<Val<'k, u32>>, work: impl FnOnce(Warp<'k>)) {
        self.when_warps::<1>(rank, work);
    }

    /// Emits a branch in which only warpgroup `rank` of the block executes `work`. `work` receives the warpgroup.
    #[track_caller]
    pub fn when_warp_group(self, rank: impl Into<Val<'k, u32>>, work: impl FnOnce(WarpGroup<'k>)) {
        self.when_warps::<4>(rank, work);
    }

    /// Emits a branch in which only the scope of `N` consecutive warps with index `rank` executes `work`. `work` receives the scope.
    #[track_caller]
    pub fn when_warps<const N: usize>(self, rank: impl Into<Val<'k, u32>>, work: impl FnOnce(Warps<'k, N>)) {
        let warps = self.warps::<N>();
        let selected = if warps.scopes() == 1 { Val::from(0) } else { warps.rank() };
        self.if_(selected.eq(rank), || work(warps));
    }

    /// Returns the number of the first of `count` named barriers for groups of `threads` threads. Calls for groups of the same size return
    /// the same barriers.
    #[track_caller]
    pub(crate) fn named_barriers(self, threads: u32, count: u32) -> u32 {
        let first = self.body().named_barriers(threads, count);
        first.unwrap_or_else(|taken| {
            self.refuse(format!(
                "a block has 15 named barriers: expected {count} for groups of {threads} threads, found {} free",
                15 - taken
            ));
            1
        })
    }
}
