//! Element types of tensors and tiles, and the words that their elements are packed into.

use arrayvec::ArrayVec;

use crate::ptx::{
    B16, B32, B64, Builder, Element, Rounding, Scalar, Val,
    numbers::*,
    sealed::Sealed,
    traits::{ByteSized, Number, Numeric},
};

/// An element type of tensors, fragments and tiles.
///
/// In registers, 8- and 16-bit elements are packed into 32-bit words, with the first element in the lowest bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor element type",
    note = "elements are floats or integers of 8 to 64 bits"
)]
pub trait TensorElement: Element {
    /// The register type that stores elements in a fragment: [`bf16x2`] for bf16, [`f16x2`] for f16, `u32` for other 8- and 16-bit types,
    /// and the type itself for wider types.
    type Word: Scalar;
    /// The number of elements per word.
    const PER_WORD: usize = (<Self::Word as Scalar>::BYTES / Self::SIZE) as usize;
    /// The length of a register tile's subtiles in the direction in which elements are packed into words: [`Length16`], or [`Length32`] for
    /// 8-bit elements. In the other direction, the length is 16.
    type Length: SubtileLength;
    /// [`Length`](Self::Length) as a number of elements.
    const SUBTILE_LENGTH: u32 = Self::Length::ELEMENTS;
}

/// A type that represents the length of a subtile in the direction in which elements are packed into words: [`Length16`] or [`Length32`].
pub trait SubtileLength: Sealed + 'static {
    /// The length in elements.
    const ELEMENTS: u32;
}

/// The length of subtiles of 16×16 elements, for elements of 16 bits or more.
#[derive(Clone, Copy, Debug)]
pub enum Length16 {}
/// The length of subtiles of 16×32 elements (32×16 in the column layout), for 8-bit elements.
#[derive(Clone, Copy, Debug)]
pub enum Length32 {}

impl Sealed for Length16 {}
impl Sealed for Length32 {}

impl SubtileLength for Length16 {
    const ELEMENTS: u32 = SUBTILE_SIDE;
}

impl SubtileLength for Length32 {
    const ELEMENTS: u32 = 32;
}

/// The length of a subtile perpendicular to the packing direction.
pub(crate) const SUBTILE_SIDE: u32 = 16;

/// Calls a macro with the element types that have a property. The implementations of the traits in this module and others are generated
/// from these lists.
macro_rules! element_types {
    // Every type, its register type and the length of its subtiles.
    (words, $implement:ident) => {
        $implement! {
            u8      u32     Length32;
            i8      u32     Length32;
            e4m3    u32     Length32;
            e5m2    u32     Length32;
            e3m2    u32     Length32;
            e2m3    u32     Length32;
            u16     u32     Length16;
            i16     u32     Length16;
            B16     u32     Length16;
            f16     f16x2   Length16;
            bf16    bf16x2  Length16;
            u32     u32     Length16;
            i32     i32     Length16;
            B32     B32     Length16;
            f16x2   f16x2   Length16;
            bf16x2  bf16x2  Length16;
            tf32    tf32    Length16;
            f32     f32     Length16;
            u64     u64     Length16;
            i64     i64     Length16;
            B64     B64     Length16;
            f64     f64     Length16;
        }
    };
    // The types with arithmetic, grouped by the type that the arithmetic uses.
    (computed, $implement:ident) => {
        $implement! {
            in themselves: f16 bf16 f16x2 bf16x2 f32 f64 u32 i32 u64 i64;
            in f32: e4m3 e5m2 e3m2 e2m3 tf32;
            in i32: i8 u8;
        }
    };
    // The types with sums, grouped by the type of the sums.
    (summed, $implement:ident) => {
        $implement! {
            in themselves: f32 f64 i32 u32 i64 u64;
            in f32: e4m3 e5m2 e3m2 e2m3 bf16 f16 tf32;
            in i32: i8 u8;
        }
    };
    // The types that convert to each other: through f32, or with one instruction between two types of the second list.
    (converted, $implement:ident) => {
        $implement! {
            through f32: e4m3 e5m2 e3m2 e2m3 bf16 f16 tf32 f32 i8 u8;
            directly: [f64 i32 u32 i64 u64];
        }
    };
    (floating_point, $implement:ident) => {
        $implement! { e4m3 e5m2 e3m2 e2m3 bf16 f16 tf32 f32 f64 }
    };
}
pub(crate) use element_types;

