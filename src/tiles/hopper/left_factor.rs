//! The left operand of a warpgroup MMA, in shared memory or in registers.

use super::matrix::{Descriptors, SharedMatrix, sealed};
use crate::{
    ptx::{Builder, Val},
    tensor::TensorElement,
    tiles::{Filled, Row, Rt, SharedSwizzle, St, registers::Registers},
};

/// Operand A of an MMA, divided into steps along k.
pub(super) enum Factor<'k, T: TensorElement> {
    Shared(Descriptors<'k>),
    /// The registers of a row tile, four for each step.
    Registers(Vec<Val<'k, T::Word>>),
}

impl<'k, T: TensorElement> Factor<'k, T> {
    /// Moves constants to registers.
    #[track_caller]
    pub(super) fn in_registers(self, k: Builder<'k>) -> Self {
        match self {
            Self::Registers(words) => {
                Self::Registers(words.iter().map(|word| Val::from_reg(word.in_register(k), k)).collect())
            }
            shared => shared,
        }
    }
}

/// An immutable left operand in registers that several warpgroup MMAs can read. Each warp owns 16 rows and `K` columns of subtiles.
///
/// ```
/// # use warpwright::prelude::*;
/// # Kernel::<(In<bf16>, In<bf16>, Out<f32>)>::build("products(a, b, d)", Target::SM_90A, |k, (a, b, d)| {
/// #     let block = k.block([128]);
/// #     k.grid([1]);
/// #     let (a, d) = (k.global(a, row_major(64, 64)), k.global(d, row_major(64, 64)));
/// #     let b = k.shared_tile::<St<bf16, 4, 4>>().fill(k.global(b, row_major(64, 64)).tile(0, 0)).wait();
/// #     k.fence_proxy_async(warpwright::ptx::ProxySpace::Shared);
/// #     block.sync();
/// let group = k.warp_group();
/// let a: Rt<bf16, 1, 4> = a.tile_of(group, 0, 0).load();
/// let a = a.frozen();
/// let sum = group.accumulate_from_zero::<Rt<f32, 1, 4>>().mma_abt(&a, &b).mma_ab(&a, &b).wait();
/// # d.tile_of(group, 0, 0).store(&sum);
/// # })?;
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Frozen<'k, T: TensorElement, const K: usize> {
    tile: Rt<'k, T, 1, K, Row>,
}

impl<'k, T: TensorElement, const K: usize> Rt<'k, T, 1, K, Row> {
    /// Returns the tile as an immutable left operand that several warpgroup MMAs can read.
    #[must_use]
    pub fn frozen(self) -> Frozen<'k, T, K> {
        Frozen { tile: self }
    }
}

/// Operand A of a warpgroup MMA, with `M`×`K` subtiles: a matrix in shared memory or, for 64 rows of 8-bit or 16-bit elements, a register
/// tile of 16 rows in each warp. A register tile is passed by value because the MMA reads its registers until it completes; a [`Frozen`]
/// tile is passed by reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not operand A of a warpgroup MMA with {M}×{K} subtiles of `{T}`",
    note = "expected rows of a shared tile, such as `a.rows::<4>(c.rank())`, or a register tile `Rt<T, 1, K, Row>` by value"
)]
pub trait LeftFactor<'k, T: TensorElement, const M: usize, const K: usize>: sealed::Sealed {
    #[doc(hidden)]
    #[track_caller]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn factor(self) -> Factor<'k, T>;
}

impl<'k, T: TensorElement, const M: usize, const K: usize> LeftFactor<'k, T, M, K>
    for SharedMatrix<'k, T, M, K>
{
    #[track_caller]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn factor(self) -> Factor<'k, T> {
        Factor::Shared(self.left())
    }
}

impl<'k, T: TensorElement, const M: usize, const K: usize, S: SharedSwizzle> LeftFactor<'k, T, M, K>
    for &Filled<St<'k, T, M, K, S>>
{
    #[track_caller]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn factor(self) -> Factor<'k, T> {
        self.as_matrix().factor()
    }
}

impl<'k, T: TensorElement, const K: usize> LeftFactor<'k, T, 4, K> for Rt<'k, T, 1, K, Row> {
    #[track_caller]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn factor(self) -> Factor<'k, T> {
        // The tf32 fragment has a different order along k than a row tile, and B in shared memory cannot be reordered to match.
        const {
            assert!(
                T::SIZE <= 2,
                "A in registers must have 8-bit or 16-bit elements: store other types to shared memory"
            );
        };
        Factor::Registers(self.words())
    }
}

impl<T: TensorElement, const K: usize> sealed::Sealed for &Frozen<'_, T, K> {}

impl<'k, T: TensorElement, const K: usize> LeftFactor<'k, T, 4, K> for &Frozen<'k, T, K> {
    #[track_caller]
    #[allow(private_interfaces, reason = "only called by the crate")]
    fn factor(self) -> Factor<'k, T> {
        const {
            assert!(
                T::SIZE <= 2,
                "A in registers must have 8-bit or 16-bit elements: store other types to shared memory"
            );
        };
        Factor::Registers(self.tile.words())
    }
}
