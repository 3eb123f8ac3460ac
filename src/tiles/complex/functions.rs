//! Functions of the elements of complex tiles and vectors.

use std::panic::Location;

use super::{
    Complex, Crt, Crv,
    arithmetic::{ComplexOperand, Formula, Number, product_sum, replace, words_for, words_of_parts},
};
use crate::{
    ptx::{
        Builder, Val,
        traits::{Divide, Elementary, Root, Signed},
    },
    tensor::{Computed, MappedElement, TensorElement},
    tiles::{
        element::RegisterLayout,
        elements::{element_of, word_of},
        operand::Elementwise,
        reduce::Accumulate,
        registers::{Distributed, Registers, WordOf},
        rt::Rt,
        vector::Rv,
        vector_layout::VectorLayout,
    },
};

macro_rules! functions {
    ($($complex:ident $real:ident [$(const $size:ident)*] $layout:ident: $bound:ident;)*) => {$(
        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> $complex<'k, T, $($size,)* $layout> {
            /// Replaces each element with its complex conjugate, in place.
            #[must_use]
            #[track_caller]
            pub fn conj(self) -> Self
            where
                T: Computed<In: Signed>,
            {
                Complex { re: self.re, im: -self.im }
            }

            /// Multiplies each element in place by a real factor: a scalar, a tile or vector of the same shape, or, for tiles, a vector
            /// that is broadcast along the rows or columns.
            #[must_use]
            #[track_caller]
            pub fn scale<R>(self, factor: R) -> Self
            where
                T: Computed,
                R: Elementwise<'k, $real<'k, T, $($size,)* $layout>> + Copy,
            {
                Complex { re: self.re * factor, im: self.im * factor }
            }

            /// Returns `self · factor + addend`, computed in place. Each part is computed in [`Accumulate::Sum`] with two fused
            /// multiply-adds and is therefore rounded twice, or three times if this type differs from `T`.
            #[doc(alias = "fma")]
            #[must_use]
            #[track_caller]
            pub fn mul_add(
                mut self,
                factor: impl ComplexOperand<'k, $real<'k, T, $($size,)* $layout>>,
                addend: impl ComplexOperand<'k, $real<'k, T, $($size,)* $layout>>,
            ) -> Self
            where
                T: Accumulate<Sum: Signed>,
            {
                let (factor, addend) = (words_for(&self, factor), words_for(&self, addend));
                replace(&mut self, |k, own, in_place| product_sum::<T>(k, &[own, factor, addend], in_place));
                self
            }

            /// Returns `self + left · right`, computed in place. Each part is computed in [`Accumulate::Sum`] with two fused multiply-adds
            /// and is therefore rounded twice, or three times if this type differs from `T`.
            #[doc(alias = "fma")]
            #[must_use]
            #[track_caller]
            pub fn add_product(
                mut self,
                left: impl ComplexOperand<'k, $real<'k, T, $($size,)* $layout>>,
                right: impl ComplexOperand<'k, $real<'k, T, $($size,)* $layout>>,
            ) -> Self
            where
                T: Accumulate<Sum: Signed>,
            {
                let (left, right) = (words_for(&self, left), words_for(&self, right));
                replace(&mut self, |k, own, in_place| product_sum::<T>(k, &[left, right, own], in_place));
                self
            }

            /// Replaces each element z with its reciprocal conj(z) / |z|², in place. |z|² can overflow or underflow even if the reciprocal
            /// is representable.
            #[must_use]
            #[track_caller]
            pub fn recip(mut self) -> Self
            where
                T: Accumulate<Sum: Signed + Divide>,
            {
                let formula = Formula {
                    first: &|[z]| Complex { re: z.re.mad(z.re, z.im * z.im), im: z.im },
                    im: &|[z], first| -z.im / first.re,
                    re: &|[z], first| z.re / first.re,
                };
                replace(&mut self, |k, own, in_place| formula.apply::<T>(k, &[own], in_place));
                self
            }

            /// Replaces each element a + ib with its exponential e^a · (cos b + i sin b), in place.
            ///
            /// The exponential is computed in f32 with the approximations [`Builder::exp`](crate::ptx::Builder::exp),
            /// [`cos`](crate::ptx::Builder::cos) and [`sin`](crate::ptx::Builder::sin). If `T` is not f32, the result is then rounded to
            /// `T`.
            #[must_use]
            #[track_caller]
            pub fn exp(mut self) -> Self
            where
                T: Accumulate<Sum: Elementary>,
            {
                let k = self.re.kernel();
                let formula = Formula {
                    first: &|[z]| Complex { re: k.exp(z.re), im: k.cos(z.im) },
                    im: &|[z], first| k.sin(z.im) * first.re,
                    re: &|_, first| first.im * first.re,
                };
                replace(&mut self, |k, own, in_place| formula.apply::<T>(k, &[own], in_place));
                self
            }

            /// Returns the squared magnitudes |z|² = fma(a, a, b · b) for z = a + ib, computed in [`Accumulate::Sum`].
            #[doc(alias = "norm_sqr")]
            #[must_use]
            #[track_caller]
            pub fn abs_squared(&self) -> $real<'k, T, $($size,)* $layout>
            where
                T: Accumulate,
            {
                magnitudes(self, &|square| square)
            }

            /// Returns the magnitudes |z|, computed in [`Accumulate::Sum`] as the square roots of |z|². A magnitude overflows if its square
            /// does.
            ///
            /// Complex numbers are not ordered; to find a maximum or to test a condition, use their magnitudes: `z.abs().row_argmax()`.
            #[doc(alias = "norm")]
            #[must_use]
            #[track_caller]
            pub fn abs(&self) -> $real<'k, T, $($size,)* $layout>
            where
                T: Accumulate<Sum: Root>,
            {
                let k = self.re.kernel();
                magnitudes(self, &|square| k.sqrt(square))
            }

            /// Applies `f` to each register of the real part and the corresponding register of the imaginary part, and returns the results:
            /// `z.map(|z| Complex { re: z.im, im: z.re })`. See [`Rt::map`].
            #[doc(alias = "unary_map")]
            #[must_use]
            #[track_caller]
            pub fn map(&self, f: impl Fn(Number<'k, T::Word>) -> Number<'k, T::Word>) -> Self
            where
                T: MappedElement,
            {
                let words = words_of_parts(self);
                mapped(self, &|at| f(words.as_ref().map_parts(|part| part[at])))
            }

            /// Applies `f` to corresponding registers of both operands and returns the results. Each argument of `f` consists of a register
            /// of the real part and the corresponding register of the imaginary part. See [`Rt::zip`].
            #[doc(alias = "bin_map")]
            #[must_use]
            #[track_caller]
            pub fn zip(&self, other: &Self, f: impl Fn(Number<'k, T::Word>, Number<'k, T::Word>) -> Number<'k, T::Word>) -> Self
            where
                T: MappedElement,
            {
                let words = [self, other].map(words_of_parts);
                mapped(self, &|at| {
                    let [own, other] = words.each_ref().map(|words| words.as_ref().map_parts(|part| part[at]));
                    f(own, other)
                })
            }
        }
    )*};
}

functions! {
    Crt Rt [const H const W] L: RegisterLayout;
    Crv Rv [const N] V: VectorLayout;
}

/// The type used to compute products of the elements of `P`.
type SumOf<'k, P> = <<P as Distributed<'k>>::Element as Accumulate>::Sum;

/// Applies `f` to the squared magnitude of each element and returns the results in fresh registers.
#[track_caller]
fn magnitudes<'k, P: Registers<'k, Element: Accumulate>>(
    of: &Complex<P>,
    f: &dyn Fn(Val<'k, SumOf<'k, P>>) -> Val<'k, SumOf<'k, P>>,
) -> P {
    let k = of.re.kernel();
    let _located = k.locate(Location::caller());
    let im = of.im.words();
    of.re.computed(|at, re| {
        let parts = P::Element::elements(re).into_iter().zip(P::Element::elements(im[at]));
        P::Element::word(&parts.map(|(a, b)| f(a.mad(a, b * b))).collect())
    })
}

/// Applies `f` to the index of each register and returns the results in fresh registers.
#[track_caller]
fn mapped<'k, P: Registers<'k>>(
    like: &Complex<P>,
    f: &dyn Fn(usize) -> Number<'k, WordOf<'k, P>>,
) -> Complex<P> {
    let k = like.re.kernel();
    let mut re = k.all_owned(|| {
        let (re, im): (Vec<_>, Vec<_>) = (0..P::count()).map(f).map(|z| (z.re, z.im)).unzip();
        [re, im].concat()
    });
    let im = re.split_off(P::count());
    Complex { re, im }.map_parts(|registers| P::of_registers(k, registers))
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Crt<'k, T, H, W, L> {
    /// Applies `f` to each element and returns the results in fresh registers: `z.map_indexed(|k, (row, col), z| …)`. Like the closure of
    /// [`Rt::map_indexed`], `f` receives the builder, the element's row and column in the tile, and the element.
    #[must_use]
    #[track_caller]
    pub fn map_indexed(
        &self,
        f: impl Fn(Builder<'k>, (Val<'k, u32>, Val<'k, u32>), Number<'k, T::Reg>) -> Number<'k, T::Reg>,
    ) -> Self {
        let k = self.re.kernel();
        let [rows, cols] = {
            let _located = k.locate(Location::caller());
            Rt::<T, H, W, L>::coordinates(k)
        };
        let words = words_of_parts(self);
        mapped(self, &|at| {
            let results = (0..T::PER_WORD).map(|slot| {
                let value = at * T::PER_WORD + slot;
                let element = words.as_ref().map_parts(|part| element_of::<T>(part[at], slot, k));
                f(k, (rows.at(value), cols.at(value)), element)
            });
            let (re, im): (Vec<_>, Vec<_>) = results.map(|z| (z.re, z.im)).unzip();
            Complex { re, im }.map_parts(|part| word_of::<T>(k, &part))
        })
    }
}
