//! Complex tiles: a tile of real and a tile of imaginary parts.

use std::{
    fmt,
    ops::{Add, Mul, Sub},
};

use super::{
    convert::Convert,
    element::{Col, RegisterLayout, Row},
    gl::{Gl, GlTile},
    mma::Product,
    operand::Elementwise,
    registers::Registers,
    rt::Rt,
    transpose::SquareSubtiles,
};
use crate::{
    ptx::{
        Builder, Readable, RegClass, Scalar, State, Val, Visitor, Writable,
        traits::{Number, Signed},
    },
    tensor::{Arithmetic, FloatElement, TensorElement, splat},
};

/// A tile of complex numbers: two register tiles of the same type.
#[doc(alias = "crt")]
pub struct Crt<'k, T: TensorElement, const H: usize, const W: usize, L = Row> {
    /// The real parts.
    pub re: Rt<'k, T, H, W, L>,
    /// The imaginary parts.
    pub im: Rt<'k, T, H, W, L>,
}

/// A complex matrix in global memory: two matrices of the same size.
#[doc(alias = "cgl")]
#[derive(Clone, Debug)]
pub struct Cgl<'k, T: TensorElement, A> {
    /// The real parts.
    pub re: Gl<'k, T, A>,
    /// The imaginary parts.
    pub im: Gl<'k, T, A>,
}

/// A tile of a complex matrix in global memory.
#[derive(Clone, Debug)]
pub struct CglTile<'k, T: TensorElement, A> {
    re: GlTile<'k, T, A>,
    im: GlTile<'k, T, A>,
}

impl<'k, T: TensorElement, A> Cgl<'k, T, A> {
    /// Returns the tile at (`row`, `col`), in units of tiles, like [`Gl::tile`].
    pub fn tile(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> CglTile<'k, T, A> {
        let (row, col) = (row.into(), col.into());
        CglTile { re: self.re.tile(row, col), im: self.im.tile(row, col) }
    }
}

impl<'k, T: TensorElement, A: Readable> CglTile<'k, T, A> {
    /// Loads both parts, and converts their elements, like [`GlTile::load`].
    #[track_caller]
    pub fn load<U, const H: usize, const W: usize, L>(self) -> Crt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        Crt { re: self.re.load(), im: self.im.load() }
    }
}

