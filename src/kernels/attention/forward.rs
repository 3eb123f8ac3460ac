//! The forward kernel of attention.

use std::marker::PhantomData;

use super::{
    AttentionMask, AttentionOverlap,
    dropout::HeadDropout,
    inputs::{Heads, Inputs, Sizes},
    scores::Scores,
    values::Values,
    visible::Visible,
    warpgroup::{FactorRing, Order, Queries, Warpgroup},
};
use crate::{
    ptx::{self, Builder},
    tensor::TensorElement,
    tiles::{Convert, Product, Ring, Row, Schedule, St, consumers, producer},
};

/// The properties of a kernel that are not part of its type.
pub(super) struct Shape {
    pub(super) mask: AttentionMask,
    pub(super) schedule: Schedule,
    pub(super) soft_cap: Option<f32>,
    pub(super) overlap: AttentionOverlap,
}

/// Emits the kernel for rows of `D` subtiles of Q and K and of `E` subtiles of V and O. The elements of O have type `O`; all other elements
/// have type `T`.
///
/// A resident block processes tiles of `M` subtiles of queries, 64 queries per warpgroup, with `C` warpgroups. Meanwhile, one thread loads
/// keys and values, `N` subtiles of each per step, into rings of `STAGES` stages. The tensor cores multiply the weights of one step by V
/// while a warpgroup computes the weights of the next step. Results are stored `W` columns of subtiles at a time.
pub(super) fn forward<
    'k,
    T,
    O,
    V,
    const D: usize,
    const E: usize,
    const M: usize,
    const N: usize,
    const C: usize,
    const STAGES: usize,
    const QUERIES: usize,
    const W: usize,
>(
    k: Builder<'k>,
    inputs: Inputs<'k, T, O>,
    shape: Shape,
) where
    T: TensorElement + Product<T, f32>,
    O: TensorElement,
    V: Values<'k, T, E, N>,
    f32: Convert<O>,
{
    let Shape { mask, schedule, soft_cap, overlap } = shape;
    k.block([128 * (1 + C as u32)]);
    let matrices = Heads::new(k, &inputs, T::SUBTILE_LENGTH * D as u32, 16 * E as u32);
    let is_packed = inputs.starts.is_some();
    let sizes @ Sizes { batches, longest, .. } = inputs.sizes;

    let (height, columns) = (16 * M as u32, longest.ceil_div(16 * M as u32));
    let tiles = k.persistent(schedule, batches * sizes.heads(), columns);
    let query_ring = k.ring::<(St<T, M, D>,), QUERIES, C>();
    let key_ring: FactorRing<'_, T, N, D, STAGES, C> = k.ring();
    let value_ring: Ring<'_, (V::Tile,), STAGES, C> = k.ring();
    // Tensor copies would store all rows of a tile, including those of the next sequence.
    let outbox = k.outbox::<O, W, 1, C>().by_threads(is_packed);
    let order = Order::new(k, overlap.order);
    let registers = match C {
        2 => [40, 232],
        3 => [32, 160],
        _ => [24, 112],
    };
    // A thread has 8 registers for each subtile of O and of scores, and 4 for each subtile of queries; the remaining registers contain
    // addresses and the running softmax.
    let of_weights = V::REGISTERS * if overlap.rounds_early { 2 } else { 1 };
    let is_plain = soft_cap.is_none() && inputs.slopes.is_none() && inputs.dropout.is_none();
    let in_registers = is_plain && (8 * E + 4 * D + (8 + of_weights) * N) as u32 <= registers[1] - 36;

    // Calls `each` with the sequence, the head, the tile of queries, and the visible keys.
    let each_tile = |each: &dyn Fn(_, _, _, Visible<'k>)| {
        tiles.each(|row, column| {
            let heads = sizes.heads();
            let (sequence, head) = (matrices.sequences.sequence(row / heads), row % heads);
            let (queries, keys) = (sequence.queries, sequence.keys);
            let visible = Visible { mask, queries, keys, step: 16 * N as u32, heads: 1 };
            let tile = visible.tile(column, columns);
            sequence.if_has(k, tile * height, sequence.queries, || each(sequence, head, tile, visible));
        });
    };
    k.specialize(
        producer(registers[0], |p| {
            each_tile(&|sequence, head, tile, visible| {
                let [q, keys, values] = matrices.factors(sequence, head);
                p.fill(&query_ring, |stage| stage.fill((q.tile(tile, 0),)));
                let range = visible.range(tile * height, (tile + 1) * height);
                k.for_(ptx::Steps::new(range.first, range.end), |j| {
                    p.fill(&key_ring, |stage| stage.fill((keys.tile(j, 0),)));
                    p.fill(&value_ring, |stage| V::fill(stage, &values, j));
                });
            });
        }),
        consumers::<C, _>(registers[1], |c| {
            each_tile(&|sequence, head, tile, visible| {
                let block = tile * C as u32 + c.rank();
                let warp = block * 4 + c.warp();
                let range = visible.range(block * 64, (block + 1) * 64);
                // The range is recomputed where needed rather than kept in registers.
                let of_all = || visible.range(tile * height, (tile + 1) * height);

                let stage = c.receive(&query_ring);
                let (queries, stage) = if in_registers {
                    let row = c.rank() * 4 + c.warp();
                    let queries = stage.tiles().0.subtile(row, 0).load::<1, D, Row>().frozen();
                    c.release_loaded(&query_ring, stage);
                    (Queries::Registers(queries), None)
                } else {
                    (Queries::Shared(stage.tiles().0.rows(c.rank())), Some(stage))
                };
                let dropout = matrices.dropout(sequence, head);
                let (scale, factor) = matrices.scales(sequence, head, inputs.scale);
                let factor = dropout.map(HeadDropout::scale).or(factor);
                let group = Warpgroup {
                    c,
                    queries,
                    scores: Scores { scale, soft_cap, slope: matrices.slope(head) },
                    sink: matrices.sink(head),
                    dropout,
                    factor,
                    keys: &key_ring,
                    values: &value_ring,
                    layout: PhantomData::<V>,
                    visible,
                    query: warp * 16,
                    clears_values: is_packed,
                    order: &order,
                    rounds_early: overlap.rounds_early,
                };
                if range.begun().is_some() {
                    k.for_(ptx::Steps::new(of_all().first, range.first), |j| group.skip(j));
                }
                let mut state = group.start(range.first);
                if let Some(steps) = range.begun() {
                    state = k.fold(steps, state, |j, state| group.advance(j, true, state));
                }
                let state = k.fold(range.whole(), state, |j, state| group.advance(j, false, state));
                let state = k.fold(range.ended(), state, |j, state| group.advance(j, true, state));
                if let Some(stage) = stage {
                    c.release(&query_ring, stage);
                }
                let (sum, log) = group.finish(state);
                let (o, logs) = matrices.results(sequence, head, 16 * E as u32);
                logs.tile(warp).store(&log);
                c.store(&outbox, [sum], |_| o.tile(block, 0));

                k.for_(ptx::Steps::new(range.end, of_all().end), |j| group.skip(j));
            });
        }),
    );
}
