//! Conversion of register vectors between layouts.

use std::panic::Location;

use super::{exchange::Exchange, registers::Registers, vector::Rv, vector_layout::VectorLayout};
use crate::tensor::TensorElement;

impl<'k, T: TensorElement, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// Returns the same elements in another vector layout: for example, a vector with one element per row of a tile becomes one with one
    /// element per column, or a vector in the [`Naive`](super::Naive) layout becomes one in the layout of a tile.
    ///
    /// All lanes of the warp must take part. A lane receives each register of the result at most once. Per 16 elements of 32 bits,
    /// conversion to [`Aligned`](super::Aligned) therefore requires at most 4 `shfl`, conversion to [`Orthogonal`](super::Orthogonal) at
    /// most 2, and conversion to `Naive`, for lengths that are multiples of 128, at most ½. Two 16-bit elements of a register that have the
    /// same owner share a `shfl`. No instruction is emitted if the layouts are the same.
    #[doc(alias = "copy")]
    #[must_use]
    #[track_caller]
    pub fn to_layout<V2: VectorLayout>(self) -> Rv<'k, T, N, V2> {
        self.to_vector()
    }

    /// Returns the same elements in another vector layout, as [`to_layout`](Self::to_layout) does, but the unit of length may differ.
    /// For example, the column sums of an `Rt<e4m3, 1, 2>` can be converted to the layout of a tile with wider elements:
    /// `let sums: RowVec<f32, 4> = q.col_sum().to_vector();`. The call does not compile if the lengths differ.
    #[must_use]
    #[track_caller]
    pub fn to_vector<const M: usize, V2: VectorLayout>(self) -> Rv<'k, T, M, V2> {
        const {
            assert!(
                Self::LENGTH == Rv::<T, M, V2>::LENGTH,
                "both vectors must have the same length: `N` · 16 elements, and `N` · 32 of `Aligned<Length32>` and `Naive<Length32>`"
            );
        }
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let exchange = Exchange::plan(&Self::layout(), &Rv::<T, M, V2>::layout());
        if exchange.is_identity() {
            return Rv::of_registers(k, self.fragment().all_registers().to_vec());
        }
        Rv::of_registers(k, k.all_owned(|| exchange.emit(k, &self.words())))
    }
}
