//! The storage order of an operand.

use crate::ptx::Val;

/// The storage order of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixOrder {
    /// Row-major: each row is contiguous.
    Row,
    /// Column-major: each column is contiguous.
    Col,
}

impl MatrixOrder {
    /// Both orders.
    pub const ALL: [Self; 2] = [Self::Row, Self::Col];

    /// Returns the leading dimension of a contiguous `rows`×`cols` matrix: the length of its rows (or columns, if column-major).
    pub const fn leading_dimension(self, rows: u32, cols: u32) -> u32 {
        match self {
            Self::Row => cols,
            Self::Col => rows,
        }
    }

    pub(in crate::kernels) const fn major(self) -> &'static str {
        match self {
            Self::Row => "row-major",
            Self::Col => "column-major",
        }
    }

    pub(in crate::kernels) const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Col => "col",
        }
    }

    /// Returns the extents, in memory order, of a `rows`×`cols` matrix.
    pub(in crate::kernels) fn extents<'k>(self, rows: Val<'k, u32>, cols: Val<'k, u32>) -> [Val<'k, u32>; 2] {
        match self {
            Self::Row => [rows, cols],
            Self::Col => [cols, rows],
        }
    }
}
