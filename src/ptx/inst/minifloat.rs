//! Conversion from and to minifloats: `cvt` for `.e4m3x2` and similar types. The documentation of each type states which targets support
//! its conversions.

use super::{
    Half,
    Operands::{In, Known},
    operands,
};
use crate::ptx::{
    fold::{self, Rounding},
    types::{Minifloat, f16, f16x2},
    val::Val,
};

/// The conversion of negative numbers.
#[derive(Clone, Copy, PartialEq)]
enum Negative {
    Kept,
    Zero,
}

impl Negative {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Kept => "",
            Self::Zero => ".relu",
        }
    }

    fn fold(self, pair: f16x2) -> f16x2 {
        match self {
            Self::Kept => pair,
            Self::Zero => pair.fold_relu(),
        }
    }

    /// Folds the conversion of two numbers, low number first.
    fn fold_pack<T: Minifloat>(self, pair: [f32; 2]) -> u16 {
        let [low, high] = pair.map(|x| {
            let is_zero = self == Self::Zero && x.is_sign_negative() && !x.is_nan();
            T::fold_from_f32(if is_zero { 0.0 } else { x }).to_mem_bits() as u8
        });
        u16::from_le_bytes([low, high])
    }
}

impl<'k> Val<'k, u16> {
    /// Converts two numbers to the [`Minifloat`] type `T`, rounding to nearest even, and packs them, with `low` in the low byte:
    /// `Val::pack_minifloats::<e4m3>(x, y)`. Requires a target that supports conversions of `T`.
    ///
    /// Infinities and numbers out of range become the largest finite number of the same sign. NaN becomes the positive NaN, or the largest
    /// number if the type has no NaN.
    #[doc(alias = "cvt.rn.satfinite.e4m3x2.f32")]
    #[doc(alias = "cvt.rn.satfinite.e5m2x2.f32")]
    #[track_caller]
    pub fn pack_minifloats<T: Minifloat>(
        low: impl Into<Val<'k, f32>>,
        high: impl Into<Val<'k, f32>>,
    ) -> Self {
        Self::packed::<T>(low.into(), high.into(), Negative::Kept)
    }

    /// Converts and packs two numbers as [`pack_minifloats`](Self::pack_minifloats) does, except that negative numbers become 0.
    #[doc(alias = "cvt.rn.satfinite.relu.e4m3x2.f32")]
    #[track_caller]
    pub fn pack_minifloats_relu<T: Minifloat>(
        low: impl Into<Val<'k, f32>>,
        high: impl Into<Val<'k, f32>>,
    ) -> Self {
        Self::packed::<T>(low.into(), high.into(), Negative::Zero)
    }

    #[track_caller]
    fn packed<T: Minifloat>(low: Val<'k, f32>, high: Val<'k, f32>, negative: Negative) -> Self {
        match operands(low, high) {
            Known(low, high) => negative.fold_pack::<T>([low, high]).into(),
            // The first source is the high byte (PTX ISA, "cvt").
            In(k) => k.result(
                ["cvt.rn.satfinite", negative.suffix(), ".", T::PAIR, ".f32"],
                &[high.operand(k), low.operand(k)],
            ),
        }
    }

    /// Converts the two packed numbers of type `T` exactly to f16: `pair.unpack_minifloats::<e4m3>()`. Requires a target that supports
    /// conversions of `T`.
    #[doc(alias = "cvt.rn.f16x2.e4m3x2")]
    #[doc(alias = "cvt.rn.f16x2.e5m2x2")]
    #[track_caller]
    pub fn unpack_minifloats<T: Minifloat>(self) -> Val<'k, f16x2> {
        self.unpacked::<T>(Negative::Kept)
    }

    /// Unpacks as [`unpack_minifloats`](Self::unpack_minifloats) does, except that negative numbers become 0.
    #[doc(alias = "cvt.rn.relu.f16x2.e4m3x2")]
    #[track_caller]
    pub fn unpack_minifloats_relu<T: Minifloat>(self) -> Val<'k, f16x2> {
        self.unpacked::<T>(Negative::Zero)
    }

    #[track_caller]
    fn unpacked<T: Minifloat>(self, negative: Negative) -> Val<'k, f16x2> {
        match self.reg() {
            None => {
                let bytes = self.as_constant().unwrap_or_default().to_le_bytes();
                let halves = bytes.map(|byte| {
                    fold::convert::<f32, f16>(T::from_bits(byte.into()).fold_to_f32(), Rounding::Rn)
                });
                negative.fold(f16x2(halves)).into()
            }
            Some((_, k)) => k.result(["cvt.rn", negative.suffix(), ".f16x2.", T::PAIR], &[self.operand(k)]),
        }
    }
}

impl<'k> Val<'k, f16x2> {
    /// Rounds and packs both halves as [`Val::pack_minifloats`] does: `pair.to_minifloats::<e4m3>()`. If PTX has no direct conversion from
    /// f16x2 to `T`, the halves are first converted exactly to f32. Requires a target that supports conversions of `T`.
    #[doc(alias = "cvt.rn.satfinite.e4m3x2.f16x2")]
    #[doc(alias = "cvt.rn.satfinite.e5m2x2.f16x2")]
    #[track_caller]
    pub fn to_minifloats<T: Minifloat>(self) -> Val<'k, u16> {
        self.narrowed::<T>(Negative::Kept)
    }

    /// Converts as [`to_minifloats`](Self::to_minifloats) does, except that negative numbers become 0.
    #[doc(alias = "cvt.rn.satfinite.relu.e4m3x2.f16x2")]
    #[track_caller]
    pub fn to_minifloats_relu<T: Minifloat>(self) -> Val<'k, u16> {
        self.narrowed::<T>(Negative::Zero)
    }

    #[track_caller]
    fn narrowed<T: Minifloat>(self, negative: Negative) -> Val<'k, u16> {
        match self.reg() {
            None => {
                let pair = self.as_constant().map_or([f16::ZERO; 2], |pair| pair.0);
                negative.fold_pack::<T>(pair.map(f32::from)).into()
            }
            Some((_, k)) if T::FROM_F16X2 => {
                k.result(["cvt.rn.satfinite", negative.suffix(), ".", T::PAIR, ".f16x2"], &[self.operand(k)])
            }
            Some(_) => {
                let (low, high) = self.unpack_f32();
                Val::packed::<T>(low, high, negative)
            }
        }
    }
}

impl<'k> Val<'k, f32> {
    /// Rounds to the [`Minifloat`] type `T` as [`Val::pack_minifloats`] does: `x.to_minifloat::<e4m3>()`. To convert two numbers, use
    /// `pack_minifloats`, which costs no more than a single conversion. Requires a target that supports conversions of `T`.
    #[doc(alias = "cvt.rn.satfinite.e4m3x2.f32")]
    #[track_caller]
    pub fn to_minifloat<T: Minifloat>(self) -> Val<'k, T> {
        let pair = Val::pack_minifloats::<T>(self, 0.0);
        pair.cast::<u32>().bits()
    }
}

impl<'k, T: Minifloat> Val<'k, T> {
    /// Converts exactly to f32. Every NaN becomes the NaN with the bits 0x7fff_ffff. Requires a target that supports conversions of `T`.
    #[doc(alias = "cvt.rn.f16x2.e4m3x2")]
    #[track_caller]
    pub fn to_f32(self) -> Val<'k, f32> {
        // The upper number of the pair is unused and may have any value.
        let pair = self.bits::<u32>().cast::<u16>();
        pair.unpack_minifloats::<T>().unpack().0.cast()
    }
}
