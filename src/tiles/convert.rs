//! Conversion between element types.

use std::panic::Location;

use super::{element::RegisterLayout, registers::Registers, rt::Rt, vector::Rv, vector_layout::VectorLayout};
use crate::{
    ptx::{Builder, Format, RegId, Rounding, Scalar, Val, numbers::*, traits::Numeric},
    tensor::{ConvertibleElement, Fragment, TensorElement, element_types, in_order, splat, words_of},
};

/// An element type whose tiles and vectors can be converted to element type `U`. Every type converts to itself; floating-point types and
/// 8-, 32- and 64-bit integer types convert to one another.
///
/// Conversions among f64 and the 32- and 64-bit integer types are direct. All other conversions have the same result as a conversion via
/// f32, so values with more than 24 significant bits may be rounded twice. Results are rounded to nearest, with ties to even or, for tf32,
/// ties away from zero. Conversions to integer types and to floating-point types of at most 8 bits saturate.
#[doc(alias = "convertor")]
#[diagnostic::on_unimplemented(
    message = "tiles of `{Self}` do not convert to `{U}`",
    note = "types that convert from and to f32 (`ConvertibleElement`) convert to each other; other types convert with `map_to`"
)]
pub trait Convert<U: TensorElement>: TensorElement {
    /// Returns the same elements in words of `U`: in fresh registers if the types differ, otherwise in the given registers.
    #[doc(hidden)]
    #[track_caller]
    fn convert_words<'k>(words: &[Val<'k, Self::Word>]) -> Vec<Val<'k, U::Word>>;
    /// Returns the element of this type that converts to exactly `value`, or `None` if no such element exists.
    #[doc(hidden)]
    fn exactly(value: U) -> Option<Self>;
}

/// Conversions between a type and several others, in both directions.
macro_rules! conversions {
    ($convert:ident: $($one:ident $other:ident;)*) => {
        $( conversions! { $convert, $one => $other } conversions! { $convert, $other => $one } )*
    };
    ($convert:ident, $from:ident => $to:ident) => {
        // Inline, so that a program compiles only the few conversions that it uses instead of all two hundred.
        impl Convert<$to> for $from {
            #[inline]
            #[track_caller]
            fn convert_words<'k>(
                words: &[Val<'k, <$from as TensorElement>::Word>],
            ) -> Vec<Val<'k, <$to as TensorElement>::Word>> {
                $convert::<$from, $to>(words)
            }

            #[inline]
            fn exactly(value: $to) -> Option<$from> {
                exactly(value)
            }
        }
    };
}

/// Conversions between all pairs of different types.
macro_rules! all_conversions {
    (through f32: $($narrow:ident)*; directly: $wide:tt;) => {
        $( all_conversions! { $narrow $wide } )*
        all_conversions! { through_f32: $($narrow)* }
        all_conversions! { directly: $wide }
    };
    (directly: [$($wide:ident)*]) => { all_conversions! { directly: $($wide)* } };
    ($narrow:ident [$($wide:ident)*]) => { conversions! { through_f32: $($narrow $wide;)* } };
    ($convert:ident:) => {};
    ($convert:ident: $first:ident $($rest:ident)*) => {
        conversions! { $convert: $($first $rest;)* }
        all_conversions! { $convert: $($rest)* }
    };
}

element_types! { converted, all_conversions }

/// Converts words that contain one element each, using one instruction per word, with rounding to nearest even and saturation.
#[track_caller]
fn directly<'k, T, U>(words: &[Val<'k, T::Word>]) -> Vec<Val<'k, U::Word>>
where
    T: TensorElement<Word: Numeric>,
    U: TensorElement<Word: Numeric>,
{
    let convert = |word: &Val<'k, T::Word>| match U::Word::FORMAT {
        Format::Integer { .. } if matches!(T::Word::FORMAT, Format::Integer { .. }) => word.cast_saturating(),
        _ => word.convert(Rounding::Rn),
    };
    words.iter().map(convert).collect()
}

impl<T: TensorElement> Convert<T> for T {
    fn convert_words<'k>(words: &[Val<'k, T::Word>]) -> Vec<Val<'k, T::Word>> {
        words.to_vec()
    }

    fn exactly(value: T) -> Option<T> {
        Some(value)
    }
}

/// Converts words in groups that fill whole words of both types. If `cvt` converts both types to and from f16, the conversion uses f16
/// instead of f32 as the intermediate type, with the same results.
#[track_caller]
pub(in crate::tiles) fn through_f32<'k, T: ConvertibleElement, U: ConvertibleElement>(
    words: &[Val<'k, T::Word>],
) -> Vec<Val<'k, U::Word>> {
    if let (Some(from), Some(to)) = (T::IN_F16, U::IN_F16) {
        let mut pairs: Vec<_> = words.iter().flat_map(|&word| (from.to)(word)).collect();
        pairs.resize(pairs.len().next_multiple_of(U::PER_WORD / 2), f16x2([f16::ZERO; 2]).into());
        return pairs.chunks(U::PER_WORD / 2).map(|pairs| (to.from)(pairs)).collect();
    }
    let mut converted = Vec::with_capacity(words.len() * T::PER_WORD / U::PER_WORD);
    for words in words.chunks(U::PER_WORD.div_ceil(T::PER_WORD)) {
        let mut elements: Vec<_> = words.iter().flat_map(|&word| T::to_f32(word)).collect();
        // The last word of a short vector is only partly used.
        elements.resize(elements.len().next_multiple_of(U::PER_WORD), 0.0.into());
        converted.extend(U::from_f32(&elements));
    }
    converted
}

