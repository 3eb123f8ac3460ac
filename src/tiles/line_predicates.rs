//! Predicates over the rows and columns of register tiles.

use std::panic::Location;

use super::{
    coordinates::{lane_bits, vector_values},
    element::RegisterLayout,
    elements::Predicate,
    reduce::{Accumulate, MAX, MIN, exchange, for_each_element},
    registers::Registers,
    rt::Rt,
    vector::{ColVec, RowVec, Rv},
    vector_layout::VectorLayout,
};
use crate::{
    layout::TvLayout,
    ptx::{Combine, RegId, Scope, Val},
    tensor::Fragment,
};

/// Returns, for each index along axis `keep`, 1 if a condition is true for any (`MAX`) or all (`MIN`) elements, and 0 otherwise.
#[track_caller]
fn along<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    layout: &TvLayout,
    keep: usize,
    how: Combine,
    f: &Predicate<'_, 'k, T>,
) -> Vec<RegId> {
    let (k, slots) = (fragment.kernel(), vector_values(layout, keep));
    let mut lines: Vec<Option<Val<'k, bool>>> = vec![None; slots.iter().max().map_or(0, |most| most + 1)];
    for_each_element(fragment, &mut |at, element| {
        let (holds, line) = (f(element), &mut lines[slots[at]]);
        *line = Some(match *line {
            Some(others) if how == MAX => others | holds,
            Some(others) => others & holds,
            None => holds,
        });
    });
    k.all_owned(|| {
        let mut results: Vec<_> = lines.into_iter().flatten().map(|line| line.select(1u32, 0u32)).collect();
        exchange(k, &mut results, &lane_bits(layout, 1 - keep), how);
        results
    })
}

macro_rules! predicates {
    ($($which:literal $how:ident $row:ident $row_with:ident $row_over:ident $col:ident $col_with:ident $col_over:ident;)*) => {
        impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {$(
            #[doc = concat!("Returns, for each row, 1 if `f` is true for ", $which, " of its elements, and 0 otherwise.")]
            ///
            /// All lanes of the warp must take part. Emits the same number of shuffles as [`row_max`](Self::row_max) for an f32 tile.
            #[must_use]
            #[track_caller]
            pub fn $row(&self, f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>) -> ColVec<'k, u32, H, L, T::Length> {
                self.where_lines(0, $how, &f)
            }

            #[doc = concat!("Returns, for each row, 1 if `f` is true for ", $which, " of its elements in this tile and the tiles already reduced into `with`, and 0 otherwise.")]
            ///
            /// The result reuses the registers of `with`, so a loop over the tiles of a row can carry it without a `mov`. All lanes of the
            /// warp must take part.
            #[must_use]
            #[track_caller]
            pub fn $row_with(
                &self,
                with: ColVec<'k, u32, H, L, T::Length>,
                f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>,
            ) -> ColVec<'k, u32, H, L, T::Length> {
                self.$row(f).combined_into(with, $how)
            }

            #[doc = concat!("Returns, for each row, 1 if `f` is true for ", $which, " of its elements in the tiles of all warps of `scope`, and 0 otherwise; the tiles must contain different columns of the same rows.")]
            ///
            /// All threads of the scope must take part. For the shared memory and barriers that the call uses, see [`Rv::all_reduce_max`].
            #[must_use]
            #[track_caller]
            pub fn $row_over(
                &self,
                scope: impl Scope<'k>,
                f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>,
            ) -> ColVec<'k, u32, H, L, T::Length> {
                self.$row(f).all_reduced(scope, $how)
            }

            #[doc = concat!("Returns, for each column, 1 if `f` is true for ", $which, " of its elements, and 0 otherwise.")]
            ///
            /// All lanes of the warp must take part. Emits the same number of shuffles as [`col_max`](Self::col_max) for an f32 tile.
            #[must_use]
            #[track_caller]
            pub fn $col(&self, f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>) -> RowVec<'k, u32, W, L, T::Length> {
                self.where_lines(1, $how, &f)
            }

            #[doc = concat!("Returns, for each column, 1 if `f` is true for ", $which, " of its elements in this tile and the tiles already reduced into `with`, and 0 otherwise; see [`", stringify!($row_with), "`](Self::", stringify!($row_with), ").")]
            #[must_use]
            #[track_caller]
            pub fn $col_with(
                &self,
                with: RowVec<'k, u32, W, L, T::Length>,
                f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>,
            ) -> RowVec<'k, u32, W, L, T::Length> {
                self.$col(f).combined_into(with, $how)
            }

            #[doc = concat!("Returns, for each column, 1 if `f` is true for ", $which, " of its elements in the tiles of all warps of `scope`, and 0 otherwise; the tiles must contain different rows of the same columns.")]
            ///
            /// All threads of the scope must take part. For the shared memory and barriers that the call uses, see [`Rv::all_reduce_max`].
            #[must_use]
            #[track_caller]
            pub fn $col_over(
                &self,
                scope: impl Scope<'k>,
                f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>,
            ) -> RowVec<'k, u32, W, L, T::Length> {
                self.$col(f).all_reduced(scope, $how)
            }
        )*}
    };
}

predicates! {
    "any" MAX row_any row_any_with row_any_over col_any col_any_with col_any_over;
    "all" MIN row_all row_all_with row_all_over col_all col_all_with col_all_over;
}

impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    #[track_caller]
    fn where_lines<const N: usize, V: VectorLayout>(
        &self,
        keep: usize,
        how: Combine,
        f: &Predicate<'_, 'k, T>,
    ) -> Rv<'k, u32, N, V> {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        Rv::of_registers(k, along(&self.fragment, &Self::layout(), keep, how, f))
    }
}
