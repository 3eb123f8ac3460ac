//! Tables of offsets.

use super::error::DrawError;
use super::grid::{Cell, Picture, Table, Tint, check_size};
use crate::layout::{BasisVector, ComposedLayout, Layout, Shape, Swizzle};

impl Picture {
    /// Draws the offset at each coordinate. The rows are the coordinates of mode 0, and the columns are the coordinates of all other modes.
    /// A layout of rank 1 is drawn as one row.
    ///
    /// For a layout with neither a swizzle nor an offset, colors repeat every 8 offsets. For other layouts, the values are interpreted as
    /// byte offsets: the color changes every 16 bytes and repeats every 128 bytes, so that each color represents a group of four banks of
    /// shared memory.
    ///
    /// # Errors
    /// Returns [`DrawError::TooLarge`] if the layout has more than 65,536 elements.
    pub fn of_layout(layout: &ComposedLayout) -> Result<Picture, DrawError> {
        let unit = if is_plain(layout) { 1 } else { 16 };
        let cell = |index| {
            let offset = layout.index(index);
            Cell::new(offset.to_string(), hue(offset.div_euclid(unit)))
        };
        Ok(Picture::of_table(name(layout), table(layout.shape(), cell)?))
    }

    /// Draws the value at each coordinate of a layout with basis-vector strides.
    ///
    /// # Errors
    /// Returns [`DrawError::TooLarge`] if the layout has more than 65,536 elements.
    pub fn of_coordinates(layout: &Layout<BasisVector>) -> Result<Picture, DrawError> {
        let cell = |index| {
            let coord = layout.index(index);
            Cell::new(coord.to_string(), hue(coord.component(0)))
        };
        Ok(Picture::of_table(layout.to_string(), table(layout.shape(), cell)?))
    }
}

/// Returns the layout as text, without an identity swizzle.
pub(super) fn name(layout: &ComposedLayout) -> String {
    if is_plain(layout) { layout.layout().to_string() } else { layout.to_string() }
}

fn is_plain(layout: &ComposedLayout) -> bool {
    layout.swizzle() == Swizzle::NONE && layout.offset() == 0
}

/// Returns one of eight hues; `number` wraps around.
pub(super) fn hue(number: i64) -> Tint {
    Tint::Hue(number.rem_euclid(8) as u8)
}

/// Builds a table with mode 0 as rows and the other modes together as columns. A shape of rank 1 produces a single row.
fn table(shape: &Shape, cell: impl Fn(i64) -> Cell) -> Result<Table, DrawError> {
    let rows = if shape.rank() > 1 { shape.modes()[0].size() } else { 1 };
    let cols = shape.size() / rows;
    check_size(&shape.to_string(), rows, cols)?;
    Table::new("", (rows as usize, cols as usize), |row, col| cell(row as i64 + col as i64 * rows))
}
