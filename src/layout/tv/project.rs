//! Vectors of a tile: one element per row or column, owned by all threads that own an element of the row or column.

use super::{TvError, TvLayout};
use crate::layout::{
    basis::BasisVector,
    construct::{Layout, Mode, flat_modes},
};

impl TvLayout {
    /// Returns the layout of a vector with one element per index along `axis`.
    ///
    /// A thread owns an element of the vector if it owns any element of the tile at that index. For a matrix and axis 0, element `i` of the
    /// vector belongs to row `i`.
    ///
    /// The vector's values are in the order of the tile's values. Several threads may own the same element.
    ///
    /// # Errors
    /// Returns [`TvError::Axis`] if the axis does not exist in the tile, and [`TvError::Wraps`] if a mode of the layout wraps from one axis
    /// to the next.
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
        let threads = Layout::from_flat(component(&coords, 0, axis).collect());
        let values = component(&coords, 1, axis).filter(|mode| mode.stride != 0).collect();
        let layout = Layout::concat([threads, Layout::from_flat(values)]);
        let extent = self.shape.modes()[axis].size();
        TvLayout::new(format!("{} vector", self.name), extent, layout)
    }

    /// Returns a layout that maps the index of each tile value to the index of the vector value with the same coordinate along `axis`.
    ///
    /// The vector is the one that [`vector`](Self::vector) returns for `axis`.
    ///
    /// # Errors
    /// Returns the same errors as [`vector`](Self::vector).
    ///
    /// ```
    /// use warpwright::atoms::{ElementWidth, TileLayout, rt_base};
    /// // Value e + 2p + 4q is at row g + 8p.
    /// let values = rt_base(TileLayout::Row, ElementWidth::B32).vector_values(0)?;
    /// assert_eq!(values.to_string(), "(2,2,2):(0,1,0)");
    /// # Ok::<(), warpwright::layout::TvError>(())
    /// ```
    pub fn vector_values(&self, axis: usize) -> Result<Layout, TvError> {
        self.check_axis(axis)?;
        let (coords, mut values) = (self.coords()?, 1);
        let modes = component(&coords, 1, axis).map(|Mode { extent, stride }| {
            let step = if stride == 0 { 0 } else { values };
            values *= if stride == 0 { 1 } else { extent };
            Mode { extent, stride: step }
        });
        Ok(Layout::from_flat(modes.collect()))
    }

    /// Returns, for each value, its signed distance along `axis` from value 0 of the same thread.
    ///
    /// # Errors
    /// Returns the same errors as [`vector`](Self::vector).
    pub fn value_offsets(&self, axis: usize) -> Result<Vec<i64>, TvError> {
        self.check_axis(axis)?;
        let values = Layout::from_flat(component(&self.coords()?, 1, axis).collect());
        Ok(values.values().collect())
    }
}

/// Returns the flat modes of mode `mode` of a layout of coordinates, with their strides along `axis`.
fn component(coords: &Layout<BasisVector>, mode: usize, axis: usize) -> impl Iterator<Item = Mode> {
    let modes = flat_modes(&coords.shape.modes()[mode], &coords.stride.modes()[mode]).into_iter();
    modes.map(move |Mode { extent, stride }| Mode { extent, stride: stride.component(axis) })
}
