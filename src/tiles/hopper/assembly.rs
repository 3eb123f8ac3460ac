//! Tiles that consumer warpgroups write cooperatively and that each of them reads in full.

use std::{cell::Cell, fmt, marker::PhantomData, panic::Location};

use super::{
    ring::{WARPS, initialized_once},
    roles::Consumer,
};
use crate::{
    ptx::{Builder, Lease, Mbarrier, ProxySpace, Ptr, RegId, Scope, Shared, Val, Var, quotient, remainder},
    tensor::TensorElement,
    tiles::{Allocate, Convert, Filled, Row, Rt, St, Storing},
};

/// The number of tiles: one can be written while another is read. Two suffice: a warpgroup contributes to the next tile only after it has
/// read the previous one, and reuses a slot only after all warpgroups have contributed to the tile in the other slot.
const SLOTS: u32 = 2;

/// A shared tile of `H`×`W` subtiles that `C` consumer warpgroups write cooperatively and that each of them then reads in full, for example
/// as an MMA operand.
///
/// Each warpgroup writes 64 rows or, if the tile has only 64 rows, a part of the columns. Consecutive rounds alternate between two such
/// tiles.
///
/// ```
/// # use warpwright::{prelude::*, tiles::{consumers, producer}};
/// # Kernel::<(In<bf16>, Out<f32>)>::build("square", Target::SM_90A, |k, (x, d)| {
/// # k.block([384]);
/// # k.grid([1]);
/// # let (x, d) = (k.global(x, row_major(128, 64)), k.global(d, row_major(64, 64)));
/// let assembly = k.assembly::<bf16, 8, 4, 2>();
/// k.specialize(
///     producer(40, |_| {}),
///     consumers::<2, _>(232, |c| {
///         let rows: Rt<bf16, 1, 4> = x.tile(c.rank() * 4 + c.warp(), 0).load();
///         let rows = c.contribute(&assembly, &rows);
///         // other work, while other warpgroups write their rows
///         let x = c.assembled(&assembly, rows);
///         let square = c.group().accumulate_from_zero::<Rt<f32, 1, 4>>().mma_atb(&x, &x).wait();
/// #       c.group().kernel().if_(c.rank().eq(0), || d.tile(c.warp(), 0).store(&square));
///     }),
/// );
/// # })?;
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
pub struct Assembly<'k, T, const H: usize, const W: usize, const C: usize> {
    base: Ptr<'k, u8, Shared>,
    /// One barrier per slot; it completes a phase when all warps have written their parts.
    full: Mbarrier<'k>,
    /// The number of tiles to which this warpgroup has contributed.
    round: Var<'k, u32>,
    last: Cell<Option<Last>>,
    kind: PhantomData<fn() -> T>,
}

/// What was last done with an assembly.
#[derive(Clone, Copy)]
enum Last {
    /// A warpgroup contributed to a tile.
    Contributed,
    /// The tile was returned; this is its lease.
    Assembled(Lease),
}

/// A token that represents this warpgroup's contribution to an [`Assembly`]; see [`Consumer::assembled`].
#[derive(Debug)]
#[must_use = "wait for the other warpgroups with `assembled`"]
pub struct Contribution<'k> {
    round: Val<'k, u32>,
    /// The register of the assembly's round, unique to the assembly.
    assembly: RegId,
    lease: Lease,
}

impl<T: TensorElement, const H: usize, const W: usize, const C: usize> fmt::Debug
    for Assembly<'_, T, H, W, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Assembly<{}, {H}, {W}, {C}> at {:?}", T::NAME, self.base)
    }
}

