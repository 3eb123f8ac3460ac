//! Tiles made of copies of a smaller tile.

use super::{TvError, TvLayout, check_size};
use crate::layout::construct::Layout;

impl TvLayout {
    /// Returns the layout of `height`×`width` copies of the matrix tile of `base`, as in ThunderKittens' register tile `rt<height, width>`.
    ///
    /// Element `(i · rows + r, j · cols + c)` is element `(r, c)` of copy `(i, j)`, where a copy has `rows` rows and `cols` columns.
    /// Registers are ordered by `(i, j, register)`, with `i` varying slowest.
    ///
    /// # Errors
    /// Returns [`TvError::Matrix`] if the tile is not of rank 2, [`TvError::TooLarge`] if the result exceeds the limits of
    /// [`new`](Self::new), or [`TvError::Layout`] if `height` or `width` is 0, or if a mode of the layout wraps from one column to the
    /// next.
    #[doc(alias = "rt")]
    pub fn tiled(base: &TvLayout, height: u32, width: u32) -> Result<TvLayout, TvError> {
        let name = format!("{} {height}×{width}", base.name);
        let [r, c] = base.shape.modes() else {
            return Err(TvError::Matrix { name, shape: base.shape.to_string() });
        };
        let (r, c, height, width) = (r.size(), c.size(), i64::from(height), i64::from(width));
        let (rows, cols) = (r.saturating_mul(height), c.saturating_mul(width));
        check_size(&name, rows.saturating_mul(cols))?;
        let subtile = Layout::new((r, c), (1, rows))?.compose_layout(&base.layout)?;
        let copies = Layout::new((width, height), (c * rows, r))?;
        let values = Layout::concat([subtile.mode(1)?].into_iter().chain(copies.modes()));
        let layout = Layout::concat([subtile.mode(0)?, values]);
        Ok(TvLayout { per_register: base.per_register, ..TvLayout::new(name, (rows, cols), layout)? })
    }
}
