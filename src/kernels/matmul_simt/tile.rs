//! Tiles of the result, and the choice of a tile size.

use std::fmt;

use super::MatmulSimt;
use crate::{kernels::MatrixOrder, ptx::Target};

/// The size of the tile of the result that a block computes, as rows × columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimtTile {
    /// 32×64, computed by 64 threads with 4×8 elements each.
    T32x64,
    /// 64×64, computed by 128 threads with 4×8 elements each.
    T64x64,
    /// 64×128, computed by 256 threads with 4×8 elements each.
    T64x128,
    /// 128×64, computed by 128 threads with 8×8 elements each.
    T128x64,
    /// 128×128, computed by 256 threads with 8×8 elements each.
    T128x128,
    /// 256×128, computed by 256 threads with 16×8 elements each. Requires a [divisor](MatmulSimt::divisor) that is a multiple of 4, and a
    /// target with at least 160 KiB of shared memory per block.
    T256x128,
}

impl fmt::Display for SimtTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rows, cols] = self.size();
        write!(f, "{rows}x{cols}")
    }
}

impl SimtTile {
    /// Returns the supported tile sizes for a target and a [divisor](MatmulSimt::divisor), from largest to smallest.
    pub fn all(target: Target, divisor: u32) -> impl Iterator<Item = Self> {
        let tiles =
            [Self::T256x128, Self::T128x128, Self::T128x64, Self::T64x128, Self::T64x64, Self::T32x64];
        // Copies of fewer than 16 bytes take more registers.
        let has_largest = divisor.is_multiple_of(4) && target.max_shared_bytes() >= 160 << 10;
        tiles.into_iter().filter(move |&tile| has_largest || tile != Self::T256x128)
    }

    /// Returns the number of rows and the number of columns.
    pub const fn size(self) -> [u32; 2] {
        match self {
            Self::T32x64 => [32, 64],
            Self::T64x64 => [64, 64],
            Self::T64x128 => [64, 128],
            Self::T128x64 => [128, 64],
            Self::T128x128 => [128, 128],
            Self::T256x128 => [256, 128],
        }
    }

    /// Returns the estimated rate of multiply-adds of a multiprocessor for operands in the orders `a` and `b`, relative to the rate of the
    /// largest tile with row-major operands. Smaller tiles load more operands per multiply-add. Between 256×128 and 128×128, these rates
    /// select the tile that was faster on an H200 and an H100.
    const fn rate(self, a: MatrixOrder, b: MatrixOrder) -> f64 {
        use MatrixOrder::{Col, Row};
        match (self, a, b) {
            (Self::T256x128, Row, Row) => 1.0,
            (Self::T256x128, Row, Col) => 0.95,
            (Self::T256x128, Col, Row) => 0.93,
            (Self::T256x128, Col, Col) => 0.84,
            (Self::T128x128, ..) => 0.95,
            (Self::T64x128, ..) => 0.85,
            (Self::T128x64 | Self::T64x64, ..) => 0.8,
            (Self::T32x64, ..) => 0.65,
        }
    }
}

impl MatmulSimt {
    /// Returns the kernel that multiplies an m×k matrix by a k×n matrix, without an activation. `a` and `b` are the storage orders of the
    /// factors, `size` is `[m, n, k]`, and `multiprocessors` is the number of multiprocessors on the device. The tile is chosen as in
    /// [`for_strides`](Self::for_strides), for contiguous matrices.
    #[must_use]
    pub fn for_problem(
        target: Target,
        a: MatrixOrder,
        b: MatrixOrder,
        size @ [m, n, k]: [u32; 3],
        multiprocessors: u32,
    ) -> Self {
        let strides = [a.leading_dimension(m, k), b.leading_dimension(k, n), n];
        Self::for_strides(target, a, b, size, strides, multiprocessors)
    }

    /// Returns the kernel for matrices with the given leading dimensions. `strides` contains the leading dimensions of A, B and D, in
    /// elements; see [`for_problem`](Self::for_problem) for the other parameters. The tile size with the shortest estimated time is chosen.
    /// The estimate assumes that tiles are computed in rounds of one tile per multiprocessor.
    #[must_use]
    pub fn for_strides(
        target: Target,
        a: MatrixOrder,
        b: MatrixOrder,
        [m, n, k]: [u32; 3],
        strides: [u32; 3],
        multiprocessors: u32,
    ) -> Self {
        let lengths = [a.leading_dimension(m, k), b.leading_dimension(k, n), n];
        // The largest power of two, at most 4, that divides all lengths and strides.
        let divisor =
            1 << lengths.into_iter().chain(strides).fold(4, |all, size| all | size).trailing_zeros();
        let time = |tile: &SimtTile| {
            let [rows, cols] = tile.size();
            let tiles = u64::from(m.div_ceil(rows)) * u64::from(n.div_ceil(cols));
            let rounds = tiles.div_ceil(multiprocessors.max(1).into());
            rounds as f64 * f64::from(rows * cols) / tile.rate(a, b)
        };
        let tile = SimtTile::all(target, divisor).min_by(|one, other| time(one).total_cmp(&time(other)));
        Self { a, b, tile: tile.unwrap_or(SimtTile::T128x128), divisor, activation: None }
    }
}
