//! Elementwise functions of register tiles and vectors.

use super::{element::RegisterLayout, registers::Registers, rt::Rt, vector::Rv, vector_layout::VectorLayout};
use crate::{
    ptx::Val,
    tensor::{MappedElement, TensorElement},
};

macro_rules! maps {
    ($tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident, $what:literal) => {
        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> $tile<'k, T, $($size,)* $layout> {
            #[doc(alias = "unary_map")]
            #[doc(alias = "unary_op")]
            #[doc = concat!("Applies `f` to every register and returns a ", $what, " of the results.\n\nA register contains a pair of 16-bit elements, or one element of 32 or 64 bits.")]
            #[must_use]
            #[track_caller]
            pub fn map(&self, f: impl Fn(Val<'k, T::Word>) -> Val<'k, T::Word>) -> Self
            where
                T: MappedElement,
            {
                self.map_words(f)
            }

            #[doc = concat!("Applies `f` to every register and returns a ", $what, " of the results, for any element type.\n\nA register contains 8-bit elements, and 16-bit elements of types without arithmetic, packed into a `u32`, with the first element in the lowest bits.")]
            #[must_use]
            #[track_caller]
            pub fn map_words(&self, f: impl Fn(Val<'k, T::Word>) -> Val<'k, T::Word>) -> Self {
                self.computed(|_, word| f(word))
            }

            #[doc = concat!("Applies `f` to every register, as [`map`](Self::map) does, and returns a ", $what, " of the results, whose elements have type `U`.")]
            /// `T` and `U` must have the same number of elements per register.
            #[must_use]
            #[track_caller]
            pub fn map_to<U: TensorElement>(
                &self,
                f: impl Fn(Val<'k, T::Word>) -> Val<'k, U::Word>,
            ) -> $tile<'k, U, $($size,)* $layout>
            where
                T: MappedElement,
            {
                const { assert!(T::PER_WORD == U::PER_WORD, "both types must have the same number of elements per register: convert one") };
                let k = self.kernel();
                let results = self.words().into_iter().map(|word| k.owned(|| f(word)));
                Registers::of_registers(k, results.collect())
            }

            #[doc = concat!("Applies `f` to every register of the ", $what, ", as [`map`](Self::map) does, and overwrites the register with the result.")]
            ///
            /// The last instruction of `f` writes directly to the register, so a loop that carries the result needs no `mov`.
            #[track_caller]
            pub fn apply(&mut self, f: impl Fn(Val<'k, T::Word>) -> Val<'k, T::Word>)
            where
                T: MappedElement,
            {
                self.rewrite(|_, word| f(word));
            }

            #[doc = concat!("Applies `f` to corresponding registers of two ", $what, "s of the same shape and layout, and returns a ", $what, " of the results.")]
            /// The element types may differ, but must have the same number of elements per register.
            #[doc(alias = "bin_map")]
            #[doc(alias = "bin_op")]
            #[must_use]
            #[track_caller]
            pub fn zip<U: TensorElement>(
                &self,
                other: &$tile<'k, U, $($size,)* $layout>,
                f: impl Fn(Val<'k, T::Word>, Val<'k, U::Word>) -> Val<'k, T::Word>,
            ) -> Self
            where
                T: MappedElement,
            {
                self.zip_words(other, f)
            }

            #[doc = concat!("Applies `f` to corresponding registers of two ", $what, "s, as [`zip`](Self::zip) does, for any element types with the same number of elements per register. [`map_words`](Self::map_words) describes the registers.")]
            #[must_use]
            #[track_caller]
            pub fn zip_words<U: TensorElement>(
                &self,
                other: &$tile<'k, U, $($size,)* $layout>,
                f: impl Fn(Val<'k, T::Word>, Val<'k, U::Word>) -> Val<'k, T::Word>,
            ) -> Self {
                const { assert!(T::PER_WORD == U::PER_WORD, "both types must have the same number of elements per register: convert one") };
                let others = other.words();
                self.computed(|at, word| f(word, others[at]))
            }
        }
    };
}

maps! { Rt [const H const W] L: RegisterLayout, "tile" }
maps! { Rv [const N] V: VectorLayout, "vector" }
