//! Elementwise operations on register tiles.

use std::{
    ops::{AddAssign, MulAssign},
    panic::Location,
};

use super::{
    element::{RegisterLayout, TileElement},
    rt::Rt,
};
use crate::ptx::Val;

impl<'k, T: TileElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// A tile of `f` of every register: of pairs of halves, or of single f32.
    #[must_use]
    #[track_caller]
    pub fn map(&self, f: impl Fn(Val<'k, T::Packed>) -> Val<'k, T::Packed>) -> Self {
        let mut registers = Vec::with_capacity(Self::REGISTERS);
        for &x in &self.registers {
            registers.push(self.k.own(f(x), &[x]));
        }
        Self::from_registers(self.k, registers)
    }

    /// A tile of `f` of every two registers of the same place in this tile and `other`.
    #[must_use]
    #[track_caller]
    pub fn zip(
        &self,
        other: &Self,
        f: impl Fn(Val<'k, T::Packed>, Val<'k, T::Packed>) -> Val<'k, T::Packed>,
    ) -> Self {
        let mut registers = Vec::with_capacity(Self::REGISTERS);
        for (&x, &y) in self.registers.iter().zip(&other.registers) {
            registers.push(self.k.own(f(x, y), &[x, y]));
        }
        Self::from_registers(self.k, registers)
    }

    /// The sum, element by element.
    #[must_use]
    #[track_caller]
    pub fn add(&self, other: &Self) -> Self {
        self.k.located(Location::caller(), || self.zip(other, |x, y| x + y))
    }

    /// The product, element by element.
    #[must_use]
    #[track_caller]
    pub fn mul(&self, other: &Self) -> Self {
        self.k.located(Location::caller(), || self.zip(other, |x, y| x * y))
    }

    /// Every element times `factor`.
    #[must_use]
    #[track_caller]
    pub fn scale(&self, factor: T) -> Self {
        let factor = Val::from(T::splat(factor));
        self.k.located(Location::caller(), || self.map(|x| x * factor))
    }
}

impl<'k, T: TileElement, const H: usize, const W: usize, L: RegisterLayout> AddAssign<&Self>
    for Rt<'k, T, H, W, L>
{
    #[track_caller]
    fn add_assign(&mut self, other: &Self) {
        *self = self.add(other);
    }
}

impl<'k, T: TileElement, const H: usize, const W: usize, L: RegisterLayout> MulAssign<&Self>
    for Rt<'k, T, H, W, L>
{
    #[track_caller]
    fn mul_assign(&mut self, other: &Self) {
        *self = self.mul(other);
    }
}
