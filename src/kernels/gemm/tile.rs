//! Tiles of a result, and the choice among them.

use std::fmt;

/// The part of a result that a warpgroup computes at a time, in rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GemmTile {
    /// 64×64, for small results.
    T64x64,
    /// 64×128, for results of few rows.
    T64x128,
    /// 128×128.
    T128x128,
    /// 128×192, with the fewest reads of shared memory per product; for large results.
    T128x192,
}

impl fmt::Display for GemmTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rows, cols] = self.size();
        write!(f, "{rows}x{cols}")
    }
}

impl GemmTile {
    /// All tiles.
    pub const ALL: [Self; 4] = [Self::T64x64, Self::T64x128, Self::T128x128, Self::T128x192];

    /// Returns the rows and columns.
    pub const fn size(self) -> [u32; 2] {
        match self {
            Self::T64x64 => [64, 64],
            Self::T64x128 => [64, 128],
            Self::T128x128 => [128, 128],
            Self::T128x192 => [128, 192],
        }
    }

    /// Returns the relative time of a product with this tile, measured on an H200 with many tiles: reads of shared memory and the power that
    /// they take decide.
    const fn time_per_product(self) -> f64 {
        match self {
            Self::T64x64 => 1.6,
            Self::T64x128 => 1.25,
            Self::T128x128 => 1.03,
            Self::T128x192 => 1.0,
        }
    }

    /// Returns the tile with which `multiprocessors` compute an m×n result soonest: as many rounds of tiles as needed, each of a time
    /// proportional to the size of the tile.
    pub fn for_result(m: u32, n: u32, multiprocessors: u32) -> Self {
        let time = |tile: &Self| {
            let [rows, cols] = tile.size();
            let tiles = u64::from(m.div_ceil(rows)) * u64::from(n.div_ceil(cols));
            let rounds = tiles.div_ceil(multiprocessors.max(1).into());
            rounds as f64 * f64::from(rows * cols) * tile.time_per_product()
        };
        let best = Self::ALL.into_iter().min_by(|a, b| time(a).total_cmp(&time(b)));
        best.unwrap_or(Self::T128x128)
    }
}