impl<'k> Builder<'k> {
    /// Allocates an assembly of `H`×`W` subtiles that `C` consumer warpgroups write cooperatively: `k.assembly::<bf16, 8, 4, 2>()`. All
    /// threads of the block must execute the emitted code.
    ///
    /// The call does not compile unless `H` is 4 · `C`, or `H` is 4 and `C` divides `W`. The builder rejects the call inside an emitted
    /// loop.
    #[track_caller]
    pub fn assembly<T: TensorElement, const H: usize, const W: usize, const C: usize>(
        self,
    ) -> Assembly<'k, T, H, W, C> {
        const {
            assert!(
                H == 4 * C || H == 4 && W.is_multiple_of(C),
                "each warpgroup writes 64 rows, or a part of the columns of 64 rows"
            );
        }
        let k = self;
        let _located = k.locate(Location::caller());
        initialized_once(k, "an assembly");
        let bytes = SLOTS * St::<'k, T, H, W>::BYTES;
        let base = k.shared_aligned(bytes, St::<'k, T, H, W>::alignment(k));
        let full = k.mbarriers(SLOTS);
        k.if_(k.this_block().thread().eq(0), || {
            (0..SLOTS).for_each(|slot| full.at(slot).init(WARPS * C as u32));
        });
        k.this_block().sync();
        Assembly { base, full, round: k.var(0), last: Cell::new(None), kind: PhantomData }
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, const C: usize> Assembly<'k, T, H, W, C> {
    #[track_caller]
    fn tile(&self, round: Val<'k, u32>) -> St<'k, T, H, W> {
        St::at(self.base.advance(remainder(round, SLOTS) * St::<'k, T, H, W>::BYTES))
    }

    #[track_caller]
    fn barrier(&self, round: Val<'k, u32>) -> Mbarrier<'k> {
        self.full.at(remainder(round, SLOTS))
    }
}

impl<'k, const C: usize> Consumer<'k, C> {
    /// Writes this warp's 16 rows to the next tile. All threads of all consumer warpgroups must take part.
    ///
    /// `rows` contains whole rows or, if the tile has only 64 rows, part `self.rank()` of the columns. Before the call, this warpgroup must
    /// have finished reading the previous tile, and the `wgmma`s that read it must be complete, because the call allows other warpgroups to
    /// overwrite that tile. The builder rejects the call before the previous contribution has been [assembled](Self::assembled), and later
    /// uses of the previous tile.
    #[track_caller]
    pub fn contribute<T, U, const H: usize, const W: usize, const P: usize>(
        self,
        assembly: &Assembly<'k, T, H, W, C>,
        rows: &Rt<'k, U, 1, P, Row>,
    ) -> Contribution<'k>
    where
        T: TensorElement,
        U: Convert<T>,
    {
        const {
            assert!(
                P * if H == 4 * C { 1 } else { C } == W,
                "the parts of all warpgroups must form the tile"
            );
        }
        let k = self.group().kernel();
        let _located = k.locate(Location::caller());
        self.check();
        match assembly.last.take() {
            // Other warpgroups may now overwrite the previous tile.
            Some(Last::Assembled(tile)) => k.expire_lease(tile),
            Some(Last::Contributed) => k.refuse(
                "expected a contribution after the previous tile has been assembled, found one before".into(),
            ),
            None => {}
        }
        let round = assembly.round.get();
        let St { tensor, owner, .. } = assembly.tile(round);
        let (row, col) = if H == 4 * C {
            (self.rank() * WARPS + self.warp(), 0.into())
        } else {
            (self.warp(), self.rank() * P as u32)
        };
        Storing { tile: tensor, owner }.subtile(row, col).store(rows);
        // `wgmma` reads shared memory through the async proxy.
        k.fence_proxy_async(ProxySpace::Shared);
        k.warp().sync();
        k.if_(k.lane().rank().eq(0), || {
            assembly.barrier(round).arrive();
        });
        assembly.round.set(round + 1);
        assembly.last.set(Some(Last::Contributed));
        Contribution { round, assembly: assembly.round.register(), lease: k.lease() }
    }

    /// Waits until all warpgroups have written their parts of the tile to which `own` contributed, and returns the tile. The builder rejects
    /// the call in an emitted branch or loop that began after the contribution, and a contribution to another assembly.
    #[track_caller]
    pub fn assembled<T, const H: usize, const W: usize>(
        self,
        assembly: &Assembly<'k, T, H, W, C>,
        own: Contribution<'k>,
    ) -> Filled<St<'k, T, H, W>>
    where
        T: TensorElement,
    {
        let k = self.group().kernel();
        let _located = k.locate(Location::caller());
        let Contribution { round, assembly: to, lease } = own;
        k.check_lease_here(lease);
        if to != assembly.round.register() {
            k.refuse("expected a contribution to the assembly, found one to another assembly".into());
        }
        assembly.barrier(round).wait(quotient(round, SLOTS) & 1);
        let filled = assembly.tile(round).filled();
        assembly.last.set(filled.tile.tensor.lease().map(Last::Assembled));
        filled
    }
}
