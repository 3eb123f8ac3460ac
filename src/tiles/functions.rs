//! Elementary functions of register tiles and vectors, computed in place.

use std::{ops::Neg, panic::Location};

use super::{
    element::RegisterLayout, operand::Elementwise, registers::Registers, rt::Rt, vector::Rv,
    vector_layout::VectorLayout,
};
use crate::{
    ptx::traits::{Elementary, Root, Signed},
    tensor::{Computed, TensorElement},
};

macro_rules! functions {
    ($tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident => $($rest:tt)*) => {
        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> $tile<'k, T, $($size,)* $layout> {
            functions! { @each $($rest)* }
        }
    };
    (@each $($($function:ident)*: $of:ident;)*) => {$($(
        #[doc(alias = "unary_map")]
        #[doc = concat!("Applies [`Builder::", stringify!($function), "`](crate::ptx::Builder::", stringify!($function), ") to each element, in place.")]
        #[must_use]
        #[track_caller]
        pub fn $function(mut self) -> Self
        where
            T: Computed<In: $of>,
        {
            let k = self.kernel();
            let _located = k.locate(Location::caller());
            self.rewrite(|_, word| T::compute([word], &|[x]| k.$function(x)));
            self
        }
    )*)*};
}

macro_rules! all {
    ($($tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident;)*) => {$(
        functions! { $tile [$(const $size)*] $layout: $bound =>
            sqrt recip rsqrt: Root;
            exp2 exp log2 ln tanh sin cos sigmoid silu gelu gelu_tanh: Elementary;
        }

        impl<'k, T: Computed, $(const $size: usize,)* $layout: $bound> $tile<'k, T, $($size,)* $layout> {
            /// Replaces each element with its absolute value, in place.
            #[must_use]
            #[track_caller]
            pub fn abs(mut self) -> Self
            where
                T::In: Signed,
            {
                let k = self.kernel();
                let _located = k.locate(Location::caller());
                self.rewrite(|_, word| T::compute([word], &|[x]| x.abs()));
                self
            }

            /// Replaces negative elements and NaN with 0, in place.
            #[must_use]
            #[track_caller]
            pub fn relu(mut self) -> Self {
                let k = self.kernel();
                let _located = k.locate(Location::caller());
                self.rewrite(|_, word| T::compute([word], &|[x]| x.relu()));
                self
            }

            /// Clamps each element to the range from `low` to `high`, in place. Each bound is a scalar, a tile or vector of the same shape,
            /// or, for tiles, a vector that is broadcast along the rows or columns. NaN becomes `low`. If `low` is greater than `high`, the
            /// result is `high`.
            #[must_use]
            #[track_caller]
            pub fn clamp(mut self, low: impl Elementwise<'k, Self>, high: impl Elementwise<'k, Self>) -> Self {
                let k = self.kernel();
                let _located = k.locate(Location::caller());
                let (low, high) = (low.words_for(k), high.words_for(k));
                self.rewrite(|at, word| T::compute([word, low[at], high[at]], &|[x, low, high]| x.clamp(low, high)));
                self
            }
        }

        impl<'k, T, $(const $size: usize,)* $layout: $bound> Neg for $tile<'k, T, $($size,)* $layout>
        where
            T: Computed<In: Signed>,
        {
            type Output = Self;

            /// Negates each element in place.
            #[track_caller]
            fn neg(mut self) -> Self {
                let k = self.kernel();
                let _located = k.locate(Location::caller());
                self.rewrite(|_, word| T::compute([word], &|[x]| -x));
                self
            }
        }
    )*};
}

all! {
    Rt [const H const W] L: RegisterLayout;
    Rv [const N] V: VectorLayout;
}
