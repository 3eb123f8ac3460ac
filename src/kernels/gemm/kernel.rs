//! The kernels for sm_90a, which use tensor copies and `wgmma`.

use super::{GemmSum, activation::activated, problem::Problem, stages::Stages};
use crate::{
    ptx::Val,
    tensor::TensorElement,
    tiles::{Convert, Persistent, Producer, Product, Ring, Rt, StageTiles, consumers, producer},
};

/// The number of registers of a producer thread and of a consumer thread, with two consumer warpgroups.
const REGISTERS: [u32; 2] = [40, 232];
/// The same numbers with three consumer warpgroups.
const REGISTERS_OF_THREE: [u32; 2] = [32, 160];

/// Emits the kernel in which each resident block computes tiles of `M`×`N` subtiles. One thread loads ahead by up to `STAGES` stages, each
/// `K` subtiles deep. Two warpgroups take turns: while one multiplies, in `H` blocks of 64 rows, the other stores its result through
/// `SLOTS` slots of `W` columns of subtiles. The blocks of a cluster share tiles of A and B.
#[rustfmt::skip]
#[track_caller]
pub(super) fn in_turns<
    'k, S, T, C, D,
    const M: usize, const N: usize, const K: usize, const H: usize, const STAGES: usize, const W: usize, const SLOTS: usize,
>(
    problem: &Problem<'k, T, D>,
) where
    S: Stages<'k, T, C, M, M, N, K, H>,
    T: TensorElement + Product<T, C>,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: TensorElement + Convert<f32>,
    f32: Convert<D>,
{
    let k = problem.k;
    let Resident { tiles, ring, steps } = problem.resident::<S::Tiles, STAGES, 1>(384, [N, K]);
    let (turns, outbox) = (k.turns::<2>(), problem.outbox::<W, SLOTS, 2>());
    k.programmatic_launch();

    k.specialize(
        producer(REGISTERS[0], |p| fill_all::<S, T, C, D, M, M, N, K, H, STAGES, 1>(p, problem, tiles, &ring, [0.into(), steps])),
        consumers::<2, _>(REGISTERS[1], |c| {
            problem.each_in_turn(tiles, c, |turn, i, j| {
                let zeros = [(); H].map(|()| k.zeros::<Rt<C, 1, N>>());
                let sums = c.run_in_turn(&turns, turn, &ring, steps, zeros, |sums, stage| S::multiply(sums, stage, 0.into()));
                problem.store(c, &outbox, sums, (i, j));
            });
        }),
    );
}

/// Emits a kernel like that of [`in_turns`], except that `GROUPS` warpgroups compute a tile together; each computes `P` of the `M` rows of
/// subtiles. Larger tiles read less from the L2 cache, but while results are stored, the tensor cores are idle.
#[rustfmt::skip]
#[track_caller]
pub(super) fn together<
    'k, S, T, C, D,
    const GROUPS: usize, const M: usize, const P: usize, const N: usize, const K: usize, const H: usize, const STAGES: usize, const W: usize, const SLOTS: usize,
>(
    problem: &Problem<'k, T, D>,
) where
    S: Stages<'k, T, C, M, P, N, K, H>,
    T: TensorElement + Product<T, C>,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: TensorElement + Convert<f32>,
    f32: Convert<D>,
{
    let k = problem.k;
    let threads = 128 * (1 + GROUPS as u32);
    let Resident { tiles, ring, steps } = problem.resident::<S::Tiles, STAGES, GROUPS>(threads, [N, K]);
    let outbox = problem.outbox::<W, SLOTS, GROUPS>();
    let [of_producer, of_consumer] = if GROUPS == 2 { REGISTERS } else { REGISTERS_OF_THREE };
    k.programmatic_launch();

    k.specialize(
        producer(of_producer, |p| fill_all::<S, T, C, D, M, P, N, K, H, STAGES, GROUPS>(p, problem, tiles, &ring, [0.into(), steps])),
        consumers::<GROUPS, _>(of_consumer, |c| {
            tiles.each(|i, j| {
                let zeros = [(); H].map(|()| k.zeros::<Rt<C, 1, N>>());
                let sums = c.run(&ring, steps, zeros, |sums, stage| S::multiply(sums, stage, c.rank()));
                problem.store_part(c, &outbox, sums, (problem.row_of_tiles(i), j), c.rank());
            });
        }),
    );
}

/// Emits the kernel for results with few tiles, in which the `PARTS` blocks of a cluster compute one tile of `M`×`N` subtiles together,
/// each for a part of the steps along k. Each block then adds the sums of all blocks for `P` = `N`/`PARTS` columns of subtiles, and stores
/// the results, `W` columns of subtiles at a time.
#[rustfmt::skip]
#[track_caller]
pub(super) fn split<
    'k, S, T, C, D,
    const M: usize, const N: usize, const K: usize, const H: usize, const STAGES: usize, const PARTS: usize, const P: usize, const W: usize,
