//! Extents and strides of tensors in global memory.

use crate::{ptx::Val, tensor::Stride};

/// The extents and strides of a tensor of rank `R` (1 to 5), in elements; each is a constant or a register.
///
/// Use [`row_major`] or [`col_major`] for a matrix, [`vector`] for a vector, and [`contiguous`] for a tensor with batch axes.
#[doc(alias = "gl")]
#[derive(Clone, Copy, Debug)]
pub struct GlLayout<'k, const R: usize = 2> {
    pub(super) extents: [Val<'k, u32>; R],
    /// `None` if the elements are contiguous, with the last axis fastest.
    strides: Option<[Stride<'k>; R]>,
}

/// Returns the layout of a contiguous row-major matrix of `rows`×`cols` elements.
pub fn row_major<'k>(rows: impl Into<Val<'k, u32>>, cols: impl Into<Val<'k, u32>>) -> GlLayout<'k> {
    GlLayout { extents: [rows.into(), cols.into()], strides: None }
}

/// Returns the layout of a contiguous column-major matrix of `rows`×`cols` elements.
pub fn col_major<'k>(rows: impl Into<Val<'k, u32>>, cols: impl Into<Val<'k, u32>>) -> GlLayout<'k> {
    let (rows, cols) = (rows.into(), cols.into());
    GlLayout { extents: [rows, cols], strides: Some([1.into(), rows.into()]) }
}

/// Returns the layout of a contiguous vector of `length` elements.
pub fn vector<'k>(length: impl Into<Val<'k, u32>>) -> GlLayout<'k, 1> {
    GlLayout { extents: [length.into()], strides: None }
}

/// Returns the layout of a contiguous tensor whose last axis varies fastest: `contiguous([batches, heads, rows, cols])`. The last two axes
/// are the rows and columns of its matrices.
///
/// Extents are 32 bits wide. Strides that are products of several extents are 64 bits wide, unless they are constants below 2³².
pub fn contiguous<'k, const R: usize>(extents: [impl Into<Val<'k, u32>>; R]) -> GlLayout<'k, R> {
    GlLayout { extents: extents.map(Into::into), strides: None }
}

impl<'k, const R: usize> GlLayout<'k, R> {
    /// Sets the stride of every axis, in elements. Each stride is a `u32`, a `Val<u32>` or a `Val<u64>`.
    #[must_use]
    pub fn with_strides(self, strides: [impl Into<Stride<'k>>; R]) -> Self {
        Self { strides: Some(strides.map(Into::into)), ..self }
    }

    /// Returns the strides.
    #[track_caller]
    pub(super) fn strides(&self) -> [Stride<'k>; R] {
        if let Some(strides) = self.strides {
            return strides;
        }
        let mut strides = [Stride::from(1); R];
        for axis in (1..R).rev() {
            strides[axis - 1] = strides[axis].times(self.extents[axis]);
        }
        strides
    }
}

impl<'k> GlLayout<'k> {
    /// Sets the distance between consecutive rows, in elements. In a row-major matrix, the distance exceeds the number of columns if the
    /// rows are padded or the matrix is part of a larger one.
    #[must_use]
    #[track_caller]
    pub fn with_row_stride(self, stride: impl Into<Stride<'k>>) -> Self {
        let [_, col] = self.strides();
        self.with_strides([stride.into(), col])
    }

    /// Sets the distance between consecutive columns, in elements.
    #[must_use]
    #[track_caller]
    pub fn with_col_stride(self, stride: impl Into<Stride<'k>>) -> Self {
        let [row, _] = self.strides();
        self.with_strides([row, stride.into()])
    }
}
