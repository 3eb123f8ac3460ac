//! Products of a warpgroup in flight: `wgmma` on tiles.

use std::{fmt, panic::Location};

use arrayvec::ArrayVec;

use super::matrix::{Order, SharedMatrix};
use crate::{
    ptx::{Builder, MatrixDescriptor, Scope, State, Val, Visitor, WarpGroup, WgmmaA, WgmmaTail},
    tensor::TensorElement,
    tiles::{Filled, Product, Row, Rt, SharedSwizzle, St, registers::Registers},
};

/// A tile that products of a warpgroup in flight accumulate into: each of the four warps has a register tile of 16 rows, of 64.
///
/// The registers cannot be accessed before [`wait`](Self::wait). More products can be added, which execute in order. It is loop state,
/// so products can be in flight from one iteration to the next.
///
/// ```
/// use warpwright::prelude::*;
///
/// // D = A·Bᵀ for A and B of 64×64.
/// let kernel = Kernel::<(In<bf16>, In<bf16>, Out<f32>)>::build("product(a, b, d)", Target::SM_90A, |k, (a, b, d)| {
///     let block = k.block([128]);
///     k.grid([1]);
///     let [a, b] = [a, b].map(|x| k.global(x, row_major(64, 64)).tile(0, 0));
///     let a = k.shared_tile::<St<bf16, 4, 4>>().fill(&a);
///     let b = k.shared_tile::<St<bf16, 4, 4>>().fill(&b);
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
    /// The number of groups that the kernel had committed with the last product.
    group: u32,
}

impl<R> fmt::Debug for InFlight<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").field("group", &self.group).finish_non_exhaustive()
    }
}

impl<'k> WarpGroup<'k> {
    /// Starts to accumulate products of this warpgroup in the register tile of each warp: 16 rows of the 64 of the group.
    pub fn accumulate<C: TensorElement, const N: usize>(
        self,
        tile: Rt<'k, C, 1, N, Row>,
    ) -> InFlight<'k, Rt<'k, C, 1, N, Row>> {
        InFlight::new(self.kernel(), tile)
    }
}

impl<'k, R> InFlight<'k, R> {
    pub(super) fn new(k: Builder<'k>, tile: R) -> Self {
        Self { k, tile, group: k.wgmma_groups() }
    }

    /// Waits until the products are complete, and returns the tile. Products that were started later remain in flight. All threads of
    /// the warpgroup must execute the call.
    #[doc(alias = "wgmma.wait_group")]
    #[doc(alias = "warpgroup_wait")]
    #[track_caller]
    pub fn wait(self) -> R {
        // At most 7 groups can be excepted.
        self.k.wgmma_wait_group((self.k.wgmma_groups().saturating_sub(self.group)).min(7));
        self.tile
    }
}

impl<'k, C: TensorElement, const N: usize> InFlight<'k, Rt<'k, C, 1, N, Row>> {
    /// Adds A·B, where A is 64 rows of `K` subtiles, in shared memory or in the warps' registers, and B is `K`×`N` subtiles, in
    /// shared memory with rows along n: 16-bit types only.
    ///
    /// Rejected when the kernel is built: a layout in shared memory that `wgmma` does not know, and a target other than sm_90a.
    #[doc(alias = "wgmma.mma_async")]
    #[doc(alias = "mma_AB")]
    #[track_caller]
    pub fn mma_ab<A, B, const K: usize>(
        self,
        a: impl LeftFactor<'k, A, K>,
        b: impl Into<SharedMatrix<'k, B, K, N>>,
    ) -> Self
    where
        A: Product<B, C>,
        B: TensorElement,
    {
        const { assert_transposable::<B>() };
        self.multiply::<A, B>(a.factor(), (b.into().descriptors(Order::MnMajor), Order::MnMajor))
    }

    /// Adds A·Bᵀ, where B is `N`×`K` subtiles with rows along k; otherwise like [`mma_ab`](Self::mma_ab).
    #[doc(alias = "wgmma.mma_async")]
    #[doc(alias = "mma_ABt")]
    #[track_caller]
    pub fn mma_abt<A, B, const K: usize>(
        self,
        a: impl LeftFactor<'k, A, K>,
        b: impl Into<SharedMatrix<'k, B, N, K>>,
    ) -> Self
    where
        A: Product<B, C>,
        B: TensorElement,
    {
        self.multiply::<A, B>(a.factor(), (b.into().descriptors(Order::KMajor), Order::KMajor))
    }

    /// Adds Aᵀ·B, where A is `K`×4 subtiles in shared memory with rows along m; otherwise like [`mma_ab`](Self::mma_ab).
    #[doc(alias = "wgmma.mma_async")]
    #[doc(alias = "mma_AtB")]
    #[track_caller]
    pub fn mma_atb<A, B, const K: usize>(
        self,
        a: impl Into<SharedMatrix<'k, A, K, 4>>,
        b: impl Into<SharedMatrix<'k, B, K, N>>,
    ) -> Self
    where
        A: Product<B, C>,
        B: TensorElement,
    {
        const { assert_transposable::<A>() };
        let a = Factor::Shared(a.into().descriptors(Order::MnMajor), Order::MnMajor);
        self.multiply::<A, B>(a, (b.into().descriptors(Order::MnMajor), Order::MnMajor))
    }

    /// Adds Aᵀ·Bᵀ, where A is `K`×4 subtiles with rows along m and B `N`×`K` with rows along k; otherwise like
    /// [`mma_ab`](Self::mma_ab).
    #[doc(alias = "wgmma.mma_async")]
    #[doc(alias = "mma_AtBt")]
    #[track_caller]
    pub fn mma_atbt<A, B, const K: usize>(
        self,
        a: impl Into<SharedMatrix<'k, A, K, 4>>,
        b: impl Into<SharedMatrix<'k, B, N, K>>,
    ) -> Self
    where
        A: Product<B, C>,
        B: TensorElement,
    {
        const { assert_transposable::<A>() };
        let a = Factor::Shared(a.into().descriptors(Order::MnMajor), Order::MnMajor);
        self.multiply::<A, B>(a, (b.into().descriptors(Order::KMajor), Order::KMajor))
    }

    /// Emits the products of all steps along k as one group.
    #[track_caller]
    fn multiply<A, B>(self, a: Factor<'k, A>, (b, b_order): (Vec<MatrixDescriptor<'k>>, Order)) -> Self
    where
        A: Product<B, C>,
        B: TensorElement,
    {
        const {
            assert!(A::SIZE <= 4, "`wgmma` has no f64");
            assert!(N <= 16, "the columns of `wgmma` are at most 256: split the tile");
        }
        let k = self.k;
        k.located(Location::caller(), || {
            let depth = 32 / A::SIZE;
            // D, A, B, C: the last is D again.
            let types = A::TYPES.rsplit_once('.').map_or("", |(types, _)| types);
            let mnemonic = format!("wgmma.mma_async.sync.aligned.m64n{}k{depth}.{types}", 16 * N);
            let mut words = self.tile.words();
            k.wgmma_fence();
            for (step, &b) in b.iter().enumerate() {
                let mut immediates = ArrayVec::new();
                if !types.starts_with("s32") {
                    // Neither factor is negated.
                    immediates.extend([1, 1]);
                }
                if A::SIZE == 2 {
                    if let Factor::Shared(_, order) = &a {
                        immediates.push(i32::from(*order == Order::MnMajor));
                    }
                    immediates.push(i32::from(b_order == Order::MnMajor));
                }
                let tail = WgmmaTail { sparse: None, accumulate: true.into(), immediates };
                match &a {
                    Factor::Shared(a, _) => {
                        let Some(&a) = a.get(step) else { continue };
                        k.wgmma_in_place::<_, u32>(&mnemonic, &mut words, WgmmaA::Shared(a), b, tail);
                    }
                    Factor::Registers(a) => {
                        let registers = &a[step * 4..][..4];
                        k.wgmma_in_place(&mnemonic, &mut words, WgmmaA::Registers(registers), b, tail);
                    }
                }
            }
            k.wgmma_commit_group();
            let registers = words.iter().map(|word| word.in_register(k)).collect();
            InFlight::new(k, Rt::of_registers(k, registers))
        })
    }
}

