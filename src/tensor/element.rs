//! Element types of tensors and tiles: the storage word of each and the elements packed into it.

use arrayvec::ArrayVec;

use crate::ptx::{
    B16, B32, B64, Builder, Element, Scalar, Val, bf16, bf16x2, e4m3, e5m2, f16, f16x2, tf32, traits::Number,
};

/// An element type of tensors, fragments and tiles. In registers, 8- and 16-bit elements are packed into 32-bit words, lowest
/// bits first.
#[diagnostic::on_unimplemented(
    message = "tensors of `{Self}` do not exist",
    note = "elements are floats or integers of 8 to 64 bits"
)]
pub trait TensorElement: Element {
    /// The register type that stores elements in a fragment: [`bf16x2`] for bf16, `u32` for 8 bits, the type itself for 32 bits
    /// or more.
    type Word: Scalar;
    /// The number of elements per word.
    const PER_WORD: usize = (<Self::Word as Scalar>::BYTES / Self::SIZE) as usize;
    /// The length of a register tile's subtile along its words: 16, or 32 for 8-bit elements, of which `mma` takes twice as many.
    /// Across the words, the length is 16.
    const SUBTILE_LENGTH: u32 = if Self::SIZE == 1 { 32 } else { SUBTILE_SIDE };
}

/// The length of a subtile across its words.
pub(crate) const SUBTILE_SIDE: u32 = 16;

macro_rules! elements {
    ($($element:ty, $word:ty;)*) => {$(
        impl TensorElement for $element {
            type Word = $word;
        }
    )*};
}

elements! {
    u8,     u32;
    i8,     u32;
    u16,    u32;
    i16,    u32;
    e4m3,   u32;
    e5m2,   u32;
    B16,    u32;
    f16,    f16x2;
    bf16,   bf16x2;
    u32,    u32;
    i32,    i32;
    B32,    B32;
    f16x2,  f16x2;
    bf16x2, bf16x2;
    tf32,   tf32;
    f32,    f32;
    u64,    u64;
    i64,    i64;
    B64,    B64;
    f64,    f64;
}

/// An element type with arithmetic instructions, applied to one word at a time: [`bf16`], [`struct@f16`], `f32`, `f64` and
/// integers of 32 and 64 bits.
pub trait Arithmetic: TensorElement<Word: Number, Reg = Self> + Number {}

impl<T: TensorElement<Word: Number, Reg = T> + Number> Arithmetic for T {}

/// A floating-point element type that register tiles convert to f32 for arithmetic: [`bf16`], [`struct@f16`] and `f32`.
#[diagnostic::on_unimplemented(
    message = "no conversion between tiles of `{Self}` and `f32`",
    note = "tiles of `bf16`, `f16` and `f32` convert into each other"
)]
pub trait FloatElement: TensorElement {
    /// Packs adjacent elements, given in f32, into words, rounded to nearest even.
    #[doc(hidden)]
    fn from_f32<'k>(elements: &[Val<'k, f32>]) -> Vec<Val<'k, Self::Word>>;
    /// Returns a word's elements in f32, exactly.
    #[doc(hidden)]
    fn to_f32(word: Val<'_, Self::Word>) -> ArrayVec<Val<'_, f32>, 4>;
}

macro_rules! halves {
    ($($half:ident)*) => {$(
        impl FloatElement for $half {
            #[track_caller]
            fn from_f32<'k>(elements: &[Val<'k, f32>]) -> Vec<Val<'k, Self::Word>> {
                elements.chunks_exact(2).map(|pair| Val::pack_f32(pair[0], pair[1])).collect()
            }

            #[track_caller]
            fn to_f32(word: Val<'_, Self::Word>) -> ArrayVec<Val<'_, f32>, 4> {
                let (low, high) = word.unpack_f32();
                [low, high].into_iter().collect()
            }
        }
    )*};
}

halves! { bf16 f16 }

impl FloatElement for f32 {
    fn from_f32<'k>(elements: &[Val<'k, f32>]) -> Vec<Val<'k, f32>> {
        elements.to_vec()
    }

    fn to_f32(word: Val<'_, f32>) -> ArrayVec<Val<'_, f32>, 4> {
        [word].into_iter().collect()
    }
}

/// Returns a word with the same element in every slot.
pub(crate) fn splat<T: TensorElement>(value: T) -> T::Word {
    let bits = (0..T::PER_WORD).map(|slot| value.to_mem_bits() << (8 * T::SIZE as usize * slot));
    T::Word::from_bits(bits.fold(0, |word, slot| word | slot))
}

/// [`splat`] of a constant or a register.
#[track_caller]
pub(crate) fn splat_value<'k, T: Arithmetic>(k: Builder<'k>, value: Val<'k, T>) -> Val<'k, T::Word> {
    match value.as_constant() {
        Some(constant) => splat(constant).into(),
        None if T::PER_WORD == 1 => Val::from_reg(value.in_register(k), k),
        None => Val::from_reg(k.word::<T>(&[value; 4][..T::PER_WORD]), k),
    }
}
