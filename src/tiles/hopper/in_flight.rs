//! Warpgroup MMAs in flight: `wgmma` on tiles.

use std::{fmt, panic::Location};

use arrayvec::ArrayVec;

use super::{
    left_factor::{Factor, LeftFactor},
    matrix::{Descriptors, SharedFactor, sealed},
};
use crate::{
    ptx::{Builder, Lease, Scope, State, Val, Visitor, WarpGroup, WgmmaA, WgmmaTail, matrix_mnemonic},
    tensor::{TensorElement, splat},
    tiles::{Product, Row, Rt, registers::Registers},
};

/// The accumulator of `wgmma`s in flight: a tile of 64 rows, or an array of such tiles. Each of the four warps owns 16 rows of each tile in
/// registers.
///
/// The registers cannot be accessed before [`wait`](Self::wait). Additional `wgmma`s can be started; they execute in order. A loop can
/// carry an `InFlight`, so `wgmma`s can remain in flight from one iteration to the next.
///
/// ```
/// use warpwright::{prelude::*, ptx::ProxySpace};
///
/// // D = A·Bᵀ for A and B of 64×64.
/// let kernel = Kernel::<(In<bf16>, In<bf16>, Out<f32>)>::build("product(a, b, d)", Target::SM_90A, |k, (a, b, d)| {
///     let block = k.block([128]);
///     k.grid([1]);
///     let [a, b] = [a, b].map(|x| k.global(x, row_major(64, 64)).tile(0, 0));
///     let a = k.shared_tile::<St<bf16, 4, 4>>().fill(a);
///     let b = k.shared_tile::<St<bf16, 4, 4>>().fill(b);
///     let (a, b) = a.and(b).wait();
///     k.fence_proxy_async(ProxySpace::Shared);
///     block.sync();
///     let group = k.warp_group();
///     let sum = group.accumulate(k.zeros::<Rt<f32, 1, 4>>()).mma_abt(&a, &b).wait();
///     k.global(d, row_major(64, 64)).tile_of(group, 0, 0).store(&sum);
/// })?;
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
#[must_use = "products are in flight: wait for them"]
pub struct InFlight<'k, R> {
    k: Builder<'k>,
    tile: R,
    /// The number of groups that the kernel had committed after the last `wgmma`; `None` if there is no `wgmma`.
    group: Option<u32>,
    /// The loops whose next iteration overwrites registers of A, each with the number of the last group that reads these registers.
    operands: Vec<(u32, u32)>,
    /// Renewed by each group of `wgmma`s.
    lease: Lease,
    /// Whether the accumulator is logically zero although its registers have not been cleared, because the first `wgmma` overwrites them.
    is_zero: bool,
}

impl<R> fmt::Debug for InFlight<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").field("group", &self.group).finish_non_exhaustive()
    }
}

impl<'k> WarpGroup<'k> {
    /// Returns an accumulator for MMAs of this warpgroup, with `tiles` as its initial value.
    ///
    /// Each warp passes a register tile with 16 of the 64 rows, or an array of such tiles for consecutive blocks of 64 rows.
    ///
    /// Create the tiles while no other `wgmma`s are in flight; otherwise, ptxas inserts a wait for these `wgmma`s before the accumulator
    /// registers are written (ptxas message C7515).
    pub fn accumulate<R: Accumulators<'k>>(self, tiles: R) -> InFlight<'k, R> {
        InFlight::complete(self.kernel(), tiles)
    }

    /// Returns an accumulator for MMAs of this warpgroup, with zero as its initial value.
    ///
    /// No instructions write zeros, because the first `wgmma` overwrites the registers. Unlike with [`accumulate`](Self::accumulate), other
    /// `wgmma`s may be in flight.
    ///
    /// For example, `group.accumulate_from_zero::<Rt<f32, 1, 8>>().mma_abt(q, k)` computes Q·Kᵀ.
    #[doc(alias = "scale-d")]
    #[track_caller]
    pub fn accumulate_from_zero<R: Accumulators<'k>>(self) -> InFlight<'k, R> {
        self.accumulate_from_zero_in(R::undefined(self.kernel()))
    }

