//! The order of tiles that is selected for a problem.

use proptest::prelude::*;
use warpwright::{
    kernels::{Attention, AttentionMask, AttentionProblem, AttentionTile, ScaledAttention},
    ptx::Target,
    tiles::Schedule,
};

/// Returns the number of steps of the busiest block, relative to the mean; each tile takes one additional step, to start and to store.
fn imbalance(problem: &AttentionProblem, tile: AttentionTile, schedule: Schedule) -> f64 {
    let AttentionProblem { heads, queries, keys, multiprocessors, .. } = *problem;
    let (height, step) = (tile.queries, tile.keys);
    let columns = queries.div_ceil(height);
    let blocks = multiprocessors.min(heads * columns);
    let mut work = vec![0; blocks as usize];
    for number in 0..heads * columns {
        let (_, column) = schedule.tile(number, heads, columns);
        // The last tiles are first. Rows past the last query take steps, too.
        let end = (columns - column) * height;
        let visible = match problem.mask {
            AttentionMask::Full => keys,
            AttentionMask::Causal => keys.min(end),
            _ => (end + keys).saturating_sub(queries).min(keys),
        };
        work[schedule.block(number, blocks) as usize] += visible.div_ceil(step).max(1) + 1;
    }
    let total: u32 = work.iter().sum();
    f64::from(*work.iter().max().expect("a block")) * f64::from(blocks) / f64::from(total)
}

fn problem(head_size: u32, heads: u32, length: u32) -> AttentionProblem {
    AttentionProblem {
        target: Target::SM_90A,
        head_size,
        value_size: head_size,
        mask: AttentionMask::Causal,
        heads,
        kv_heads: heads,
        queries: length,
        keys: length,
        multiprocessors: 132,
    }
}

/// Without `wgmma`, the steps with more keys are faster.
#[test]
fn steps_have_more_keys_without_wgmma() {
    for (head_size, expected) in [(64, [64, 64]), (128, [128, 64]), (256, [64, 32])] {
        let problem = AttentionProblem { target: Target::SM_80, ..problem(head_size, 16, 4096) };
        let AttentionTile { queries, keys } = Attention::for_problem(&problem).tile;
        assert_eq!([queries, keys], expected, "head size {head_size}");
    }
}

/// The problems of the benchmark.
#[test]
fn long_sequences_are_balanced() {
    for (head_size, heads, length, most) in
        [(128, 128, 4096, 1.005), (128, 32, 16384, 1.02), (64, 256, 4096, 1.01), (64, 64, 16384, 1.02)]
    {
        let problem = problem(head_size, heads, length);
        let attention = Attention::for_problem(&problem);
        let found = imbalance(&problem, attention.tile, attention.schedule);
        assert!(found < most, "{problem:?}: {found}");
        for tile in ScaledAttention::tiles(head_size) {
            let attention = ScaledAttention::for_tile(&problem, tile);
            let found = imbalance(&problem, tile, attention.schedule);
            assert!(found < most + 0.01, "{attention:?}: {found}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// All heads are in one group if enough tiles in progress read the same keys. Otherwise, no schedule whose group is one head, or all heads
    /// if their keys and values are cached, is better.
    #[test]
    fn no_simple_order_is_faster(
        head_size in prop::sample::select(vec![64u32, 128]),
        from_end in any::<bool>(),
        heads in 1u32..150,
        queries in 1u32..3000,
        keys in 1u32..3000,
        multiprocessors in 1u32..150,
    ) {
        let mask = if from_end { AttentionMask::CausalFromEnd } else { AttentionMask::Causal };
        let problem = AttentionProblem { mask, queries, keys, multiprocessors, ..problem(head_size, heads, 1) };
        let chosen = Attention::for_problem(&problem);
        if multiprocessors * chosen.tile.queries >= 300 * heads {
            prop_assert_eq!(chosen.schedule, Schedule::grouped(heads).back_and_forth());
            return Ok(());
        }
        let found = imbalance(&problem, chosen.tile, chosen.schedule);
        let cached = u64::from(heads) * u64::from(keys) * u64::from(head_size) * 4 <= 25 << 20;
        let groups = if cached { vec![1, heads] } else { vec![1] };
        for schedule in groups.into_iter().map(Schedule::grouped) {
            for schedule in [schedule, schedule.back_and_forth()] {
                let other = imbalance(&problem, chosen.tile, schedule);
                prop_assert!(found <= other + 1e-9, "{problem:?}: {found}, {schedule:?} {other}");
            }
        }
    }
}
