//! Tile orders.

use super::error::DrawError;
use super::grid::{Cell, Picture, Table, check_size};
use super::layouts::hue;

impl Picture {
    /// Draws the order in which the tiles of a result are computed over several rounds.
    ///
    /// The result has `rows`×`cols` tiles. Each item of `rounds` contains the row and column of each tile of one round, in order. Each cell
    /// contains the position of its tile in the overall order.
    ///
    /// Tiles of the same round have the same color; colors repeat every 8 rounds. A cell whose tile is not in `rounds` is empty. Tiles
    /// outside the result are numbered but not drawn.
    ///
    /// # Errors
    /// Returns [`DrawError::TooLarge`] if the result has more than 65,536 tiles.
    pub fn of_order(
        title: impl Into<String>,
        (rows, cols): (usize, usize),
        rounds: impl IntoIterator<Item = Vec<(usize, usize)>>,
    ) -> Result<Picture, DrawError> {
        let title = title.into();
        check_size(&title, rows as i64, cols as i64)?;
        let mut table = Table::new("", (rows, cols), |_, _| Cell::default())?.with_axes("row", "column");
        let numbered = rounds
            .into_iter()
            .zip(0..)
            .flat_map(|(tiles, round)| tiles.into_iter().map(move |tile| (tile, round)));
        for (((row, col), round), number) in numbered.zip(0u64..) {
            if let Some(cell) = table.cells.get_mut(row * cols + col).filter(|_| col < cols) {
                *cell = Cell::new(number.to_string(), hue(round));
            }
        }
        Ok(Picture::of_table(title, table))
    }
}
