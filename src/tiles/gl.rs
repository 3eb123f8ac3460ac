//! Matrices in global memory, with sizes and strides that may be known only at run time.

use std::fmt;

use crate::ptx::{Builder, Element, Extent, ExtentMode, Global, IntoDim, Ptr, Read, Readable, Val};

/// Sizes and strides of a matrix, in elements; each a constant or a register.
#[derive(Clone, Copy, Debug)]
pub struct GlLayout<'k> {
    rows: Val<'k, u32>,
    cols: Val<'k, u32>,
    row_stride: Val<'k, u32>,
    col_stride: Val<'k, u32>,
}

/// A matrix whose rows lie one after the other.
pub fn row_major<'k>(rows: impl Into<Val<'k, u32>>, cols: impl Into<Val<'k, u32>>) -> GlLayout<'k> {
    let (rows, cols) = (rows.into(), cols.into());
    GlLayout { rows, cols, row_stride: cols, col_stride: 1.into() }
}

/// A matrix whose columns lie one after the other.
pub fn col_major<'k>(rows: impl Into<Val<'k, u32>>, cols: impl Into<Val<'k, u32>>) -> GlLayout<'k> {
    let (rows, cols) = (rows.into(), cols.into());
    GlLayout { rows, cols, row_stride: 1.into(), col_stride: rows }
}

impl<'k> GlLayout<'k> {
    /// With `stride` elements from one row to the next, such as a padded pitch or a matrix inside a larger one.
    #[must_use]
    pub fn with_row_stride(self, stride: impl Into<Val<'k, u32>>) -> Self {
        Self { row_stride: stride.into(), ..self }
    }

    /// With `stride` elements from one column to the next.
    #[must_use]
    pub fn with_col_stride(self, stride: impl Into<Val<'k, u32>>) -> Self {
        Self { col_stride: stride.into(), ..self }
    }
}

/// A matrix in global memory.
pub struct Gl<'k, T, A> {
    pub(super) pointer: Ptr<'k, T, Global, A>,
    pub(super) layout: GlLayout<'k>,
}

/// A tile of a matrix in global memory, as large as the tile that it is copied to or from. Tile (`row`, `col`) begins at
/// element (`row` · height, `col` · width); what lies past the matrix's edges is read as zero and never written.
pub struct GlTile<'k, T, A> {
    pub(super) matrix: Gl<'k, T, A>,
    row: Val<'k, u32>,
    col: Val<'k, u32>,
}

impl<T, A> Clone for Gl<'_, T, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, A> Copy for Gl<'_, T, A> {}

impl<T, A> Clone for GlTile<'_, T, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, A> Copy for GlTile<'_, T, A> {}

impl<T: Element, A> fmt::Debug for Gl<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gl {:?} {:?}", self.pointer, self.layout)
    }
}

impl<T: Element, A> fmt::Debug for GlTile<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tile ({:?}, {:?}) of {:?}", self.row, self.col, self.matrix)
    }
}

impl<'k> Builder<'k> {
    /// A matrix at `pointer`: `k.global(a, row_major(m, n))`. If that is a parameter, and the sizes are constants and
    /// parameters, a launch checks that the buffer holds the matrix.
    pub fn global<T: Element, A>(self, pointer: Ptr<'k, T, Global, A>, layout: GlLayout<'k>) -> Gl<'k, T, A> {
        let GlLayout { rows, cols, row_stride, col_stride } = layout;
        if let Some(parameter) = pointer.parameter() {
            let modes = [(rows, row_stride), (cols, col_stride)]
                .map(|(size, stride)| ExtentMode { size: size.into_dim(), stride: stride.into_dim() });
            self.promise_extent(Extent { parameter, element_bytes: T::SIZE, modes: modes.into() });
        }
        Gl { pointer, layout }
    }
}

impl<'k, T: Element, A> Gl<'k, T, A> {
    /// Tile (`row`, `col`), counted in tiles.
    pub fn tile(self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> GlTile<'k, T, A> {
        GlTile { matrix: self, row: row.into(), col: col.into() }
    }

    /// Pointer to element (`row`, `col`), whether or not the matrix has it.
    #[track_caller]
    pub fn element(self, row: Val<'k, u32>, col: Val<'k, u32>) -> Ptr<'k, T, Global, A> {
        let GlLayout { row_stride, col_stride, .. } = self.layout;
        let col = col.mul_wide(col_stride);
        self.pointer.at_wide(row.mad_wide(row_stride, col))
    }

    /// What surely divides the address of every row's element `col`, in bytes.
    pub(super) fn row_align(&self, col: Val<'k, u32>) -> u32 {
        self.pointer.align_at([self.layout.row_stride, col])
    }

    /// Elements from one row to the next and from one column to the next.
    pub(super) fn strides(&self) -> (Val<'k, u32>, Val<'k, u32>) {
        (self.layout.row_stride, self.layout.col_stride)
    }

    /// Whether `row` is a row of the matrix, given that it is one of the `height` rows from `origin`: known without an
    /// instruction if both the origin and the matrix's size are constants.
    #[track_caller]
    pub(super) fn has_row(&self, row: Val<'k, u32>, origin: Val<'k, u32>, height: u32) -> Val<'k, bool> {
        within(row, self.layout.rows, origin, height)
    }

    /// [`has_row`](Self::has_row) for columns.
    #[track_caller]
    pub(super) fn has_col(&self, col: Val<'k, u32>, origin: Val<'k, u32>, width: u32) -> Val<'k, bool> {
        within(col, self.layout.cols, origin, width)
    }

    /// Whether the matrix surely has rows by twos, so that a pair of them exists or does not.
    pub(super) fn has_even_rows(&self) -> bool {
        self.layout.rows.is_multiple_of(2)
    }

    /// [`has_even_rows`](Self::has_even_rows) for columns.
    pub(super) fn has_even_cols(&self) -> bool {
        self.layout.cols.is_multiple_of(2)
    }

    /// Rows of the matrix.
    pub(super) fn rows(&self) -> Val<'k, u32> {
        self.layout.rows
    }

    /// Columns of the matrix.
    pub(super) fn cols(&self) -> Val<'k, u32> {
        self.layout.cols
    }
}

#[track_caller]
fn within<'k>(at: Val<'k, u32>, size: Val<'k, u32>, origin: Val<'k, u32>, tile: u32) -> Val<'k, bool> {
    let whole = |(origin, size): (u32, u32)| u64::from(origin) + u64::from(tile) <= size.into();
    if origin.as_constant().zip(size.as_constant()).is_some_and(whole) { true.into() } else { at.lt(size) }
}

impl<'k, T: Element, A> GlTile<'k, T, A> {
    /// First row and column of a tile of `height`×`width`.
    #[track_caller]
    pub(super) fn origin(&self, height: u32, width: u32) -> (Val<'k, u32>, Val<'k, u32>) {
        (self.row * height, self.col * width)
    }
}

impl<'k, T: Element, A: Readable> GlTile<'k, T, A> {
    /// Whether neighbours in a row are neighbours in memory.
    pub(super) fn is_row_contiguous(&self) -> bool {
        self.matrix.layout.col_stride.as_constant() == Some(1)
    }

    /// The tile for reading alone.
    pub(super) fn read_only(self) -> GlTile<'k, T, Read> {
        let matrix = Gl { pointer: self.matrix.pointer.read_only(), layout: self.matrix.layout };
        GlTile { matrix, row: self.row, col: self.col }
    }
}
