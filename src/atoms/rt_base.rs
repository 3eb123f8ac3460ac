//! The register tiles of ThunderKittens: 16×16 subtiles owned by a warp.

use crate::layout::{Layout, TvLayout};

/// Width of an element, and so the number of elements in a 32-bit register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementWidth {
    /// f16, bf16: two per register, the first in the low half.
    B16,
    /// f32, tf32, s32: one per register.
    B32,
}

impl ElementWidth {
    /// Elements in one 32-bit register.
    #[must_use]
    pub const fn per_register(self) -> u32 {
        match self {
            ElementWidth::B16 => 2,
            ElementWidth::B32 => 1,
        }
    }
}

/// Which way the pairs of a register tile run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileLayout {
    /// Pairs along a row: operand A of `mma`, and the accumulator.
    Row,
    /// Pairs along a column: the row layout of the transposed tile, register for register.
    Col,
}

/// The 16×16 subtile (`rt_base`): 8 elements a lane, in 4 registers of 16-bit pairs or 8 of 32 bits.
///
/// With lane = 4g + t: element `e` of pair `k` is at row `g + 8(k mod 2)`, column `2t + e + 8⌊k/2⌋` in the row layout, and
/// the two swapped in the column layout. The row layout is the fragment of matrix A of `mma.m16n8k16` in the PTX ISA.
#[must_use]
pub fn rt_base(layout: TileLayout, width: ElementWidth) -> TvLayout {
    // ((t, g), (e, k mod 2, k / 2)) onto row + 16 col
    let (name, strides) = match layout {
        TileLayout::Row => ("row tile", ((32, 1), (16, 8, 128))),
        TileLayout::Col => ("col tile", ((2, 16), (1, 128, 8))),
    };
    Layout::new(((4, 8), (2, 2, 2)), strides)
        .map_err(Into::into)
        .and_then(|layout| TvLayout::new(name, (16, 16), layout)?.packed(width.per_register()))
        .expect("both layouts are within the tile, as the tests check")
}
