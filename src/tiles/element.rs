//! Register-tile layouts as types, and the (thread, value) layouts that they denote.

use std::rc::Rc;

use super::vector_layout::{Aligned, Orthogonal, VectorLayout};
use crate::{
    atoms::{ElementWidth, TileLayout, rt_base},
    layout::TvLayout,
    ptx::{Computation, sealed::Sealed},
    tensor::{SubtileLength, TensorElement},
};

/// The row layout of register tiles, [`TileLayout::Row`]: each lane owns pairs of adjacent elements of a row, or groups of four for 8-bit
/// elements.
#[derive(Clone, Copy, Debug)]
pub enum Row {}
/// The column layout of register tiles, [`TileLayout::Col`]: each lane owns pairs of adjacent elements of a column, or groups of four for
/// 8-bit elements.
#[derive(Clone, Copy, Debug)]
pub enum Col {}

/// The layout of a register tile: [`Row`] or [`Col`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a register-tile layout",
    note = "layouts are `Row` and `Col`"
)]
pub trait RegisterLayout: Sealed + 'static {
    /// The layout as a value.
    const LAYOUT: TileLayout;
    /// The layout of a vector with one element per row of a tile with this layout, where `S` is the length of the tile's subtiles.
    type PerRow<S: SubtileLength>: VectorLayout;
    /// The layout of a vector with one element per column of a tile with this layout, where `S` is the length of the tile's subtiles.
    type PerCol<S: SubtileLength>: VectorLayout;
    /// The layout in which the same registers contain the transposed matrix.
    type Transposed: RegisterLayout<Transposed = Self>;
}

impl Sealed for Row {}
impl Sealed for Col {}

impl RegisterLayout for Row {
    const LAYOUT: TileLayout = TileLayout::Row;
    type PerRow<S: SubtileLength> = Orthogonal;
    type PerCol<S: SubtileLength> = Aligned<S>;
    type Transposed = Col;
}

impl RegisterLayout for Col {
    const LAYOUT: TileLayout = TileLayout::Col;
    type PerRow<S: SubtileLength> = Aligned<S>;
    type PerCol<S: SubtileLength> = Orthogonal;
    type Transposed = Row;
}

/// Returns the (lane, value) layout of a tile of `height`×`width` subtiles: [`rt_base`] repeated, with the subtiles in row-major
/// order.
pub(super) fn register_layout<T: TensorElement, L: RegisterLayout>(height: usize, width: usize) -> TvLayout {
    RegisterTile::of::<T, L>(height, width).layout()
}

/// The properties that determine the [`register_layout`] of a tile.
#[derive(PartialEq)]
pub(super) struct RegisterTile {
    layout: TileLayout,
    element: ElementWidth,
    height: usize,
    width: usize,
}

impl RegisterTile {
    pub(super) fn of<T: TensorElement, L: RegisterLayout>(height: usize, width: usize) -> Self {
        Self { layout: L::LAYOUT, element: ElementWidth::of(T::SIZE), height, width }
    }

    fn layout(&self) -> TvLayout {
        TvLayout::tiled(&rt_base(self.layout, self.element), self.height as u32, self.width as u32)
            .expect("a register tile has few elements")
    }
}

impl Computation for RegisterTile {
    type Result = Rc<TvLayout>;

    fn compute(&self) -> Self::Result {
        self.layout().into()
    }
}
