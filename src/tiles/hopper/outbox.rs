//! Storing results with tensor copies while the next tile is being computed.

use std::{fmt, marker::PhantomData, panic::Location};

use super::roles::Consumer;
use crate::{
    ptx::{Builder, Global, ProxySpace, Ptr, ReduceOp, Scope, Shared, WarpGroup, Writable},
    tensor::{AtomicElement, RowEnds, Tensor, TensorElement},
    tiles::{Allocate, Auto, Convert, GlTile, Row, Rt, SharedSwizzle, St, Storing, registers::Registers},
};

/// Shared memory from which the results of `C` consumer warpgroups are copied to global memory.
///
/// Each warpgroup has `SLOTS` slots for tiles of 64 rows and `W` columns of subtiles. The copies proceed while the warpgroup works on its
/// next tile; a store to a slot waits until the preceding copy has read the slot.
pub struct Outbox<'k, T, const W: usize, const SLOTS: usize, const C: usize, S = Auto> {
    k: Builder<'k>,
    base: Ptr<'k, u8, Shared>,
    by_threads: bool,
    rows: u32,
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
    /// Allocates an [`Outbox`]. For example, `k.outbox::<bf16, 4, 2, 2>()` has 2 slots for each of 2 consumer warpgroups. Each slot has 4
    /// columns of subtiles.
    #[track_caller]
    pub fn outbox<T: TensorElement, const W: usize, const SLOTS: usize, const C: usize>(
        self,
    ) -> Outbox<'k, T, W, SLOTS, C> {
        let bytes = (SLOTS * C) as u32 * St::<'k, T, 4, W>::BYTES;
        let base = self.shared_aligned(bytes, St::<'k, T, 4, W>::alignment(self));
        Outbox { k: self, base, by_threads: false, rows: 64, kind: PhantomData }
    }
}

impl<T, const W: usize, const SLOTS: usize, const C: usize, S> Outbox<'_, T, W, SLOTS, C, S> {
    /// Sets whether elements are written by ordinary stores instead of tensor copies. Ordinary stores are required if the row pitch in
    /// global memory is not a multiple of 16 bytes. [`Consumer::add`] always uses tensor copies.
    #[must_use]
    pub fn by_threads(self, by_threads: bool) -> Self {
        Self { by_threads, ..self }
    }

    /// Stores only the first `rows` of every 64 rows, so that tiles in global memory have `rows` rows. The builder rejects the call unless
    /// `rows` is 8, 16, 32 or 64.
    #[must_use]
    #[track_caller]
    pub fn first_rows(self, rows: u32) -> Self {
        if !matches!(rows, 8 | 16 | 32 | 64) {
            self.k.refuse(format!("expected 8, 16, 32 or 64 rows of an outbox, found {rows}"));
            return self;
        }
        Self { rows, ..self }
    }
}

