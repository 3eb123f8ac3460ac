//! The choice of a kernel for a problem.

use super::{Attention, AttentionBackward, AttentionMask, AttentionTile, ScaledAttention, order, uses_wgmma};
use crate::{ptx::Target, tiles::Schedule};

/// The properties of a launch that determine which attention kernel is fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttentionProblem {
    /// The target of the kernel.
    pub target: Target,
    /// The head size of Q and K.
    pub head_size: u32,
    /// The head size of V and O.
    pub value_size: u32,
    /// The mask, which determines the keys that each query attends to.
    pub mask: AttentionMask,
    /// The total number of query heads in all batches.
    pub heads: u32,
    /// The total number of KV heads in all batches.
    pub kv_heads: u32,
    /// The number of queries per head.
    pub queries: u32,
    /// The number of keys per KV head.
    pub keys: u32,
    /// The number of multiprocessors on the device.
    pub multiprocessors: u32,
}

/// The number of bytes of keys and values that are assumed to remain in the L2 cache: half of the L2 cache of an H100.
const CACHED: u64 = 25 << 20;

/// The elements of keys and values.
struct Elements {
    bytes: u64,
    /// The minimum number of queries by which each key loaded from device memory must be multiplied so that an H100 or H200 does not wait
    /// for keys.
    rows: u64,
}

/// 16-bit elements. At 660 TFLOP/s, multiplying each key by 300 queries requires 2.2 TB/s.
const OF_16_BITS: Elements = Elements { bytes: 2, rows: 300 };

/// 8-bit elements. At 1000 TFLOP/s, multiplying each key by 230 queries requires 2.2 TB/s.
const OF_8_BITS: Elements = Elements { bytes: 1, rows: 230 };

impl Attention {
    /// Returns the kernel for a problem.
    ///
    /// On sm_90a, the tile is the first one that [`AttentionTile::all`] returns. With a causal mask, some tiles of queries require more
    /// steps than others. In this case, the tiles of all heads are processed in descending order of their number of steps. If too few of
    /// the tiles in progress would read the same keys in this order, heads are processed in groups instead. The keys and values of a group
    /// fit in half of the L2 cache of an H100, except that a group may always contain all query heads of one KV head. The group size is
    /// chosen to minimize the estimated time.
    ///
    /// On other targets, the tile has the same number of queries as the first tile of `AttentionTile::all` and, if such a tile exists, 64
    /// keys.
    #[must_use]
    pub fn for_problem(problem: &AttentionProblem) -> Self {
        let AttentionProblem { target, head_size, value_size, mask, .. } = *problem;
        let attention = Self::new(target, head_size, value_size, mask);
        // Without `wgmma`, steps with twice as many keys are faster; only the kernel for packed sequences has
        // too few registers for them.
        let wider = |tile: &AttentionTile| {
            !uses_wgmma(target) && tile.queries == attention.tile.queries && tile.keys == 64
        };
        let tile = AttentionTile::all(target, head_size, value_size).find(wider);
        Self::for_tile(problem, tile.unwrap_or(attention.tile))
    }

    /// Returns the kernel for the given problem and tile. The schedule is chosen as in [`for_problem`](Self::for_problem).
    #[must_use]
    pub fn for_tile(problem: &AttentionProblem, tile: AttentionTile) -> Self {
        let AttentionProblem { target, head_size, value_size, mask, .. } = *problem;
        let attention = Self::new(target, head_size, value_size, mask);
        if !uses_wgmma(target) {
            return Self { tile, ..attention };
        }
        Self { tile, schedule: order_of(problem, tile, attention.schedule, OF_16_BITS), ..attention }
    }
}

impl ScaledAttention {
    /// Returns the kernels for a problem, with the same tile as [`new`](Self::new). With a causal mask, tiles are ordered as in
    /// [`Attention::for_problem`]. The kernels require sm_90a; `problem.target` is ignored.
    #[must_use]
    pub fn for_problem(problem: &AttentionProblem) -> Self {
        Self::for_tile(problem, Self::new(problem.head_size, problem.mask).tile)
    }

    /// Returns the kernels for the given problem and tile. With a causal mask, tiles are ordered as in [`Attention::for_problem`]. The
    /// kernels require sm_90a; `problem.target` is ignored.
    #[must_use]
    pub fn for_tile(problem: &AttentionProblem, tile: AttentionTile) -> Self {
        let attention = Self::new(problem.head_size, problem.mask);
        Self { tile, schedule: order_of(problem, tile, attention.schedule, OF_8_BITS), ..attention }
    }
}

