//! Reductions of rows and columns that are divided among the warps of a scope, and reductions of shared tiles by the warps of a block.
//!
//! Each warp stores a vector of partial results to shared memory. After a barrier, the vectors are loaded in the layout with the fewest
//! accesses, and combined in the order of the warps, so that the results of all warps are bit-identical.

use std::panic::Location;

use super::{
    allocate::Filled,
    allocate::Pending,
    convert::loaded,
    coordinates::is_first_owner,
    element::{RegisterLayout, Row},
    global_copies::store_elements,
    reduce::{Accumulate, MAX, MIN, Operation, PRODUCT, SUM},
    registers::Registers,
    rt::Rt,
    st::St,
    sv::Sv,
    swizzle::SharedSwizzle,
    vector::{ColVec, RowVec, Rv},
    vector_layout::{Naive, VectorLayout},
};
use crate::{
    layout::Layout,
    ptx::{Builder, ReadWrite, Scope, Shared, Val, traits::Numeric},
    tensor::{Arithmetic, SharedLayout, Tensor, copy},
};

/// Vectors of partial results in shared memory.
struct Partials<'k, S: Arithmetic> {
    /// `(vector, element)`.
    vectors: Tensor<'k, Shared, S, ReadWrite>,
    /// The vectors that are combined: `count` from `first`.
    first: Val<'k, u32>,
    count: u32,
}

impl<'k, S: Arithmetic<Word = S> + Numeric> Partials<'k, S> {
    /// Allocates `all` vectors of `length` elements.
    #[track_caller]
    fn new(k: Builder<'k>, all: u32, length: u32) -> Self {
        let layout = Layout::new((all, length), (length, 1)).expect("the vectors of a block are few");
        let vectors = Tensor::at(k.shared::<S>(all * length), &SharedLayout::from(layout));
        Self { vectors, first: 0.into(), count: all }
    }

    #[track_caller]
    fn store<const N: usize, V: VectorLayout>(&self, at: Val<'k, u32>, vector: &Rv<'k, S, N, V>) {
        let condition = is_first_owner(vector.kernel(), &Rv::<S, N, V>::layout());
        store_elements(&self.vectors.first_mode_at(at), vector, condition);
    }

    /// Combines the vectors in order.
    #[track_caller]
    fn combined<const N: usize, V: VectorLayout>(&self, how: Operation) -> Rv<'k, S, N, V> {
        let (k, layout) = (self.vectors.kernel(), Rv::<S, N, V>::layout());
        let vector = |at: u32| -> Rv<'k, S, N, V> {
            let part = self.vectors.first_mode_at(self.first + at).lane_part(&layout, k.lane().rank());
            loaded(k, |fragment| copy(fragment, &part))
        };
        (1..self.count).fold(vector(0), |combined, at| vector(at).combined_into(combined, how))
    }
}

impl<'k, S: Arithmetic<Word = S> + Numeric, const N: usize, V: VectorLayout> Rv<'k, S, N, V> {
    #[track_caller]
    fn all_reduced(self, scope: impl Scope<'k>, how: Operation) -> Self {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let (warp, warps) = k.warp_of(scope);
        if warps == 1 {
            return self;
        }
        let in_block = k.warp().rank();
        let all = Partials::new(k, k.this_block().size() / 32, Self::LENGTH);
        let partials = Partials { first: in_block - warp, count: warps, ..all };
        if k.in_loop() {
            // Warps may still be reading vectors of the previous iteration.
            scope.sync();
        }
        partials.store(in_block, &self);
        scope.sync();
        partials.combined::<N, V::Divided>(how).to_layout()
    }
}

