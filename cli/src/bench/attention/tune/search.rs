//! The search for the fastest kernel of a problem.

use warpwright::{
    gpu::Gpu,
    kernels::{
        Attention, AttentionEntry, AttentionMask, AttentionOverlap, AttentionProblem, AttentionTile,
        ProductOrder, ScaledAttention,
    },
    tiles::Schedule,
};

use super::{Dtype, Sizes};
use crate::bench::{
    Fallible,
    attention::{problem, scaled},
    samples::{Samples, order},
};

/// A kernel for a problem.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    tile: AttentionTile,
    schedule: Schedule,
    overlap: AttentionOverlap,
}

/// The number of samples of each kernel in the first round, and of the fastest kernels with each order of tiles in the second; and the
/// number of launches before them.
const ROUNDS: [usize; 2] = [5, 11];
const WARM_UP: usize = 2;
/// The maximum time of kernels in the second round, relative to the fastest kernel, and the maximum number of these kernels.
const NEAR: f64 = 1.05;
const MOST: usize = 3;
/// The numbers of heads per group.
const GROUPS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Returns the fastest kernel for a problem.
pub(super) fn fastest(
    gpu: &Gpu,
    dtype: Dtype,
    sizes: Sizes,
    problem: &AttentionProblem,
) -> Fallible<AttentionEntry> {
    let mut times = |candidates: &[Candidate], rounds| match dtype {
        Dtype::Bf16 => {
            let kernel = |candidate: &Candidate| candidate.attention(problem);
            let kernels: Vec<_> =
                candidates.iter().map(|candidate| (format!("{candidate:?}"), kernel(candidate))).collect();
            let mut problem = problem::Problem::new(gpu, sizes, &kernels)?;
            medians(candidates.len(), rounds, |at| problem.time(at))
        }
        Dtype::E4m3 => {
            let kernels: Vec<_> = candidates.iter().map(|candidate| candidate.scaled(problem)).collect();
            let mut problem = scaled::Problem::without_transpose(gpu, sizes, &kernels)?;
            medians(candidates.len(), rounds, |at| problem.time(at))
        }
    };
    search(&candidates(dtype, problem), |kernel| in_orders(kernel, problem), &mut times).map(
        |(Candidate { tile, schedule, overlap }, micros)| {
            let element = if dtype == Dtype::E4m3 { "e4m3" } else { "bf16" };
            AttentionEntry { element: element.into(), problem: *problem, tile, schedule, overlap, micros }
        },
    )
}

/// Times all candidates, and then the fastest of them with several orders of tiles. Returns the fastest kernel with its time.
fn search(
    candidates: &[Candidate],
    in_orders: impl Fn(Candidate) -> Vec<Candidate>,
    times: &mut impl FnMut(&[Candidate], usize) -> Fallible<Vec<f64>>,
) -> Fallible<(Candidate, f64)> {
    if candidates.is_empty() {
        return Err("no kernel supports the head sizes".into());
    }
    let mut sorted = |candidates: &[Candidate], rounds| -> Fallible<Vec<(Candidate, f64)>> {
        let mut timed: Vec<_> = candidates.iter().copied().zip(times(candidates, rounds)?).collect();
        timed.sort_by(|a, b| a.1.total_cmp(&b.1));
        Ok(timed)
    };
    let first = sorted(candidates, ROUNDS[0])?;
    let least = first.first().map_or(f64::NAN, |(_, micros)| *micros);
    let near = first.into_iter().take_while(|(_, micros)| *micros <= least * NEAR).take(MOST);
    let second: Vec<_> = near.flat_map(|(kernel, _)| in_orders(kernel)).collect();
    let second = sorted(&second, ROUNDS[1])?;
    second.into_iter().next().ok_or_else(|| "no kernel was timed".into())
}

/// Returns the kernels with all tiles and, for e4m3, each order of products.
fn candidates(dtype: Dtype, problem: &AttentionProblem) -> Vec<Candidate> {
    let AttentionProblem { target, head_size, value_size, .. } = *problem;
    match dtype {
        Dtype::Bf16 => AttentionTile::all(target, head_size, value_size)
            .map(|tile| {
                let Attention { schedule, .. } = Attention::for_tile(problem, tile);
                Candidate { tile, schedule, overlap: AttentionOverlap::default() }
            })
            .collect(),
        Dtype::E4m3 => ScaledAttention::tiles(head_size)
            .flat_map(|tile| {
                let ScaledAttention { schedule, .. } = ScaledAttention::for_tile(problem, tile);
                ProductOrder::ALL.map(|order| {
                    let overlap = AttentionOverlap { order, rounds_early: true };
                    Candidate { tile, schedule, overlap }
                })
            })
            .collect(),
    }
}