/// Fails to compile for types that `wgmma` reads only in K-major order.
const fn assert_transposable<T: TensorElement>() {
    assert!(T::SIZE == 2, "`wgmma` reads only 16-bit types with rows along m or n: transpose the tile of another type");
}

/// A of a product, step by step.
pub(super) enum Factor<'k, T: TensorElement> {
    Shared(Vec<MatrixDescriptor<'k>>, Order),
    /// The registers of a row tile, four for each step.
    Registers(Vec<Val<'k, T::Word>>),
}

/// A of a warpgroup's product, 64 rows of `K` subtiles: in shared memory, or a register tile of 16 rows in each warp, which is in use
/// until the product is complete and therefore moved.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the left factor of a warpgroup's product of {K} subtiles of `{T}`",
    note = "expected 64 rows of a shared tile, such as `a.rows(c.rank())`, or a register tile `Rt<T, 1, K, Row>` by value"
)]
pub trait LeftFactor<'k, T: TensorElement, const K: usize>: sealed::Sealed {
    #[doc(hidden)]
    #[track_caller]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn factor(self) -> Factor<'k, T>;
}

mod sealed {
    pub trait Sealed {}
}

impl<T: TensorElement, const K: usize> sealed::Sealed for SharedMatrix<'_, T, 4, K> {}

impl<'k, T: TensorElement, const K: usize> LeftFactor<'k, T, K> for SharedMatrix<'k, T, 4, K> {
    #[track_caller]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn factor(self) -> Factor<'k, T> {
        Factor::Shared(self.descriptors(Order::KMajor), Order::KMajor)
    }
}

impl<T: TensorElement, const K: usize, S: SharedSwizzle> sealed::Sealed for &Filled<St<'_, T, 4, K, S>> {}

impl<'k, T: TensorElement, const K: usize, S: SharedSwizzle> LeftFactor<'k, T, K> for &Filled<St<'k, T, 4, K, S>> {
    #[track_caller]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn factor(self) -> Factor<'k, T> {
        SharedMatrix::from(self).factor()
    }
}

impl<T: TensorElement, const K: usize> sealed::Sealed for Rt<'_, T, 1, K, Row> {}

impl<'k, T: TensorElement, const K: usize> LeftFactor<'k, T, K> for Rt<'k, T, 1, K, Row> {
    #[track_caller]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn factor(self) -> Factor<'k, T> {
        // The fragment of tf32 has another order along k than a row tile, which B in shared memory cannot follow.
        const { assert!(T::SIZE <= 2, "A in registers is of 8 or 16 bits: store other types to shared memory") };
        Factor::Registers(self.words())
    }
}

impl<'k, R: State<'k>> State<'k> for InFlight<'k, R> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        visitor.group(&mut self.group);
        self.tile.visit(visitor);
    }
}
