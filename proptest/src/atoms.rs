//! Generators of lanes, atoms and fragment maps.

use proptest::prelude::*;
use proptest::sample::select;

use warpwright::atoms::{
    CopyAtom, ElementWidth, FragmentMap, MmaAtom, MmaOperand, TileLayout, copy_atoms, mma_atoms, rt_base,
};

/// A lane of a warp.
pub fn lane() -> impl Strategy<Value = u32> {
    0..32_u32
}

/// An element (row, column) of a map's tile.
pub fn coordinate(map: &FragmentMap) -> impl Strategy<Value = (u32, u32)> + use<> {
    (0..map.rows(), 0..map.cols())
}

/// A base map of a register tile, in either layout and width.
pub fn base_map() -> impl Strategy<Value = FragmentMap> {
    let layout = select(vec![TileLayout::Row, TileLayout::Col]);
    let width = select(vec![ElementWidth::B16, ElementWidth::B32]);
    (layout, width).prop_map(|(layout, width)| rt_base(layout, width))
}

/// A register tile of up to 4×4 subtiles.
pub fn tile_map() -> impl Strategy<Value = FragmentMap> {
    (base_map(), 1..=4_u32, 1..=4_u32).prop_filter_map("tiles within the limit", |(base, height, width)| {
        FragmentMap::tiled(&base, height, width).ok()
    })
}

/// Any atom of the table.
pub fn mma_atom() -> impl Strategy<Value = &'static MmaAtom> {
    select(mma_atoms().collect::<Vec<_>>())
}

/// Any copy atom of the table.
pub fn copy_atom() -> impl Strategy<Value = &'static CopyAtom> {
    select(copy_atoms().collect::<Vec<_>>())
}

/// An operand of any atom that is held in registers.
pub fn mma_map() -> impl Strategy<Value = FragmentMap> {
    (mma_atom(), select(MmaOperand::ALL.to_vec()))
        .prop_filter_map("an operand in registers", |(atom, operand)| atom.fragment(operand).ok())
}

/// Any of the above.
pub fn any_map() -> impl Strategy<Value = FragmentMap> {
    prop_oneof![base_map(), tile_map(), mma_map()]
}
