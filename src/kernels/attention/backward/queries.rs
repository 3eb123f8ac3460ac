//! The kernel that computes dQ without accumulating it in memory.

use std::f32::consts::LOG2_E;

use super::{
    AttentionBackward,
    inputs::{Heads, Inputs},
};
use crate::{
    kernels::attention::{dropout::HeadDropout, visible::Visible},
    ptx::{self, Builder, Global, Ptr, Val, Write},
    tensor::TensorElement,
    tiles::{ColVec, Consumer, Convert, Filled, Product, Ring, Rt, SharedMatrix, St, consumers, producer},
};

/// The number of consumer warpgroups, each of which processes 64 queries.
const C: usize = 2;
/// The number of subtiles of queries in a tile.
const M: usize = 4 * C;
const QUERIES: u32 = 16 * M as u32;
/// The number of stages of keys and of values.
const STAGES: usize = 2;

/// dQ, and its strides.
pub(super) type Output<'k, T> = (Ptr<'k, T, Global, Write>, [Val<'k, u32>; 3]);

type Stages<'k, T, const D: usize, const E: usize, const N: usize> =
    Ring<'k, (St<'k, T, N, D>, St<'k, T, N, E>), STAGES, C>;

/// Emits the kernel for rows of `D` subtiles of Q and K and of `E` subtiles of V and dO.
///
/// A resident block processes tiles of 128 queries, 64 per warpgroup, in steps of `N` subtiles of keys. dS remains in registers and is used
/// as a left operand.
pub(super) fn queries<'k, T, const D: usize, const E: usize, const N: usize>(
    k: Builder<'k>,
    inputs: Inputs<'k, T>,
    (dq, strides): Output<'k, T>,
    backward: &AttentionBackward,
) where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    k.block([128 * (1 + C as u32)]);
    let d = 16 * D as u32;
    let matrices = Heads::new(k, &inputs, [d, 16 * E as u32]);
    let (scale, sizes) = (inputs.scale, inputs.sizes);
    let heads = sizes.heads();
    let results = matrices.sequences.matrices(dq, [heads, sizes.queries], d, strides);

    let columns = sizes.longest.ceil_div(QUERIES);
    let tiles = k.persistent(backward.schedule, sizes.batches * heads, columns);
    let query_ring = k.ring::<(St<T, M, D>, St<T, M, E>), 1, C>();
    let key_ring: Stages<'k, T, D, E, N> = k.ring();
    let outbox = k.outbox::<T, 2, 1, C>().by_threads(matrices.sequences.are_packed());

    let each_tile = |each: &dyn Fn(_, _, Val<'k, u32>, Visible<'k>)| {
        tiles.each(|row, column| {
            let heads = sizes.heads();
            let (sequence, head) = (matrices.sequences.sequence(row / heads), row % heads);
            let (queries, keys) = (sequence.queries, sequence.keys);
            let visible = Visible { mask: backward.mask, queries, keys, step: 16 * N as u32, heads: 1 };
            let tile = visible.tile(column, columns);
            sequence.if_has(k, tile * QUERIES, queries, || each(sequence, head, tile, visible));
        });
    };
    k.specialize(
        producer(40, |p| {
            each_tile(&|sequence, head, tile, visible| {
                let of_head = matrices.head(sequence, head);
                p.fill(&query_ring, |stage| stage.fill((of_head.q.tile(tile, 0), of_head.d_o.tile(tile, 0))));
                let [keys, values] = matrices.keys(sequence, head / sizes.group);
                let range = visible.range(tile * QUERIES, (tile + 1) * QUERIES);
                k.for_(ptx::Steps::new(range.first, range.end), |j| {
                    p.fill(&key_ring, |stage| stage.fill((keys.tile(j, 0), values.tile(j, 0))));
                });
            });
        }),
        consumers::<C, _>(232, |c| {
            each_tile(&|sequence, head, tile, visible| {
                let range = visible.range(tile * QUERIES, (tile + 1) * QUERIES);
                let block = tile * C as u32 + c.rank();
                let warp = block * 4 + c.warp();
                let stage = c.receive(&query_ring);
                let (q, d_o) = stage.tiles();
                let [exponents, deltas] = matrices.head(sequence, head).of_rows(warp);
                let group = Warpgroup {
                    c,
                    q: q.rows(c.rank()),
                    d_o: d_o.rows(c.rank()),
                    exponents,
                    deltas,
                    keys: &key_ring,
                    dropout: matrices.dropout(sequence, head),
                    visible,
                    factor: scale * LOG2_E,
                    query: warp * 16,
                };
                let mut dq = group.step(range.first, true, k.zeros());
                if let Some(steps) = range.begun() {
                    dq = k.fold(steps, dq, |j, dq| group.step(j, true, dq));
                }
                let dq = k.fold(range.whole(), dq, |j, dq| group.step(j, false, dq));
                let dq = k.fold(range.ended(), dq, |j, dq| group.step(j, true, dq));
                c.release(&query_ring, stage);
                let rows = [sequence.first_query, sequence.queries];
                let matrix = sequence.only(&results, head, rows, d);
                c.store(&outbox, [dq * scale], |_| matrix.tile(block, 0));
            });
        }),
    );
}

/// The inputs of a warpgroup.
struct Warpgroup<'a, 'k, T: TensorElement, const D: usize, const E: usize, const N: usize> {
    c: Consumer<'k, C>,
    q: SharedMatrix<'k, T, 4, D>,
    d_o: SharedMatrix<'k, T, 4, E>,
    exponents: ColVec<'k, f32, 1>,
    deltas: ColVec<'k, f32, 1>,
    keys: &'a Stages<'k, T, D, E, N>,
    dropout: Option<HeadDropout<'k>>,
    visible: Visible<'k>,
    /// The scale factor for scores in the base-2 exponents of weights.
    factor: Val<'k, f32>,
    /// The first query of the warp.
    query: Val<'k, u32>,
}

impl<'k, T, const D: usize, const E: usize, const N: usize> Warpgroup<'_, 'k, T, D, E, N>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    /// Adds the products of step `j`. If `masked` is true, some keys may not be visible.
    #[track_caller]
    fn step(&self, j: Val<'k, u32>, masked: bool, dq: Rt<'k, f32, 1, D>) -> Rt<'k, f32, 1, D> {
        let Self { c, visible, query, .. } = *self;
        let group = c.group();
        let stage = c.receive(self.keys);
        let (keys, values): &(Filled<St<'k, T, N, D>>, Filled<St<'k, T, N, E>>) = stage.tiles();
        let scores = group.accumulate_from_zero::<Rt<f32, 1, N>>().mma_abt(self.q, keys);
        let dp = group.accumulate_from_zero::<Rt<f32, 1, N>>().mma_abt(self.d_o, values);
        let scores = scores.wait();
        let scores = if masked { visible.only(scores, query, j) } else { scores };
        let p = scores.mul_add(self.factor, &self.exponents).exp2();
        let dp = dp.wait();
        let ds = match self.dropout {
            Some(dropout) => {
                let p = dropout.mark(p, [query / 16, j * N as u32]);
                dropout.of_scores(dp, &p, &self.deltas)
            }
            None => (dp - &self.deltas) * &p,
        };
        let dq = group.accumulate(dq).mma_ab(ds.convert::<T>(), keys).wait();
        c.release(self.keys, stage);
        dq
    }
}
