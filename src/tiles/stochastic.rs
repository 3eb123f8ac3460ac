//! Conversion with stochastic rounding.

use std::panic::Location;

use super::{
    blocks::moved,
    convert::assert_same_subtiles,
    coordinates::Coordinates,
    element::RegisterLayout,
    random::RandomTile,
    registers::Registers,
    rt::Rt,
    vector::Rv,
    vector_layout::VectorLayout,
    widen::{Shapes, assert_same_matrix},
};
use crate::{
    ptx::{Builder, Val, numbers::*},
    tensor::ConvertibleElement,
};

/// An element type to which elements can be converted with stochastic rounding: [`struct@f16`], [`bf16`], [`e4m3`], [`e5m2`], [`e3m2`] and
/// [`e2m3`].
#[diagnostic::on_unimplemented(
    message = "no stochastic rounding to `{Self}`",
    note = "stochastic rounding is to `f16`, `bf16`, `e4m3`, `e5m2`, `e3m2` and `e2m3`"
)]
pub trait StochasticElement: ConvertibleElement {
    /// Packs the elements of a word, each rounded up or down according to `random`.
    #[doc(hidden)]
    fn from_f32_at_random<'k>(
        k: Builder<'k>,
        elements: &[Val<'k, f32>],
        random: Val<'k, u32>,
    ) -> Val<'k, Self::Word>;
}

macro_rules! stochastic {
    ($($half:ident)*; $($byte:ident)*) => {
        $(impl StochasticElement for $half {
            #[track_caller]
            fn from_f32_at_random<'k>(k: Builder<'k>, elements: &[Val<'k, f32>], random: Val<'k, u32>) -> Val<'k, Self::Word> {
                k.pack_stochastic(elements[0], elements[1], random)
            }
        })*
        $(impl StochasticElement for $byte {
            #[track_caller]
            fn from_f32_at_random<'k>(k: Builder<'k>, elements: &[Val<'k, f32>], random: Val<'k, u32>) -> Val<'k, u32> {
                k.pack_minifloats_stochastic::<$byte>(std::array::from_fn(|i| elements[i]), random)
            }
        })*
    };
}

stochastic! { f16 bf16; e4m3 e5m2 e3m2 e2m3 }

impl<'k, T: ConvertibleElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Converts the elements to type `U` with stochastic rounding: each element is rounded up or down at random, so that the expected value
    /// of the result is the unrounded number.
    ///
    /// `U` must be 8 bits wide if `T` is, and 16 bits wide otherwise; other types do not compile. Requires sm_100a.
    ///
    /// The elements in a result register share a word of `random`. If `U` is 16 bits wide, the hardware uses different bits of the word for
    /// each element.
    #[doc(alias = "cvt.rs")]
    #[must_use]
    #[track_caller]
    pub fn convert_stochastic<U: StochasticElement>(&self, random: &RandomTile<'k>) -> Rt<'k, U, H, W, L> {
        const { assert_same_subtiles::<T, U>() };
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        Rt::of_registers(k, k.all_owned(|| self.rounded_at_random::<U>(random)))
    }

    /// Converts elements of 16 bits or more to an 8-bit type `U`, as [`narrow`](Self::narrow) does, but with stochastic rounding; see
    /// [`convert_stochastic`](Self::convert_stochastic). Requires sm_100a.
    #[doc(alias = "cvt.rs")]
    #[must_use]
    #[track_caller]
    pub fn narrow_stochastic<U: StochasticElement, const H2: usize, const W2: usize>(
        &self,
        random: &RandomTile<'k>,
    ) -> Rt<'k, U, H2, W2, L> {
        const {
            assert!(
                T::SIZE > 1 && U::SIZE == 1,
                "`narrow_stochastic` converts to 8-bit elements from wider ones"
            );
            assert_same_matrix::<T, U, H, W, H2, W2, L>();
        }
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let Shapes { blocks, layouts } = Shapes::new::<U, T, L>(W2, W).reversed();
        let rounded = self.rounded_at_random::<U>(random);
        Rt::of_registers(k, k.all_owned(|| moved(k, &rounded, blocks, &layouts)))
    }

    /// Returns the elements as words of `U`, in register order.
    #[track_caller]
    fn rounded_at_random<U: StochasticElement>(&self, random: &RandomTile<'k>) -> Vec<Val<'k, U::Word>> {
        let k = self.kernel();
        let random = random.elements(&Self::layout(), [Self::ROWS, Self::COLS], &|words| words);
        let words = self.words();
        let words = words.chunks(U::PER_WORD / T::PER_WORD).zip(random.chunks(U::PER_WORD));
        let rounded = words.map(|(words, random)| {
            let elements: Vec<_> = words.iter().flat_map(|&word| T::to_f32(word)).collect();
            U::from_f32_at_random(k, &elements, random[0])
        });
        rounded.collect()
    }
}

impl<'k, T: ConvertibleElement, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// Converts elements of 16 bits or more to a 16-bit type `U` with stochastic rounding; see [`Rt::convert_stochastic`]. Requires
    /// sm_100a.
    ///
    /// If the rows of a matrix are divided into vectors of this length, pass [`random.tile(row, i)`](super::Random::tile) for vector `i` of
    /// row `row`. Each register of the result requires one call to [`philox4x32`](Builder::philox4x32).
    #[doc(alias = "cvt.rs")]
    #[must_use]
    #[track_caller]
    pub fn convert_stochastic<U: StochasticElement>(&self, random: &RandomTile<'k>) -> Rv<'k, U, N, V> {
        const {
            assert!(
                T::SIZE > 1 && U::SIZE == 2,
                "stochastic rounding of vectors is to 16-bit elements from elements of 16 bits or more"
            );
        }
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let at = Coordinates::along(k, &Self::layout(), 0);
        let mut elements: Vec<_> = self.words().into_iter().flat_map(T::to_f32).collect();
        // The last register may be only half used.
        let values = at.offsets.len();
        elements.resize(values.next_multiple_of(U::PER_WORD), 0.0.into());
        let words = random.of_vector(&at, (0..values).step_by(U::PER_WORD), Self::LENGTH);
        let rounded = || {
            let pairs = elements.chunks(U::PER_WORD).zip(words);
            pairs.map(|(elements, word)| U::from_f32_at_random(k, elements, word)).collect()
        };
        Rv::of_registers(k, k.all_owned(rounded))
    }
}