/// The maximum number of tiles of a head whose order is optimized. Longer sequences take seconds, so little is lost if their last blocks do
/// not finish together.
const MOST_COLUMNS: u32 = 1 << 17;

/// Returns the tile order for a problem, which is `default` if the mask is not causal.
fn order_of(
    problem: &AttentionProblem,
    tile: AttentionTile,
    default: Schedule,
    keys_are: Elements,
) -> Schedule {
    let AttentionProblem {
        head_size, value_size, mask, heads, kv_heads, queries, keys, multiprocessors, ..
    } = *problem;
    if !mask.is_causal() {
        return default;
    }
    let AttentionTile { queries: height, keys: step } = tile;
    let read = u64::from(kv_heads.max(1)).saturating_mul(keys_are.rows);
    if u64::from(multiprocessors) * u64::from(height) >= read {
        return Schedule::grouped(heads.max(1)).back_and_forth();
    }
    let columns = queries.div_ceil(height.max(1));
    if columns > MOST_COLUMNS {
        return default;
    }
    // Starting and storing a tile takes about as long as one step.
    let cost = |column: u32| 1 + steps(problem, step, (columns - column).saturating_mul(height));
    let costs: Vec<u32> = (0..columns).map(cost).collect();
    let of_row = keys_are.bytes.saturating_mul(u64::from(head_size) + u64::from(value_size));
    let bytes = of_row.saturating_mul(keys.into());
    let together = (CACHED / bytes.max(1)).max(1) * u64::from(heads / kv_heads.max(1)).max(1);
    let together = u32::try_from(together).unwrap_or(u32::MAX);
    order::balanced(heads, &costs, multiprocessors, together)
}

/// Returns the number of steps of `step` keys, at least 1, for the queries before `end` with a causal mask.
fn steps(problem: &AttentionProblem, step: u32, end: u32) -> u32 {
    let AttentionProblem { mask, queries, keys, .. } = *problem;
    let visible = match mask {
        AttentionMask::CausalFromEnd => end.saturating_add(keys).saturating_sub(queries).min(keys),
        _ => end.min(keys),
    };
    visible.div_ceil(step.max(1)).max(1)
}

impl AttentionBackward {
    /// Returns whether the deterministic kernels are faster for this head size of Q and K. On an H200, with head sizes greater than 128,
    /// summing dQ took longer than two additional matrix products in all but one of the measured problems.
    pub(in crate::kernels) const fn is_faster_deterministic(head_size: u32) -> bool {
        head_size > 128
    }

    /// Returns the kernels for a problem. The kernels require sm_90a; `problem.target` is ignored.
    ///
    /// If the head size of Q and K is greater than 128, [`deterministic`](Self::deterministic) is true, because the deterministic kernels
    /// are usually faster. In this case, launch the [`queries_kernel`](Self::queries_kernel) instead of the
    /// [`finish_kernel`](Self::finish_kernel).
    ///
    /// With a causal mask, KV heads are processed in groups of one or more heads. If a group contains several heads, their Q, dO and `sums`
    /// fit in half of the L2 cache of an H100. Within this limit, the group size is chosen to minimize the estimated time.
    #[must_use]
    pub fn for_problem(problem: &AttentionProblem) -> Self {
        let AttentionProblem {
            head_size,
            value_size,
            mask,
            heads,
            kv_heads,
            queries,
            keys,
            multiprocessors,
            ..
        } = *problem;
        let deterministic = Self::is_faster_deterministic(head_size);
        let backward = Self { value_size, deterministic, ..Self::new(head_size, mask) };
        if !mask.is_causal() {
            return backward;
        }
        let columns = keys.div_ceil(backward.keys());
        if columns > MOST_COLUMNS {
            return backward;
        }
        let group = (heads / kv_heads.max(1)).max(1);
        // Starting and storing a tile takes about as long as two steps.
        let cost = |column: u32| {
            let first = column * backward.keys();
            let rows = match mask {
                AttentionMask::CausalFromEnd => queries.min(keys.saturating_sub(first)),
                _ => queries.saturating_sub(first),
            };
            group.saturating_mul(rows.div_ceil(64).max(1)).saturating_add(2)
        };
        let costs: Vec<u32> = (0..columns).map(cost).collect();
        // Q and dO have 2-byte elements, and sums are 4 bytes each.
        let of_row = 6 * u64::from(head_size) + 2 * u64::from(value_size);
        let bytes = of_row.saturating_mul(queries.into()).saturating_mul(group.into());
        let together = u32::try_from(CACHED / bytes.max(1)).unwrap_or(u32::MAX).max(1);
        Self { schedule: order::balanced(kv_heads, &costs, multiprocessors, together), ..backward }
    }
}
