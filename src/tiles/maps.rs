//! Elementwise operations on register tiles.

use std::{
    ops::{AddAssign, MulAssign},
    panic::Location,
};

use super::{element::RegisterLayout, rt::Rt};
use crate::{
    ptx::Val,
    tensor::{Arithmetic, FloatElement, TensorElement, splat_value},
};

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Applies `f` to every register: to pairs of 16-bit elements, or to single f32 elements.
    #[must_use]
    #[track_caller]
    pub fn map(&self, f: impl Fn(Val<'k, T::Word>) -> Val<'k, T::Word>) -> Self {
        let k = self.kernel();
        let registers: Vec<_> = self.registers().into_iter().map(|x| k.owned(|| f(x))).collect();
        Self::of_registers(k, registers)
    }

    /// Applies `f` to the corresponding registers of this tile and `other`.
    #[must_use]
    #[track_caller]
    pub fn zip(
        &self,
        other: &Self,
        f: impl Fn(Val<'k, T::Word>, Val<'k, T::Word>) -> Val<'k, T::Word>,
    ) -> Self {
        let k = self.kernel();
        let pairs = self.registers().into_iter().zip(other.registers());
        let registers: Vec<_> = pairs.map(|(x, y)| k.owned(|| f(x, y))).collect();
        Self::of_registers(k, registers)
    }

    /// Converts the elements to type `U`, rounding to nearest even if necessary. Elements stay in their lanes, so an f32
    /// accumulator becomes operand A of the next product without a shuffle.
    #[must_use]
    #[track_caller]
    pub fn convert<U: FloatElement>(&self) -> Rt<'k, U, H, W, L>
    where
        T: FloatElement,
    {
        let (k, words) = (self.kernel(), self.registers());
        let mut registers = Vec::with_capacity(Rt::<U, H, W, L>::REGISTERS);
        // Two adjacent elements at a time, regardless of which word is wider.
        for words in words.chunks(2 / T::PER_WORD) {
            let converted = || {
                let elements: Vec<_> = words.iter().flat_map(|&word| T::to_f32(word)).collect();
                U::from_f32(&elements)
            };
            registers.extend(k.located(Location::caller(), || k.all_owned(converted)));
        }
        Rt::of_registers(k, registers)
    }
}

impl<'k, T: Arithmetic, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Returns the elementwise sum.
    #[must_use]
    #[track_caller]
    pub fn add(&self, other: &Self) -> Self {
        self.kernel().located(Location::caller(), || self.zip(other, |x, y| x + y))
    }

    /// Returns the elementwise product.
    #[must_use]
    #[track_caller]
    pub fn mul(&self, other: &Self) -> Self {
        self.kernel().located(Location::caller(), || self.zip(other, |x, y| x * y))
    }

    /// Multiplies every element by `factor`, a constant or a register.
    #[must_use]
    #[track_caller]
    pub fn scale(&self, factor: impl Into<Val<'k, T>>) -> Self {
        let factor = splat_value(self.kernel(), factor.into());
        self.kernel().located(Location::caller(), || self.map(|x| x * factor))
    }
}

impl<'k, T: Arithmetic, const H: usize, const W: usize, L: RegisterLayout> AddAssign<&Self>
    for Rt<'k, T, H, W, L>
{
    #[track_caller]
    fn add_assign(&mut self, other: &Self) {
        *self = self.add(other);
    }
}

impl<'k, T: Arithmetic, const H: usize, const W: usize, L: RegisterLayout> MulAssign<&Self>
    for Rt<'k, T, H, W, L>
{
    #[track_caller]
    fn mul_assign(&mut self, other: &Self) {
        *self = self.mul(other);
    }
}