macro_rules! elements {
    ($($t:ident $word:ident $length:ident;)*) => {$(
        impl TensorElement for $t {
            type Word = $word;
            type Length = $length;
        }
    )*};
}

element_types! { words, elements }

/// An element type whose [`Word`](TensorElement::Word) is one element or a pair of elements.
///
/// 8- and 16-bit integers, untyped 16-bit elements and [minifloats](crate::ptx::Minifloat) are excluded: they are packed into `u32`, so
/// arithmetic on a register would carry from one element to the next.
#[diagnostic::on_unimplemented(
    message = "functions of registers of `{Self}` would combine adjacent elements",
    note = "a register is a `u32` of several packed elements: use `map_indexed` or `zip_elements` for functions of elements, `map_words` or \
            `zip_words` for functions of the `u32`, or convert the tile"
)]
pub trait MappedElement: TensorElement {}

macro_rules! mapped {
    ($($t:ident $word:ident $length:ident;)*) => { $( mapped! { $t in $word } )* };
    (u32 in u32) => { impl MappedElement for u32 {} };
    ($t:ident in u32) => {};
    ($t:ident in $word:ident) => { impl MappedElement for $t {} };
}

element_types! { words, mapped }

/// An element type whose arithmetic instructions operate on one word at a time: [`bf16`], [`struct@f16`], pairs of these, `f32`, `f64`, and
/// 32- and 64-bit integers.
pub trait Arithmetic:
    MappedElement<Word: Number, Reg = Self> + Number + Computed<In = <Self as TensorElement>::Word>
{
}

impl<T> Arithmetic for T where
    T: MappedElement<Word: Number, Reg = T> + Number + Computed<In = <T as TensorElement>::Word>
{
}

