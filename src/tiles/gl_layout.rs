//! Extents and strides of tensors in global memory.

use crate::ptx::Val;

/// The extents and strides of a tensor of rank `R` (1 to 5), in elements; each is a constant or a register.
///
/// [`row_major`] and [`col_major`] return the layout of a matrix, [`vector`] that of a vector, [`contiguous`] that of a tensor with
/// batch axes, whose last axis is contiguous.
#[doc(alias = "gl")]
#[derive(Clone, Copy, Debug)]
pub struct GlLayout<'k, const R: usize = 2> {
    pub(super) extents: [Val<'k, u32>; R],
    pub(super) strides: [Val<'k, u32>; R],
}

/// Returns the layout of a matrix with contiguous rows.
pub fn row_major<'k>(rows: impl Into<Val<'k, u32>>, cols: impl Into<Val<'k, u32>>) -> GlLayout<'k> {
    let (rows, cols) = (rows.into(), cols.into());
    GlLayout { extents: [rows, cols], strides: [cols, 1.into()] }
}

/// Returns the layout of a matrix with contiguous columns.
pub fn col_major<'k>(rows: impl Into<Val<'k, u32>>, cols: impl Into<Val<'k, u32>>) -> GlLayout<'k> {
    let (rows, cols) = (rows.into(), cols.into());
    GlLayout { extents: [rows, cols], strides: [1.into(), rows] }
}

/// Returns the layout of a vector of adjacent elements.
pub fn vector<'k>(length: impl Into<Val<'k, u32>>) -> GlLayout<'k, 1> {
    GlLayout { extents: [length.into()], strides: [1.into()] }
}

/// Returns the layout of a tensor without gaps, whose last axis is contiguous: `contiguous([batches, heads, rows, cols])`. The last
/// two axes are the rows and columns of its matrices.
///
/// Strides have 32 bits: a launch rejects a tensor whose products of extents, other than the first, exceed them.
#[track_caller]
pub fn contiguous<'k, const R: usize>(extents: [impl Into<Val<'k, u32>>; R]) -> GlLayout<'k, R> {
    let extents = extents.map(Into::into);
    let mut strides = [Val::from(1); R];
    for axis in (1..R).rev() {
        strides[axis - 1] = strides[axis] * extents[axis];
    }
    GlLayout { extents, strides }
}

impl<'k, const R: usize> GlLayout<'k, R> {
    /// Sets the distance in elements between consecutive coordinates of every axis.
    #[must_use]
    pub fn with_strides(self, strides: [impl Into<Val<'k, u32>>; R]) -> Self {
        Self { strides: strides.map(Into::into), ..self }
    }
}

impl<'k> GlLayout<'k> {
    /// Sets the distance in elements between rows, for a padded pitch or a matrix inside a larger one.
    #[must_use]
    pub fn with_row_stride(self, stride: impl Into<Val<'k, u32>>) -> Self {
        let [_, col] = self.strides;
        Self { strides: [stride.into(), col], ..self }
    }

    /// Sets the distance in elements between columns.
    #[must_use]
    pub fn with_col_stride(self, stride: impl Into<Val<'k, u32>>) -> Self {
        let [row, _] = self.strides;
        Self { strides: [row, stride.into()], ..self }
    }
}
