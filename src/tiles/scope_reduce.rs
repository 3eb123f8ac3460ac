//! Reductions of tiles and vectors that are distributed over the warps of a scope, one part per warp.

use std::panic::Location;

use super::{
    coordinates::is_first_owner,
    element::RegisterLayout,
    reduce::{Accumulate, lane_result},
    registers::Registers,
    rt::Rt,
    vector::Rv,
    vector_layout::VectorLayout,
};
use crate::ptx::{Builder, Combine, Scope, Val, reduce, traits::Reducible};

/// Combines the elements of all parts of a scope: each lane its own, then all threads.
#[track_caller]
fn over<'k, D, S>(part: &D, scope: impl Scope<'k>, how: Combine) -> Val<'k, S>
where
    D: Registers<'k, Element: Accumulate<Sum = S>>,
    S: Reducible + crate::ptx::traits::Numeric,
{
    let k: Builder<'k> = part.kernel();
    let _located = k.locate(Location::caller());
    k.check_warps(scope);
    let own: Val<'k, S> = lane_result(part.fragment(), how);
    // An element that several lanes own counts once.
    let own = match how {
        Combine::Sum => is_first_owner(k, &D::layout()).select(own, S::ZERO),
        Combine::Max | Combine::Min => own,
    };
    reduce(scope, own, how)
}

macro_rules! reductions {
    ($($tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident, $what:literal;)*) => {$(
        impl<'k, T, $(const $size: usize,)* $layout: $bound> $tile<'k, T, $($size,)* $layout>
        where
            T: Accumulate<Sum: Reducible>,
        {
            #[doc = concat!("Returns the sum of the elements of the ", $what, "s of all warps of `scope`, the same in all threads, which must all take part.")]
            #[must_use]
            #[track_caller]
            pub fn sum_over(&self, scope: impl Scope<'k>) -> Val<'k, T::Sum> {
                over(self, scope, Combine::Sum)
            }

            #[doc = concat!("Returns the maximum of the elements of the ", $what, "s of all warps of `scope`, the same in all threads, which must all take part.")]
            #[must_use]
            #[track_caller]
            pub fn maximum_over(&self, scope: impl Scope<'k>) -> Val<'k, T::Sum> {
                over(self, scope, Combine::Max)
            }

            #[doc = concat!("Returns the minimum of the elements of the ", $what, "s of all warps of `scope`, the same in all threads, which must all take part.")]
            #[must_use]
            #[track_caller]
            pub fn minimum_over(&self, scope: impl Scope<'k>) -> Val<'k, T::Sum> {
                over(self, scope, Combine::Min)
            }
        }
    )*};
}

reductions! {
    Rt [const H const W] L: RegisterLayout, "tile";
    Rv [const N] V: VectorLayout, "vector";
}