/// Returns the element of type `T` that converts to exactly `value`, or `None` if no such element exists.
fn exactly<T: Convert<U>, U: Convert<T>>(value: U) -> Option<T> {
    let nearest = U::convert_words(&vec![splat(value).into(); T::PER_WORD])[0].as_constant()?;
    let nearest = T::from_mem_bits(nearest.to_bits());
    let back = T::convert_words(&vec![splat(nearest).into(); U::PER_WORD])[0].as_constant()?;
    (back.to_bits() == splat(value).to_bits()).then_some(nearest)
}

/// Returns a fragment of `values` elements in register order; all elements must be written before the fragment is read.
#[track_caller]
pub(super) fn fragment_of<'k, T: TensorElement>(k: Builder<'k>, values: i64) -> Fragment<'k, T> {
    let layout = in_order(values);
    if values.unsigned_abs().is_multiple_of(T::PER_WORD as u64) {
        Fragment::uninitialized(k, &layout, T::Word::CLASS)
    } else {
        // The fragment's words are written element by element.
        k.fragment(&layout)
    }
}

/// Returns the elements of type `T` that `read` writes to a fragment, converted to a tile or vector. The fragment has the layout of the
/// result, so the conversion moves no elements between lanes.
#[track_caller]
pub(super) fn loaded<'k, T: Convert<D::Element>, D: Registers<'k>>(
    k: Builder<'k>,
    read: impl FnOnce(&Fragment<'k, T>),
) -> D {
    let fragment = fragment_of(k, D::values() as i64);
    read(&fragment);
    D::of_registers(k, converted_registers::<T, D::Element>(&fragment, D::count()))
}

/// Returns the elements of a tile or vector, converted to `T`, as a fragment in the same layout.
#[track_caller]
pub(super) fn stored<'k, T: TensorElement, D: Registers<'k, Element: Convert<T>>>(
    from: &D,
) -> Fragment<'k, T> {
    converted_fragment(from.fragment())
}

#[track_caller]
fn converted_fragment<'k, T: Convert<U>, U: TensorElement>(from: &Fragment<'k, T>) -> Fragment<'k, U> {
    Fragment::over(from.kernel(), converted_registers::<T, U>(from, usize::MAX), from.layout().clone())
}

/// Returns the first `count` registers of a fragment's elements after conversion to `U`.
#[track_caller]
fn converted_registers<'k, T: Convert<U>, U: TensorElement>(
    fragment: &Fragment<'k, T>,
    count: usize,
) -> Vec<RegId> {
    in_registers(fragment.kernel(), &T::convert_words(&words_of(fragment)), count)
}

#[track_caller]
fn in_registers<'k, W: Scalar>(k: Builder<'k>, words: &[Val<'k, W>], count: usize) -> Vec<RegId> {
    words.iter().take(count).map(|word| word.in_register(k)).collect()
}

/// Asserts that subtiles of both types have the same shape, so that elements stay in their lanes.
pub(super) const fn assert_same_subtiles<T: TensorElement, U: TensorElement>() {
    assert!(
        T::SUBTILE_LENGTH == U::SUBTILE_LENGTH,
        "subtiles of 8-bit elements are 16×32, those of wider ones 16×16: `widen` and `narrow` convert between them"
    );
}

/// Returns registers that contain the elements of `from` converted to `U` and that no other value owns.
#[track_caller]
fn converted<'k, T: Convert<U>, U: TensorElement>(from: &Fragment<'k, T>) -> Vec<RegId> {
    let k = from.kernel();
    let _located = k.locate(Location::caller());
    k.all_owned(|| T::convert_words(&words_of(from)))
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Converts the elements to type `U`; for rounding and saturation, see [`Convert`].
    ///
    /// Elements stay in their lanes, so an f32 accumulator becomes operand A of the next MMA without shuffles. Conversions between 8-bit
    /// and wider elements do not compile; use [`widen`](Self::widen) or [`narrow`](Self::narrow) instead.
    #[doc(alias = "copy")]
    #[must_use]
    #[track_caller]
    pub fn convert<U: TensorElement>(&self) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
    {
        const { assert_same_subtiles::<T, U>() };
        Rt::of_registers(self.kernel(), converted::<T, U>(self.fragment()))
    }
}

impl<'k, T: TensorElement, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// Converts the elements to type `U`; for rounding and saturation, see [`Convert`].
    #[must_use]
    #[track_caller]
    pub fn convert<U: TensorElement>(&self) -> Rv<'k, U, N, V>
    where
        T: Convert<U>,
    {
        let mut registers = converted::<T, U>(self.fragment());
        // A word may have more slots than a lane has elements.
        registers.truncate(Rv::<U, N, V>::REGISTERS);
        Rv::of_registers(self.kernel(), registers)
    }
}
