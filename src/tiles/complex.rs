//! Complex numbers, vectors, tiles and matrices, represented as pairs of real and imaginary parts.
//!
//! Most methods apply the real type's method of the same name to each part. Only multiplication, division, functions such as `exp`, and
//! methods whose closures take complex numbers combine the parts.

#[macro_use]
mod parts;
mod arithmetic;
mod functions;
mod masks;
mod memory;
mod products;
mod shared;
mod shared_views;

pub use arithmetic::ComplexOperand;

use super::{
    element::{RegisterLayout, Row},
    gl::{Gl, GlTile},
    rt::Rt,
    st::St,
    sv::Sv,
    swizzle::Auto,
    vector::Rv,
    vector_layout::{Orthogonal, VectorLayout},
};
use crate::{
    ptx::{Builder, State, Visitor, sealed::Sealed},
    tensor::TensorElement,
};

/// A complex number, vector, tile or matrix, represented by its real and imaginary parts of type `P`.
///
/// [`Crt`], [`Crv`], [`Cst`], [`Csv`] and [`Cgl`] are pairs of the corresponding real types. [`map_parts`](Self::map_parts) applies any
/// method of the real type to both parts. In this example, the two parts of an element are either both kept or both dropped, because both
/// calls use the same `random`:
///
/// ```
/// # use warpwright::{prelude::*, tiles::Crt};
/// # Kernel::<()>::build("c", Target::SM_80, |k, ()| {
/// # k.block([32]);
/// # k.grid([1]);
/// let z: Crt<f32, 1, 1> = Crt::filled(k, 1.0, -2.0);
/// let random = k.random(1, 2).tile(0, 0);
/// let z = z.map_parts(|part| part.dropout(0.1, &random));
/// let largest = z.as_ref().map_parts(|part| part.row_max());    // of the parts, separately
/// # drop((z, largest));
/// # })?;
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Complex<P> {
    /// The real part.
    pub re: P,
    /// The imaginary part.
    pub im: P,
}

/// A complex register tile: two register tiles of the same type.
#[doc(alias = "crt")]
pub type Crt<'k, T, const H: usize, const W: usize, L = Row> = Complex<Rt<'k, T, H, W, L>>;

/// A complex register vector: two register vectors of the same type.
#[doc(alias = "crv")]
pub type Crv<'k, T, const N: usize, V = Orthogonal> = Complex<Rv<'k, T, N, V>>;

/// A complex shared tile: two shared tiles of the same type. Once its data has arrived, it is a pair of [`Filled`](super::Filled) tiles.
#[doc(alias = "cst")]
pub type Cst<'k, T, const H: usize, const W: usize, S = Auto> = Complex<St<'k, T, H, W, S>>;

/// A complex shared vector: two shared vectors of the same type.
#[doc(alias = "csv")]
pub type Csv<'k, T, const N: usize> = Complex<Sv<'k, T, N>>;

/// A complex tensor of rank `R` (by default, a matrix) in global memory: two real tensors of the same size, each with its own strides.
///
/// If the real and imaginary parts are interleaved in memory, define them as two views of one tensor with an additional axis:
///
/// ```
/// # use warpwright::{prelude::*, tiles::{Cgl, Crt}};
/// # Kernel::<(In<f32>, u32, u32)>::build("c", Target::SM_80, |k, (x, m, n)| {
/// # k.block([32]);
/// # k.grid([1]);
/// let x = k.global(x, contiguous([m, n, 2.into()])).permuted([2, 0, 1]);
/// let x = Cgl { re: x.batch(0), im: x.batch(1) };
/// let tile: Crt<f32, 1, 1> = x.tile(0, 0).load();
/// # drop(tile);
/// # })?;
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
#[doc(alias = "cgl")]
pub type Cgl<'k, T, A, const R: usize = 2> = Complex<Gl<'k, T, A, R>>;

/// A tile of a complex matrix or vector in global memory.
pub type CglTile<'k, T, A, const R: usize = 2> = Complex<GlTile<'k, T, A, R>>;

impl<P> Complex<P> {
    /// Returns references to the parts.
    pub fn as_ref(&self) -> Complex<&P> {
        Complex { re: &self.re, im: &self.im }
    }

    /// Applies `f` to the real part and then to the imaginary part, and returns the pair of results.
    pub fn map_parts<Q>(self, mut f: impl FnMut(P) -> Q) -> Complex<Q> {
        Complex { re: f(self.re), im: f(self.im) }
    }

    /// Applies `f` to both real parts and then to both imaginary parts, and returns the pair of results.
    pub fn zip_parts<Q, R>(self, other: Complex<Q>, mut f: impl FnMut(P, Q) -> R) -> Complex<R> {
        Complex { re: f(self.re, other.re), im: f(self.im, other.im) }
    }
}

impl<P: Sealed> Sealed for Complex<P> {}

impl<'k, P: State<'k>> State<'k> for Complex<P> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.re.visit(visitor);
        self.im.visit(visitor);
    }
}

macro_rules! constants {
    ($($complex:ident [$(const $size:ident)*] $layout:ident: $bound:ident, $what:literal;)*) => {$(
        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> $complex<'k, T, $($size,)* $layout> {
            #[doc = concat!("Returns a ", $what, " of zeros.")]
            #[track_caller]
            pub fn zeros(k: Builder<'k>) -> Self {
                Complex { re: k.zeros(), im: k.zeros() }
            }

            #[doc = concat!("Returns a ", $what, " in which every element is `re` + i · `im`.")]
            #[track_caller]
            pub fn filled(k: Builder<'k>, re: T, im: T) -> Self {
                Complex { re: k.filled(re), im: k.filled(im) }
            }
        }
    )*};
}

constants! {
    Crt [const H const W] L: RegisterLayout, "tile";
    Crv [const N] V: VectorLayout, "vector";
}
