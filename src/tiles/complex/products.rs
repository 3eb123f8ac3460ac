//! MMAs of complex tiles, each of which consists of four MMAs of real tiles.

use super::Crt;
use crate::{
    ptx::{RegClass, Scalar, Val},
    tensor::{FloatElement, TensorElement, splat},
    tiles::{
        element::{Col, RegisterLayout, Row},
        mma::Product,
        registers::Registers,
        rt::Rt,
    },
};

macro_rules! products {
    ($($method:ident($a:ident $b:ident): $formula:literal, A $ah:ident $aw:ident $al:ident, B $bh:ident $bw:ident $bl:ident;)*) => {
        impl<'k, C: TensorElement, const M: usize, const N: usize> Crt<'k, C, M, N, Row> {$(
            #[doc = concat!("Returns this tile plus ", $formula, ", as [`Rt::", stringify!($method), "`] does, with four MMAs of real tiles.")]
            ///
            /// The results are accumulated in place. The imaginary parts of A are negated once, in fresh registers.
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