impl<'k, const C: usize> Consumer<'k, C> {
    /// Converts the warpgroup's tiles and starts copying them to global memory.
    ///
    /// Each tile is a block of 64 rows, of which each warp owns 16. `to(b)` must return the destination of block `b`, a tile with 16 · `N`
    /// columns and 64 rows (or the number of rows set with [`Outbox::first_rows`]). Elements past the edges of the matrix are not written.
    /// If the column offset of the destination is not known to be a multiple of 16 bytes, ordinary stores write the elements, as with
    /// [`Outbox::by_threads`].
    ///
    /// All threads of the warpgroup must execute the emitted code. The copies complete before the kernel ends.
    ///
    /// The call does not compile unless the width of a slot divides the width of the tiles and the total number of slot-sized pieces of
    /// `tiles` is a multiple of `SLOTS`.
    #[track_caller]
    pub fn store<T, U, A, const W: usize, const SLOTS: usize, const N: usize, const H: usize, S>(
        self,
        outbox: &Outbox<'k, T, W, SLOTS, C, S>,
        tiles: [Rt<'k, U, 1, N, Row>; H],
        to: impl Fn(u32) -> GlTile<'k, T, A>,
    ) where
        T: TensorElement,
        U: Convert<T>,
        A: Writable,
        S: SharedSwizzle,
    {
        self.send(None, outbox, tiles, |tile: Rt<'k, U, 1, W, Row>, _| tile, to);
    }

    /// Applies `map` to the warpgroup's tiles and stores the results as [`store`](Self::store) does.
    ///
    /// `map` receives a piece of a tile, with 16 rows and `P` columns of subtiles, and two indices: the index of the block of 64 rows, and
    /// the index of the piece in the block, from left to right. The call does not compile unless `P` divides `W`. Smaller values of `P`
    /// require fewer registers.
    #[track_caller]
    pub fn store_mapped<
        T,
        U,
        V,
        A,
        const W: usize,
        const SLOTS: usize,
        const N: usize,
        const H: usize,
        const P: usize,
        S,
    >(
        self,
        outbox: &Outbox<'k, T, W, SLOTS, C, S>,
        tiles: [Rt<'k, U, 1, N, Row>; H],
        map: impl Fn(Rt<'k, U, 1, P, Row>, [u32; 2]) -> Rt<'k, V, 1, P, Row>,
        to: impl Fn(u32) -> GlTile<'k, T, A>,
    ) where
        T: TensorElement,
        U: TensorElement,
        V: Convert<T>,
        A: Writable,
        S: SharedSwizzle,
    {
        self.send(None, outbox, tiles, map, to);
    }

    /// Converts the warpgroup's tiles as [`store`](Self::store) does and starts adding them to global memory. Elements are added
    /// atomically, in unspecified order. The builder rejects the call if the elements are of type f64 or `i64`, which tensor copies cannot
    /// add, or if either the row length in global memory or the column offset of the destination is not known to be a multiple of 16 bytes.
    #[doc(alias = "cp.reduce.async.bulk.tensor")]
    #[track_caller]
    pub fn add<T, U, A, const W: usize, const SLOTS: usize, const N: usize, const H: usize, S>(
        self,
        outbox: &Outbox<'k, T, W, SLOTS, C, S>,
        tiles: [Rt<'k, U, 1, N, Row>; H],
        to: impl Fn(u32) -> GlTile<'k, T, A>,
    ) where
        T: AtomicElement,
        U: Convert<T>,
        A: Writable,
        S: SharedSwizzle,
    {
        self.send(Some(ReduceOp::Add), outbox, tiles, |tile: Rt<'k, U, 1, W, Row>, _| tile, to);
    }

    #[track_caller]
    fn send<
        T,
        U,
        V,
        A,
        const W: usize,
        const SLOTS: usize,
        const N: usize,
        const H: usize,
        const P: usize,
        S,
    >(
        self,
        op: Option<ReduceOp>,
        outbox: &Outbox<'k, T, W, SLOTS, C, S>,
        tiles: [Rt<'k, U, 1, N, Row>; H],
        map: impl Fn(Rt<'k, U, 1, P, Row>, [u32; 2]) -> Rt<'k, V, 1, P, Row>,
        to: impl Fn(u32) -> GlTile<'k, T, A>,
    ) where
        T: TensorElement,
        U: TensorElement,
        V: Convert<T>,
        A: Writable,
        S: SharedSwizzle,
    {
        const { assert!(U::SUBTILE_LENGTH == 16 && V::SUBTILE_LENGTH == 16, "expected sums of at least 16 bits") };
        // Subtiles of 8-bit elements have twice as many columns as those of register tiles of sums.
        let cols = const { W * (T::SUBTILE_LENGTH / 16) as usize };
        const {
            let cols = W * (T::SUBTILE_LENGTH / 16) as usize;
            assert!(W.is_multiple_of(P), "the columns of mapped tiles must divide those of the outbox");
            assert!(N.is_multiple_of(cols), "the columns of the outbox must divide those of the tile");
            assert!(
                (H * N / cols).is_multiple_of(SLOTS),
                "the parts of the size of a slot must be a multiple of the slots of the outbox"
            );
        }
        let (k, group) = (outbox.k, self.group());
        let _located = k.locate(Location::caller());
        let bytes = St::<'k, T, 4, W, S>::BYTES;
        let slots = outbox.base.advance(self.rank() * (SLOTS as u32 * bytes));
        let issues = group.thread().eq(0);
        let warp = self.warp();
        let parts = (0..H).flat_map(|block| (0..N / cols).map(move |part| (block, part)));
        for ((block, part), slot) in parts.zip((0..SLOTS as u32).cycle()) {
            let staged = St::<'k, T, 4, W, S>::at(slots.byte_offset((slot * bytes).into()));
            k.if_(issues, || k.cp_async_bulk_wait_group_read(SLOTS as u32 - 1));
            group.sync();
            let registers = tiles[block].fragment().all_registers();
            let of_piece = registers.len() / N * P;
            for (at, piece) in (part * cols / P..(part + 1) * cols / P).enumerate() {
                let registers = &registers[piece * of_piece..][..of_piece];
                let tile = Rt::<U, 1, P, Row>::of_registers(k, registers.to_vec());
                let tile = k.unlocated(|| map(tile, [block as u32, piece as u32]));
                Storing { tile: staged.tensor.clone(), owner: staged.owner }
                    .subtile(warp, (at * P) as u32)
                    .store(&tile);
            }
            let (to, col) = (to(block as u32), (part * W) as u32 * T::SUBTILE_LENGTH);
            let size = [outbox.rows, N as u32 * 16];
            let by_threads = outbox.by_threads && op.is_none();
            if !by_threads {
                k.fence_proxy_async(ProxySpace::Shared);
            }
            group.sync();
            let view = to.view(size);
            if by_threads || (op.is_none() && !view.starts_at_unit()) {
                store_rows(self, &staged, &view, outbox.rows, col);
                if SLOTS > 1 {
                    // Commit an empty group, because the wait for the next slot counts one group per slot.
                    k.if_(issues, || k.cp_async_bulk_commit_group());
                }
                continue;
            }
            let ends = view.row_ends();
            if op.is_some() && ends.is_some() {
                k.refuse(format!(
                        "expected rows known to be a multiple of 16 bytes, which tensor copies add as a whole: declare the columns a multiple of {} of {}",
                        16 / T::SIZE,
                        T::NAME
                    ));
            }
            // A matrix with rows shorter than one unit has no tensor map.
            let copied = ends.as_ref().map_or(true.into(), |ends| (ends.first + col).lt(ends.start));
            k.if_(issues & copied, || to.store_boxes(op, &staged, size, col));
            k.if_(issues, || k.cp_async_bulk_commit_group());
            if let Some(ends) = ends {
                store_ends(group, &staged, &view, &ends, outbox.rows, col);
            }
        }
    }
}

/// Stores the first `rows` rows of a tile of 64 rows and `W` columns of subtiles to `to`, starting at column `col`; each warp stores one
/// row at a time.
#[track_caller]
fn store_rows<'k, T: TensorElement, A: Writable, const W: usize, S: SharedSwizzle, const C: usize>(
    c: Consumer<'k, C>,
    staged: &St<'k, T, 4, W, S>,
    to: &Tensor<'k, Global, T, A>,
    rows: u32,
    col: u32,
) {
    let k = c.group().kernel();
    let (warp, lane) = (c.warp(), k.lane().rank());
    k.for_(rows / 4, |i| {
        let row = i * 4 + warp;
        let width = W as u32 * T::SUBTILE_LENGTH;
        for first in (0..width).step_by(32) {
            let at = lane + first;
            // If the width is an odd multiple of 16, half of the lanes have no element in the last step.
            k.if_(at.lt(width), || {
                let value = staged.tensor.at_coord(&[row, at]).load();
                to.at_coord(&[row, at + col]).store(value);
            });
        }
    });
}

/// Stores the ends of the first `rows` rows of `to`, which tensor copies cannot store, if they are in the
/// tile of 64 rows and `W` columns of subtiles that starts at column `col`.
#[track_caller]
fn store_ends<'k, T: TensorElement, A: Writable, const W: usize, S: SharedSwizzle>(
    group: WarpGroup<'k>,
    staged: &St<'k, T, 4, W, S>,
    to: &Tensor<'k, Global, T, A>,
    ends: &RowEnds<'k>,
    rows: u32,
    col: u32,
) {
    let RowEnds { first, start, end, unit } = *ends;
    let (k, width) = (group.kernel(), W as u32 * T::SUBTILE_LENGTH);
    // The first column of the ends, relative to the tile; in tiles without ends, it is past the tile or wraps around.
    let within = start - (first + col);
    k.if_(start.ne(end) & within.lt(width), || {
        // Two threads for each row.
        let (row, parity) = (group.thread() & 63, group.thread() >> 6);
        k.if_(row.lt(rows), || {
            // The loop is not unrolled, because copies of its body would take ptxas more time, and few tiles have ends.
            k.for_(unit / 2, |pair| {
                k.no_unroll();
                let at = within + pair * 2 + parity;
                let value = staged.tensor.at_coord(&[row, at]).load();
                to.at_coord(&[row, at + col]).store(value);
            });
        });
    });
}
