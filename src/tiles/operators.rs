//! Arithmetic on register tiles and vectors. The other operand is a tile, a scalar, or a vector that is broadcast along rows or columns.
//!
//! An operator that takes its first operand by value overwrites that operand's registers; `&x + &y` uses fresh registers.

use std::{
    ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Sub, SubAssign},
    panic::Location,
};

use super::{
    element::RegisterLayout,
    operand::Elementwise,
    registers::{Registers, computed, rewritten},
    rt::Rt,
    vector::Rv,
    vector_layout::VectorLayout,
};
use crate::{
    ptx::{
        Val,
        numbers::*,
        traits::{Divide, Number},
    },
    tensor::{Computed, element_types},
};

/// A function of two elements, or of two pairs of elements.
pub(super) type Binary<'f, 'k, T> =
    dyn Fn(Val<'k, <T as Computed>::In>, Val<'k, <T as Computed>::In>) -> Val<'k, <T as Computed>::In> + 'f;

/// Combines each register with the operand's word, in place.
#[track_caller]
pub(super) fn combine<'k, T: Computed, D: Registers<'k, Element = T>>(
    tile: &mut D,
    operand: &impl Elementwise<'k, D>,
    f: &Binary<'_, 'k, T>,
) {
    let k = tile.kernel();
    let _located = k.locate(Location::caller());
    let words = operand.words_for(k);
    *tile = D::of_registers(k, rewritten(tile.fragment(), &with_words::<T>(&words, f)));
}

