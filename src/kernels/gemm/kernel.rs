//! The GEMM kernel, tile by tile.

use super::{GemmSum, activation::activated, problem::Problem, stages::Stages};
use crate::{
    tensor::TensorElement,
    tiles::{Convert, Product, Rt, consumers, producer},
};

/// Each resident block computes tiles of `M`×`N` subtiles. One thread loads `STAGES` stages ahead, each `K` subtiles deep. Two warpgroups
/// take turns: while one multiplies, in `H` blocks of 64 rows, the other stores its result through `SLOTS` slots of `W` columns of
/// subtiles. The blocks of a cluster share tiles of A and B.
#[rustfmt::skip]
#[track_caller]
pub(super) fn in_turns<
    'k, S, T, C, D,
    const M: usize, const N: usize, const K: usize, const H: usize, const STAGES: usize, const W: usize, const SLOTS: usize,
>(
    problem: &Problem<'k, T, D>,
) where
    S: Stages<'k, T, C, M, N, K, H>,
    T: TensorElement + Product<T, C>,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: TensorElement + Convert<f32>,
    f32: Convert<D>,
{
    let (k, [height, _]) = (problem.k, problem.gemm.tile.size());
    problem.launch(384);
    let tiles = problem.tiles(height, 16 * N as u32);
    let steps = problem.size[2].ceil_div(K as u32 * T::SUBTILE_LENGTH);
    let ring = problem.prepared(tiles.ring::<S::Tiles, STAGES, 1>());
    let (turns, outbox) = (k.turns::<2>(), problem.outbox::<W, SLOTS, 2>());
    k.programmatic_launch();

    k.specialize(
        producer(40, |p| {
            tiles.each(|i, j| {
                let (factors, i) = problem.factors(i, height);
                p.run(&ring, steps, |step, stage| S::fill(stage, &factors, tiles, [i, j, step]));
            });
        }),
        consumers::<2, _>(232, |c| {
            tiles.each_in_turn(c, |turn, i, j| {
                let zeros = [(); H].map(|()| k.zeros::<Rt<C, 1, N>>());
                let sums = c.run_in_turn(&turns, turn, &ring, steps, zeros, S::multiply);
                problem.store(c, &outbox, sums, [i, j]);
            });
        }),
    );
}

/// For results of few tiles: the `PARTS` blocks of a cluster compute one tile of `M`×`N` subtiles, each a part of the steps along k.
/// They add up their sums, each for `P` = `N`/`PARTS` columns of subtiles, which it stores in units of `W`.
#[rustfmt::skip]
#[track_caller]
pub(super) fn split<
    'k, S, T, C, D,
    const M: usize, const N: usize, const K: usize, const H: usize, const STAGES: usize, const PARTS: usize, const P: usize, const W: usize,
>(
    problem: &Problem<'k, T, D>,
) where
    S: Stages<'k, T, C, M, N, K, H>,
    T: TensorElement + Product<T, C>,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: TensorElement + Convert<f32>,
    f32: Convert<D>,
{
    let (k, [height, _]) = (problem.k, problem.gemm.tile.size());
    problem.launch(256);
    let tiles = problem.tiles(height, 16 * N as u32);
    let ring = problem.prepared(tiles.ring::<S::Tiles, STAGES, 1>());
    let (shares, outbox) = (tiles.reduce_scatter::<C, H, N, P>(), problem.outbox::<W, 1, 1>());
    let part = tiles.part();
    let (first, count) = part.of(problem.size[2].ceil_div(K as u32 * T::SUBTILE_LENGTH));
    k.programmatic_launch();

    k.specialize(
        producer(40, |p| {
            tiles.each(|i, j| {
                let (factors, i) = problem.factors(i, height);
                p.run(&ring, count, |step, stage| S::fill(stage, &factors, tiles, [i, j, first + step]));
            });
        }),
        consumers::<1, _>(232, |c| {
            tiles.each(|i, j| {
                let zeros = [(); H].map(|()| k.zeros::<Rt<C, 1, N>>());
                let sums = c.run(&ring, count, zeros, S::multiply);
                let sums = c.reduce_scatter(&shares, sums);
                problem.store(c, &outbox, sums, [i, j * PARTS as u32 + part.rank()]);
            });
        }),
    );
}

/// D = f(A·B₁) ⊙ (A·B₂), like [`in_turns`]: of a tile's `N` columns of subtiles, the left half is of B₁, the right one, `G` columns, of B₂.
#[rustfmt::skip]
#[track_caller]
pub(super) fn gated<
    'k, S, T, C, D,
    const M: usize, const N: usize, const G: usize, const K: usize, const H: usize, const STAGES: usize, const W: usize,
>(
    problem: &Problem<'k, T, D>,
) where
    S: Stages<'k, T, C, M, N, K, H>,
    T: TensorElement + Product<T, C>,
    C: GemmSum + Convert<f32>,
    D: TensorElement,
    f32: Convert<D>,
{
    let (k, [height, _]) = (problem.k, problem.gemm.tile.size());
    problem.launch(384);
    let tiles = problem.tiles(height, 16 * G as u32);
    let steps = problem.size[2].ceil_div(K as u32 * T::SUBTILE_LENGTH);
    let ring = problem.prepared(tiles.ring::<S::Tiles, STAGES, 1>());
    let (turns, outbox) = (k.turns::<2>(), problem.outbox::<W, 1, 2>());
    k.programmatic_launch();

    k.specialize(
        producer(40, |p| {
            tiles.each(|i, j| {
                let (factors, i) = problem.factors(i, height);
                p.run(&ring, steps, |step, stage| S::fill(stage, &factors, tiles, [i, j, step]));
            });
        }),
        consumers::<2, _>(232, |c| {
            tiles.each_in_turn(c, |turn, i, j| {
                let zeros = [(); H].map(|()| k.zeros::<Rt<C, 1, N>>());
                let sums = c.run_in_turn(&turns, turn, &ring, steps, zeros, S::multiply);
                let products = sums.map(|sum| {
                    let [gate, up] = sum.hsplit::<G, 2>();
                    let gate = activated(problem.gemm.activation, gate.convert::<f32>());
                    gate * &up.convert::<f32>()
                });
                problem.store_products(c, &outbox, products, [i, j]);
            });
        }),
    );
}
