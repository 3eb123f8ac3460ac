//! D = A·Bᵀ with a ring between a producer and consumers, in every way of consuming it.

use warpwright::{
    prelude::*,
    run::{Device, Launched, RunError, Simulator},
    tiles::{Consumer, Ring, Schedule, consumers, producer},
};

use super::problem::{Problem, assert_same, numbers, transposed, typed};

/// A m×k, B n×k, D m×n, m, n, k.
pub(super) type Args = (In<bf16>, In<bf16>, Out<f32>, u32, u32, u32);

/// The method by which consumers process the stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// `Consumer::run`.
    Run,
    /// `Consumer::each`.
    Each,
    /// `Consumer::receive` and `Consumer::release`.
    Receive,
}

type Sum<'k> = Rt<'k, f32, 1, 4>;
type Stages<'k, const M: usize, const N: usize, const C: usize> =
    Ring<'k, (St<'k, bf16, M, 4>, St<'k, bf16, 4, 4>), N, C>;

/// The blocks of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub(super) cluster: u32,
    pub(super) schedule: Schedule,
}

impl Blocks {
    pub(super) const ALONE: Self = Self { cluster: 1, schedule: Schedule::linear() };
}

/// Builds the kernel with tiles of 16·`M`×64, 64 rows for each of `C` consumers, and `N` stages.
pub(super) fn kernel<const M: usize, const N: usize, const C: usize>(
    how: How,
    blocks: Blocks,
) -> Kernel<Args> {
    const { assert!(M == 4 * C) }
    let kernel =
        Kernel::<Args>::build("gemm(a, b, d, m, n, k)", Target::SM_90A, |k, (a, b, d, m, n, depth)| {
            k.block([128 * (1 + C as u32)]);
            if blocks.cluster > 1 {
                k.cluster([blocks.cluster]);
            }
            let (a, b) = (k.global(a, row_major(m, depth)), k.global(b, row_major(n, depth)));
            let d = k.global(d, row_major(m, n));
            let tiles = k.persistent(blocks.schedule, m.ceil_div(16 * M as u32), n.ceil_div(64));
            let steps = depth.ceil_div(64);
            let ring: Stages<'_, M, N, C> = k.ring();
            k.specialize(
                producer(40, |p| {
                    tiles.each(|i, j| {
                        p.run(&ring, steps, |step, stage| {
                            stage.fill((
                                a.tile(i, step).multicast(tiles.same_row()),
                                b.tile(j, step).multicast(tiles.same_col()),
                            ))
                        });
                    });
                }),
                consumers::<C, _>(160, |c| {
                    tiles.each(|i, j| {
                        let sum = multiply(k, how, c, &ring, steps);
                        d.tile_of(c.group(), i * C as u32 + c.rank(), j).store(&sum);
                    });
                }),
            );
        });
    let kernel = kernel.unwrap();
    crate::assemble::kernel(&kernel);
    kernel
}

/// The sum over all stages of one tile.
fn multiply<'k, const M: usize, const N: usize, const C: usize>(
    k: Builder<'k>,
    how: How,
    c: Consumer<'k, C>,
    ring: &Stages<'k, M, N, C>,
    steps: Val<'k, u32>,
) -> Sum<'k> {
    let (group, zeros) = (c.group(), k.zeros::<Sum<'k>>());
    match how {
        How::Run => c.run(ring, steps, zeros, |sum, (a, b)| sum.mma_abt(a.rows::<4>(c.rank()), b)),
        How::Each => c.each(ring, steps, zeros, |_, sum, (a, b)| {
            group.accumulate(sum).mma_abt(a.rows::<4>(c.rank()), b).wait()
        }),
        How::Receive => k.fold(steps, zeros, |_, sum| {
            let stage = c.receive(ring);
            let (a, b) = stage.tiles();
            let sum = group.accumulate(sum).mma_abt(a.rows::<4>(c.rank()), b).wait();
            c.release(ring, stage);
            sum
        }),
    }
}

/// Builds the kernel with `C` consumers that take turns: each computes tiles of 64×64, with `N` stages.
pub(super) fn in_turns<const N: usize, const C: usize>(blocks: Blocks) -> Kernel<Args> {
    let kernel =
        Kernel::<Args>::build("gemm(a, b, d, m, n, k)", Target::SM_90A, |k, (a, b, d, m, n, depth)| {
            k.block([128 * (1 + C as u32)]);
            if blocks.cluster > 1 {
                k.cluster([blocks.cluster]);
            }
            let (a, b) = (k.global(a, row_major(m, depth)), k.global(b, row_major(n, depth)));
            let d = k.global(d, row_major(m, n));
            let tiles = k.persistent(blocks.schedule, m.ceil_div(64), n.ceil_div(64));
            let steps = depth.ceil_div(64);
            let ring: Stages<'_, 4, N, 1> = k.ring();
            let turns = k.turns::<C>();
            k.specialize(
                producer(40, |p| {
                    tiles.each(|i, j| {
                        p.run(&ring, steps, |step, stage| {
                            stage.fill((
                                a.tile(i, step).multicast(tiles.same_row()),
                                b.tile(j, step).multicast(tiles.same_col()),
                            ))
                        });
                    });
                }),
                consumers::<C, _>(152, |c| {
                    tiles.each_in_turn(c, |turn, i, j| {
                        let zeros = k.zeros::<Sum<'_>>();
                        let sum =
                            c.run_in_turn(&turns, turn, &ring, steps, zeros, |sum, (a, b)| sum.mma_abt(a, b));
                        d.tile_of(c.group(), i, j).store(&sum);
                    });
                }),
            );
        });
    let kernel = kernel.unwrap();
    crate::assemble::kernel(&kernel);
    kernel
}

/// Launches the kernel for a problem. D has no gaps, and must be written completely.
pub(super) fn launch(
    device: &(impl Device + ?Sized),
    kernel: &Kernel<Args>,
    problem: &Problem,
) -> Result<(Vec<f64>, Launched), RunError> {
    let Problem { m, n, depth, ref a, ref b, .. } = *problem;
    let a = device.upload(&typed::<bf16>(a))?;
    let b = device.upload(&typed::<bf16>(&transposed(b, depth, n)))?;
    let mut d = device.upload(&vec![f32::NAN; m * n])?;
    let launched = device.launch(kernel, (&a, &b, &mut d, m as u32, n as u32, depth as u32))?;
    Ok((numbers(device.download(&d)?), launched))
}

/// Runs the kernel on every device, and in simulators with fewer multiprocessors.
#[track_caller]
pub(super) fn check(what: &str, kernel: &Kernel<Args>, sizes: &[[usize; 3]]) {
    for &[m, n, depth] in sizes {
        let problem = Problem::new::<bf16, bf16>(m, n, depth);
        let expected = problem.product();
        let what = |device: &dyn std::fmt::Display| format!("{what}, {m}×{n}×{depth} on {device}");
        for multiprocessors in [1, 2, 5] {
            let device = Simulator::new().multiprocessors(multiprocessors);
            let (found, _) = launch(&device, kernel, &problem).unwrap_or_else(|error| {
                panic!("{}: {error}", what(&format!("{multiprocessors} multiprocessors")))
            });
            assert_same(&what(&format!("{multiprocessors} multiprocessors")), &found, &expected, n);
        }
        if let Some(gpu) = crate::devices::gpu() {
            let (found, _) = launch(&gpu, kernel, &problem).unwrap_or_else(|error| panic!("{error}"));
            assert_same(&what(&"the GPU"), &found, &expected, n);
        }
    }
}
