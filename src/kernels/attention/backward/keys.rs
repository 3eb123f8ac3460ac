//! The kernel that computes dK and dV and accumulates dQ.

use super::{
    AttentionBackward,
    inputs::{Heads, Inputs},
    visible::VisibleFrom,
    warpgroup::{C, KEYS, N, QueryRing, Warpgroup},
};
use crate::{
    kernels::attention::{dropout::HeadDropout, visible::Visible},
    ptx::{Builder, Global, Ptr, ReadWrite, Val, Write},
    tensor::TensorElement,
    tiles::{Convert, Product, Rt, SharedSwizzle, St, consumers, producer},
};

/// dK and dV, and their strides.
pub(super) type Outputs<'k, T> = ([Ptr<'k, T, Global, Write>; 2], [[Val<'k, u32>; 3]; 2]);

/// Emits the kernel for rows of `D` subtiles.
///
/// A resident block computes tiles of 128 keys, 64 per warpgroup, in steps of `M` subtiles of queries, of all heads that share the keys.
/// Rows of the products in registers are keys, so that P and dS are left operands without leaving the registers; dS passes through shared
/// memory for dQ, of which each warpgroup computes `Q` columns of subtiles or 64 rows.
pub(super) fn keys<'k, T, S, const D: usize, const M: usize, const Q: usize, const STAGES: usize>(
    k: Builder<'k>,
    inputs: Inputs<'k, T>,
    sums: Option<Ptr<'k, f32, Global, ReadWrite>>,
    (outputs, strides): Outputs<'k, T>,
    backward: &AttentionBackward,
) where
    T: TensorElement + Product<T, f32>,
    S: SharedSwizzle,
    f32: Convert<T>,
{
    const {
        assert!(
            M * D == 4 * C * Q && M.is_multiple_of(4),
            "each warpgroup computes 64 rows, or a part of the columns, of dQ"
        );
    }
    k.block([128 * (1 + C as u32)]);
    let d = 16 * D as u32;
    let matrices = Heads::new(k, &inputs, d);
    let (scale, sizes) = (inputs.scale, inputs.sizes);
    let is_packed = matrices.sequences.are_packed();
    let outputs = [0, 1]
        .map(|at| matrices.sequences.matrices(outputs[at], [sizes.kv_heads, sizes.keys], d, strides[at]));
    let sums = sums.map(|sums| matrices.workspace.sums(k, sums, [(D / Q) as u32, Q as u32]));

    let tiles =
        k.persistent(backward.schedule, sizes.batches * sizes.kv_heads, sizes.longest_keys.ceil_div(KEYS));
    let key_ring = k.ring::<(St<T, N, D, S>, St<T, N, D>), 1, C>();
    let query_ring: QueryRing<'k, T, M, D, STAGES> = k.ring();
    let dq = sums.is_some().then(|| (k.assembly::<T, N, M, C>(), k.register_outbox::<f32, Q, C>()));
    // Copies would store the rows of a whole tile, also those of the next sequence.
    let outbox = k.outbox::<T, Q, 1, C>().by_threads(is_packed);

    let each_tile = |each: &dyn Fn(_, _, Val<'k, u32>, VisibleFrom<'k>)| {
        tiles.each(|row, tile| {
            let (sequence, kv_head) =
                (matrices.sequences.sequence(row / sizes.kv_heads), row % sizes.kv_heads);
            let (queries, keys) = (sequence.queries, sequence.keys);
            let visible = Visible { mask: backward.mask, queries, keys, step: KEYS, heads: 1 };
            let visible = VisibleFrom { visible, step: 16 * M as u32 };
            sequence.if_has(k, tile * KEYS, keys, || each(sequence, kv_head, tile, visible));
        });
    };
    k.specialize(
        producer(24, |p| {
            each_tile(&|sequence, kv_head, tile, visible| {
                let [keys, values] = matrices.keys(sequence, kv_head);
                p.fill(&key_ring, |stage| stage.fill((keys.tile(tile, 0), values.tile(tile, 0))));
                let range = visible.range(tile * KEYS, (tile + 1) * KEYS);
                k.for_(sizes.group, |member| {
                    let head = matrices.head(sequence, kv_head * sizes.group + member);
                    k.for_(range.all(), |i| {
                        let (exponents, deltas) = (head.exponents(i), head.deltas(i));
                        let from = (head.q.tile(i, 0), exponents, head.d_o.tile(i, 0), deltas);
                        p.fill(&query_ring, |stage| stage.fill(from));
                    });
                });
            });
        }),
        consumers::<C, _>(240, |c| {
            each_tile(&|sequence, kv_head, tile, visible| {
                let range = visible.range(tile * KEYS, (tile + 1) * KEYS);
                let stage = c.receive(&key_ring);
                let warpgroup = Warpgroup {
                    c,
                    keys: &stage.tiles().0,
                    values: &stage.tiles().1,
                    queries: &query_ring,
                    dq: dq.as_ref().map(|(assembly, outbox)| (assembly, outbox)),
                    visible,
                    scale,
                    tile,
                };
                let zeros = [(); 2].map(|()| k.zeros::<Rt<'k, f32, 1, D>>());
                let [dk, dv] = k.fold(sizes.group, zeros, |member, state| {
                    let head = kv_head * sizes.group + member;
                    let sums = sums.as_ref().map(|sums| {
                        let [row, col] = warpgroup.part_of_queries();
                        let part = matrices.workspace.part(sequence, head);
                        (sums, sums.number(part, row * 4 + c.warp(), col))
                    });
                    let dropout = matrices.dropout(sequence, head).map(HeadDropout::transposed);
                    warpgroup.head(range, sums, dropout, state)
                });
                c.release(&key_ring, stage);
                // Loaded again, rather than kept in registers.
                let sequence = matrices.sequences.sequence(sequence.number);
                let rows = [sequence.first_key, sequence.keys];
                let [to_keys, to_values] =
                    outputs.each_ref().map(|matrices| sequence.only(matrices, kv_head, rows, d));
                let block = tile * C as u32 + c.rank();
                let dv = match inputs.dropout {
                    Some(dropout) => dv * dropout.scale(),
                    None => dv,
                };
                c.store(&outbox, [dv], |_| to_values.tile(block, 0));
                c.store(&outbox, [dk * scale], |_| to_keys.tile(block, 0));
            });
        }),
    );
}
