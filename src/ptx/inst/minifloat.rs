//! Conversion of 8-bit floating-point numbers: `cvt` of `.e4m3x2` and `.e5m2x2`, which requires sm_89 or later.

use super::{
    Half,
    Operands::{In, Known},
    operands,
};
use crate::ptx::{
    fold::{self, Rounding},
    types::{Element, Scalar, e4m3, e5m2, f16, f16x2},
    val::Val,
};

/// An 8-bit floating-point type: [`e4m3`] or [`e5m2`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an 8-bit floating-point type",
    note = "the 8-bit floating-point types are `e4m3` and `e5m2`"
)]
pub trait Fp8: Scalar + Element<Reg = Self> {
    /// The type of a packed pair in PTX, such as `"e4m3x2"`.
    #[doc(hidden)]
    const PAIR: &'static str;
    #[doc(hidden)]
    fn fold_from_f32(x: f32) -> Self;
    #[doc(hidden)]
    fn fold_to_f32(self) -> f32;
}

macro_rules! types {
    ($($t:ident = $pair:literal;)*) => {$(
        impl Fp8 for $t {
            const PAIR: &'static str = $pair;
            fn fold_from_f32(x: f32) -> Self {
                $t::from_f32(x)
            }
            fn fold_to_f32(self) -> f32 {
                self.to_f32()
            }
        }
    )*};
}

types! {
    e4m3 = "e4m3x2";
    e5m2 = "e5m2x2";
}

/// What happens to negative numbers.
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

    /// Folds the conversion of a pair, low number first.
    fn fold_pack<T: Fp8>(self, pair: [f32; 2]) -> u16 {
        let [low, high] = pair.map(|x| {
            let number = T::fold_from_f32(x).to_bits() as u8;
            if self == Self::Zero && number >> 7 == 1 { 0 } else { number }
        });
        u16::from_le_bytes([low, high])
    }
}

impl<'k> Val<'k, u16> {
    /// Converts two numbers to an 8-bit floating-point type and packs them, the first in the low byte: `Val::pack_fp8::<e4m3>(x, y)`.
    /// Rounds to nearest even; numbers out of range and infinities become the largest finite number of the same sign. Requires sm_89 or
    /// later.
    #[doc(alias = "cvt.rn.satfinite.e4m3x2.f32")]
    #[doc(alias = "cvt.rn.satfinite.e5m2x2.f32")]
    #[track_caller]
    pub fn pack_fp8<T: Fp8>(low: impl Into<Val<'k, f32>>, high: impl Into<Val<'k, f32>>) -> Self {
        Self::packed_fp8::<T>(low.into(), high.into(), Negative::Kept)
    }

    /// Packs as [`pack_fp8`](Self::pack_fp8) does, and replaces negative numbers with 0. Requires sm_89 or later.
    #[doc(alias = "cvt.rn.satfinite.relu.e4m3x2.f32")]
    #[track_caller]
    pub fn pack_fp8_relu<T: Fp8>(low: impl Into<Val<'k, f32>>, high: impl Into<Val<'k, f32>>) -> Self {
        Self::packed_fp8::<T>(low.into(), high.into(), Negative::Zero)
    }

    #[track_caller]
    fn packed_fp8<T: Fp8>(low: Val<'k, f32>, high: Val<'k, f32>, negative: Negative) -> Self {
        match operands(low, high) {
            Known(low, high) => negative.fold_pack::<T>([low, high]).into(),
            // The first source is the high byte (PTX ISA, "cvt").
            In(k) => k.result(
                ["cvt.rn.satfinite", negative.suffix(), ".", T::PAIR, ".f32"],
                &[high.operand(k), low.operand(k)],
            ),
        }
    }

    /// Returns both numbers of a packed pair in f16, exactly: `pair.unpack_fp8::<e4m3>()`. Requires sm_89 or later.
    #[doc(alias = "cvt.rn.f16x2.e4m3x2")]
    #[doc(alias = "cvt.rn.f16x2.e5m2x2")]
    #[track_caller]
    pub fn unpack_fp8<T: Fp8>(self) -> Val<'k, f16x2> {
        self.unpacked_fp8::<T>(Negative::Kept)
    }

    /// Unpacks as [`unpack_fp8`](Self::unpack_fp8) does, and replaces negative numbers with 0. Requires sm_89 or later.
    #[doc(alias = "cvt.rn.relu.f16x2.e4m3x2")]
    #[track_caller]
    pub fn unpack_fp8_relu<T: Fp8>(self) -> Val<'k, f16x2> {
        self.unpacked_fp8::<T>(Negative::Zero)
    }

    #[track_caller]
    fn unpacked_fp8<T: Fp8>(self, negative: Negative) -> Val<'k, f16x2> {
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
    /// Rounds both halves as [`Val::pack_fp8`] does: `pair.to_fp8::<e4m3>()`. Requires sm_89 or later.
    #[doc(alias = "cvt.rn.satfinite.e4m3x2.f16x2")]
    #[doc(alias = "cvt.rn.satfinite.e5m2x2.f16x2")]
    #[track_caller]
    pub fn to_fp8<T: Fp8>(self) -> Val<'k, u16> {
        self.narrowed::<T>(Negative::Kept)
    }

    /// Rounds as [`to_fp8`](Self::to_fp8) does, and replaces negative numbers with 0. Requires sm_89 or later.
    #[doc(alias = "cvt.rn.satfinite.relu.e4m3x2.f16x2")]
    #[track_caller]
    pub fn to_fp8_relu<T: Fp8>(self) -> Val<'k, u16> {
        self.narrowed::<T>(Negative::Zero)
    }

    #[track_caller]
    fn narrowed<T: Fp8>(self, negative: Negative) -> Val<'k, u16> {
        match self.reg() {
            None => {
                let pair = self.as_constant().map_or([f16::ZERO; 2], |pair| pair.0);
                negative.fold_pack::<T>(pair.map(f32::from)).into()
            }
            Some((_, k)) => {
                k.result(["cvt.rn.satfinite", negative.suffix(), ".", T::PAIR, ".f16x2"], &[self.operand(k)])
            }
        }
    }
}

impl<'k> Val<'k, f32> {
    /// Rounds to an 8-bit floating-point type, for example `x.to_fp8::<e4m3>()`. To convert two numbers, use [`Val::pack_fp8`], which costs
    /// no more than one conversion and rounds in the same way. Requires sm_89 or later.
    #[doc(alias = "cvt.rn.satfinite.e4m3x2.f32")]
    #[track_caller]
    pub fn to_fp8<T: Fp8>(self) -> Val<'k, T> {
        let pair = Val::pack_fp8::<T>(self, 0.0);
        pair.cast::<u32>().bits()
    }
}

impl<'k, T: Fp8> Val<'k, T> {
    /// Returns the same number in f32; NaN becomes 0x7fff_ffff. Requires sm_89 or later.
    #[doc(alias = "cvt.rn.f16x2.e4m3x2")]
    #[track_caller]
    pub fn to_f32(self) -> Val<'k, f32> {
        // The upper number of the pair is unused, and may be anything.
        let pair = self.bits::<u32>().cast::<u16>();
        pair.unpack_fp8::<T>().unpack().0.cast()
    }
}