/// Returns a function of a register's index and word that combines the word with the operand's word at the same index.
fn with_words<'a, 'k, T: Computed>(
    words: &'a [Val<'k, T::Word>],
    f: &'a Binary<'_, 'k, T>,
) -> impl Fn(usize, Val<'k, T::Word>) -> Val<'k, T::Word> + use<'a, 'k, T> {
    move |at, word| T::compute([word, words[at]], &|[a, b]| f(a, b))
}

/// Combines each register with the operand's word, in fresh registers.
#[track_caller]
fn combined<'k, T: Computed, D: Registers<'k, Element = T>>(
    tile: &D,
    operand: &impl Elementwise<'k, D>,
    f: &Binary<'_, 'k, T>,
) -> D {
    let k = tile.kernel();
    let _located = k.locate(Location::caller());
    let words = operand.words_for(k);
    D::of_registers(k, computed(tile.fragment(), &with_words::<T>(&words, f)))
}

macro_rules! operators {
    ($($tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident;)* => $ops:tt) => {
        $(operators! { @each $tile [$(const $size)*] $layout: $bound => $ops })*
    };
    (@each $tile:ident $sizes:tt $layout:ident: $bound:ident => {$($op:ident $method:ident $assign:ident $in_place:ident ($word:path);)*}) => {
        $(operators! { @one $tile $sizes $layout: $bound => $op $method $assign $in_place ($word) })*
    };
    (@one $tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident =>
     $op:ident $method:ident $assign:ident $in_place:ident ($word:path)) => {
        impl<'k, T, R, $(const $size: usize,)* $layout: $bound> $op<R> for $tile<'k, T, $($size,)* $layout>
        where
            T: Computed<In: $word>,
            R: Elementwise<'k, Self>,
        {
            type Output = Self;

            #[track_caller]
            fn $method(mut self, other: R) -> Self {
                combine(&mut self, &other, &$op::$method);
                self
            }
        }

        impl<'k, T, R, $(const $size: usize,)* $layout: $bound> $op<R> for &$tile<'k, T, $($size,)* $layout>
        where
            T: Computed<In: $word>,
            R: Elementwise<'k, $tile<'k, T, $($size,)* $layout>>,
        {
            type Output = $tile<'k, T, $($size,)* $layout>;

            #[track_caller]
            fn $method(self, other: R) -> Self::Output {
                combined(self, &other, &$op::$method)
            }
        }

        impl<'k, T, R, $(const $size: usize,)* $layout: $bound> $assign<R> for $tile<'k, T, $($size,)* $layout>
        where
            T: Computed<In: $word>,
            R: Elementwise<'k, Self>,
        {
            #[track_caller]
            fn $in_place(&mut self, other: R) {
                combine(self, &other, &$op::$method);
            }
        }
    };
}

/// Operators with a scalar on the left: `1.0 - &t`.
macro_rules! numbers_on_the_left {
    ($(in $how:ident: $($t:ident)*;)*) => {
        $($(
            numbers_on_the_left! { @ops $t Rt [const H const W] L: RegisterLayout }
            numbers_on_the_left! { @ops $t Rv [const N] V: VectorLayout }
        )*)*
    };
    (@ops $t:ident $tile:ident $sizes:tt $layout:ident: $bound:ident) => {
        numbers_on_the_left! { @one $t $tile $sizes $layout: $bound => Add add + }
        numbers_on_the_left! { @one $t $tile $sizes $layout: $bound => Sub sub - }
        numbers_on_the_left! { @one $t $tile $sizes $layout: $bound => Mul mul * }
        numbers_on_the_left! { @one $t $tile $sizes $layout: $bound => Div div / }
    };
    (@one $t:ident $tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident => $op:ident $method:ident $sign:tt) => {
        impl<'k, $(const $size: usize,)* $layout: $bound> $op<$tile<'k, $t, $($size,)* $layout>> for $t {
            type Output = $tile<'k, $t, $($size,)* $layout>;

            #[track_caller]
            fn $method(self, mut tile: $tile<'k, $t, $($size,)* $layout>) -> Self::Output {
                combine(&mut tile, &self, &|element, number| number $sign element);
                tile
            }
        }

        impl<'k, $(const $size: usize,)* $layout: $bound> $op<&$tile<'k, $t, $($size,)* $layout>> for $t {
            type Output = $tile<'k, $t, $($size,)* $layout>;

            #[track_caller]
            fn $method(self, tile: &$tile<'k, $t, $($size,)* $layout>) -> Self::Output {
                combined(tile, &self, &|element, number| number $sign element)
            }
        }
    };
}

element_types! { computed, numbers_on_the_left }

operators! {
    Rt [const H const W] L: RegisterLayout;
    Rv [const N] V: VectorLayout;
    => {
        Add add AddAssign add_assign (Number);
        Sub sub SubAssign sub_assign (Number);
        Mul mul MulAssign mul_assign (Number);
        Div div DivAssign div_assign (Divide);
    }
}

macro_rules! methods {
    ($tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident) => {
        impl<'k, T: Computed, $(const $size: usize,)* $layout: $bound> $tile<'k, T, $($size,)* $layout> {
            /// Returns `self + left · right`, computed in place. The sum is rounded once, to the type in which the elements are
            /// [computed](Computed).
            #[doc(alias = "fma_AxCtB")]
            #[doc(alias = "fma")]
            #[must_use]
            #[track_caller]
            pub fn add_product(
                mut self,
                left: impl Elementwise<'k, Self>,
                right: impl Elementwise<'k, Self>,
            ) -> Self {
                let k = self.kernel();
                let _located = k.locate(Location::caller());
                let (left, right) = (left.words_for(k), right.words_for(k));
                self.rewrite(|at, word| T::compute([left[at], right[at], word], &|[a, b, c]| a.mad(b, c)));
                self
            }

            /// Returns `self · factor + addend`, computed in place. The sum is rounded once, to the type in which the elements are
            /// [computed](Computed).
            #[doc(alias = "fma_AxBtC")]
            #[doc(alias = "fma")]
            #[must_use]
            #[track_caller]
            pub fn mul_add(
                mut self,
                factor: impl Elementwise<'k, Self>,
                addend: impl Elementwise<'k, Self>,
            ) -> Self {
                let k = self.kernel();
                let _located = k.locate(Location::caller());
                let (factors, addends) = (factor.words_for(k), addend.words_for(k));
                self.rewrite(|at, word| T::compute([word, factors[at], addends[at]], &|[a, b, c]| a.mad(b, c)));
                self
            }

            /// Returns the elementwise maximum of `self` and `other`, computed in place. The maximum of a number and NaN is the number.
            #[must_use]
            #[track_caller]
            pub fn max(mut self, other: impl Elementwise<'k, Self>) -> Self {
                combine(&mut self, &other, &|a, b| a.max(b));
                self
            }

            /// Returns the elementwise minimum of `self` and `other`, computed in place. The minimum of a number and NaN is the number.
            #[must_use]
            #[track_caller]
            pub fn min(mut self, other: impl Elementwise<'k, Self>) -> Self {
                combine(&mut self, &other, &|a, b| a.min(b));
                self
            }
        }
    };
}

methods! { Rt [const H const W] L: RegisterLayout }
methods! { Rv [const N] V: VectorLayout }
