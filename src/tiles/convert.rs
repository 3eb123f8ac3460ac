//! Conversion of register tiles to another element type: the same elements in the same lanes.

use super::{
    element::{RegisterLayout, TileElement},
    rt::Rt,
};

impl<'k, T: TileElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// The tile in element type `U`, rounded to nearest even where it must be. No element changes its lane, so an f32
    /// accumulator becomes operand A of the next product without a shuffle.
    #[must_use]
    #[track_caller]
    pub fn convert<U: TileElement>(&self) -> Rt<'k, U, H, W, L> {
        let mut converted = Vec::with_capacity(Rt::<U, H, W, L>::REGISTERS);
        for pair in self.registers.chunks(T::REGISTERS / 4) {
            U::pack_f32(T::unpack_f32(pair), &mut converted);
        }
        for register in &mut converted {
            *register = self.k.own(*register, &self.registers);
        }
        Rt::from_registers(self.k, converted)
    }
}
