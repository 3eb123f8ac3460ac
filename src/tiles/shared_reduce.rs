//! Reductions of shared tiles and vectors, and predicates over their elements.
//!
//! The warps of the scope that owns a tile (by default, the block) reduce the tile cooperatively. For a vector, each calling warp loads and
//! reduces the whole vector.

use std::panic::Location;

use super::{
    all_reduce::Partials,
    allocate::{Filled, Pending},
    element::Row,
    extremes::Candidate,
    reduce::{Accumulate, MAX, MIN, PRODUCT, SUM},
    registers::Registers,
    rt::Rt,
    scope_reduce::{counted, in_lane},
    st::St,
    sv::Sv,
    swizzle::SharedSwizzle,
    vector::{ColVec, RowVec, Rv},
    vector_layout::Naive,
};
use crate::ptx::{Combine, Comparison, Val, reduce};

impl<'k, T: Accumulate, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Returns whether `f` is true for any element of the tile.
    ///
    /// All threads of the scope that owns the tile (by default, the block) must take part; all receive the same result.
    #[doc(alias = "bar.red.or")]
    #[track_caller]
    pub fn any(&self, f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>) -> Val<'k, bool> {
        self.any_band(&|band| band.any(&f))
    }

    /// Returns whether `f` is true for all elements of the tile.
    ///
    /// All threads of the scope that owns the tile (by default, the block) must take part; all receive the same result.
    #[track_caller]
    pub fn all(&self, f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>) -> Val<'k, bool> {
        !self.any_band(&|band| !band.all(&f))
    }

    /// Returns whether any element of the tile is NaN.
    ///
    /// All threads of the scope that owns the tile (by default, the block) must take part; all receive the same result.
    #[doc(alias = "hasnan")]
    #[track_caller]
    pub fn has_nan(&self) -> Val<'k, bool> {
        self.any_band(&|band| band.has_nan())
    }

    /// Returns whether `f` is true for any row of subtiles. The rows are divided among the warps of the scope that owns the tile.
    #[track_caller]
    fn any_band(&self, f: &dyn Fn(Rt<'k, T, 1, W>) -> Val<'k, bool>) -> Val<'k, bool> {
        let k = self.tile.tensor.kernel();
        let _located = k.locate(Location::caller());
        let found = k.var(0u32);
        self.tile.owner.over_warps(H as u32, |row| {
            let holds = f(self.subtile(row, 0).load());
            found.update(|found| found | holds.select(1u32, 0u32));
        });
        self.tile.owner.0.any(found.get().ne(0))
    }
}

/// Predicates over the elements of a vector. Each calling warp loads the whole vector, so warps do not wait for each other.
impl<'k, T: Accumulate, const N: usize> Filled<Sv<'k, T, N>> {
    /// Returns whether `f` is true for any element of the vector. All lanes of the calling warp must take part; all receive the same
    /// result.
    #[track_caller]
    pub fn any(&self, f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>) -> Val<'k, bool> {
        self.in_registers().any(f)
    }

    /// Returns whether `f` is true for all elements of the vector. All lanes of the calling warp must take part; all receive the same
    /// result.
    #[track_caller]
    pub fn all(&self, f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>) -> Val<'k, bool> {
        self.in_registers().all(f)
    }

    /// Returns whether any element of the vector is NaN. All lanes of the calling warp must take part; all receive the same result.
    #[doc(alias = "hasnan")]
    #[track_caller]
    pub fn has_nan(&self) -> Val<'k, bool> {
        self.in_registers().has_nan()
    }

    #[track_caller]
    fn in_registers(&self) -> Rv<'k, T, N, Naive> {
        let _located = self.tile.tensor.kernel().locate(Location::caller());
        self.load()
    }
}

macro_rules! reductions {
    ($($what:literal $how:ident $row:ident $col:ident $all:ident;)*) => {
        impl<'k, T: Accumulate, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {$(
            #[doc = concat!("Stores the ", $what, " of each row to the shared vector `to`.\n\nAll threads of the scope that owns the tile (by default, the block) must take part.")]
            ///
            /// The same scope must own the vector; the builder rejects a vector that is owned by a scope of a
            /// different size.
            #[track_caller]
            pub fn $row(&self, to: Sv<'k, T::Sum, H>) -> Pending<'k, Sv<'k, T::Sum, H>> {
                self.rows_reduced(to, |band| band.$row())
            }

            #[doc = concat!("Stores the ", $what, " of each column to the shared vector `to`.\n\nAll threads of the scope that owns the tile (by default, the block) must take part.")]
            ///
            /// `to` must have one element per column: `W` · 16 elements, or `W` · 32 for a tile of 8-bit
            /// elements; other lengths do not compile. The same scope must own the vector; the builder
            /// rejects a vector that is owned by a scope of a different size.
            ///
            /// The reduction allocates shared memory for one vector per 16 rows. It emits one barrier (two inside an emitted loop) in
            /// addition to the one that waits for the result.
            #[track_caller]
            pub fn $col<const N: usize>(&self, to: Sv<'k, T::Sum, N>) -> Pending<'k, Sv<'k, T::Sum, N>> {
                const { assert!(Sv::<T::Sum, N>::LENGTH == St::<T, H, W, S>::COLS, "the vector must have one element per column") };
                self.cols_reduced(to, |band| band.$col(), $how)
            }
        )*}

        impl<'k, T: Accumulate, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {$(
            #[doc = concat!("Returns the ", $what, " of all elements.\n\nAll threads of the scope that owns the tile (by default, the block) must take part; all receive the same result.")]
            ///
            /// Elements are combined in [`Accumulate::Sum`].
            #[must_use]
            #[track_caller]
            pub fn $all(&self) -> Val<'k, T::Sum> {
                self.reduced($how)
            }
        )*}

        impl<'k, T: Accumulate, const N: usize> Filled<Sv<'k, T, N>> {$(
            #[doc = concat!("Returns the ", $what, " of all elements.\n\nAll lanes of the calling warp must take part; all receive the same result.")]
            ///
            /// Each calling warp loads the whole vector, so warps do not wait for each other. Elements are combined in [`Accumulate::Sum`].
            #[must_use]
            #[track_caller]
            pub fn $all(&self) -> Val<'k, T::Sum> {
                self.in_registers().$all()
            }
        )*}
    };
}

