//! Vectors of a tile: one element per row or per column, owned by the threads that own a part of the row or column.

use super::{TvError, TvLayout};
use crate::layout::{
    basis::BasisVector,
    construct::{Layout, Mode, flat_modes},
};

impl TvLayout {
    /// Returns the layout of a vector with one element per index along `axis`, which a thread owns if it owns any element of the
    /// tile at that index. Element `i` of the vector of a matrix along axis 0 belongs to row `i`.
    ///
    /// Values are in the order of the tile's; several threads own the same element, as a broadcast requires.
    ///
    /// # Errors
    /// Those of [`along`](Self::along).
    ///
    /// ```
    /// use warpwright::atoms::{ElementWidth, TileLayout, rt_base};
    /// // With lane = 4g + t: value p is row g + 8p, the same for all t.
    /// let rows = rt_base(TileLayout::Row, ElementWidth::B32).vector(0)?;
    /// assert_eq!(rows.layout().to_string(), "((4,8),2):((0,1),8)");
    /// # Ok::<(), warpwright::layout::TvError>(())
    /// ```
    pub fn vector(&self, axis: usize) -> Result<TvLayout, TvError> {
        self.check_axis(axis)?;
        let coords = self.coords()?;
        let along =
            |mode: Mode<BasisVector>| Mode { extent: mode.extent, stride: mode.stride.component(axis) };
        let modes = |mode: &Layout<BasisVector>| flat_modes(&mode.shape, &mode.stride).into_iter().map(along);
        let threads = Layout::from_flat(modes(&coords.mode(0)?).collect());
        let values = modes(&coords.mode(1)?).filter(|mode| mode.stride != 0).collect();
        let layout = Layout::concat([threads, Layout::from_flat(values)]);
        let extent = self.shape.modes()[axis].size();
        TvLayout::new(format!("{} vector", self.name), extent, layout)
    }

    /// Returns, for each value, its distance along `axis` from the thread's value 0.
    ///
    /// # Errors
    /// Those of [`along`](Self::along).
    pub fn value_offsets(&self, axis: usize) -> Result<Vec<i64>, TvError> {
        self.check_axis(axis)?;
        let values = self.coords()?.mode(1)?;
        let offsets = values.values().map(|coord| coord.component(axis)).collect();
        Ok(offsets)
    }
}