macro_rules! reductions {
    ($($what:literal $how:ident $all:ident $row_over:ident $row:ident $col_over:ident $col:ident;)*) => {
        impl<'k, S: Arithmetic<Word = S> + Numeric, const N: usize, V: VectorLayout> Rv<'k, S, N, V> {$(
            #[doc = concat!("Returns the elementwise ", $what, " of the vectors of all warps of `scope`, the same in every warp.")]
            ///
            /// All threads of the scope must take part. Uses shared memory for one vector per warp of the block, and one barrier (two in
            /// emitted loops). If a loop accumulates a vector, reduce it once, after the loop.
            #[must_use]
            #[track_caller]
            pub fn $all(self, scope: impl Scope<'k>) -> Self {
                self.all_reduced(scope, $how)
            }
        )*}

        impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {$(
            #[doc = concat!("Returns the ", $what, " of each row over the tiles of all warps of `scope`, which divide the columns among them; the same in every warp, like [`Rv::", stringify!($all), "`].")]
            #[must_use]
            #[track_caller]
            pub fn $row_over(&self, scope: impl Scope<'k>) -> ColVec<'k, T::Sum, H, L, T::Length> {
                self.$row().$all(scope)
            }

            #[doc = concat!("Returns the ", $what, " of each column over the tiles of all warps of `scope`, which divide the rows among them; the same in every warp, like [`Rv::", stringify!($all), "`].")]
            #[must_use]
            #[track_caller]
            pub fn $col_over(&self, scope: impl Scope<'k>) -> RowVec<'k, T::Sum, W, L, T::Length> {
                self.$col().$all(scope)
            }
        )*}

        impl<'k, T: Accumulate, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {$(
            #[doc = concat!("Stores the ", $what, " of each row to a shared vector, by all warps of the block.")]
            #[track_caller]
            pub fn $row(&self, to: Sv<'k, T::Sum, H>) -> Pending<'k, Sv<'k, T::Sum, H>> {
                self.rows_reduced(to, |band| band.$row())
            }

            #[doc = concat!("Stores the ", $what, " of each column to a shared vector, by all warps of the block.")]
            ///
            /// Uses shared memory for one vector per 16 rows, and one barrier in addition to that of the result. `to` has one element per
            /// column: `W` · 16, or `W` · 32 for 8-bit elements.
            #[track_caller]
            pub fn $col<const N: usize>(&self, to: Sv<'k, T::Sum, N>) -> Pending<'k, Sv<'k, T::Sum, N>> {
                const { assert!(Sv::<T::Sum, N>::LENGTH == St::<T, H, W, S>::COLS, "the vector must have one element per column") };
                self.cols_reduced(to, |band| band.$col(), $how)
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

impl<'k, T: Accumulate, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    #[track_caller]
    fn rows_reduced(
        &self,
        to: Sv<'k, T::Sum, H>,
        reduce: impl Fn(Rt<'k, T, 1, W>) -> ColVec<'k, T::Sum, 1, Row, T::Length>,
    ) -> Pending<'k, Sv<'k, T::Sum, H>> {
        let k = self.tile.tensor.kernel();
        let _located = k.locate(Location::caller());
        to.store_with(|results| {
            self.tile.owner.over_warps(H as u32, |row| {
                results.tile(row).store(&reduce(self.subtile(row, 0).load()));
            });
        })
    }

    #[track_caller]
    fn cols_reduced<const N: usize>(
        &self,
        to: Sv<'k, T::Sum, N>,
        reduce: impl Fn(Rt<'k, T, 1, W>) -> RowVec<'k, T::Sum, W, Row, T::Length>,
        how: Operation,
    ) -> Pending<'k, Sv<'k, T::Sum, N>> {
        let k = self.tile.tensor.kernel();
        let _located = k.locate(Location::caller());
        let (owner, rows) = (self.tile.owner, H as u32);
        let scopes = k.this_block().size() / owner.0.size().max(1);
        let partials = Partials {
            first: owner.0.rank() * rows,
            count: rows,
            ..Partials::new(k, rows * scopes, Sv::<T::Sum, N>::LENGTH)
        };
        to.store_with(|results| {
            owner.over_warps(rows, |row| {
                partials.store(partials.first + row, &reduce(self.subtile(row, 0).load()));
            });
            owner.0.sync();
            owner.0.when_first_warp(|| {
                results.tile(0).store(&partials.combined::<W, Naive<T::Length>>(how));
            });
        })
    }
}
