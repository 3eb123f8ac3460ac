//! The register tiles of ThunderKittens: 16×16 subtiles owned by a warp.

use crate::layout::{Layout, TvLayout};

/// The width of an element, which determines the register width and the number of elements per register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementWidth {
    /// e4m3, e5m2, s8, u8: four per register.
    B8,
    /// f16, bf16: two per register, the first in the low half.
    B16,
    /// f32, tf32, s32: one per register.
    B32,
    /// f64: one per 64-bit register.
    B64,
}

impl ElementWidth {
    /// Returns the width of `bytes`-byte elements. Sizes other than 1, 2, 4 and 8 are treated as 4.
    #[must_use]
    pub const fn of(bytes: u32) -> Self {
        match bytes {
            1 => ElementWidth::B8,
            2 => ElementWidth::B16,
            8 => ElementWidth::B64,
            _ => ElementWidth::B32,
        }
    }

    /// Returns the number of elements per register.
    #[must_use]
    pub const fn per_register(self) -> u32 {
        match self {
            ElementWidth::B8 => 4,
            ElementWidth::B16 => 2,
            ElementWidth::B32 | ElementWidth::B64 => 1,
        }
    }
}

/// The direction along which the elements of a register are adjacent in a register tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileLayout {
    /// Along a row, like operand A and the accumulator of `mma`.
    Row,
    /// Along a column. The registers are those of the row layout of the transposed tile.
    Col,
}

/// Returns the fragment of a subtile of a register tile (`rt_base`).
///
/// A subtile has 16×16 elements. Each lane owns 8 of them, in 4 registers (pairs of 16-bit elements) or 8 registers (32- or 64-bit
/// elements). For 8-bit elements, a subtile has 16×32 elements (32×16 in the column layout), and each lane owns 16 of them, in 4 registers.
///
/// In the row layout, element `e` of pair `k` of lane `4g + t` is in row `g + 8(k mod 2)` and column `2t + e + 8⌊k/2⌋`. This is the
/// fragment of matrix A of `mma.m16n8k16` in the PTX ISA. For 8-bit elements, groups of four replace the pairs, and the column is
/// `4t + e + 16⌊k/2⌋`. This is the fragment of A of `mma.m16n8k32`. In the column layout, row and column are swapped.
#[must_use]
pub fn rt_base(layout: TileLayout, width: ElementWidth) -> TvLayout {
    let element: i64 = if width == ElementWidth::B8 { 4 } else { 2 };
    let length = 8 * element;
    // The strides along the elements of a register and across them, in the index `row + rows · col`.
    let (name, shape, along, across) = match layout {
        TileLayout::Row => ("row tile", (16, length), 16, 1),
        TileLayout::Col => ("col tile", (length, 16), 1, length),
    };
    let shapes = ((4, 8), (element, 2, 2));
    let strides = ((element * along, across), (along, 8 * across, 4 * element * along));
    Layout::new(shapes, strides)
        .map_err(Into::into)
        .and_then(|layout| TvLayout::new(name, shape, layout)?.packed(width.per_register()))
        .expect("both layouts are within the tile, as the tests check")
}
