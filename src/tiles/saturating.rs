//! Conversion that saturates instead of overflowing to infinity.

use std::panic::Location;

use super::{
    convert::assert_same_subtiles, element::RegisterLayout, registers::Registers, rt::Rt, vector::Rv,
    vector_layout::VectorLayout,
};
use crate::{
    ptx::{Val, bf16, f16},
    tensor::ConvertibleElement,
};

/// An element type to which elements can be converted with saturation instead of overflow to infinity: [`struct@f16`] and [`bf16`].
#[diagnostic::on_unimplemented(
    message = "no saturating conversion to `{Self}`",
    note = "saturating conversions are to `f16` and `bf16`; conversions to 8-bit types and integers saturate in any case"
)]
pub trait SaturatingElement: ConvertibleElement {
    /// Packs the elements of a word.
    #[doc(hidden)]
    fn from_f32_saturating<'k>(elements: &[Val<'k, f32>]) -> Val<'k, Self::Word>;
}

macro_rules! saturating {
    ($($half:ident)*) => {$(
        impl SaturatingElement for $half {
            #[track_caller]
            fn from_f32_saturating<'k>(elements: &[Val<'k, f32>]) -> Val<'k, Self::Word> {
                Val::pack_f32_saturating(elements[0], elements[1])
            }
        }
    )*};
}

saturating! { f16 bf16 }

/// Converts the first `count` elements of words of `T`, which fill whole words of `U`.
#[track_caller]
fn words<'k, T: ConvertibleElement, U: SaturatingElement>(
    words: &[Val<'k, T::Word>],
    count: usize,
) -> Vec<Val<'k, U::Word>> {
    let elements: Vec<_> = words.iter().flat_map(|&word| T::to_f32(word)).take(count).collect();
    elements.chunks_exact(U::PER_WORD).map(U::from_f32_saturating).collect()
}

impl<'k, T: ConvertibleElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Converts the elements to a 16-bit type `U` as [`convert`](Self::convert) does, but infinities and numbers that would overflow become
    /// the largest finite number of the same sign. Requires sm_80 or later.
    #[doc(alias = "cvt.rn.satfinite")]
    #[must_use]
    #[track_caller]
    pub fn convert_saturating<U: SaturatingElement>(&self) -> Rt<'k, U, H, W, L> {
        const { assert_same_subtiles::<T, U>() };
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        Rt::of_registers(k, k.all_owned(|| words::<T, U>(&self.words(), Self::ELEMENTS_PER_LANE)))
    }
}

impl<'k, T: ConvertibleElement, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// Converts the elements to a 16-bit type `U` with saturation, as [`Rt::convert_saturating`] does.
    #[doc(alias = "cvt.rn.satfinite")]
    #[must_use]
    #[track_caller]
    pub fn convert_saturating<U: SaturatingElement>(&self) -> Rv<'k, U, N, V> {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        Rv::of_registers(k, k.all_owned(|| words::<T, U>(&self.words(), Self::ELEMENTS_PER_LANE)))
    }
}