    /// Returns an accumulator with zero as its initial value, as [`accumulate_from_zero`](Self::accumulate_from_zero) does, but reuses the
    /// registers of `tiles`, whose values are no longer needed. This is useful for tiles that a loop carries.
    #[doc(alias = "scale-d")]
    pub fn accumulate_from_zero_in<R: Accumulators<'k>>(self, tiles: R) -> InFlight<'k, R> {
        InFlight { is_zero: true, ..InFlight::complete(self.kernel(), tiles) }
    }
}

/// The register tiles in which a warpgroup's MMAs accumulate: one tile of 64 rows, or an array of tiles for consecutive blocks of 64 rows.
/// Each warp owns 16 rows of each tile.
pub trait Accumulators<'k>: State<'k> + sealed::Sealed {
    /// Returns tiles with uninitialized registers, which must be written before they are read.
    #[doc(hidden)]
    #[track_caller]
    fn undefined(k: Builder<'k>) -> Self;
    /// Writes zeros to all registers.
    #[doc(hidden)]
    #[track_caller]
    fn clear(&mut self);
}

impl<C: TensorElement, const N: usize> sealed::Sealed for Rt<'_, C, 1, N, Row> {}
impl<'k, C: TensorElement, const N: usize> Accumulators<'k> for Rt<'k, C, 1, N, Row> {
    #[track_caller]
    fn undefined(k: Builder<'k>) -> Self {
        Self::uninitialized(k)
    }

    #[track_caller]
    fn clear(&mut self) {
        let zero = Val::<C::Word>::from(splat(C::from_mem_bits(0)));
        let k = self.kernel();
        self.fragment.all_registers().iter().for_each(|&register| k.move_into(register, zero));
    }
}