/// An element type whose tiles support arithmetic.
///
/// Operations on types that implement [`Arithmetic`] process one word at a time. Operations on other types process one element at a time,
/// in the type given below.
///
/// | type                                   | computed in | results                                          |
/// | ---                                    | ---         | ---                                              |
/// | types with [`Arithmetic`]              | themselves  |                                                  |
/// | [minifloats](crate::ptx::Minifloat)    | f32         | rounded to nearest even, saturated               |
/// | [`tf32`]                               | f32         | rounded to nearest, ties away from zero          |
/// | `i8`, `u8`                             | `i32`       | saturated                                        |
#[diagnostic::on_unimplemented(
    message = "tiles of `{Self}` have no arithmetic",
    note = "arithmetic is on floating-point types, `i8`, `u8`, and integers of 32 and 64 bits"
)]
pub trait Computed: TensorElement {
    /// The type in which operations are computed; for f16 and bf16, a pair of elements.
    type In: Number;
    /// Applies a function to each element of a word, or to the corresponding elements of several words.
    #[doc(hidden)]
    fn compute<'k, const N: usize>(
        words: [Val<'k, Self::Word>; N],
        f: &dyn Fn([Val<'k, Self::In>; N]) -> Val<'k, Self::In>,
    ) -> Val<'k, Self::Word>;
}

macro_rules! computed {
    (in themselves: $($own:ident)*; in f32: $($single:ident)*; in i32: $($byte:ident)*;) => {
        $(impl Computed for $own {
            type In = Self::Word;

            #[track_caller]
            fn compute<'k, const N: usize>(
                words: [Val<'k, Self::Word>; N],
                f: &dyn Fn([Val<'k, Self::Word>; N]) -> Val<'k, Self::Word>,
            ) -> Val<'k, Self::Word> {
                f(words)
            }
        })*
        $(impl Computed for $single {
            type In = f32;

            #[track_caller]
            fn compute<'k, const N: usize>(
                words: [Val<'k, Self::Word>; N],
                f: &dyn Fn([Val<'k, f32>; N]) -> Val<'k, f32>,
            ) -> Val<'k, Self::Word> {
                let elements = words.map(<Self as ConvertibleElement>::to_f32);
                let results = (0..Self::PER_WORD).map(|slot| f(elements.each_ref().map(|word| word[slot])));
                <Self as ConvertibleElement>::from_f32(&results.collect::<ArrayVec<_, 4>>())[0]
            }
        })*
        $(impl Computed for $byte {
            type In = i32;

            #[track_caller]
            fn compute<'k, const N: usize>(
                words: [Val<'k, u32>; N],
                f: &dyn Fn([Val<'k, i32>; N]) -> Val<'k, i32>,
            ) -> Val<'k, u32> {
                let elements = words.map(bytes_of::<$byte>);
                Val::pack_bytes::<$byte>(std::array::from_fn(|slot| f(elements.each_ref().map(|word| word[slot]))))
            }
        })*
    };
}

element_types! { computed, computed }

/// Returns the bytes of a word as integers.
#[track_caller]
pub(crate) fn bytes_of<'k, T: ByteSized<Reg: Numeric>>(word: Val<'k, u32>) -> [Val<'k, i32>; 4] {
    std::array::from_fn(|slot| (word >> (8 * slot as u32)).wrap_to::<T>().cast())
}

/// An element type that converts to and from f32: every floating-point type, and 8-, 32- and 64-bit integers.
///
/// | type                                | from f32                                                           | to f32                               | requires          |
/// | ---                                 | ---                                                                | ---                                  | ---               |
/// | `f32`, `f64`                        | exact                                                              | `f32`: exact; `f64`: to nearest even |                   |
/// | [`bf16`], [`struct@f16`]            | to nearest even                                                    | exact                                | bf16: sm_80       |
/// | [`tf32`]                            | to nearest, ties away from zero                                    | exact                                | sm_80             |
/// | [minifloats](crate::ptx::Minifloat) | to nearest even, saturating to the largest finite number           | exact                                | see the types     |
/// | `i8`, `u8`                          | to nearest even, saturating; NaN gives 0                           | exact                                |                   |
/// | `i32`, `u32`, `i64`, `u64`          | to nearest even, saturating; NaN gives 0 (`i64`: −2⁶³, `u64`: 2⁶³) | to nearest even                      |                   |
#[diagnostic::on_unimplemented(
    message = "no conversion between tiles of `{Self}` and `f32`",
    note = "tiles of floating-point types and of integers of 8, 32 and 64 bits convert into each other"
)]
pub trait ConvertibleElement: TensorElement {
    /// Converts adjacent elements from f32 and packs them into words. The number of elements must be a multiple of
    /// [`PER_WORD`](TensorElement::PER_WORD).
    #[doc(hidden)]
    fn from_f32<'k>(elements: &[Val<'k, f32>]) -> Vec<Val<'k, Self::Word>>;
    /// Unpacks the elements of a word and converts them to f32.
    #[doc(hidden)]
    fn to_f32(word: Val<'_, Self::Word>) -> ArrayVec<Val<'_, f32>, 4>;
    /// The conversion to and from pairs of f16, for types that convert to each other through f16 with the same results as through f32.
    #[doc(hidden)]
    const IN_F16: Option<InF16<Self::Word>> = None;
}

/// Conversions between words and pairs of f16.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct InF16<W: Scalar> {
    pub(crate) to: for<'k> fn(Val<'k, W>) -> ArrayVec<Val<'k, f16x2>, 2>,
    pub(crate) from: for<'k> fn(&[Val<'k, f16x2>]) -> Val<'k, W>,
}

/// A floating-point element type: a [minifloat](crate::ptx::Minifloat), [`bf16`], [`struct@f16`], [`tf32`], `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating-point element type",
    note = "the floating-point element types are `e4m3`, `e5m2`, `e3m2`, `e2m3`, `bf16`, `f16`, `tf32`, `f32` and \
            `f64`"
)]
pub trait FloatElement: ConvertibleElement {}

macro_rules! floats {
    ($($t:ty)*) => {$( impl FloatElement for $t {} )*};
}

element_types! { floating_point, floats }

/// Implements conversions of types with one element per word.
macro_rules! single {
    ($($t:ty, $from:expr, $to:expr;)*) => {$(
        impl ConvertibleElement for $t {
            #[track_caller]
            fn from_f32<'k>(elements: &[Val<'k, f32>]) -> Vec<Val<'k, $t>> {
                elements.iter().copied().map($from).collect()
            }

            #[track_caller]
            fn to_f32(word: Val<'_, $t>) -> ArrayVec<Val<'_, f32>, 4> {
                [word].into_iter().map($to).collect()
            }
        }
    )*};
}

single! {
    f32,  |x| x,                       |x| x;
    f64,  Val::cast,                   Val::cast;
    i32,  |x| x.convert(Rounding::Rn), Val::cast;
    u32,  |x| x.convert(Rounding::Rn), Val::cast;
    i64,  |x| x.convert(Rounding::Rn), Val::cast;
    u64,  |x| x.convert(Rounding::Rn), Val::cast;
    tf32, Val::to_tf32,                Val::<tf32>::to_f32;
}

