//! The effect of a swizzle on a tile in shared memory.

use super::error::DrawError;
use super::grid::{Cell, Picture, Table};
use super::layouts::hue;
use crate::layout::Swizzle;

/// The number of bytes in a row of the picture: one word of each bank.
const ROW: i64 = 128;
/// The maximum number of bytes in a picture.
const MOST_BYTES: i64 = 1 << 16;

impl Picture {
    /// Draws the effect of a swizzle on shared memory.
    ///
    /// A row of the picture represents 128 bytes, which are one word of each bank. It is divided into chunks of `2^base` bytes, limited to
    /// 128 bytes. Each cell represents one chunk and shows the row and chunk of the data that the swizzle stores in it.
    ///
    /// The color of a cell identifies the column that its data would occupy without the swizzle. The colors thus show how the swizzle
    /// spreads a column over several columns, and therefore over several groups of banks.
    ///
    /// # Errors
    /// Returns [`DrawError::Period`] if the swizzle's period exceeds 65,536 bytes.
    pub fn of_swizzle(swizzle: Swizzle) -> Result<Picture, DrawError> {
        let period = swizzle.period();
        if period > MOST_BYTES {
            let (swizzle, max) = (swizzle.to_string(), MOST_BYTES);
            return Err(DrawError::Period { swizzle, period, max });
        }
        let chunk = 1_i64 << swizzle.base().min(ROW.ilog2());
        let rows = (period / ROW).max(1);
        let table = Table::new("", (rows as usize, (ROW / chunk) as usize), |row, col| {
            // A swizzle is its own inverse: it maps source to destination and back.
            let from = swizzle.apply(row as i64 * ROW + col as i64 * chunk);
            let (row, col) = (from / ROW, from % ROW / chunk);
            Cell::new(format!("{row}.{col}"), hue(col))
        })?;
        let table = table.with_axes("row", "chunk");
        let mut picture = Picture::of_table(swizzle.to_string(), table);
        picture
            .notes
            .push(format!("rows of {ROW} bytes, chunks of {chunk} bytes; r.c: the data of row r, chunk c"));
        picture.notes.push(format!("the pattern repeats after {period} bytes"));
        Ok(picture)
    }
}
