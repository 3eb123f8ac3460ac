//! The choice of a kernel for a problem.

use super::CachedAttention;

/// The properties of a launch that determine which [`CachedAttention`] kernel is fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CachedAttentionProblem {
    /// The head size: 64 or 128.
    pub head_size: u32,
    /// The number of sequences.
    pub batches: u32,
    /// The number of KV heads per sequence.
    pub kv_heads: u32,
    /// The number of queries per sequence and query head.
    pub queries: u32,
    /// The maximum number of keys per sequence.
    pub capacity: u32,
    /// The number of multiprocessors on the device.
    pub multiprocessors: u32,
}

/// The minimum number of keys for which two blocks per cache are faster even if one block per cache occupies all multiprocessors. With two
/// blocks per cache, blocks finish closer together in time; with only 4096 keys, merging the results takes longer than this saves.
const LONG: u32 = 32768;

impl CachedAttention {
    /// Returns the kernel for a problem, assuming that all caches (one for each sequence and KV head) are full.
    ///
    /// [`parts`](Self::parts) is the smallest supported value for which the blocks occupy at least 90% of the multiprocessors or, if there
    /// is no such value, the value for which they occupy the most multiprocessors. (Clusters of 4 blocks occupy up to 120 of the 132
    /// multiprocessors of an H100 or H200.) If there are more caches than multiprocessors and the capacity is at least 32768 keys, `parts`
    /// is at least 2.
    ///
    /// [`queries`](Self::queries) is the number of queries, rounded up to a value in [`QUERIES`](Self::QUERIES). If there are more than 8
    /// queries, building the kernel fails.
    #[must_use]
    pub fn for_problem(problem: &CachedAttentionProblem) -> Self {
        let CachedAttentionProblem { head_size, batches, kv_heads, queries, capacity, multiprocessors } =
            *problem;
        let caches = u64::from(batches) * u64::from(kv_heads);
        let all = u64::from(multiprocessors.max(1));
        let occupied = |parts: u32| {
            let blocks = caches.saturating_mul(parts.into());
            let resident = if parts > 2 { (all * 10 / 11).max(1) } else { all };
            blocks.saturating_mul(1000) / blocks.div_ceil(resident).saturating_mul(all).max(1)
        };
        let best = Self::PARTS.map(occupied).into_iter().max().unwrap_or_default().min(900);
        let parts = Self::PARTS.into_iter().find(|parts| occupied(*parts) >= best).unwrap_or(1);
        let least = if caches > all && capacity >= LONG { 2 } else { 1 };
        let queries = Self::QUERIES.into_iter().find(|most| *most >= queries).unwrap_or(queries);
        Self { head_size, parts: parts.max(least), queries }
    }
}
