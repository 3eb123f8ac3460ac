//! Tiles of a result.

use std::fmt;

use crate::ptx::{Features, Target};

/// The size of the tiles into which a result is divided: rows × columns.
///
/// On sm_90a, the two consumer warpgroups of a block take turns on tiles of up to 128×192: one stores its tile while the other multiplies.
/// This does not apply to tiles that are computed in several [`parts`](super::Gemm::parts) or with [promoted
/// sums](super::Gemm::promoted_kernel). Larger tiles, which require fewer reads from the L2 cache, are computed by all consumer warpgroups
/// of a block together. On other targets, each block computes one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GemmTile {
    /// 16×64, for results with at most 16 rows. A `wgmma` takes as long as it does for 64 rows, but loads of A take less time.
    T16x64,
    /// 16×128, for results with at most 16 rows.
    T16x128,
    /// 64×64, for small results.
    T64x64,
    /// 64×128, for results with few rows.
    T64x128,
    /// 128×128.
    T128x128,
    /// 128×160, for use if other tiles would leave many multiprocessors idle in the last wave.
    T128x160,
    /// 128×176, for the same purpose as 128×160; the elements of the result must be 16-bit or 32-bit.
    /// [`Gemm::for_problem`](super::Gemm::for_problem) chooses this tile only from a [`GemmTable`](super::GemmTable). It is slow if B is
    /// row-major, because rows of 176 elements allow only a 32-byte swizzle.
    T128x176,
    /// 128×192, the largest tile that a single warpgroup computes; for large results.
    T128x192,
    /// 128×256, for large results; requires a target with at least 160 KiB of shared memory per block.
    T128x256,
    /// 192×192, which three warpgroups compute together.
    T192x192,
    /// 256×128.
    T256x128,
    /// 256×160. It is slow if B is row-major, because rows of 160 elements allow only a 64-byte swizzle.
    T256x160,
    /// 256×192, for products of at least 10¹² multiply-adds. It requires the fewest reads from the L2 cache per element of the result.
    T256x192,
}

impl fmt::Display for GemmTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rows, cols] = self.size();
        write!(f, "{rows}x{cols}")
    }
}

impl GemmTile {
    /// All tiles.
    pub const ALL: [Self; 13] = [
        Self::T16x64,
        Self::T16x128,
        Self::T64x64,
        Self::T64x128,
        Self::T128x128,
        Self::T128x160,
        Self::T128x176,
        Self::T128x192,
        Self::T128x256,
        Self::T192x192,
        Self::T256x128,
        Self::T256x160,
        Self::T256x192,
    ];

    /// Returns the tiles for a target, sorted by number of rows, then by number of columns. The target must be sm_80 or later.
    pub const fn for_target(target: Target) -> &'static [Self] {
        if target.features().contains(Features::WGMMA) {
            &[
                Self::T16x64,
                Self::T16x128,
                Self::T64x64,
                Self::T64x128,
                Self::T128x128,
                Self::T128x160,
                Self::T128x176,
                Self::T128x192,
                Self::T128x256,
                Self::T192x192,
                Self::T256x128,
                Self::T256x160,
                Self::T256x192,
            ]
        } else if target.max_shared_bytes() >= 160 << 10 {
            &[Self::T64x64, Self::T128x128, Self::T128x256]
        } else {
            &[Self::T64x64, Self::T128x128]
        }
    }

    /// Returns the number of rows and the number of columns.
    pub const fn size(self) -> [u32; 2] {
        match self {
            Self::T16x64 => [16, 64],
            Self::T16x128 => [16, 128],
            Self::T64x64 => [64, 64],
            Self::T64x128 => [64, 128],
            Self::T128x128 => [128, 128],
            Self::T128x160 => [128, 160],
            Self::T128x176 => [128, 176],
            Self::T128x192 => [128, 192],
            Self::T128x256 => [128, 256],
            Self::T192x192 => [192, 192],
            Self::T256x128 => [256, 128],
            Self::T256x160 => [256, 160],
            Self::T256x192 => [256, 192],
        }
    }

    /// Returns whether all consumer warpgroups of a block compute a tile together on sm_90a, instead of taking turns.
    pub(super) const fn is_computed_together(self) -> bool {
        matches!(self, Self::T128x256 | Self::T192x192 | Self::T256x128 | Self::T256x160 | Self::T256x192)
    }

    /// Returns the number of tiles of an m×n result.
    pub(super) fn count(self, m: u32, n: u32) -> u64 {
        let [rows, cols] = self.size();
        u64::from(m.div_ceil(rows)) * u64::from(n.div_ceil(cols))
    }

    /// Returns the values of [`Gemm::parts`](super::Gemm::parts) that this tile supports on sm_90a.
    pub const fn parts(self) -> &'static [u32] {
        match self {
            Self::T16x64 | Self::T64x64 => &[1, 2],
            Self::T64x128 => &[1, 4],
            _ => &[1],
        }
    }
}
