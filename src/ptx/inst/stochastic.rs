//! Stochastic rounding (`cvt.rs`): numbers are rounded up or down at random, so that the expected value of the result is the exact number.
//!
//! The effect of the random bits on the rounding depends on the hardware. These conversions are therefore methods of [`Builder`] and emit
//! an instruction even for constant operands. The simulator reproduces results measured on a B200.

use super::HalfPair;
use crate::ptx::{kernel::Builder, operand::Operand, types::Minifloat, val::Val};

impl<'k> Builder<'k> {
    /// Converts `low` and `high` to the element type of `P` with stochastic rounding, and packs them into a pair. `random` provides 32
    /// random bits, which should be independent of those of other conversions. Requires sm_100a.
    #[doc(alias = "cvt.rs.f16x2.f32")]
    #[doc(alias = "cvt.rs.bf16x2.f32")]
    #[track_caller]
    pub fn pack_stochastic<P: HalfPair>(
        self,
        low: impl Into<Val<'k, f32>>,
        high: impl Into<Val<'k, f32>>,
        random: impl Into<Val<'k, u32>>,
    ) -> Val<'k, P> {
        // ptxas accepts no immediate as random bits.
        let random = Operand::Reg(random.into().in_register(self));
        let operands = [high.into().operand(self), low.into().operand(self), random];
        self.result(["cvt.rs.", P::PTX, ".f32"], &operands)
    }

    /// Converts four f32 numbers to the [`Minifloat`] type `T` with stochastic rounding, and packs them into 32 bits, with the first in the
    /// lowest byte. `random` provides 32 random bits, which should be independent of those of other conversions. Numbers out of range
    /// become the largest finite number of the same sign. Requires sm_100a.
    #[doc(alias = "cvt.rs.satfinite.e4m3x4.f32")]
    #[doc(alias = "cvt.rs.satfinite.e5m2x4.f32")]
    #[track_caller]
    pub fn pack_minifloats_stochastic<T: Minifloat>(
        self,
        numbers: [Val<'k, f32>; 4],
        random: impl Into<Val<'k, u32>>,
    ) -> Val<'k, u32> {
        // The first source is the high byte (PTX ISA, "cvt").
        let mut numbers = numbers.map(|number| Operand::Reg(number.in_register(self)));
        numbers.reverse();
        self.result(
            ["cvt.rs.satfinite.", T::PTX, "x4.f32"],
            &[Operand::Vector(&numbers), Operand::Reg(random.into().in_register(self))],
        )
    }
}
