//! Reductions of rows and columns that are distributed over the warps of a scope.
//!
//! Each warp stores a vector of partial results to shared memory. After a barrier, all warps load the vectors in the layout that requires
//! the fewest accesses and combine them in warp order, so their results are bit-identical.

use std::panic::Location;

use super::{
    convert::loaded,
    coordinates::is_first_owner,
    element::RegisterLayout,
    global_copies::store_elements,
    reduce::{Accumulate, MAX, MIN, PRODUCT, SUM},
    registers::Registers,
    rt::Rt,
    vector::{ColVec, RowVec, Rv},
    vector_layout::VectorLayout,
};
use crate::{
    layout::Layout,
    ptx::{AnyScope, Builder, Combine, ReadWrite, Scope, Shared, Val, traits::Numeric},
    tensor::{Arithmetic, SharedLayout, Tensor, copy},
};

/// Vectors of partial results in shared memory.
pub(super) struct Partials<'k, S: Arithmetic> {
    /// The partial results, indexed by `(vector, element)`.
    vectors: Tensor<'k, Shared, S, ReadWrite>,
    /// The index of the first of the `count` vectors that this scope combines.
    first: Val<'k, u32>,
    count: u32,
}

impl<'k, S: Arithmetic<Word = S> + Numeric> Partials<'k, S> {
    /// Allocates `all` vectors of `length` elements for the scopes of a block. This scope combines `count` of them, starting with vector
    /// `first`.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, all: u32, length: u32, first: Val<'k, u32>, count: u32) -> Self {
        let layout = Layout::new((all, length), (length, 1)).expect("the vectors of a block are few");
        let vectors = Tensor::at(k.shared::<S>(all * length), &SharedLayout::from(layout));
        Self { vectors, first, count }
    }

    /// Allocates one vector per warp of the block; each scope combines the vectors of its own warps. Returns `None` if the scope is a
    /// single warp.
    #[track_caller]
    pub(super) fn of_warps(k: Builder<'k>, scope: impl Scope<'k>, length: u32) -> Option<Self> {
        let (warp, warps) = k.warp_of(scope);
        let all = k.this_block().size() / 32;
        (warps > 1).then(|| Self::new(k, all, length, k.warp().rank() - warp, warps))
    }

    #[track_caller]
    pub(super) fn store<const N: usize, V: VectorLayout>(&self, at: Val<'k, u32>, vector: &Rv<'k, S, N, V>) {
        let condition = is_first_owner(vector.kernel(), &Rv::<S, N, V>::layout());
        store_elements(&self.vectors.first_mode_at(at), vector, condition);
    }

    /// Loads the vector that warp `at` of the scope stored.
    #[track_caller]
    pub(super) fn load<const N: usize, V: VectorLayout>(&self, at: u32) -> Rv<'k, S, N, V> {
        let (k, layout) = (self.vectors.kernel(), Rv::<S, N, V>::layout());
        let part = self.vectors.first_mode_at(self.first + at).lane_part(&layout, k.lane().rank());
        loaded(k, |fragment| copy(fragment, &part))
    }

    /// Combines the vectors in warp order.
    #[track_caller]
    pub(super) fn combined<const N: usize, V: VectorLayout>(&self, how: Combine) -> Rv<'k, S, N, V> {
        (1..self.count).fold(self.load(0), |combined, at| self.load(at).combined_into(combined, how))
    }
}

impl<'k, S: Arithmetic<Word = S> + Numeric, const N: usize, V: VectorLayout> Rv<'k, S, N, V> {
    #[track_caller]
    pub(super) fn all_reduced(self, scope: impl Scope<'k>, how: Combine) -> Self {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let Some(partials) = Partials::of_warps(k, scope, Self::LENGTH) else { return self };
        AnyScope::from(scope).sync_in_loop();
        partials.store(k.warp().rank(), &self);
        scope.sync();
        partials.combined::<N, V::Divided>(how).to_layout()
    }
}

macro_rules! reductions {
    ($($what:literal $how:ident $all:ident $row_over:ident $row:ident $col_over:ident $col:ident;)*) => {
        impl<'k, S: Arithmetic<Word = S> + Numeric, const N: usize, V: VectorLayout> Rv<'k, S, N, V> {$(
            #[doc = concat!("Returns the elementwise ", $what, " of the vectors of all warps of `scope`.")]
            ///
            /// All threads of the scope must take part; every warp receives the same result. If the scope has several warps, the reduction
            /// allocates shared memory for one vector per warp of the block and emits one barrier of the scope, or two inside an emitted
            /// loop. If a loop accumulates the vector, reduce it only once, after the loop.
            #[must_use]
            #[track_caller]
            pub fn $all(self, scope: impl Scope<'k>) -> Self {
                self.all_reduced(scope, $how)
            }
        )*}

        impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {$(
            #[doc = concat!("Returns the ", $what, " of each row across the tiles of all warps of `scope`; the tiles must contain different columns of the same rows.\n\nEvery warp receives the same result. For the requirements, see [`Rv::", stringify!($all), "`].")]
            #[must_use]
            #[track_caller]
            pub fn $row_over(&self, scope: impl Scope<'k>) -> ColVec<'k, T::Sum, H, L, T::Length> {
                self.$row().$all(scope)
            }

            #[doc = concat!("Returns the ", $what, " of each column across the tiles of all warps of `scope`; the tiles must contain different rows of the same columns.\n\nEvery warp receives the same result. For the requirements, see [`Rv::", stringify!($all), "`].")]
            #[must_use]
            #[track_caller]
            pub fn $col_over(&self, scope: impl Scope<'k>) -> RowVec<'k, T::Sum, W, L, T::Length> {
                self.$col().$all(scope)
            }
        )*}
    };
}

reductions! {
    // what     combine vectors         rows                   columns
    "sum"       SUM     all_reduce_sum  row_sum_over  row_sum  col_sum_over  col_sum;
    "product"   PRODUCT all_reduce_prod row_prod_over row_prod col_prod_over col_prod;
    "maximum"   MAX     all_reduce_max  row_max_over  row_max  col_max_over  col_max;
    "minimum"   MIN     all_reduce_min  row_min_over  row_min  col_min_over  col_min;
}