reductions! {
    // what     combine rows     columns  all
    "sum"       SUM     row_sum  col_sum  sum;
    "product"   PRODUCT row_prod col_prod product;
    "maximum"   MAX     row_max  col_max  maximum;
    "minimum"   MIN     row_min  col_min  minimum;
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
        self.tile.owner.check_result(to.owner);
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
        how: Combine,
    ) -> Pending<'k, Sv<'k, T::Sum, N>> {
        let k = self.tile.tensor.kernel();
        let _located = k.locate(Location::caller());
        let (owner, rows) = (self.tile.owner, H as u32);
        owner.check_result(to.owner);
        let scopes = k.this_block().size() / owner.0.size().max(1);
        let first = owner.0.rank() * rows;
        let partials = Partials::new(k, rows * scopes, Sv::<T::Sum, N>::LENGTH, first, rows);
        to.store_with(|results| {
            owner.over_warps(rows, |row| {
                partials.store(first + row, &reduce(self.subtile(row, 0).load()));
            });
            owner.0.sync();
            owner.0.when_first_warp(|| {
                results.tile(0).store(&partials.combined::<W, Naive<T::Length>>(how));
            });
        })
    }

    #[track_caller]
    fn reduced(&self, how: Combine) -> Val<'k, T::Sum> {
        let k = self.tile.tensor.kernel();
        let _located = k.locate(Location::caller());
        let mut all: Option<Val<'k, T::Sum>> = None;
        self.for_each_band(|band, _, is_first| {
            let own = counted(|| is_first, in_lane(&band.fragment, &Rt::<T, 1, W>::layout(), how), how);
            all = Some(all.map_or(own, |all| how.apply(all, own)));
        });
        reduce(self.tile.owner.0, all.expect("shared tiles have rows"), how)
    }

    /// Loads the tile one row of subtiles at a time, dividing the rows among the warps of the scope that owns the tile. Calls `each` with a
    /// row, its index, and whether the row counts for this warp. If the rows cannot be divided evenly, several warps load the last row, but
    /// it counts for only one of them.
    #[track_caller]
    fn for_each_band(&self, mut each: impl FnMut(Rt<'k, T, 1, W>, Val<'k, u32>, Val<'k, bool>)) {
        let ((warp, warps), bands) = (self.tile.owner.0.warp(), H as u32);
        for first in (0..bands).step_by(warps as usize) {
            let at = warp + first;
            if first + warps <= bands {
                each(self.subtile(at, 0).load(), at, true.into());
            } else {
                let row = at.min(bands - 1);
                each(self.subtile(row, 0).load(), row, at.lt(bands));
            }
        }
    }
}

macro_rules! extremes {
    ($($what:literal $better:ident $all:ident;)*) => {
        impl<'k, T: Accumulate, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {$(
            #[doc = concat!("Returns the ", $what, " of all elements, and its row and column.\n\nIf several elements are equal to the ", $what, ", returns the position of the first one in row-major order. NaN is treated as −∞ for a maximum and as +∞ for a minimum. All threads of the scope that owns the tile (by default, the block) must take part; all receive the same result.")]
            #[must_use]
            #[track_caller]
            pub fn $all(&self) -> (Val<'k, T::Sum>, (Val<'k, u32>, Val<'k, u32>)) {
                self.extreme(Comparison::$better).in_rows_of(Rt::<T, 1, W>::COLS)
            }
        )*}

        impl<'k, T: Accumulate, const N: usize> Filled<Sv<'k, T, N>> {$(
            #[doc = concat!("Returns the ", $what, " of all elements, and its index.\n\nIf several elements are equal to the ", $what, ", returns the lowest index. NaN is treated as −∞ for a maximum and as +∞ for a minimum. All lanes of the calling warp must take part; all receive the same result.")]
            #[must_use]
            #[track_caller]
            pub fn $all(&self) -> (Val<'k, T::Sum>, Val<'k, u32>) {
                self.in_registers().$all()
            }
        )*}
    };
}

extremes! {
    "maximum" Gt argmax;
    "minimum" Lt argmin;
}

impl<'k, T: Accumulate, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    #[track_caller]
    fn extreme(&self, better: Comparison) -> Candidate<'k, T::Sum> {
        let k = self.tile.tensor.kernel();
        let _located = k.locate(Location::caller());
        let mut best: Option<Candidate<'k, T::Sum>> = None;
        self.for_each_band(|band, row, _| {
            let own = band.best_in_lane(better).moved(row * (16 * Rt::<T, 1, W>::COLS));
            best = Some(best.map_or(own, |best| best.or_better(own, better)));
        });
        let best = best.expect("shared tiles have rows");
        best.of_warp(k, &Rt::<T, 1, W>::layout(), better).of_scope(self.tile.owner.0, better)
    }
}
