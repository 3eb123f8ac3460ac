//! Complex tiles and vectors: the real and the imaginary parts as two tiles or vectors of the same type.

mod arithmetic;
mod memory;
mod parts;
mod products;
mod shared;

use std::fmt;

pub use memory::{Cgl, CglTile};
pub use parts::{ComplexStoring, ComplexSubtile, ComplexSubtileMut};
pub use shared::{Cst, Csv};

use super::{
    convert::Convert,
    element::{RegisterLayout, Row},
    rt::Rt,
    transpose::SquareSubtiles,
    vector::Rv,
    vector_layout::{Orthogonal, VectorLayout},
};
use crate::{
    ptx::{Builder, State, Visitor},
    tensor::TensorElement,
};

/// A tile of complex numbers: two register tiles of the same type.
#[doc(alias = "crt")]
pub struct Crt<'k, T: TensorElement, const H: usize, const W: usize, L = Row> {
    /// The real parts.
    pub re: Rt<'k, T, H, W, L>,
    /// The imaginary parts.
    pub im: Rt<'k, T, H, W, L>,
}

/// A vector of complex numbers: two register vectors of the same type.
#[doc(alias = "crv")]
pub struct Crv<'k, T: TensorElement, const N: usize, V = Orthogonal> {
    /// The real parts.
    pub re: Rv<'k, T, N, V>,
    /// The imaginary parts.
    pub im: Rv<'k, T, N, V>,
}

macro_rules! both {
    ($($complex:ident [$(const $size:ident)*] $layout:ident: $bound:ident, $what:literal, $real:literal;)*) => {$(
        impl<T: TensorElement, $(const $size: usize,)* $layout: $bound> fmt::Debug for $complex<'_, T, $($size,)* $layout> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($complex)).field("re", &self.re).field("im", &self.im).finish()
            }
        }

        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> State<'k> for $complex<'k, T, $($size,)* $layout> {
            #[track_caller]
            fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
                self.re.visit(visitor);
                self.im.visit(visitor);
            }
        }

        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> $complex<'k, T, $($size,)* $layout> {
            #[doc = concat!("Returns a ", $what, " of zeros.")]
            #[track_caller]
            pub fn zeros(k: Builder<'k>) -> Self {
                Self { re: k.zeros(), im: k.zeros() }
            }

            #[doc = concat!("Returns a ", $what, " in which every element is `re` + i · `im`.")]
            #[track_caller]
            pub fn filled(k: Builder<'k>, re: T, im: T) -> Self {
                Self { re: k.filled(re), im: k.filled(im) }
            }

            #[doc = concat!("Converts both parts, like [`", $real, "::convert`].")]
            #[must_use]
            #[track_caller]
            pub fn convert<U: TensorElement>(&self) -> $complex<'k, U, $($size,)* $layout>
            where
                T: Convert<U>,
            {
                $complex { re: self.re.convert(), im: self.im.convert() }
            }
        }
    )*};
}

both! {
    Crt [const H const W] L: RegisterLayout, "tile", "Rt";
    Crv [const N] V: VectorLayout, "vector", "Rv";
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Crt<'k, T, H, W, L> {
    /// Returns a copy of the subtiles that start at subtile (`row`, `col`), like [`Rt::subtile`].
    #[must_use]
    #[track_caller]
    pub fn subtile<const H2: usize, const W2: usize>(&self, row: usize, col: usize) -> Crt<'k, T, H2, W2, L> {
        Crt { re: self.re.subtile(row, col), im: self.im.subtile(row, col) }
    }

    /// Returns the transposed matrix in the other layout, in the same registers, like [`Rt::into_transposed`].
    #[must_use]
    #[track_caller]
    pub fn into_transposed(self) -> Crt<'k, T, W, H, L::Transposed> {
        Crt { re: self.re.into_transposed(), im: self.im.into_transposed() }
    }

    /// Returns the same matrix in the other layout, like [`Rt::swap_layout`].
    #[must_use]
    #[track_caller]
    pub fn swap_layout(&self) -> Crt<'k, T, H, W, L::Transposed>
    where
        T: SquareSubtiles,
    {
        Crt { re: self.re.swap_layout(), im: self.im.swap_layout() }
    }

    /// Returns the transposed matrix in the same layout, without conjugation, like [`Rt::transpose`].
    #[must_use]
    #[track_caller]
    pub fn transpose(&self) -> Crt<'k, T, W, H, L>
    where
        T: SquareSubtiles,
    {
        Crt { re: self.re.transpose(), im: self.im.transpose() }
    }
}