impl<'k, T: TensorElement, A: Writable> CglTile<'k, T, A> {
    /// Stores both parts, and converts their elements, like [`GlTile::store`].
    #[track_caller]
    pub fn store<U, const H: usize, const W: usize, L>(self, tile: &Crt<'k, U, H, W, L>)
    where
        U: Convert<T>,
        L: RegisterLayout,
    {
        self.re.store(&tile.re);
        self.im.store(&tile.im);
    }
}

impl<T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> fmt::Debug for Crt<'_, T, H, W, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crt").field("re", &self.re).field("im", &self.im).finish()
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> State<'k>
    for Crt<'k, T, H, W, L>
{
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.re.visit(visitor);
        self.im.visit(visitor);
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Crt<'k, T, H, W, L> {
    /// Returns a tile of zeros.
    #[track_caller]
    pub fn zeros(k: Builder<'k>) -> Self {
        Self { re: k.zeros(), im: k.zeros() }
    }

    /// Returns a tile with one number in every element.
    #[track_caller]
    pub fn filled(k: Builder<'k>, re: T, im: T) -> Self {
        Self { re: k.filled(re), im: k.filled(im) }
    }
}

// ── Products ─────────────────────────────────────────────────────────────────────────────────────────────────────────

macro_rules! products {
    ($($method:ident($a:ident $b:ident): $formula:literal, A $ah:ident $aw:ident $al:ident, B $bh:ident $bw:ident $bl:ident;)*) => {
        impl<'k, C: TensorElement, const M: usize, const N: usize> Crt<'k, C, M, N, Row> {$(
            #[doc = concat!("Returns this tile plus ", $formula, ", like [`Rt::", stringify!($method), "`]: four real products.")]
            ///
            /// Accumulates in place. The imaginary parts of A are negated once, in fresh registers.
            #[must_use]
            #[track_caller]
            pub fn $method<A, B, const K: usize>(
                self,
                $a: &Crt<'k, A, $ah, $aw, $al>,
                $b: &Crt<'k, B, $bh, $bw, $bl>,
            ) -> Self
            where
                A: Product<B, C> + FloatElement,
                B: TensorElement,
            {
                let negated = negated(&$a.im);
                Self {
                    re: self.re.$method(&$a.re, &$b.re).$method(&negated, &$b.im),
                    im: self.im.$method(&$a.re, &$b.im).$method(&$a.im, &$b.re),
                }
            }
        )*}
    };
}

products! {
    // method     result    A        B
    mma_ab(a b):   "A·B",   A M K Row, B K N Col;
    mma_abt(a b):  "A·Bᵀ",  A M K Row, B N K Row;
    mma_atb(a b):  "Aᵀ·B",  A K M Col, B K N Col;
    mma_atbt(a b): "Aᵀ·Bᵀ", A K M Col, B N K Row;
}

/// Returns the tile with the sign bit of every element inverted.
#[track_caller]
fn negated<'k, T: FloatElement, const H: usize, const W: usize, L: RegisterLayout>(
    tile: &Rt<'k, T, H, W, L>,
) -> Rt<'k, T, H, W, L> {
    let k = tile.kernel();
    let sign = splat(T::from_mem_bits(1 << (8 * T::SIZE - 1))).to_bits();
    tile.computed(|_, word| {
        let register = word.in_register(k);
        let negated = match register.class {
            RegClass::F32 => (-Val::<f32>::from_reg(register, k)).in_register(k),
            RegClass::F64 => (-Val::<f64>::from_reg(register, k)).in_register(k),
            _ => (Val::<u32>::from_reg(register, k) ^ sign as u32).in_register(k),
        };
        Val::from_reg(negated, k)
    })
}

// ── Elementwise operations and layouts ───────────────────────────────────────────────────────────────────────────────

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Crt<'k, T, H, W, L> {
    /// Returns the complex conjugate, computed in place.
    #[must_use]
    #[track_caller]
    pub fn conj(mut self) -> Self
    where
        T::Word: Signed,
    {
        self.im.apply(|x| -x);
        self
    }

    /// Multiplies by a real number, or by a real vector with one element per row or column, in place.
    #[must_use]
    #[track_caller]
    pub fn scale<R>(self, factor: R) -> Self
    where
        T: Arithmetic<Word: Number>,
        R: Elementwise<'k, Rt<'k, T, H, W, L>> + Copy,
    {
        Self { re: self.re * factor, im: self.im * factor }
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

    /// Converts both parts, like [`Rt::convert`].
    #[must_use]
    #[track_caller]
    pub fn convert<U: TensorElement>(&self) -> Crt<'k, U, H, W, L>
    where
        T: Convert<U>,
    {
        Crt { re: self.re.convert(), im: self.im.convert() }
    }
}

macro_rules! operators {
    ($($op:ident $method:ident: |$a:ident, $b:ident| $result:expr;)*) => {$(
        impl<'k, T, const H: usize, const W: usize, L: RegisterLayout> $op<&Crt<'k, T, H, W, L>> for &Crt<'k, T, H, W, L>
        where
            T: Arithmetic<Word: Number>,
        {
            type Output = Crt<'k, T, H, W, L>;

            #[track_caller]
            fn $method(self, other: &Crt<'k, T, H, W, L>) -> Self::Output {
                let ($a, $b) = (self, other);
                let [re, im] = $result;
                Crt { re, im }
            }
        }
    )*};
}

operators! {
    Add add: |a, b| [&a.re + &b.re, &a.im + &b.im];
    Sub sub: |a, b| [&a.re - &b.re, &a.im - &b.im];
    Mul mul: |a, b| [&a.re * &b.re - &a.im * &b.im, &a.re * &b.im + &a.im * &b.re];
}
