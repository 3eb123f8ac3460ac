//! Positions of the largest and smallest elements of tiles and vectors that are distributed over the warps of a scope.

use std::panic::Location;

use super::{
    all_reduce::Partials,
    element::RegisterLayout,
    extremes::{Extremes, improve},
    reduce::Accumulate,
    registers::Registers,
    rt::Rt,
    vector::{ColVec, RowVec, Rv},
    vector_layout::VectorLayout,
};
use crate::{
    ptx::{AnyScope, Comparison, Scope, Val, traits::Numeric},
    tensor::Arithmetic,
};

/// Returns the best elements of lines. Each line is divided among the warps of `scope`, in warp order, into segments of `length` elements.
#[track_caller]
fn best_over<'k, S, const N: usize, V>(
    (elements, mut indices): Extremes<'k, S, N, V>,
    scope: impl Scope<'k>,
    length: u32,
    better: Comparison,
) -> Extremes<'k, S, N, V>
where
    S: Arithmetic<Word = S> + Numeric,
    V: VectorLayout,
{
    let k = elements.kernel();
    let _located = k.locate(Location::caller());
    let (warp, warps) = k.warp_of(scope);
    let all = (
        Partials::of_warps(k, scope, Rv::<S, N, V>::LENGTH),
        Partials::of_warps(k, scope, Rv::<u32, N, V>::LENGTH),
    );
    let (Some(all_elements), Some(all_indices)) = all else { return (elements, indices) };
    let first = warp * length;
    indices.rewrite(|_, index| index + first);
    AnyScope::from(scope).sync_in_loop();
    all_elements.store(k.warp().rank(), &elements);
    all_indices.store(k.warp().rank(), &indices);
    scope.sync();
    let part = |at| (all_elements.load::<N, V::Divided>(at), all_indices.load::<N, V::Divided>(at));
    let (elements, indices) = (1..warps).fold(part(0), |best, at| improve(best, &part(at), 0.into(), better));
    (elements.to_layout(), indices.to_layout())
}

macro_rules! extremes {
    ($($what:literal $better:ident $row_over:ident $row:ident $col_over:ident $col:ident $over:ident;)*) => {
        impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {$(
            #[doc = concat!("Returns the ", $what, " of each row across the tiles of all warps of `scope`, and the index of the column that contains it.")]
            ///
            /// The tiles are treated as one matrix, with the tiles side by side in warp order. Ties are resolved in favor of the lowest
            /// index. NaN is treated as −∞ for a maximum and as +∞ for a minimum.
            ///
            /// All threads of the scope must take part; every warp receives the same result. If the scope has several warps, the reduction
            /// allocates shared memory for two vectors per warp of the block and emits one barrier of the scope, or two inside an emitted
            /// loop.
            #[must_use]
            #[track_caller]
            pub fn $row_over(&self, scope: impl Scope<'k>) -> (ColVec<'k, T::Sum, H, L, T::Length>, ColVec<'k, u32, H, L, T::Length>) {
                best_over(self.$row(), scope, Self::COLS, Comparison::$better)
            }

            #[doc = concat!("Returns the ", $what, " of each column across the tiles of all warps of `scope`, and the index of the row that contains it.\n\nThe tiles are stacked in warp order. For ties, participating threads and costs, see [`", stringify!($row_over), "`](Self::", stringify!($row_over), ").")]
            #[must_use]
            #[track_caller]
            pub fn $col_over(&self, scope: impl Scope<'k>) -> (RowVec<'k, T::Sum, W, L, T::Length>, RowVec<'k, u32, W, L, T::Length>) {
                best_over(self.$col(), scope, Self::ROWS, Comparison::$better)
            }

            #[doc = concat!("Returns the ", $what, " of all elements of the tiles of all warps of `scope`, and its row and column.\n\nThe tiles are stacked in warp order. If elements are equal, the first one in row-major order is returned. NaN is treated as −∞ for a maximum and as +∞ for a minimum. All threads of the scope must take part; all receive the same result.")]
            #[must_use]
            #[track_caller]
            pub fn $over(&self, scope: impl Scope<'k>) -> (Val<'k, T::Sum>, (Val<'k, u32>, Val<'k, u32>)) {
                let k = self.kernel();
                let _located = k.locate(Location::caller());
                let first = k.warp_of(scope).0 * (Self::ROWS * Self::COLS);
                let own = self.best_of_all(Comparison::$better).moved(first);
                own.of_scope(scope.into(), Comparison::$better).in_rows_of(Self::COLS)
            }
        )*}

        impl<'k, T: Accumulate, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {$(
            #[doc = concat!("Returns the ", $what, " of all elements of the vectors of all warps of `scope`, and its index.\n\nThe vectors are concatenated in warp order. If elements are equal, the one with the lowest index is returned. NaN is treated as −∞ for a maximum and as +∞ for a minimum. All threads of the scope must take part; all receive the same result.")]
            #[must_use]
            #[track_caller]
            pub fn $over(&self, scope: impl Scope<'k>) -> (Val<'k, T::Sum>, Val<'k, u32>) {
                let k = self.kernel();
                let _located = k.locate(Location::caller());
                let own = self.best_of_all(Comparison::$better).moved(k.warp_of(scope).0 * Self::LENGTH);
                own.of_scope(scope.into(), Comparison::$better).at()
            }
        )*}
    };
}

extremes! {
    // what    better rows                       columns                    all
    "maximum"  Gt     row_argmax_over row_argmax col_argmax_over col_argmax argmax_over;
    "minimum"  Lt     row_argmin_over row_argmin col_argmin_over col_argmin argmin_over;
}
