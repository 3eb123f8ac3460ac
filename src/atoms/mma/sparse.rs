//! The sparse operand A: which elements are stored, and the metadata that identifies them.

use super::layouts;
use crate::layout::Layout;

/// The 50% structured sparsity of operand A of `mma.sp::ordered_metadata` and `wgmma.mma_async.sp` (PTX ISA, "Sparse matrix
/// storage").
///
/// Each row is divided into chunks. Half of the elements of a chunk are stored, in order of increasing k, and the metadata contains their
/// positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sparsity {
    chunk: u32,
    unit: u32,
    bits_per_unit: u32,
    metadata_bits: u32,
    wide: bool,
}

impl Sparsity {
    /// Returns the compression for `bits`-bit elements and uncompressed rows of `k` elements.
    pub(super) const fn new(bits: u32, k: u32) -> Self {
        let (chunk, unit, bits_per_unit) = match bits {
            32 => (2, 1, 4),
            4 => (8, 2, 2),
            _ => (4, 1, 2),
        };
        let metadata_bits = k / 2 / unit * bits_per_unit;
        Sparsity { chunk, unit, bits_per_unit, metadata_bits, wide: bits >= 16 }
    }

    /// Returns the number of elements in a chunk, half of which are stored: 2 for tf32, 8 for packed 4-bit elements, and 4 for other types.
    #[must_use]
    pub const fn chunk(&self) -> u32 {
        self.chunk
    }

    /// Returns the number of elements that are stored or omitted together: 2 for packed 4-bit elements, and 1 for other types.
    #[must_use]
    pub const fn unit(&self) -> u32 {
        self.unit
    }

    /// Returns the number of metadata bits per stored unit: 4 for tf32, and 2 for other types.
    #[must_use]
    pub const fn bits_per_unit(&self) -> u32 {
        self.bits_per_unit
    }

    /// Returns the number of metadata bits per row of A.
    #[must_use]
    pub const fn metadata_bits(&self) -> u32 {
        self.metadata_bits
    }

    /// Returns the metadata of a stored unit, where `place` is the index of the unit in its chunk. The result is `place` itself, except for
    /// tf32, where the first unit of a chunk is represented by `0b0100` and the second by `0b1110`.
    #[must_use]
    pub const fn code(&self, place: u32) -> u32 {
        match (self.bits_per_unit, place) {
            (4, 0) => 0b0100,
            (4, _) => 0b1110,
            _ => place,
        }
    }

    /// Returns the number of valid selectors. A selector specifies which lanes of each group of four provide metadata.
    #[must_use]
    pub const fn selectors(&self) -> u32 {
        64 / self.metadata_bits
    }

    /// Returns the layout that maps thread indices of [`metadata_layout`](Self::metadata_layout) to lanes, for selector 0. For selector
    /// `s`, add `s · (4 / selectors)` to the lane.
    #[must_use]
    pub fn metadata_threads(&self) -> Layout {
        layouts::metadata_threads(self.metadata_bits)
    }

    /// Returns the layout of the metadata, which maps (thread, bit index in the thread's register) to `row + 16 · bit`, where `bit` is an
    /// index in the metadata of the row. The metadata of stored unit `i` of a row begins at bit `i · bits_per_unit`, lowest bit first. Each
    /// warp of a warpgroup provides the metadata of its own 16 rows.
    #[doc(alias = "ELayout")]
    #[must_use]
    pub fn metadata_layout(&self) -> Layout {
        layouts::metadata(self.metadata_bits, self.wide)
    }
}