macro_rules! halves {
    ($($half:ident: $in_f16:expr;)*) => {$(
        impl ConvertibleElement for $half {
            #[track_caller]
            fn from_f32<'k>(elements: &[Val<'k, f32>]) -> Vec<Val<'k, Self::Word>> {
                elements.chunks_exact(2).map(|pair| Val::pack_f32(pair[0], pair[1])).collect()
            }

            #[track_caller]
            fn to_f32(word: Val<'_, Self::Word>) -> ArrayVec<Val<'_, f32>, 4> {
                let (low, high) = word.unpack_f32();
                [low, high].into_iter().collect()
            }

            const IN_F16: Option<InF16<Self::Word>> = $in_f16;
        }
    )*};
}

halves! {
    bf16: None;
    f16: Some(InF16 { to: |word| [word].into_iter().collect(), from: |pairs| pairs[0] });
}

macro_rules! minifloats {
    ($($t:ident)*) => {$(
        impl ConvertibleElement for $t {
            #[track_caller]
            fn from_f32<'k>(elements: &[Val<'k, f32>]) -> Vec<Val<'k, u32>> {
                let pair = |low, high| Val::pack_minifloats::<$t>(low, high);
                elements.chunks_exact(4).map(|x| Val::pack(pair(x[0], x[1]), pair(x[2], x[3]))).collect()
            }

            #[track_caller]
            fn to_f32(word: Val<'_, u32>) -> ArrayVec<Val<'_, f32>, 4> {
                let (low, high) = word.unpack();
                let pairs = [low, high].map(|pair| pair.unpack_minifloats::<$t>().unpack_f32());
                pairs.into_iter().flat_map(|(low, high)| [low, high]).collect()
            }

            const IN_F16: Option<InF16<u32>> = Some(InF16 {
                to: |word| {
                    let (low, high) = word.unpack();
                    [low, high].map(|pair| pair.unpack_minifloats::<$t>()).into()
                },
                from: |pairs| Val::pack(pairs[0].to_minifloats::<$t>(), pairs[1].to_minifloats::<$t>()),
            });
        }
    )*};
}

minifloats! { e4m3 e5m2 e3m2 e2m3 }

macro_rules! bytes {
    ($($t:ident, $sign:literal;)*) => {$(
        impl ConvertibleElement for $t {
            #[track_caller]
            fn from_f32<'k>(elements: &[Val<'k, f32>]) -> Vec<Val<'k, u32>> {
                let integer = |x: &Val<'k, f32>| x.convert::<i32>(Rounding::Rn);
                let word = |x: &[Val<'k, f32>]| Val::pack_bytes::<$t>(std::array::from_fn(|i| integer(&x[i])));
                elements.chunks_exact(4).map(word).collect()
            }

            /// Avoids `cvt`, which has a quarter of the throughput of `prmt` and `sub`: inserts the byte as the low byte of the
            /// significand of 2²³. Inverting the sign bit of an `i8` adds 128, which makes it nonnegative.
            #[track_caller]
            fn to_f32(word: Val<'_, u32>) -> ArrayVec<Val<'_, f32>, 4> {
                const BIAS: f32 = 8_388_608.0 + $sign as f32;
                let positive = word ^ ($sign * 0x0101_0101u32);
                let biased = |slot| positive.permute(0x4b00_0000u32, 0x7440u32 | slot).bits::<f32>();
                (0..4u32).map(|slot| biased(slot) - BIAS).collect()
            }
        }
    )*};
}

bytes! {
    u8, 0;
    i8, 128;
}

/// Returns a word with the same element in every slot.
pub(crate) fn splat<T: TensorElement>(value: T) -> T::Word {
    let bits = (0..T::PER_WORD).map(|slot| value.to_mem_bits() << (8 * T::SIZE as usize * slot));
    T::Word::from_bits(bits.fold(0, |word, slot| word | slot))
}

/// Returns a word with the same value, a constant or a register, in every slot.
#[track_caller]
pub(crate) fn splat_value<'k, T: Arithmetic>(k: Builder<'k>, value: Val<'k, T>) -> Val<'k, T::Word> {
    match value.as_constant() {
        Some(constant) => splat(constant).into(),
        None if T::PER_WORD == 1 => Val::from_reg(value.in_register(k), k),
        None => Val::from_reg(k.word::<T>(&[value; 4][..T::PER_WORD]), k),
    }
}
