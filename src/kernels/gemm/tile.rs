//! Tiles of a result.

use std::fmt;

/// The part of a result that a warpgroup computes at a time: rows × columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GemmTile {
    /// 16×64, for results of at most 16 rows. Products take as long as with 64 rows, but loads of A take less time.
    T16x64,
    /// 16×128, for results of at most 16 rows.
    T16x128,
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
    pub const ALL: [Self; 6] =
        [Self::T16x64, Self::T16x128, Self::T64x64, Self::T64x128, Self::T128x128, Self::T128x192];

    /// Returns the numbers of rows and columns.
    pub const fn size(self) -> [u32; 2] {
        match self {
            Self::T16x64 => [16, 64],
            Self::T16x128 => [16, 128],
            Self::T64x64 => [64, 64],
            Self::T64x128 => [64, 128],
            Self::T128x128 => [128, 128],
            Self::T128x192 => [128, 192],
        }
    }

    /// Returns the numbers of blocks of a cluster that may compute a tile together.
    pub const fn parts(self) -> &'static [u32] {
        match self {
            Self::T16x64 | Self::T64x64 => &[1, 2],
            _ => &[1],
        }
    }
}
