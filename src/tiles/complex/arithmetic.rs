//! Elementwise operations on complex tiles and vectors.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{Crt, Crv};
use crate::{
    ptx::traits::{Divide, Elementary, Signed},
    tensor::{Computed, TensorElement},
    tiles::{
        element::RegisterLayout,
        operand::Elementwise,
        registers::Registers,
        rt::Rt,
        vector::Rv,
        vector_layout::{Broadcast, VectorLayout},
    },
};

macro_rules! functions {
    ($($complex:ident $real:ident [$(const $size:ident)*] $layout:ident: $bound:ident;)*) => {$(
        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> $complex<'k, T, $($size,)* $layout> {
            /// Returns the complex conjugate, computed in place.
            #[must_use]
            #[track_caller]
            pub fn conj(self) -> Self
            where
                T: Computed<In: Signed>,
            {
                Self { re: self.re, im: -self.im }
            }

            /// Multiplies in place by a real factor: a number, a tile or vector of the same shape, or a vector that is broadcast.
            #[must_use]
            #[track_caller]
            pub fn scale<R>(self, factor: R) -> Self
            where
                T: Computed,
                R: Elementwise<'k, $real<'k, T, $($size,)* $layout>> + Copy,
            {
                Self { re: self.re * factor, im: self.im * factor }
            }

            /// Replaces each number a + ib by its exponential e^a · (cos b + i sin b), computed with approximations; see
            /// [`Builder::exp`](crate::ptx::Builder::exp), [`cos`](crate::ptx::Builder::cos) and [`sin`](crate::ptx::Builder::sin).
            #[must_use]
            #[track_caller]
            pub fn exp(self) -> Self
            where
                T: Computed<In: Elementary>,
            {
                let k = self.im.kernel();
                let cos = self.im.computed(|_, word| T::compute([word], &|[x]| k.cos(x)));
                let (magnitude, sin) = (self.re.exp(), self.im.sin());
                Self { im: sin * &magnitude, re: cos * &magnitude }
            }
        }
    )*};
}

functions! {
    Crt Rt [const H const W] L: RegisterLayout;
    Crv Rv [const N] V: VectorLayout;
}

macro_rules! in_place {
    ($($complex:ident [$(const $size:ident)*] $layout:ident: $bound:ident;)*) => {$(
        impl<'k, T: Computed, $(const $size: usize,)* $layout: $bound> AddAssign<&Self> for $complex<'k, T, $($size,)* $layout> {
            #[track_caller]
            fn add_assign(&mut self, other: &Self) {
                self.re += &other.re;
                self.im += &other.im;
            }
        }

        impl<'k, T: Computed, $(const $size: usize,)* $layout: $bound> SubAssign<&Self> for $complex<'k, T, $($size,)* $layout> {
            #[track_caller]
            fn sub_assign(&mut self, other: &Self) {
                self.re -= &other.re;
                self.im -= &other.im;
            }
        }

        impl<'k, T: Computed, $(const $size: usize,)* $layout: $bound> MulAssign<&Self> for $complex<'k, T, $($size,)* $layout> {
            #[track_caller]
            fn mul_assign(&mut self, other: &Self) {
                let (re, im) = (&self.im * &other.im, &self.re * &other.im);
                self.re *= &other.re;
                self.re -= &re;
                self.im *= &other.re;
                self.im += &im;
            }
        }

        impl<'k, T: Computed<In: Divide>, $(const $size: usize,)* $layout: $bound> DivAssign<&Self> for $complex<'k, T, $($size,)* $layout> {
            /// Computes the quotient by its definition: intermediate results overflow where the square of the divisor's magnitude does.
            #[track_caller]
            fn div_assign(&mut self, other: &Self) {
                let norm = &other.re * &other.re + &other.im * &other.im;
                let (re, im) = (&self.im * &other.im, &self.re * &other.im);
                self.re *= &other.re;
                self.re += &re;
                self.re /= &norm;
                self.im *= &other.re;
                self.im -= &im;
                self.im /= &norm;
            }
        }

        impl<'k, T: Computed<In: Signed>, $(const $size: usize,)* $layout: $bound> Neg for $complex<'k, T, $($size,)* $layout> {
            type Output = Self;

            #[track_caller]
            fn neg(self) -> Self {
                Self { re: -self.re, im: -self.im }
            }
        }
    )*};
}

in_place! {
    Crt [const H const W] L: RegisterLayout;
    Crv [const N] V: VectorLayout;
}

macro_rules! operators {
    ($($op:ident $method:ident $bound:path: |$a:ident, $b:ident| $result:expr;)*) => {$(
        impl<'k, T, const H: usize, const W: usize, L: RegisterLayout> $op<&Crt<'k, T, H, W, L>> for &Crt<'k, T, H, W, L>
        where
            T: $bound,
        {
            type Output = Crt<'k, T, H, W, L>;

            #[track_caller]
            fn $method(self, other: &Crt<'k, T, H, W, L>) -> Self::Output {
                let ($a, $b) = (self, other);
                let [re, im] = $result;
                Crt { re, im }
            }
        }

        impl<'k, T, const N: usize, V: VectorLayout> $op<&Crv<'k, T, N, V>> for &Crv<'k, T, N, V>
        where
            T: $bound,
        {
            type Output = Crv<'k, T, N, V>;

            #[track_caller]
            fn $method(self, other: &Crv<'k, T, N, V>) -> Self::Output {
                let ($a, $b) = (self, other);
                let [re, im] = $result;
                Crv { re, im }
            }
        }

        impl<'k, T, const H: usize, const W: usize, const N: usize, L, V> $op<&Crv<'k, T, N, V>> for &Crt<'k, T, H, W, L>
        where
            T: $bound,
            L: RegisterLayout,
            V: Broadcast<L, H, W, N, T::Length>,
        {
            type Output = Crt<'k, T, H, W, L>;

            /// Broadcasts a vector along the tile's rows or columns.
            #[track_caller]
            fn $method(self, other: &Crv<'k, T, N, V>) -> Self::Output {
                let other = &Crt { re: Rt::broadcast(&other.re), im: Rt::broadcast(&other.im) };
                $op::$method(self, other)
            }
        }
    )*};
}

operators! {
    Add add Computed: |a, b| [&a.re + &b.re, &a.im + &b.im];
    Sub sub Computed: |a, b| [&a.re - &b.re, &a.im - &b.im];
    Mul mul Computed: |a, b| [&a.re * &b.re - &a.im * &b.im, &a.re * &b.im + &a.im * &b.re];
    // By the quotient's definition: intermediate results overflow where |b|² does.
    Div div Computed<In: Divide>: |a, b| {
        let norm = &b.re * &b.re + &b.im * &b.im;
        [(&a.re * &b.re + &a.im * &b.im) / &norm, (&a.im * &b.re - &a.re * &b.im) / &norm]
    };
}
