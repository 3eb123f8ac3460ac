//! Reductions over all warps of a scope, each of which owns a register tile or vector.

use std::panic::Location;

use super::{
    coordinates::is_first_owner,
    element::RegisterLayout,
    elements::{all_in_lane, any_in_lane},
    reduce::{Accumulate, MAX, MIN, PRODUCT, SUM, combined},
    registers::Registers,
    rt::Rt,
    vector::Rv,
    vector_layout::VectorLayout,
};
use crate::{
    layout::TvLayout,
    ptx::{
        AnyScope, Combine, Scope, Val, reduce,
        traits::{Numeric, Reducible},
    },
    tensor::Fragment,
};

/// Returns `value` if `is_counted` returns true, and otherwise a value that does not affect the result of the reduction. For maxima and
/// minima, always returns `value`, because repeated values do not affect them.
#[track_caller]
pub(super) fn counted<'k, S: Numeric>(
    is_counted: impl FnOnce() -> Val<'k, bool>,
    value: Val<'k, S>,
    how: Combine,
) -> Val<'k, S> {
    match how {
        Combine::Sum => is_counted().select(value, S::ZERO),
        Combine::Product => is_counted().select(value, S::ONE),
        Combine::Max | Combine::Min => value,
    }
}

/// Combines the elements that each lane owns in a tile or vector with the given layout; an element that several lanes own counts once.
#[track_caller]
pub(super) fn in_lane<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    layout: &TvLayout,
    how: Combine,
) -> Val<'k, T::Sum> {
    counted(|| is_first_owner(fragment.kernel(), layout), combined(fragment, how), how)
}

/// Combines the elements that the warps of a scope own: first within each lane, then across all threads of the scope.
#[track_caller]
fn over<'k, D, S>(part: &D, scope: impl Scope<'k>, how: Combine) -> Val<'k, S>
where
    D: Registers<'k, Element: Accumulate<Sum = S>>,
    S: Reducible + Numeric,
{
    let k = part.kernel();
    let _located = k.locate(Location::caller());
    k.check_warps(scope);
    reduce(scope.into(), in_lane(part.fragment(), &D::layout(), how), how)
}

macro_rules! reductions {
    ($($tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident, $part:literal;)*) => {
        $(reductions! { @of $tile [$(const $size)*] $layout: $bound, $part:
            "sum"     SUM     sum_over;
            "product" PRODUCT product_over;
            "maximum" MAX     maximum_over;
            "minimum" MIN     minimum_over;
        })*
    };
    (@of $tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident, $part:literal: $($what:literal $how:ident $over:ident;)*) => {
        impl<'k, T: Accumulate, $(const $size: usize,)* $layout: $bound> $tile<'k, T, $($size,)* $layout> {$(
            #[doc = concat!("Returns the ", $what, " of all elements of the ", $part, "s of all warps of `scope`.\n\nAll threads of the scope must take part; all receive the same result.")]
            #[must_use]
            #[track_caller]
            pub fn $over(&self, scope: impl Scope<'k>) -> Val<'k, T::Sum> {
                over(self, scope, $how)
            }
        )*}

        impl<'k, T: Accumulate, $(const $size: usize,)* $layout: $bound> $tile<'k, T, $($size,)* $layout> {
            #[doc = concat!("Returns whether `f` is true for any element of the ", $part, "s of all warps of `scope`.\n\nAll threads of the scope must take part; all receive the same result.")]
            #[track_caller]
            pub fn any_over(
                &self,
                scope: impl Scope<'k>,
                f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>,
            ) -> Val<'k, bool> {
                self.kernel().check_warps(scope);
                let _located = self.kernel().locate(Location::caller());
                AnyScope::from(scope).any(any_in_lane(&self.fragment, &f))
            }

            #[doc = concat!("Returns whether `f` is true for all elements of the ", $part, "s of all warps of `scope`.\n\nAll threads of the scope must take part; all receive the same result.")]
            #[track_caller]
            pub fn all_over(
                &self,
                scope: impl Scope<'k>,
                f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>,
            ) -> Val<'k, bool> {
                self.kernel().check_warps(scope);
                let _located = self.kernel().locate(Location::caller());
                !AnyScope::from(scope).any(!all_in_lane(&self.fragment, &f))
            }
        }
    };
}

reductions! {
    Rt [const H const W] L: RegisterLayout, "tile";
    Rv [const N] V: VectorLayout, "vector";
}
