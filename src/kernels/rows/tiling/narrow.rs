//! Tilings for rows that are loaded directly into registers, for segments of rows, and for groups narrow enough that every row starts at a
//! group boundary.

use super::RowTiling;

/// The maximum number of resident blocks per multiprocessor that the tilings in this module require.
const MOST_RESIDENT: u32 = 8;

/// The maximum number of resident blocks per multiprocessor that the tilings for segments require.
const MOST_RESIDENT_SEGMENTS: u32 = 6;

/// The maximum number of threads per block in a cluster. With more threads, too few blocks would be resident on a multiprocessor while some
/// wait for others.
const MOST_THREADS: u32 = 512;

impl RowTiling {
    /// Returns this tiling for rows of `groups` groups that are loaded directly into registers, with at most `stripes` groups per thread.
    /// The number of resident blocks per multiprocessor is at least 1; if it is greater, the blocks have at most `together` threads in
    /// total.
    pub(in crate::kernels::rows) fn in_registers(self, groups: u32, stripes: u32, together: u32) -> Self {
        let threads = groups.div_ceil(stripes).next_multiple_of(32);
        let resident = (together / threads).clamp(1, MOST_RESIDENT);
        // Because threads fill whole warps, there may be fewer groups per thread.
        let stripes = groups.div_ceil(threads);
        Self { threads, rows: 1, cluster: 1, stripes, streamed: false, resident, ahead: 0, turns: 1, ..self }
    }

    /// Returns this tiling without a minimum of resident blocks, so that ptxas chooses the number of registers.
    pub(in crate::kernels::rows) fn without_minimum(self) -> Self {
        Self { resident: 0, ..self }
    }

    /// Returns this tiling for rows of `groups` groups that are loaded directly into the registers of a cluster of `cluster` blocks, with
    /// at most `stripes` groups per thread. Returns `None` if a block would require more than [`MOST_THREADS`] threads.
    pub(in crate::kernels::rows) fn in_cluster(
        self,
        cluster: u32,
        groups: u32,
        stripes: u32,
    ) -> Option<Self> {
        let threads = groups.div_ceil(cluster * stripes).next_multiple_of(32);
        let stripes = groups.div_ceil(cluster * threads);
        let (rows, streamed, resident) = (1, false, 0);
        let in_blocks =
            Self { threads, rows, cluster, stripes, streamed, resident, ahead: 0, turns: 1, ..self };
        (threads <= MOST_THREADS).then_some(in_blocks)
    }

    /// Returns this tiling for unaligned rows of the given `sizes` that are divided into segments for `cluster` blocks. Shared memory
    /// contains two rows of each input. There are `stripes` groups per thread and up to `together` threads per multiprocessor. Returns
    /// `None` if a block would require more than 1024 threads.
    pub(in crate::kernels::rows) fn in_segments(
        self,
        sizes: &[u32],
        cluster: u32,
        stripes: u32,
        together: u32,
    ) -> Option<Self> {
        // A segment begins in the middle of its first group.
        let groups = sizes.first()?.div_ceil(cluster).div_ceil(self.adjacent) + 1;
        let threads = groups.div_ceil(stripes).next_multiple_of(32);
        let resident = (together / threads).clamp(1, MOST_RESIDENT_SEGMENTS);
        let (rows, streamed, ahead, turns) = (1, false, 2, 1);
        let in_segments = Self { threads, rows, cluster, stripes, streamed, resident, ahead, turns, ..self };
        (threads <= 1024).then_some(in_segments)
    }

    /// Returns this tiling for rows of the given `sizes`, with the widest groups such that every row starts at a group boundary. `elements`
    /// is the number of elements per thread and must be a multiple of the group size. See [`in_registers`](Self::in_registers) for
    /// `together`.
    ///
    /// Narrow groups require more memory accesses than unaligned 16-byte groups, but each word of an unaligned group must be assembled from
    /// two words, which requires further instructions and registers.
    pub(in crate::kernels::rows) fn narrow(self, sizes: &[u32], elements: u32, together: u32) -> Self {
        let adjacent = aligned_elements(sizes).min(self.adjacent);
        let groups = sizes.first().map_or(1, |&n| n.max(1)).div_ceil(adjacent);
        Self { adjacent, unaligned: false, ..self }.in_registers(groups, elements / adjacent, together)
    }

    /// Returns whether every row of 16-bit elements of the given `sizes` begins with a whole word.
    pub(in crate::kernels::rows) fn has_even_halves(self, sizes: &[u32]) -> bool {
        self.adjacent == 8 && aligned_elements(sizes) > 1
    }

    /// Returns this tiling with `ahead` = 2 and the given number of `turns`.
    pub(in crate::kernels::rows) fn copied_ahead(self, turns: u32) -> Self {
        Self { ahead: 2, turns, ..self }
    }
}

/// Returns the largest power of two, at most 16, that divides all sizes.
pub(in crate::kernels::rows) fn aligned_elements(sizes: &[u32]) -> u32 {
    let zeros = sizes.iter().map(|size| size.trailing_zeros()).min().unwrap_or(0);
    1 << zeros.min(4)
}