/// Returns a kernel with several orders of tiles, starting with the order estimated to be best.
fn in_orders(kernel: Candidate, problem: &AttentionProblem) -> Vec<Candidate> {
    let mut kernels = vec![kernel];
    if problem.mask != AttentionMask::Full {
        for group in GROUPS.into_iter().filter(|group| *group < problem.heads).chain([problem.heads]) {
            let schedule = Schedule::grouped(group);
            for schedule in [schedule, schedule.back_and_forth()] {
                if schedule != kernel.schedule {
                    kernels.push(Candidate { schedule, ..kernel });
                }
            }
        }
    }
    kernels
}

impl Candidate {
    fn attention(&self, problem: &AttentionProblem) -> Attention {
        Attention { schedule: self.schedule, ..Attention::for_tile(problem, self.tile) }
    }

    fn scaled(&self, problem: &AttentionProblem) -> ScaledAttention {
        let Self { tile, schedule, overlap } = *self;
        ScaledAttention { schedule, overlap, ..ScaledAttention::for_tile(problem, tile) }
    }
}

/// Times `count` kernels in turn, and returns the medians.
fn medians(count: usize, rounds: usize, mut time: impl FnMut(usize) -> Fallible<f64>) -> Fallible<Vec<f64>> {
    let mut micros = vec![Vec::new(); count];
    for (sample, at) in order(WARM_UP + rounds, count).into_iter().enumerate() {
        let time = time(at)?;
        if sample >= WARM_UP * count {
            micros[at].push(time);
        }
    }
    Ok(micros.into_iter().map(|micros| Samples::new(micros).median()).collect())
}

#[cfg(test)]
mod tests {
    use super::{
        AttentionMask, AttentionProblem, Candidate, Dtype, ProductOrder, Schedule, candidates, in_orders,
        search,
    };
    use warpwright::ptx::Target;

    const PROBLEM: AttentionProblem = AttentionProblem {
        target: Target::SM_90A,
        head_size: 128,
        value_size: 128,
        mask: AttentionMask::Causal,
        heads: 12,
        kv_heads: 12,
        queries: 4096,
        keys: 4096,
        multiprocessors: 132,
    };

    #[test]
    fn the_fastest_tile_and_order_are_found() {
        let micros = |kernel: &Candidate| {
            let of_tile = match kernel.tile.keys {
                192 => 100.0,
                160 => 103.0,
                _ => 200.0,
            };
            let of_products = if kernel.overlap.order == ProductOrder::InTurn { 0.0 } else { 2.0 };
            of_tile + of_products + if kernel.schedule == Schedule::grouped(4) { -0.5 } else { 0.0 }
        };
        let mut rounds = Vec::new();
        let all = candidates(Dtype::E4m3, &PROBLEM);
        let mut times = |kernels: &[Candidate], _: usize| {
            rounds.push(kernels.len());
            Ok(kernels.iter().map(micros).collect())
        };
        let (kernel, micros) =
            search(&all, |kernel| in_orders(kernel, &PROBLEM), &mut times).expect("one is the fastest");
        assert_eq!((kernel.tile.keys, kernel.overlap.order), (192, ProductOrder::InTurn));
        assert_eq!((kernel.schedule, micros), (Schedule::grouped(4), 99.5));
        assert_eq!(rounds[0], all.len());
        // Three kernels, each with groups of 1, 2, 4, 8 and 12 heads in both orders, except the combination that was timed before.
        assert_eq!(rounds[1], 3 * 10);
    }

    #[test]
    fn without_a_mask_the_order_is_fixed() {
        let problem = AttentionProblem { mask: AttentionMask::Full, ..PROBLEM };
        for kernel in candidates(Dtype::Bf16, &problem) {
            assert_eq!(in_orders(kernel, &problem), [kernel]);
        }
        let unsupported = AttentionProblem { head_size: 100, ..problem };
        let none =
            search(&candidates(Dtype::Bf16, &unsupported), |kernel| vec![kernel], &mut |_, _| Ok(vec![]));
        assert_eq!(none.expect_err("there is no kernel").to_string(), "no kernel supports the head sizes");
    }
}
