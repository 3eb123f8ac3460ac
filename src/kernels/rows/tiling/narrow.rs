//! Rows that a block keeps in registers, without shared memory, and groups that are so narrow that every row begins with one.

use super::{MOST_BLOCKS, RowTiling};

/// The most resident blocks of a multiprocessor that tilings here require.
const MOST_RESIDENT: u32 = 8;

/// The most threads of a block of a cluster: with more, the blocks of a multiprocessor would be too few to wait for each other.
const MOST_THREADS: u32 = 512;

impl RowTiling {
    /// Returns this tiling for rows of `groups` groups that are loaded directly into registers, at most `stripes` groups for each thread. As
    /// many blocks as have `together` threads are resident, at least one.
    pub(in crate::kernels::rows) fn in_registers(self, groups: u32, stripes: u32, together: u32) -> Self {
        let threads = groups.div_ceil(stripes).next_multiple_of(32);
        let resident = (together / threads).clamp(1, MOST_RESIDENT);
        // Threads fill whole warps, which may leave them fewer groups.
        let stripes = groups.div_ceil(threads);
        Self { threads, rows: 1, cluster: 1, stripes, streamed: false, resident, ahead: 0, turns: 1, ..self }
    }

    /// Returns this tiling for rows of `groups` groups that are loaded directly into the registers of a cluster of eight blocks, at most
    /// `stripes` groups for each thread, if the threads suffice.
    pub(in crate::kernels::rows) fn in_cluster(self, groups: u32, stripes: u32) -> Option<Self> {
        let threads = groups.div_ceil(MOST_BLOCKS * stripes).next_multiple_of(32);
        let stripes = groups.div_ceil(MOST_BLOCKS * threads);
        let in_blocks =
            Self { threads, rows: 1, stripes, streamed: false, resident: 0, ahead: 0, turns: 1, ..self };
        (threads <= MOST_THREADS).then_some(Self { cluster: MOST_BLOCKS, ..in_blocks })
    }

    /// Returns this tiling for rows of the given `sizes` with the widest groups with which every row begins, `elements` elements for each
    /// thread, a multiple of the elements of a group. `together` is that of [`in_registers`](Self::in_registers).
    ///
    /// Such rows are accessed by more instructions than unaligned groups of 16 bytes, but these have to be put together from two words for
    /// each word, by instructions and registers that are missing elsewhere.
    pub(in crate::kernels::rows) fn narrow(self, sizes: &[u32], elements: u32, together: u32) -> Self {
        let adjacent = aligned_elements(sizes).min(self.adjacent);
        let groups = sizes.first().map_or(1, |&n| n.max(1)).div_ceil(adjacent);
        Self { adjacent, unaligned: false, ..self }.in_registers(groups, elements / adjacent, together)
    }

    /// Returns whether every row of 16-bit elements of the given `sizes` begins with a whole word.
    pub(in crate::kernels::rows) fn has_even_halves(self, sizes: &[u32]) -> bool {
        self.adjacent == 8 && aligned_elements(sizes) > 1
    }

    /// Returns this tiling with the next row copied to shared memory, and `turns` rows for the same threads.
    pub(in crate::kernels::rows) fn copied_ahead(self, turns: u32) -> Self {
        Self { ahead: 2, turns, ..self }
    }
}

/// Returns the most elements, a power of two, that divide all sizes.
pub(in crate::kernels::rows) fn aligned_elements(sizes: &[u32]) -> u32 {
    let zeros = sizes.iter().map(|size| size.trailing_zeros()).min().unwrap_or(0);
    1 << zeros.min(4)
}
