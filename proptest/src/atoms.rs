//! Generators of lanes, atoms and fragments.

use proptest::prelude::*;
use proptest::sample::select;

use warpwright::{
    atoms::{CopyAtom, ElementWidth, MmaAtom, MmaOperand, TileLayout, copy_atoms, mma_atoms, rt_base},
    layout::TvLayout,
};

/// Generates a lane of a warp, 0 to 31.
pub fn lane() -> impl Strategy<Value = i64> {
    0..32_i64
}

/// Generates the (row, column) coordinate of an element of a matrix tile.
pub fn coordinate(tile: &TvLayout) -> impl Strategy<Value = (i64, i64)> + use<> {
    (0..tile.rows(), 0..tile.cols())
}

/// Generates a 16×16 subtile of a register tile, in either layout, with 16-bit or 32-bit elements.
pub fn base_tile() -> impl Strategy<Value = TvLayout> {
    let layout = select(vec![TileLayout::Row, TileLayout::Col]);
    let width = select(vec![ElementWidth::B16, ElementWidth::B32]);
    (layout, width).prop_map(|(layout, width)| rt_base(layout, width))
}

/// Generates a register tile of up to 4×4 copies of a subtile from [`base_tile`].
pub fn register_tile() -> impl Strategy<Value = TvLayout> {
    (base_tile(), 1..=4_u32, 1..=4_u32).prop_filter_map("tiles within the limit", |(base, height, width)| {
        TvLayout::tiled(&base, height, width).ok()
    })
}

/// Generates one of the MMA atoms that [`mma_atoms`] returns.
pub fn mma_atom() -> impl Strategy<Value = &'static MmaAtom> {
    select(mma_atoms().collect::<Vec<_>>())
}

/// Generates one of the copy atoms that [`copy_atoms`] returns.
pub fn copy_atom() -> impl Strategy<Value = &'static CopyAtom> {
    select(copy_atoms().collect::<Vec<_>>())
}

/// Generates the fragment of a register operand of an MMA atom.
pub fn mma_fragment() -> impl Strategy<Value = TvLayout> {
    (mma_atom(), select(MmaOperand::ALL.to_vec()))
        .prop_filter_map("an operand in registers", |(atom, operand)| atom.fragment(operand).ok())
}

/// Generates a subtile, a register tile, or a fragment of an MMA atom.
pub fn any_fragment() -> impl Strategy<Value = TvLayout> {
    prop_oneof![base_tile(), register_tile(), mma_fragment()]
}
