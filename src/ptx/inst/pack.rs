//! Packing of two registers into a register of twice the width, and unpacking.

use super::{Half, words::bits};
use crate::ptx::{
    fold::{self, Numeric, Rounding},
    kernel::Builder,
    operand::Operand,
    target::Features,
    types::{B16, B32, B64, Scalar, bf16, bf16x2, f16, f16x2},
    val::Val,
};

/// A type whose values consist of a low half and a high half.
pub trait Pair: Scalar {
    /// The type of each half.
    type Half: Scalar;
}

/// A packed pair of 16-bit floating-point numbers.
pub trait HalfPair: Pair<Half: Numeric> {}

impl Pair for f16x2 {
    type Half = f16;
}
impl Pair for bf16x2 {
    type Half = bf16;
}
impl Pair for u32 {
    type Half = u16;
}
impl Pair for i32 {
    type Half = u16;
}
impl Pair for u64 {
    type Half = u32;
}
impl Pair for i64 {
    type Half = u32;
}
impl Pair for f64 {
    type Half = u32;
}
impl Pair for B32 {
    type Half = B16;
}
impl Pair for B64 {
    type Half = B32;
}

impl HalfPair for f16x2 {}
impl HalfPair for bf16x2 {}

impl<'k, T: Pair> Val<'k, T> {
    /// Packs `low` and `high` into a pair. Emits `mov`, for example `mov.b32 %r0, {%h0, %h1}`.
    #[doc(alias = "mov")]
    #[track_caller]
    pub fn pack(low: impl Into<Val<'k, T::Half>>, high: impl Into<Val<'k, T::Half>>) -> Self {
        let (low, high) = (low.into(), high.into());
        match (low.as_constant(), high.as_constant(), low.kernel().or(high.kernel())) {
            (Some(low), Some(high), _) => {
                T::from_bits(low.to_bits() | high.to_bits() << (8 * T::Half::BYTES)).into()
            }
            (_, _, Some(k)) => {
                let halves = [Operand::Reg(low.in_register(k)), Operand::Reg(high.in_register(k))];
                k.result(["mov.", bits(T::CLASS)], &[Operand::Vector(&halves)])
            }
            (_, _, None) => T::from_bits(0).into(),
        }
    }

    /// Returns the low half and the high half.
    #[doc(alias = "mov")]
    #[track_caller]
    pub fn unpack(self) -> (Val<'k, T::Half>, Val<'k, T::Half>) {
        let Some((reg, k)) = self.reg() else {
            let bits = self.as_constant().map_or(0, T::to_bits);
            let half = |bits| Val::from(T::Half::from_bits(bits));
            return (half(bits), half(bits >> (8 * T::Half::BYTES)));
        };
        let (low, high) = (k.fresh(T::Half::CLASS), k.fresh(T::Half::CLASS));
        let halves = [Operand::Reg(low), Operand::Reg(high)];
        k.emit(["mov.", bits(T::CLASS)], &[Operand::Vector(&halves), Operand::Reg(reg)]);
        (Val::from_reg(low, k), Val::from_reg(high, k))
    }
}

impl<'k, T: HalfPair> Val<'k, T> {
    /// Converts `low` and `high` to `T::Half`, rounding to nearest even, and packs them into a pair. Emits one instruction on sm_80 and
    /// later. Older targets support only f16 and require several instructions.
    #[doc(alias = "cvt.rn.bf16x2.f32")]
    #[doc(alias = "cvt.rn.f16x2.f32")]
    #[track_caller]
    pub fn pack_f32(low: impl Into<Val<'k, f32>>, high: impl Into<Val<'k, f32>>) -> Self {
        let (low, high) = (low.into(), high.into());
        match (low.as_constant(), high.as_constant(), low.kernel().or(high.kernel())) {
            (_, _, Some(k)) if k.target().features().contains(Features::AMPERE) => {
                Self::cvt_pair(k, low, high)
            }
            (_, _, Some(_)) => Self::pack(low.cast::<T::Half>(), high.cast::<T::Half>()),
            (low, high, None) => {
                let half =
                    |x: Option<f32>| fold::convert::<f32, T::Half>(x.unwrap_or_default(), Rounding::Rn);
                Self::pack(half(low), half(high))
            }
        }
    }

    #[track_caller]
    fn cvt_pair(k: Builder<'k>, low: Val<'k, f32>, high: Val<'k, f32>) -> Self {
        // The first source is the high half (PTX ISA, "cvt").
        k.result(["cvt.rn.", T::PTX, ".f32"], &[high.operand(k), low.operand(k)])
    }

    /// Converts and packs two numbers as [`pack_f32`](Self::pack_f32) does, except that infinities and numbers out of range become the
    /// largest finite number of the same sign. NaN remains NaN. Requires sm_80 or later.
    #[doc(alias = "cvt.rn.satfinite.f16x2.f32")]
    #[doc(alias = "cvt.rn.satfinite.bf16x2.f32")]
    #[track_caller]
    pub fn pack_f32_saturating(low: impl Into<Val<'k, f32>>, high: impl Into<Val<'k, f32>>) -> Self {
        let (low, high) = (low.into(), high.into());
        match low.kernel().or(high.kernel()) {
            Some(k) => k.result(["cvt.rn.satfinite.", T::PTX, ".f32"], &[high.operand(k), low.operand(k)]),
            None => {
                let half = |x: Val<'k, f32>| finite::<T::Half>(x.as_constant().unwrap_or_default());
                Self::pack(half(low), half(high))
            }
        }
    }

    /// Converts and packs two numbers as [`pack_f32`](Self::pack_f32) does, except that negative numbers become 0. Requires sm_80 or later.
    #[doc(alias = "cvt.rn.relu.bf16x2.f32")]
    #[track_caller]
    pub fn pack_f32_relu(low: impl Into<Val<'k, f32>>, high: impl Into<Val<'k, f32>>) -> Self
    where
        T: Half,
    {
        let (low, high) = (low.into(), high.into());
        match low.kernel().or(high.kernel()) {
            None => {
                let pair = Self::pack_f32(low, high);
                pair.as_constant().map_or(pair, |c| c.fold_relu().into())
            }
            Some(k) => k.result(["cvt.rn.relu.", T::PTX, ".f32"], &[high.operand(k), low.operand(k)]),
        }
    }

    /// Returns the low half and the high half, converted to f32.
    #[track_caller]
    pub fn unpack_f32(self) -> (Val<'k, f32>, Val<'k, f32>) {
        let (low, high) = self.unpack();
        (low.cast(), high.cast())
    }
}

/// Rounds `number` to nearest even, and replaces an infinite result with the largest finite number of the same sign, whose bit pattern is
/// smaller by 1.
fn finite<T: Numeric>(number: f32) -> T {
    let bits = |x: f32| fold::convert::<f32, T>(x, Rounding::Rn).to_bits();
    let infinite = [f32::INFINITY, f32::NEG_INFINITY].map(bits).contains(&bits(number));
    T::from_bits(bits(number) - u64::from(infinite))
}
