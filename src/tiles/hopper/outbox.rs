//! Stores of results by tensor copies, behind the next tile's work.

use std::{fmt, marker::PhantomData, panic::Location};

use super::roles::Consumer;
use crate::{
    ptx::{Builder, Global, ProxySpace, Ptr, ReduceOp, Scope, Shared, WarpGroup, Writable},
    tensor::{AtomicElement, RowEnds, Tensor, TensorElement},
    tiles::{Allocate, Auto, Convert, GlTile, Row, Rt, SharedSwizzle, St, Storing, registers::Registers},
};

/// Shared memory through which `C` consumer warpgroups store their results: for each, `SLOTS` tiles of 64 rows and `W` columns of
/// subtiles. Copies to global memory continue while the warpgroup works on; a store into a slot waits for the copy before.
pub struct Outbox<'k, T, const W: usize, const SLOTS: usize, const C: usize, S = Auto> {
    k: Builder<'k>,
    base: Ptr<'k, u8, Shared>,
    kind: PhantomData<fn() -> (T, S)>,
}

impl<T: TensorElement, const W: usize, const SLOTS: usize, const C: usize, S> fmt::Debug
    for Outbox<'_, T, W, SLOTS, C, S>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outbox<{}, {W}, {SLOTS}, {C}> at {:?}", T::NAME, self.base)
    }
}

impl<'k> Builder<'k> {
    /// Allocates an outbox: `k.outbox::<bf16, 4, 2, 2>()`.
    #[track_caller]
    pub fn outbox<T: TensorElement, const W: usize, const SLOTS: usize, const C: usize>(
        self,
    ) -> Outbox<'k, T, W, SLOTS, C> {
        let bytes = (SLOTS * C) as u32 * St::<'k, T, 4, W>::BYTES;
        let base = self.shared_aligned(bytes, St::<'k, T, 4, W>::alignment(self));
        Outbox { k: self, base, kind: PhantomData }
    }
}

impl<'k, const C: usize> Consumer<'k, C> {
    /// Converts the warpgroup's tiles, blocks of 64 rows of which each warp has 16, and starts to copy them to global memory; `to(b)` is
    /// the tile of 64 rows and `N` columns of subtiles for block `b`. Nothing past the edge is written.
    ///
    /// All threads of the warpgroup must execute the call. The copies complete before the kernel ends. The number of parts, `H`·`N`/`W`,
    /// must be a multiple of the slots of the outbox.
    #[track_caller]
    pub fn store<T, U, A, const W: usize, const SLOTS: usize, const N: usize, const H: usize, S>(
        self,
        outbox: &Outbox<'k, T, W, SLOTS, C, S>,
        tiles: &[Rt<'k, U, 1, N, Row>; H],
        to: impl Fn(u32) -> GlTile<'k, T, A>,
    ) where
        T: TensorElement,
        U: Convert<T>,
        A: Writable,
        S: SharedSwizzle,
    {
        self.send(None, outbox, tiles, to);
    }

    /// Converts the warpgroup's tiles and adds them to global memory, like [`store`](Self::store): each element atomically, in any order.
    #[doc(alias = "cp.reduce.async.bulk.tensor")]
    #[track_caller]
    pub fn add<T, U, A, const W: usize, const SLOTS: usize, const N: usize, const H: usize, S>(
        self,
        outbox: &Outbox<'k, T, W, SLOTS, C, S>,
        tiles: &[Rt<'k, U, 1, N, Row>; H],
        to: impl Fn(u32) -> GlTile<'k, T, A>,
    ) where
        T: AtomicElement,
        U: Convert<T>,
        A: Writable,
        S: SharedSwizzle,
    {
        self.send(Some(ReduceOp::Add), outbox, tiles, to);
    }

    #[track_caller]
    fn send<T, U, A, const W: usize, const SLOTS: usize, const N: usize, const H: usize, S>(
        self,
        op: Option<ReduceOp>,
        outbox: &Outbox<'k, T, W, SLOTS, C, S>,
        tiles: &[Rt<'k, U, 1, N, Row>; H],
        to: impl Fn(u32) -> GlTile<'k, T, A>,
    ) where
        T: TensorElement,
        U: Convert<T>,
        A: Writable,
        S: SharedSwizzle,
    {
        const { assert!(N.is_multiple_of(W), "the columns of the outbox must divide those of the tile") }
        const {
            assert!(
                (H * N / W).is_multiple_of(SLOTS),
                "the parts, H · N / W, must be a multiple of the slots of the outbox"
            );
        }
        let (k, group) = (outbox.k, self.group());
        k.located(Location::caller(), || {
            let bytes = St::<'k, T, 4, W, S>::BYTES;
            let slots = outbox.base.advance(self.rank() * (SLOTS as u32 * bytes));
            let issues = group.thread().eq(0);
            let parts = (0..H).flat_map(|block| (0..N / W).map(move |part| (block, part)));
            for ((block, part), slot) in parts.zip((0..SLOTS as u32).cycle()) {
                let staged = St::<'k, T, 4, W, S>::at(slots.byte_offset((slot * bytes).into()));
                k.if_(issues, || k.cp_async_bulk_wait_group_read(SLOTS as u32 - 1));
                group.sync();
                let registers = tiles[block].fragment().all_registers();
                let registers = &registers[part * registers.len() / (N / W)..][..registers.len() / (N / W)];
                let registers = Rt::<U, 1, W, Row>::of_registers(k, registers.to_vec());
                Storing { tile: staged.tensor.clone() }.tile_of(group).store(&registers);
                k.fence_proxy_async(ProxySpace::Shared);
                group.sync();
                let (to, col) = (to(block as u32), (part * W) as u32 * T::SUBTILE_LENGTH);
                let size = [64, N as u32 * T::SUBTILE_LENGTH];
                let ends = to.view(size).row_ends();
                if op.is_some() && ends.is_some() {
                    k.refuse(format!(
                        "expected rows known to be a multiple of 16 bytes, which tensor copies add as a whole: declare the columns a multiple of {} of {}",
                        16 / T::SIZE,
                        T::NAME
                    ));
                }
                // Without whole units in the matrix, there is no map.
                let copied = ends.as_ref().map_or(true.into(), |ends| (ends.first + col).lt(ends.start));
                k.if_(issues & copied, || to.store_boxes(op, &staged, size, col));
                k.if_(issues, || k.cp_async_bulk_commit_group());
                if let Some(ends) = ends {
                    store_ends(group, &staged, &to.view(size), &ends, col);
                }
            }
        });
    }
}

/// Stores the ends of rows from a tile of 64 rows and `W` columns of subtiles, whose first column is `col` columns after that of `to`.
#[track_caller]
fn store_ends<'k, T: TensorElement, A: Writable, const W: usize, S: SharedSwizzle>(
    group: WarpGroup<'k>,
    staged: &St<'k, T, 4, W, S>,
    to: &Tensor<'k, Global, T, A>,
    ends: &RowEnds<'k>,
    col: u32,
) {
    let RowEnds { first, start, end, unit } = *ends;
    let (k, width) = (group.kernel(), W as u32 * T::SUBTILE_LENGTH);
    // Columns from the start of the tile; past it, or negative, in tiles without ends.
    let within = start - (first + col);
    k.if_(start.ne(end) & within.lt(width), || {
        // Two threads for each row.
        let (row, parity) = (group.thread() & 63, group.thread() >> 6);
        for pair in 0..unit / 2 {
            let at = within + (2 * pair) + parity;
            let value = staged.tensor.at_coord(&[row, at]).load();
            to.at_coord(&[row, at + col]).store(value);
        }
    });
}
