//! Conversion of register vectors between layouts.

use std::panic::Location;

use super::{exchange::Exchange, registers::Registers, vector::Rv, vector_layout::VectorLayout};
use crate::tensor::TensorElement;

impl<'k, T: TensorElement, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// Converts the vector to another layout, for example from one element per row of a tile to one element per column.
    ///
    /// All lanes of the warp must take part. For every 16 elements of 32 bits, a conversion to [`Aligned`](super::Aligned) requires at most
    /// 4 `shfl`, and a conversion to [`Orthogonal`](super::Orthogonal) at most 2. If the length is a multiple of 128, a conversion to
    /// [`Naive`](super::Naive) requires at most one `shfl` for every 32 elements. Two 16-bit elements in the same register share a `shfl`
    /// if both come from the same lane. No instruction is emitted if the layouts are the same.
    #[doc(alias = "copy")]
    #[must_use]
    #[track_caller]
    pub fn to_layout<V2: VectorLayout>(self) -> Rv<'k, T, N, V2> {
        self.to_vector()
    }

    /// Converts the vector to another layout, as [`to_layout`](Self::to_layout) does, but the layouts may have different units of length.
    ///
    /// For example, the column sums of a tile `q` of type `Rt<e4m3, 1, 2>` can be converted to the layout of a tile with wider elements:
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
