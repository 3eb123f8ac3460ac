//! Register-tile layouts as types, and the (thread, value) layouts that they denote.

use crate::{
    atoms::{ElementWidth, TileLayout, rt_base},
    layout::TvLayout,
    tensor::TensorElement,
};

/// A register tile whose words run along rows: [`TileLayout::Row`].
#[derive(Clone, Copy, Debug)]
pub enum Row {}
/// A register tile whose words run along columns: [`TileLayout::Col`].
#[derive(Clone, Copy, Debug)]
pub enum Col {}

/// [`Row`] or [`Col`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a register-tile layout",
    note = "layouts are `Row` and `Col`"
)]
pub trait RegisterLayout: 'static {
    /// The layout as a value.
    const LAYOUT: TileLayout;
}

impl RegisterLayout for Row {
    const LAYOUT: TileLayout = TileLayout::Row;
}

impl RegisterLayout for Col {
    const LAYOUT: TileLayout = TileLayout::Col;
}

/// Returns the (lane, value) layout of a tile of `height`×`width` subtiles: [`rt_base`] repeated, subtiles in register order
/// row by row.
pub(super) fn register_layout<T: TensorElement, L: RegisterLayout>(height: usize, width: usize) -> TvLayout {
    TvLayout::tiled(&rt_base(L::LAYOUT, ElementWidth::of(T::SIZE)), height as u32, width as u32)
        .expect("a register tile has few elements")
}
