//! Zeroing of out-of-bounds rows in a received stage.

use std::panic::Location;

use super::{ring::WARPS, roles::Consumer};
use crate::{
    ptx::{ProxySpace, Scope, Steps, Val},
    tensor::{TensorElement, zero},
    tiles::{Filled, SharedSwizzle, St},
};

impl<'k, const C: usize> Consumer<'k, C> {
    /// Writes zeros to row `first` and all later rows of a tile of a received stage, before `wgmma`s read the tile. All threads of all
    /// consumers must take part, because they share the stage.
    #[track_caller]
    pub(crate) fn clear_rows<T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle>(
        self,
        tile: &Filled<St<'k, T, H, W, S>>,
        first: Val<'k, u32>,
    ) {
        const { assert!((W as u32 * T::SUBTILE_LENGTH).is_multiple_of(32), "a warp clears a row") };
        let k = self.group().kernel();
        let _located = k.locate(Location::caller());
        let lane = k.lane().rank();
        let warp = if C == 1 { self.warp() } else { self.rank() * WARPS + self.warp() };
        k.for_(Steps::new(first + warp, St::<T, H, W, S>::ROWS).by(WARPS * C as u32), |row| {
            for col in (0..St::<T, H, W, S>::COLS).step_by(32) {
                tile.tile.tensor.at_coord(&[row, lane + col]).store(zero::<T>());
            }
        });
        // `wgmma` reads shared memory through the async proxy.
        k.fence_proxy_async(ProxySpace::Shared);
        if C == 1 {
            self.group().sync();
        } else {
            let threads = 32 * WARPS * C as u32;
            k.sync_at(k.named_barriers(threads, 1), threads);
        }
    }
}