impl<C: TensorElement, const N: usize, const H: usize> sealed::Sealed for [Rt<'_, C, 1, N, Row>; H] {}
impl<'k, C: TensorElement, const N: usize, const H: usize> Accumulators<'k> for [Rt<'k, C, 1, N, Row>; H] {
    #[track_caller]
    fn undefined(k: Builder<'k>) -> Self {
        [(); H].map(|()| Rt::undefined(k))
    }

    #[track_caller]
    fn clear(&mut self) {
        self.iter_mut().for_each(Accumulators::clear);
    }
}

impl<'k, R> InFlight<'k, R> {
    /// Returns `tile` as an accumulator without `wgmma`s in flight.
    pub(super) fn complete(k: Builder<'k>, tile: R) -> Self {
        Self { k, tile, group: None, operands: Vec::new(), lease: k.lease(), is_zero: false }
    }

    /// Returns whether the next iteration of the innermost loop overwrites registers that the `wgmma`s read.
    pub(super) fn reads_registers_of_loop(&self) -> bool {
        let innermost = self.k.body().innermost_loop();
        self.operands.iter().any(|&(of_loop, _)| of_loop == innermost)
    }

    /// Records that no `wgmma` is in flight.
    pub(super) fn forget_operands(&mut self) {
        self.operands.clear();
    }

    /// Waits until the `wgmma`s of this accumulator are complete and returns its value. Up to seven groups of `wgmma`s that were started
    /// later remain in flight. All threads of the warpgroup must execute the emitted code. The builder rejects the call in an emitted branch
    /// or loop that began after the last MMA and does not carry the accumulator.
    #[doc(alias = "wgmma.wait_group")]
    #[doc(alias = "warpgroup_wait")]
    #[track_caller]
    pub fn wait(mut self) -> R
    where
        R: Accumulators<'k>,
    {
        if self.group.is_some() || self.is_zero {
            self.k.check_lease_here(self.lease);
        }
        if let Some(group) = self.group {
            self.k.wgmma_wait_for(group);
        }
        self.clear();
        self.tile
    }

    /// Writes zeros to the registers if no `wgmma` has overwritten them.
    #[track_caller]
    fn clear(&mut self)
    where
        R: Accumulators<'k>,
    {
        if std::mem::take(&mut self.is_zero) {
            self.tile.clear();
        }
    }
}

/// Defines the MMAs of accumulators `$tiles` with `$count` blocks of 64 rows.
macro_rules! products {
    ([$($height:tt)*] $tiles:ty, $count:expr, $split:expr, $join:expr) => {
        impl<'k, C: TensorElement, const N: usize, $($height)*> InFlight<'k, $tiles> {
            /// Starts `wgmma`s that add A·B to the accumulator.
            ///
            /// A has `M`×`K` subtiles (64 rows per accumulator tile) and is in shared memory or in registers. B has `K`×`N` subtiles and is
            /// in shared memory. All threads of the warpgroup must execute the emitted code.
            ///
            /// The builder rejects the call if the target is not sm_90a, if `wgmma` does not support the layout of an operand in shared
            /// memory, or if the accumulator was created before the innermost emitted loop and the loop does not carry it. For operands in
            /// shared memory whose rows extend along m or n, `wgmma` supports only 16-bit elements.
            #[doc(alias = "wgmma.mma_async")]
            #[doc(alias = "mma_AB")]
            #[track_caller]
            pub fn mma_ab<A, B, const M: usize, const K: usize>(
                self,
                a: impl LeftFactor<'k, A, M, K>,
                b: impl SharedFactor<'k, B, K, N>,
            ) -> Self
            where
                A: Product<B, C>,
                B: TensorElement,
            {
                const { assert!(M == 4 * $count, "expected 64 rows of A for each accumulator: multiply `a.rows::<4>(i)`, or accumulate in an array of tiles") };
                self.multiplied::<A, B>(a.factor(), b.matrix().right())
            }

            /// Starts `wgmma`s that add A·Bᵀ to the accumulator, where B has `N`×`K` subtiles. For A and the requirements, see
            /// [`mma_ab`](Self::mma_ab).
            #[doc(alias = "wgmma.mma_async")]
            #[doc(alias = "mma_ABt")]
            #[track_caller]
            pub fn mma_abt<A, B, const M: usize, const K: usize>(
                self,
                a: impl LeftFactor<'k, A, M, K>,
                b: impl SharedFactor<'k, B, N, K>,
            ) -> Self
            where
                A: Product<B, C>,
                B: TensorElement,
            {
                self.mma_ab::<A, B, M, K>(a, b.matrix().transposed())
            }

            /// Starts `wgmma`s that add Aᵀ·B to the accumulator, where A has `K`×`M` subtiles and is in shared memory. For B and the
            /// requirements, see [`mma_ab`](Self::mma_ab).
            #[doc(alias = "wgmma.mma_async")]
            #[doc(alias = "mma_AtB")]
            #[track_caller]
            pub fn mma_atb<A, B, const M: usize, const K: usize>(
                self,
                a: impl SharedFactor<'k, A, K, M>,
                b: impl SharedFactor<'k, B, K, N>,
            ) -> Self
            where
                A: Product<B, C>,
                B: TensorElement,
            {
                self.mma_ab::<A, B, M, K>(a.matrix().transposed(), b)
            }

            /// Starts `wgmma`s that add Aᵀ·Bᵀ to the accumulator, where A has `K`×`M` subtiles, B has `N`×`K` subtiles, and both are in
            /// shared memory. For the requirements, see [`mma_ab`](Self::mma_ab).
            #[doc(alias = "wgmma.mma_async")]
            #[doc(alias = "mma_AtBt")]
            #[track_caller]
            pub fn mma_atbt<A, B, const M: usize, const K: usize>(
                self,
                a: impl SharedFactor<'k, A, K, M>,
                b: impl SharedFactor<'k, B, N, K>,
            ) -> Self
            where
                A: Product<B, C>,
                B: TensorElement,
            {
                self.mma_ab::<A, B, M, K>(a.matrix().transposed(), b.matrix().transposed())
            }

            #[track_caller]
            fn multiplied<A, B>(self, a: Factor<'k, A>, b: Descriptors<'k>) -> Self
            where
                A: Product<B, C>,
                B: TensorElement,
            {
                const {
                    assert!(A::SIZE <= 4, "`wgmma` has no f64: multiply register tiles");
                    assert!(N <= 16, "expected at most 256 columns: split the tile");
                }
                let Self { k, tile, mut operands, mut lease, is_zero, .. } = self;
                let split: fn($tiles) -> Vec<Rt<'k, C, 1, N, Row>> = $split;
                let join: fn(Vec<Rt<'k, C, 1, N, Row>>) -> $tiles = $join;
                let words = split(tile).iter().map(|tile| tile.words()).collect();
                let _located = k.locate(Location::caller());
                if is_zero {
                    // The accumulator is not written if the first product is not executed.
                    k.check_lease_here(lease);
                }
                let a = a.in_registers(k);
                let words = multiply::<A, B, C>(k, 16 * N, words, is_zero, &a, &b);
                k.renew_lease(&mut lease);
                let group = k.wgmma_groups();
                if let Factor::Registers(a) = &a {
                    let loops = k.loops_of(a);
                    operands.retain(|(of_loop, _)| !loops.contains(of_loop));
                    operands.extend(loops.into_iter().map(|of_loop| (of_loop, group)));
                }
                let tiles = words.iter().map(|words| {
                    Rt::of_registers(k, words.iter().map(|word| word.in_register(k)).collect())
                });
                InFlight { k, tile: join(tiles.collect()), group: Some(group), operands, lease, is_zero: false }
            }
        }
    };
}

products! { [] Rt<'k, C, 1, N, Row>, 1, |tile| vec![tile], |tiles| first(tiles) }
products! { [const H: usize] [Rt<'k, C, 1, N, Row>; H], H, |tiles| tiles.into(), |tiles| array(tiles) }

fn first<T>(tiles: Vec<T>) -> T {
    tiles.into_iter().next().expect("a product has as many tiles as before")
}

fn array<T, const H: usize>(tiles: Vec<T>) -> [T; H] {
    tiles.try_into().unwrap_or_else(|_| unreachable!("a product has as many tiles as before"))
}

/// Emits the `wgmma`s of all steps along k as one group, into the 64×`cols` accumulators `sums`. The first step overwrites them if they are
/// `undefined`.
#[track_caller]
fn multiply<'k, A, B, C>(
    k: Builder<'k>,
    cols: usize,
    mut sums: Vec<Vec<Val<'k, C::Word>>>,
    undefined: bool,
    a: &Factor<'k, A>,
    b: &Descriptors<'k>,
) -> Vec<Vec<Val<'k, C::Word>>>
where
    A: Product<B, C>,
    B: TensorElement,
    C: TensorElement,
{
    let depth = 32 / A::SIZE;
    // `TYPES` lists the types of D, A, B and C. Omit the type of C, which is the same as that of D.
    let types = A::TYPES.rsplit_once('.').map_or("", |(types, _)| types);
    let mnemonic = matrix_mnemonic::wgmma("", (64, cols as u32, depth), "", types);
    let mut immediates = ArrayVec::new();
    if !types.starts_with("s32") {
        // Neither factor is negated.
        immediates.extend([1, 1]);
    }
    if A::SIZE == 2 {
        if let Factor::Shared(a) = a {
            immediates.push(a.order.immediate());
        }
        immediates.push(b.order.immediate());
    }
    k.wgmma_fence();
    for (step, &of_b) in b.steps.iter().enumerate() {
        for (block, words) in sums.iter_mut().enumerate() {
            let accumulate = Val::from(step > 0 || !undefined);
            let tail = WgmmaTail { sparse: None, accumulate, immediates: immediates.clone() };
            match a {
                Factor::Shared(a) => {
                    let Some(&start) = a.steps.get(step) else { continue };
                    let of_a = WgmmaA::<'_, '_, u32>::Shared(start.advance(block as u32 * a.rows_64));
                    k.wgmma_in_place(&mnemonic, words, of_a, of_b, tail);
                }
                Factor::Registers(a) => {
                    k.wgmma_in_place(&mnemonic, words, WgmmaA::Registers(&a[step * 4..][..4]), of_b, tail);
                }
            }
        }
    }
    k.wgmma_commit_group();
    sums
}

impl<'k, R: Accumulators<'k>> State<'k> for InFlight<'k, R> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        if visitor.reads() {
            self.clear();
        }
        visitor.group(&mut self.group);
        visitor.operands(&mut self.operands);
        visitor.lease(&mut self.lease);
        visitor.in_flight(&mut self.tile);
    }
}
