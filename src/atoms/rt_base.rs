//! The register tiles of ThunderKittens: 16×16 subtiles held by a warp.

use super::fragment::{ElementWidth, FragmentMap};
use crate::layout::Layout;

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
pub fn rt_base(layout: TileLayout, width: ElementWidth) -> FragmentMap {
    // ((t, g), (e, k mod 2, k / 2)) onto row + 16 col
    let (name, strides) = match layout {
        TileLayout::Row => ("row tile", ((32, 1), (16, 8, 128))),
        TileLayout::Col => ("col tile", ((2, 16), (1, 128, 8))),
    };
    Layout::new(((4, 8), (2, 2, 2)), strides)
        .map_err(Into::into)
        .and_then(|layout| FragmentMap::new(name, (16, 16), width.per_register(), layout))
        .expect("both layouts lie within the tile, as the tests check")
}
