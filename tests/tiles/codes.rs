//! Matrices whose elements encode their positions, and the elements expected in each lane.

use warpwright::{
    layout::TvLayout,
    ptx::{bf16, f16, traits::Numeric},
    tensor::{Arithmetic, FloatElement},
    tiles::{Convert, Length16},
};

use super::numbers::Numeral;

/// An element type with small whole numbers.
pub(super) trait Coded:
    Arithmetic<Length = Length16> + FloatElement + Numeric + Convert<f32> + Convert<bf16> + Convert<f16> + Numeral
{
    /// The number in this type; exact up to 256.
    fn code(number: u32) -> Self {
        Self::of(number.into())
    }
    /// The number as f64, exactly.
    fn to_f64(self) -> f64 {
        self.number()
    }
    /// The nearest number.
    fn from_f64(number: f64) -> Self {
        Self::of(number)
    }
}

impl<T> Coded for T where
    T: Arithmetic<Length = Length16>
        + FloatElement
        + Numeric
        + Convert<f32>
        + Convert<bf16>
        + Convert<f16>
        + Numeral
{
}

/// Element (row, col): adjacent elements differ, and so do elements 8 or 16 apart in either direction.
pub(super) fn code<T: Coded>(row: u32, col: u32) -> T {
    T::code((row * 37 + col * 5) % 251 + 1)
}

/// A coded matrix, row by row.
pub(super) fn coded<T: Coded>(rows: u32, cols: u32) -> Vec<T> {
    (0..rows).flat_map(|row| (0..cols).map(move |col| code(row, col))).collect()
}

/// Returns the expected contents of each register of each lane if element (row, col) of the tile is `element(row, col)`: lane-major.
pub(super) fn expected<T: Coded>(tile: &TvLayout, element: impl Fn(u32, u32) -> T) -> Vec<u32> {
    let mut words = vec![0u32; (32 * tile.registers()) as usize];
    for lane in 0..32 {
        for e in tile.elements(lane).expect("a lane") {
            let bits = element(e.row() as u32, e.col() as u32).to_mem_bits() as u32;
            words[(lane * tile.registers() + e.register) as usize] |= bits << (16 * e.slot);
        }
    }
    words
}
