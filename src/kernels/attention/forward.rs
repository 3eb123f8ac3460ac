//! Attention, forward.

use super::{
    AttentionArgs, AttentionMask,
    visible::Visible,
    warpgroup::{Queries, Steps, Warpgroup},
};
use crate::{
    ptx::{self, BuildError, Kernel, Target, Val},
    tensor::TensorElement,
    tiles::{Convert, Product, Row, Schedule, St, consumers, contiguous, producer, row_major},
};

/// The parts of a kernel that are not in its type.
pub(super) struct Shape {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) mask: AttentionMask,
    pub(super) in_turn: bool,
    pub(super) schedule: Schedule,
}

/// Builds the kernel for rows of `D` subtiles.
///
/// A block stays resident on a multiprocessor and computes tiles of `M` subtiles of queries, 64 queries for each of `C` warpgroups,
/// while one thread loads keys and values, `N` subtiles of them in each of `STAGES` stages. The tensor cores multiply the weights of one step
/// with V while a warpgroup computes the weights of the next one. Results leave in columns of 128 bytes.
pub(super) fn forward<
    T,
    const D: usize,
    const M: usize,
    const N: usize,
    const C: usize,
    const STAGES: usize,
    const QUERIES: usize,
>(
    shape: Shape,
) -> Result<Kernel<AttentionArgs<T>>, BuildError>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    let Shape { name, description, mask, in_turn, schedule } = shape;
    let signature = format!(
        "{name}(q, k, v, o, lse, batches, heads, kv_heads, queries, keys, scale, \
         q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, o_batch, o_head, o_row)"
    );
    Kernel::<AttentionArgs<T>>::build(&signature, Target::SM_90A, |k, parameters| {
        let (q, keys, values, o, lse, batches, heads, kv_heads, m, n, scale, ..) = parameters;
        let (.., qb, qh, qr, kb, kh, kr, vb, vh, vr, ob, oh, or) = parameters;
        k.describe(description);
        k.block([128 * (1 + C as u32)]);
        let (d, unit) = (Val::from(16 * D as u32), Val::from(1));
        let q = k.global(q, contiguous([batches, heads, m, d]).with_strides([qb, qh, qr, unit]));
        let keys = k.global(keys, contiguous([batches, kv_heads, n, d]).with_strides([kb, kh, kr, unit]));
        let values = k.global(values, contiguous([batches, kv_heads, n, d]).with_strides([vb, vh, vr, unit]));
        let o = k.global(o, contiguous([batches, heads, m, d]).with_strides([ob, oh, or, unit]));
        let lse = k.global(lse, row_major(batches * heads, m));

        let visible = Visible { mask, queries: m, keys: n, step: 16 * N as u32 };
        let (height, columns) = (16 * M as u32, m.ceil_div(16 * M as u32));
        let tiles = k.persistent(schedule, batches * heads, columns);
        let query_ring = k.ring::<(St<T, M, D>,), QUERIES, C>();
        let key_ring: Steps<'_, T, N, D, STAGES, C> = k.ring();
        let value_ring: Steps<'_, T, N, D, STAGES, C> = k.ring();
        let outbox = k.outbox::<T, 4, 1, C>();
        let baton = in_turn.then(|| k.baton::<C>());
        let registers = if C == 2 { [24, 240] } else { [32, 160] };
        // Of a thread, 8 for each subtile of O and of scores, 4 of queries and of weights; the others are addresses and the running softmax.
        let in_registers = 12 * (D + N) as u32 <= registers[1] - 36;

        k.specialize(
            producer(registers[0], |p| {
                tiles.each(|head, column| {
                    let (tile, batch, head) = (visible.tile(column, columns), head / heads, head % heads);
                    let kv_head = head / (heads / kv_heads);
                    p.fill(&query_ring, |stage| stage.fill((q.batch((batch, head)).tile(tile, 0),)));
                    let (keys, values) = (keys.batch((batch, kv_head)), values.batch((batch, kv_head)));
                    k.for_(visible.steps((tile + 1) * height), |j| {
                        p.fill(&key_ring, |stage| stage.fill((keys.tile(j, 0),)));
                        p.fill(&value_ring, |stage| stage.fill((values.tile(j, 0),)));
                    });
                });
            }),
            consumers::<C, _>(registers[1], |c| {
                tiles.each(|head, column| {
                    let tile = visible.tile(column, columns);
                    let block = tile * C as u32 + c.rank();
                    let warp = block * 4 + (c.group().thread() >> 5);
                    // Steps with keys for the queries of this warpgroup, and those of them that need no mask.
                    let (steps, whole) = (visible.steps((block + 1) * 64), visible.whole_steps(block * 64));

                    let stage = c.receive(&query_ring);
                    let (queries, stage) = if in_registers {
                        let row = c.rank() * 4 + (c.group().thread() >> 5);
                        let queries = stage.tiles().0.subtile(row, 0).load::<1, D, Row>().frozen();
                        c.release(&query_ring, stage);
                        (Queries::Registers(queries), None)
                    } else {
                        (Queries::Shared(stage.tiles().0.rows(c.rank())), Some(stage))
                    };
                    let group = Warpgroup {
                        c,
                        queries,
                        scale,
                        keys: &key_ring,
                        values: &value_ring,
                        visible,
                        baton: baton.as_ref(),
                        query: warp * 16,
                    };
                    let state = group.start();
                    let state =
                        k.fold(ptx::Steps::new(1, whole), state, |j, state| group.advance(j, false, state));
                    let masked = ptx::Steps::new(whole.max(1), steps);
                    let state = k.fold(masked, state, |j, state| group.advance(j, true, state));
                    if let Some(stage) = stage {
                        c.release(&query_ring, stage);
                    }
                    let (sum, log) = group.finish(state);
                    lse.row(head).tile(warp).store(&log);
                    let o = o.batch((head / heads, head % heads));
                    c.store(&outbox, [sum], |_| o.tile(block, 0));

                    k.for_(ptx::Steps::new(steps, visible.steps((tile + 1) * height)), |_| group.skip());
                });
            }),
        );
    })
}
