//! Products of matrices on Hopper.

use crate::{
    ptx::{BuildError, In, Kernel, Out, Target, bf16},
    tiles::{Rt, Schedule, St, consumers, producer, row_major},
};

/// A, B, D, m, n, k.
pub type GemmArgs = (In<bf16>, In<bf16>, Out<bf16>, u32, u32, u32);

/// Returns D = A·Bᵀ: A m×k, B n×k, D m×n, in row-major order, accumulated in f32.
///
/// A block stays resident on each multiprocessor and computes tiles of `M`×`N` subtiles. One thread loads `STAGES` stages of A and B
/// ahead; `C` warpgroups multiply `R` rows of subtiles each, `H` blocks of 64 rows, and store their results through `SLOTS` slots of `W`
/// columns of subtiles while the next tile is loaded. The blocks of a cluster share tiles of A and B.
///
/// # Errors
/// If the tiles do not fit in shared memory.
pub fn gemm<
    const M: usize,
    const R: usize,
    const H: usize,
    const N: usize,
    const STAGES: usize,
    const C: usize,
    const W: usize,
    const SLOTS: usize,
>(
    cluster: u32,
    schedule: Schedule,
) -> Result<Kernel<GemmArgs>, BuildError> {
    const { assert!(M == R * C && R == 4 * H, "each consumer multiplies `H` blocks of 64 rows") }
    Kernel::<GemmArgs>::build("gemm(a, b, d, m, n, k)", Target::SM_90A, |k, (a, b, d, m, n, depth)| {
        k.block([128 * (1 + C as u32)]);
        if cluster > 1 {
            k.cluster([cluster]);
        }
        let (a, b) = (k.global(a, row_major(m, depth)), k.global(b, row_major(n, depth)));
        let d = k.global(d, row_major(m, n));
        let tiles = k.persistent(schedule, m.ceil_div(16 * M as u32), n.ceil_div(16 * N as u32));
        let steps = depth.ceil_div(64);
        let ring = k.ring::<(St<bf16, M, 4>, St<bf16, N, 4>), STAGES, C>();
        let outbox = k.outbox::<bf16, W, SLOTS, C>();

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
            consumers::<C, _>(232, |c| {
                tiles.each(|i, j| {
                    let zeros = [(); H].map(|()| k.zeros::<Rt<f32, 1, N>>());
                    let sums =
                        c.run(&ring, steps, zeros, |sums, (a, b)| sums.mma_abt(a.rows::<R>(c.rank()), b));
                    let first = (i * C as u32 + c.rank()) * H as u32;
                    c.store(&outbox, &sums, |block| d.tile(first + block, j));
                });
            }),
        );
    })
}

/// Like [`gemm`], but two warpgroups take turns: each computes tiles of 128 rows and `N` subtiles of columns, and stores its result
/// while the other multiplies.
///
/// # Errors
/// If the tiles do not fit in shared memory.
pub fn gemm_in_turns<const N: usize, const STAGES: usize, const W: usize, const SLOTS: usize>(
    cluster: u32,
    schedule: Schedule,
) -> Result<Kernel<GemmArgs>, BuildError> {
    Kernel::<GemmArgs>::build("gemm(a, b, d, m, n, k)", Target::SM_90A, |k, (a, b, d, m, n, depth)| {
        k.block([384]);
        if cluster > 1 {
            k.cluster([cluster]);
        }
        let (a, b) = (k.global(a, row_major(m, depth)), k.global(b, row_major(n, depth)));
        let d = k.global(d, row_major(m, n));
        let tiles = k.persistent(schedule, m.ceil_div(128), n.ceil_div(16 * N as u32));
        let steps = depth.ceil_div(64);
        let ring = k.ring::<(St<bf16, 8, 4>, St<bf16, N, 4>), STAGES, 1>();
        let (turns, outbox) = (k.turns::<2>(), k.outbox::<bf16, W, SLOTS, 2>());

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
            consumers::<2, _>(232, |c| {
                tiles.each_in_turn(c, |turn, i, j| {
                    let zeros = [(); 2].map(|()| k.zeros::<Rt<f32, 1, N>>());
                    let sums =
                        c.run_in_turn(&turns, turn, &ring, steps, zeros, |sums, (a, b)| sums.mma_abt(a, b));
                    c.store(&outbox, &sums, |block| d.tile(i * 2 + block, j));
                });
            }),
        );
    })
}