>(
    problem: &Problem<'k, T, D>,
) where
    S: Stages<'k, T, C, M, M, N, K, H>,
    T: TensorElement + Product<T, C>,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: TensorElement + Convert<f32>,
    f32: Convert<D>,
{
    let k = problem.k;
    let Resident { tiles, ring, steps } = problem.resident::<S::Tiles, STAGES, 1>(256, [N, K]);
    let (shares, outbox) = (tiles.reduce_scatter::<C, H, N, P>(), problem.outbox::<W, 1, 1>());
    let part = tiles.part();
    let (first, count) = part.of(steps);
    k.programmatic_launch();

    k.specialize(
        producer(REGISTERS[0], |p| fill_all::<S, T, C, D, M, M, N, K, H, STAGES, 1>(p, problem, tiles, &ring, [first, count])),
        consumers::<1, _>(REGISTERS[1], |c| {
            tiles.each(|i, j| {
                let zeros = [(); H].map(|()| k.zeros::<Rt<C, 1, N>>());
                let sums = c.run(&ring, count, zeros, |sums, stage| S::multiply(sums, stage, 0.into()));
                let sums = c.reduce_scatter(&shares, sums);
                let i = problem.row_of_tiles(i);
                problem.store(c, &outbox, sums, (i, j * PARTS as u32 + part.rank()));
            });
        }),
    );
}

/// Emits the kernel that computes D = f(A·B₁) ⊙ (A·B₂), like [`in_turns`]: of the `N` columns of subtiles of a tile, the left half are
/// products with B₁, and the right half, `G` columns, are products with B₂.
#[rustfmt::skip]
#[track_caller]
pub(super) fn gated<
    'k, S, T, C, D,
    const M: usize, const N: usize, const G: usize, const K: usize, const H: usize, const STAGES: usize, const W: usize,
>(
    problem: &Problem<'k, T, D>,
) where
    S: Stages<'k, T, C, M, M, N, K, H>,
    T: TensorElement + Product<T, C>,
    C: GemmSum + Convert<f32>,
    D: TensorElement,
    f32: Convert<D>,
{
    let k = problem.k;
    let Resident { tiles, ring, steps } = problem.resident::<S::Tiles, STAGES, 1>(384, [G, K]);
    let (turns, outbox) = (k.turns::<2>(), problem.outbox::<W, 1, 2>());
    k.programmatic_launch();

    k.specialize(
        producer(REGISTERS[0], |p| fill_all::<S, T, C, D, M, M, N, K, H, STAGES, 1>(p, problem, tiles, &ring, [0.into(), steps])),
        consumers::<2, _>(REGISTERS[1], |c| {
            problem.each_in_turn(tiles, c, |turn, i, j| {
                let zeros = [(); H].map(|()| k.zeros::<Rt<C, 1, N>>());
                let sums = c.run_in_turn(&turns, turn, &ring, steps, zeros, |sums, stage| S::multiply(sums, stage, 0.into()));
                let products = sums.map(|sum| {
                    let [gate, up] = sum.hsplit::<G, 2>();
                    let gate = activated(problem.gemm.activation, gate.convert::<f32>());
                    gate * &up.convert::<f32>()
                });
                problem.store_products(c, &outbox, products, (i, j));
            });
        }),
    );
}

/// The tiles that a resident block computes, the ring of stages for their operands, and the number of steps along k per tile.
struct Resident<'k, Tiles: StageTiles<'k>, const STAGES: usize, const GROUPS: usize> {
    tiles: Persistent<'k>,
    ring: Ring<'k, Tiles, STAGES, GROUPS>,
    steps: Val<'k, u32>,
}

impl<'k, T: TensorElement, D: TensorElement> Problem<'k, T, D> {
    /// Declares the threads, tiles and stages of a block. Tiles have `cols` columns of subtiles; stages are `depth` subtiles deep, and each
    /// is read by `GROUPS` warpgroups.
    #[track_caller]
    fn resident<Tiles: StageTiles<'k>, const STAGES: usize, const GROUPS: usize>(
        &self,
        threads: u32,
        [cols, depth]: [usize; 2],
    ) -> Resident<'k, Tiles, STAGES, GROUPS> {
        self.launch(threads);
        let [height, _] = self.gemm.tile.size();
        let tiles = self.tiles(height, 16 * cols as u32);
        let steps = self.steps(depth as u32 * T::SUBTILE_LENGTH);
        Resident { tiles, ring: self.prepared(tiles.ring()), steps }
    }
}

/// Fills the stages of all tiles: for each tile, `count` steps, starting at step `first`.
#[rustfmt::skip]
#[track_caller]
fn fill_all<
    'k, S, T, C, D,
    const M: usize, const P: usize, const N: usize, const K: usize, const H: usize, const STAGES: usize, const GROUPS: usize,
>(
    p: Producer<'k>,
    problem: &Problem<'k, T, D>,
    tiles: Persistent<'k>,
    ring: &Ring<'k, S::Tiles, STAGES, GROUPS>,
    [first, count]: [Val<'k, u32>; 2],
) where
    S: Stages<'k, T, C, M, P, N, K, H>,
    T: TensorElement,
    C: TensorElement,
    D: TensorElement,
{
    let [height, _] = problem.gemm.tile.size();
    tiles.each(|i, j| {
        let row = problem.row_of_tiles(i);
        problem.k.if_(row.exists(), || {
            let first = problem.first_step(row, height, count) + first;
            let (factors, i) = problem.factors(row, height);
            p.run(ring, count, |step, stage| S::fill(stage, &factors, tiles, [i, j, first + step]));
        });
    });
}
