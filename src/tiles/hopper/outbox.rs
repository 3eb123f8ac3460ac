//! Stores of results by tensor copies, behind the next tile's work.

use std::{fmt, marker::PhantomData, panic::Location};

use super::roles::Consumer;
use crate::{
    ptx::{Builder, ProxySpace, Ptr, Shared, Writable},
    tensor::TensorElement,
    tiles::{Allocate, Auto, Convert, GlTile, Row, Rt, SharedSwizzle, St, Storing, registers::Registers},
};

/// Shared memory through which `C` consumer warpgroups store their results: a tile of 64 rows and `W` columns of subtiles for each. A
/// copy to global memory continues while the warpgroup works on; its next store waits for it.
pub struct Outbox<'k, T, const W: usize, const C: usize, S = Auto> {
    k: Builder<'k>,
    base: Ptr<'k, u8, Shared>,
    kind: PhantomData<fn() -> (T, S)>,
}

impl<T: TensorElement, const W: usize, const C: usize, S> fmt::Debug for Outbox<'_, T, W, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outbox<{}, {W}, {C}> at {:?}", T::NAME, self.base)
    }
}

impl<'k> Builder<'k> {
    /// Allocates an outbox: `k.outbox::<bf16, 8, 2>()`.
    #[track_caller]
    pub fn outbox<T: TensorElement, const W: usize, const C: usize>(self) -> Outbox<'k, T, W, C> {
        let bytes = C as u32 * St::<'k, T, 4, W>::BYTES;
        let base = self.shared_aligned(bytes, St::<'k, T, 4, W>::alignment(self));
        Outbox { k: self, base, kind: PhantomData }
    }
}

impl<'k, const C: usize> Consumer<'k, C> {
    /// Converts the warpgroup's tile, 16 rows of each warp, and starts to copy it to global memory, `W` columns of subtiles at a time;
    /// the size of `to` is 64 rows and `N` columns of subtiles. Nothing past the edge is written.
    ///
    /// All threads of the warpgroup must execute the call. The copies complete before the kernel ends.
    #[track_caller]
    pub fn store<T, U, A, const W: usize, const N: usize, S>(
        self,
        outbox: &Outbox<'k, T, W, C, S>,
        tile: &Rt<'k, U, 1, N, Row>,
        to: &GlTile<'k, T, A>,
    ) where
        T: TensorElement,
        U: Convert<T>,
        A: Writable,
        S: SharedSwizzle,
    {
        const { assert!(N % W == 0, "the columns of the outbox must divide those of the tile") }
        let (k, group) = (outbox.k, self.group());
        k.located(Location::caller(), || {
            let start = outbox.base.advance(self.rank() * St::<'k, T, 4, W, S>::BYTES);
            let staged = St::<'k, T, 4, W, S>::at(start);
            let issues = group.thread().eq(0);
            let registers = tile.fragment().all_registers();
            for (part, registers) in registers.chunks(registers.len() / (N / W)).enumerate() {
                k.if_(issues, || k.cp_async_bulk_wait_group_read(0));
                group.sync();
                let part_of_tile = Rt::<U, 1, W, Row>::of_registers(k, registers.to_vec());
                Storing { tile: staged.tensor.clone() }.tile_of(group).store(&part_of_tile);
                k.fence_proxy_async(ProxySpace::Shared);
                group.sync();
                k.if_(issues, || {
                    let size = [64, N as u32 * T::SUBTILE_LENGTH];
                    to.store_boxes(&staged, size, (part * W) as u32 * T::SUBTILE_LENGTH);
                    k.cp_async_bulk_commit_group();
                });
            }
        });
    }
}
