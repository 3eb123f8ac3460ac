//! Matrices in global memory with static or dynamic sizes and strides.

use std::fmt;

use crate::{
    ptx::{Builder, CheckedPtr, Global, Ptr, Val},
    tensor::{Tensor, TensorElement},
};

/// The sizes and strides of a matrix, in elements; each is a constant or a register.
#[derive(Clone, Copy, Debug)]
pub struct GlLayout<'k> {
    rows: Val<'k, u32>,
    cols: Val<'k, u32>,
    row_stride: Val<'k, u32>,
    col_stride: Val<'k, u32>,
}

/// Returns the layout of a matrix with contiguous rows.
pub fn row_major<'k>(rows: impl Into<Val<'k, u32>>, cols: impl Into<Val<'k, u32>>) -> GlLayout<'k> {
    let (rows, cols) = (rows.into(), cols.into());
    GlLayout { rows, cols, row_stride: cols, col_stride: 1.into() }
}

/// Returns the layout of a matrix with contiguous columns.
pub fn col_major<'k>(rows: impl Into<Val<'k, u32>>, cols: impl Into<Val<'k, u32>>) -> GlLayout<'k> {
    let (rows, cols) = (rows.into(), cols.into());
    GlLayout { rows, cols, row_stride: 1.into(), col_stride: rows }
}

impl<'k> GlLayout<'k> {
    /// Sets the distance in elements between rows, for a padded pitch or a matrix inside a larger one.
    #[must_use]
    pub fn with_row_stride(self, stride: impl Into<Val<'k, u32>>) -> Self {
        Self { row_stride: stride.into(), ..self }
    }

    /// Sets the distance in elements between columns.
    #[must_use]
    pub fn with_col_stride(self, stride: impl Into<Val<'k, u32>>) -> Self {
        Self { col_stride: stride.into(), ..self }
    }
}

/// A matrix in global memory: a tensor `(row, col)`.
pub struct Gl<'k, T: TensorElement, A> {
    tensor: Tensor<'k, Global, T, A>,
}

/// A tile of a matrix in global memory, with the size of the tile that it is copied to or from. Tile (`row`, `col`) starts at
/// element (`row` · height, `col` · width); elements past the matrix's edges are read as zero and never written.
pub struct GlTile<'k, T: TensorElement, A> {
    tensor: Tensor<'k, Global, T, A>,
    row: Val<'k, u32>,
    col: Val<'k, u32>,
}

impl<T: TensorElement, A> Clone for Gl<'_, T, A> {
    fn clone(&self) -> Self {
        Self { tensor: self.tensor.clone() }
    }
}

impl<T: TensorElement, A> Clone for GlTile<'_, T, A> {
    fn clone(&self) -> Self {
        Self { tensor: self.tensor.clone(), ..*self }
    }
}

impl<T: TensorElement, A> fmt::Debug for Gl<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gl {:?}", self.tensor)
    }
}

impl<T: TensorElement, A> fmt::Debug for GlTile<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tile ({:?}, {:?}) of {:?}", self.row, self.col, self.tensor)
    }
}

impl<'k> Builder<'k> {
    /// Returns the matrix in a buffer parameter: `k.global(a, row_major(m, n))`. Each launch checks that the buffer is large
    /// enough for it.
    ///
    /// Rejected when the kernel is built: what [`tensor`](Self::tensor) rejects.
    #[track_caller]
    pub fn global<T: TensorElement, A>(
        self,
        pointer: Ptr<'k, T, Global, A>,
        layout: GlLayout<'k>,
    ) -> Gl<'k, T, A> {
        let GlLayout { rows, cols, row_stride, col_stride } = layout;
        Gl { tensor: self.tensor(pointer, [rows, cols], [row_stride, col_stride]) }
    }
}

impl<'k, T: TensorElement, A> Gl<'k, T, A> {
    /// Returns tile (`row`, `col`), in units of tiles.
    pub fn tile(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> GlTile<'k, T, A> {
        GlTile { tensor: self.tensor.clone(), row: row.into(), col: col.into() }
    }

    /// Returns the matrix as a tensor `(row, col)` whose tiles are predicated at the edges.
    #[must_use]
    pub fn tensor(&self) -> Tensor<'k, Global, T, A> {
        self.tensor.clone()
    }

    /// Returns element (`row`, `col`); it is accessed only if it is within the matrix.
    #[track_caller]
    pub fn at(
        &self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
    ) -> CheckedPtr<'k, T, Global, A> {
        self.tensor.at_coord(row.into(), col.into())
    }
}

impl<'k, T: TensorElement, A> GlTile<'k, T, A> {
    pub(super) fn kernel(&self) -> Builder<'k> {
        self.tensor.kernel()
    }

    /// Returns the tile coordinates.
    pub(super) fn coordinates(&self) -> [Val<'k, u32>; 2] {
        [self.row, self.col]
    }

    /// Returns the tile of `rows`×`cols` elements as a tensor.
    #[track_caller]
    pub(super) fn tensor(&self, rows: u32, cols: u32) -> Tensor<'k, Global, T, A> {
        self.tensor.local_tile((rows, cols), (self.row, self.col))
    }
}
