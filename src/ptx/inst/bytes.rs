//! Conversion to 8-bit integers: `cvt` and `cvt.pack`.

use super::float::kernel_of;
use crate::ptx::{
    fold::{self, Rounding},
    types::{Element, Scalar},
    val::Val,
};

/// An 8-bit integer type whose values occupy 32-bit registers: `u8` or `i8`.
pub trait ByteSized: Element {
    #[doc(hidden)]
    fn fold_wrap(value: i64) -> Self::Reg;
    #[doc(hidden)]
    fn fold_clamp(value: i64) -> Self::Reg;
}

impl ByteSized for u8 {
    fn fold_wrap(value: i64) -> u32 {
        (value as Self).into()
    }
    fn fold_clamp(value: i64) -> u32 {
        value.clamp(0, 255) as u32
    }
}

impl ByteSized for i8 {
    fn fold_wrap(value: i64) -> i32 {
        (value as Self).into()
    }
    fn fold_clamp(value: i64) -> i32 {
        value.clamp(-128, 127) as i32
    }
}

impl<'k> Val<'k, f32> {
    /// Rounds to an integer, clamps it to the range of the 8-bit type `B`, and extends it to 32 bits: `x.round_to::<i8>(Rounding::Rn)`. NaN
    /// becomes 0.
    #[doc(alias = "cvt.rni.sat.s8.f32")]
    #[track_caller]
    pub fn round_to<B: ByteSized>(self, rounding: Rounding) -> Val<'k, B::Reg> {
        match self.reg() {
            None => {
                let integer: i32 = self.as_constant().map_or(0, |c| fold::convert(c, rounding));
                B::fold_clamp(integer.into()).into()
            }
            Some((_, k)) => {
                k.result(["cvt", rounding.integer_suffix(), ".sat.", B::MEM, ".f32"], &[self.operand(k)])
            }
        }
    }
}

impl<'k> Val<'k, u32> {
    /// Clamps four integers to the range of the 8-bit type `B` and packs them into 32 bits, with the first in the lowest byte:
    /// `Val::pack_bytes::<i8>([a, b, c, d])`.
    #[doc(alias = "cvt.pack.sat.s8.s32.b32")]
    #[doc(alias = "cvt.pack.sat.u8.s32.b32")]
    #[track_caller]
    pub fn pack_bytes<B: ByteSized>(numbers: [Val<'k, i32>; 4]) -> Self {
        let Some(k) = kernel_of(numbers) else {
            let bytes = numbers.map(|number| {
                let clamped = B::fold_clamp(number.as_constant().unwrap_or_default().into());
                clamped.to_bits() as u8
            });
            return u32::from_le_bytes(bytes).into();
        };
        // The second source is the low byte; the third source is shifted left by 16 bits (PTX ISA, "cvt.pack").
        let pack = |low: Val<'k, i32>, high: Val<'k, i32>, above: Val<'k, u32>| {
            let operands = [high.operand(k), low.operand(k), above.operand(k)];
            k.result::<u32>(["cvt.pack.sat.", B::MEM, ".s32.b32"], &operands)
        };
        let [a, b, c, d] = numbers;
        pack(a, b, pack(c, d, 0.into()))
    }
}
