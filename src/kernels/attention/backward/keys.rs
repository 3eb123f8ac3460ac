//! dK and dV, and sums of dQ.

use std::f32::consts::LOG2_E;

use super::{
    AttentionBackward,
    inputs::{Heads, Inputs},
    visible::VisibleFrom,
};
use crate::{
    kernels::attention::visible::Visible,
    ptx::{Builder, Global, Ptr, ReadWrite, Val, Write},
    tensor::TensorElement,
    tiles::{
        Assembly, Consumer, Convert, Filled, Gl, InFlight, Product, Received, Ring, RowVec, Rt, St, Sv,
        consumers, producer,
    },
};

/// The consumer warpgroups, each of which has 64 keys.
const C: usize = 2;
/// The subtiles of keys of a tile.
const N: usize = 4 * C;
/// The keys of a tile.
const KEYS: u32 = 16 * N as u32;

/// dK and dV, and their strides.
pub(super) type Outputs<'k, T> = ([Ptr<'k, T, Global, Write>; 2], [[Val<'k, u32>; 3]; 2]);

/// Stages of `M` subtiles of rows of Q or dO, with a number for each row.
type RowsRing<'k, T, const M: usize, const D: usize, const STAGES: usize> =
    Ring<'k, (St<'k, T, M, D>, Sv<'k, f32, M>), STAGES, C>;
type RowsStage<'k, T, const M: usize, const D: usize> = Received<'k, (St<'k, T, M, D>, Sv<'k, f32, M>)>;

/// Emits the kernel for rows of `D` subtiles.
///
/// A block stays resident on a multiprocessor and computes tiles of 128 keys, 64 for each warpgroup, in steps of `M` subtiles of queries, of
/// all heads that share the keys. Rows of the products in registers are keys, so that P and dS are left factors without leaving the
/// registers; for dQ, of which each warpgroup computes `Q` columns of subtiles or 64 rows, dS passes through shared memory.
pub(super) fn keys<'k, T, const D: usize, const M: usize, const Q: usize, const STAGES: usize>(
    k: Builder<'k>,
    inputs: Inputs<'k, T>,
    sums: Option<Ptr<'k, f32, Global, ReadWrite>>,
    (outputs, strides): Outputs<'k, T>,
    backward: &AttentionBackward,
) where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    const {
        assert!(
            M * D == 4 * C * Q && M.is_multiple_of(4),
            "each warpgroup computes 64 rows, or a part of the columns, of dQ"
        )
    };
    k.block([128 * (1 + C as u32)]);
    let d = 16 * D as u32;
    let matrices = Heads::new(k, &inputs, d);
    let (scale, sizes) = (inputs.scale, inputs.sizes);
    let outputs = [0, 1]
        .map(|at| matrices.sequences.matrices(outputs[at], [sizes.kv_heads, sizes.keys], d, strides[at]));
    let sums = sums.map(|sums| matrices.workspace.sums(k, sums, d));

    let tiles = k.persistent(backward.schedule, sizes.batches * sizes.kv_heads, sizes.keys.ceil_div(KEYS));
    let key_ring = k.ring::<(St<T, N, D>, St<T, N, D>), 1, C>();
    let query_ring: RowsRing<'k, T, M, D, STAGES> = k.ring();
    let output_ring: RowsRing<'k, T, M, D, STAGES> = k.ring();
    let assembly = sums.is_some().then(|| k.assembly::<T, N, M, C>());
    let outbox = k.outbox::<T, Q, 1, C>();

    let each_tile = |each: &dyn Fn(_, _, Val<'k, u32>, VisibleFrom<'k>)| {
        tiles.each(|row, tile| {
            let (sequence, kv_head) =
                (matrices.sequences.sequence(row / sizes.kv_heads), row % sizes.kv_heads);
            let visible =
                Visible { mask: backward.mask, queries: sequence.queries, keys: sequence.keys, step: KEYS };
            each(sequence, kv_head, tile, VisibleFrom { visible, step: 16 * M as u32 });
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
                        p.fill(&query_ring, |stage| stage.fill((head.q.tile(i, 0), head.exponents(i))));
                        p.fill(&output_ring, |stage| stage.fill((head.d_o.tile(i, 0), head.deltas(i))));
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
                    outputs: &output_ring,
                    assembly: assembly.as_ref(),
                    visible,
                    factor: scale * LOG2_E,
                    key: tile * KEYS + c.rank() * 64 + c.warp() * 16,
                };
                let zeros = [(); 2].map(|()| k.zeros::<Rt<'k, f32, 1, D>>());
                let [dk, dv] = k.fold(sizes.group, zeros, |member, state| {
                    let head = kv_head * sizes.group + member;
                    let sums = sums.as_ref().map(|sums| matrices.workspace.of_head(sums, sequence, head));
                    range.fold(k, state, |i, masked, state| {
                        warpgroup.step::<Q>(i, masked, sums.as_ref(), state)
                    })
                });
                c.release(&key_ring, stage);
                let rows = [sequence.first_key, sequence.keys];
                let [to_keys, to_values] =
                    outputs.each_ref().map(|matrices| sequence.only(matrices, kv_head, rows, d));
                let block = tile * C as u32 + c.rank();
                c.store(&outbox, [dv], |_| to_values.tile(block, 0));
                c.store(&outbox, [dk * scale], |_| to_keys.tile(block, 0));
            });
        }),
    );
}

/// What a warpgroup reads.
struct Warpgroup<'a, 'k, T: TensorElement, const D: usize, const M: usize, const STAGES: usize> {
    c: Consumer<'k, C>,
    keys: &'a Filled<St<'k, T, N, D>>,
    values: &'a Filled<St<'k, T, N, D>>,
    queries: &'a RowsRing<'k, T, M, D, STAGES>,
    outputs: &'a RowsRing<'k, T, M, D, STAGES>,
    /// dS of all warpgroups.
    assembly: Option<&'a Assembly<'k, T, N, M, C>>,
    visible: VisibleFrom<'k>,
    /// The factor of scores in the exponents of weights, which are powers of two.
    factor: Val<'k, f32>,
    /// The first key of the warp.
    key: Val<'k, u32>,
}

impl<'k, T, const D: usize, const M: usize, const STAGES: usize> Warpgroup<'_, 'k, T, D, M, STAGES>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    /// Adds the products of step `i` to dK and dV, and to the sums of dQ; in a `masked` step, there are pairs that are not visible.
    #[track_caller]
    fn step<const Q: usize>(
        &self,
        i: Val<'k, u32>,
        masked: bool,
        sums: Option<&Gl<'k, f32, ReadWrite>>,
        [dk, dv]: [Rt<'k, f32, 1, D>; 2],
    ) -> [Rt<'k, f32, 1, D>; 2] {
        let Self { c, keys, values, queries, outputs, .. } = *self;
        let group = c.group();
        let q: RowsStage<'k, T, M, D> = c.receive(queries);
        let scores =
            group.accumulate_from_zero::<Rt<f32, 1, M>>().mma_abt(keys.rows::<4>(c.rank()), &q.tiles().0);
        let d_o: RowsStage<'k, T, M, D> = c.receive(outputs);
        let dp =
            group.accumulate_from_zero::<Rt<f32, 1, M>>().mma_abt(values.rows::<4>(c.rank()), &d_o.tiles().0);

        let exponents: RowVec<'k, f32, M> = q.tiles().1.load();
        let p = scores.wait().mul_add(self.factor, &exponents).exp2();
        let p = if masked { self.visible.only(p, self.key, i) } else { p };
        let dv = group.accumulate(dv).mma_ab(p.convert::<T>(), &d_o.tiles().0);

        let deltas: RowVec<'k, f32, M> = d_o.tiles().1.load();
        let ds: Rt<'k, T, 1, M> = ((dp.wait() - &deltas) * &p).convert();
        let own = self.assembly.map(|assembly| (assembly, c.contribute(assembly, &ds)));
        let dk = group.accumulate(dk).mma_ab(ds, &q.tiles().0);
        let dv = dv.wait();
        c.release(outputs, d_o);
        let dq = own.map(|(assembly, own)| self.queries::<Q>(&c.assembled(assembly, own)));
        let dk = dk.wait();
        c.release(queries, q);
        if let (Some(dq), Some(sums)) = (dq, sums) {
            let [row, col] = self.part_of_queries();
            sums.tile(i * M as u32 + row * 4 + c.warp(), col).add(&dq.wait());
        }
        [dk, dv]
    }

    /// Starts to multiply the part of dQ of this warpgroup: dS·K, where `ds` has keys in rows.
    #[track_caller]
    fn queries<const Q: usize>(&self, ds: &Filled<St<'k, T, N, M>>) -> InFlight<'k, Rt<'k, f32, 1, Q>> {
        let [row, col] = self.part_of_queries();
        let products = self.c.group().accumulate_from_zero::<Rt<f32, 1, Q>>();
        products.mma_atb(ds.cols::<4>(row), self.keys.cols::<Q>(col))
    }

    /// Returns which 64 queries of a step, and which columns of dQ, are this warpgroup's.
    #[track_caller]
    fn part_of_queries(&self) -> [Val<'k, u32>; 2] {
        if M == 4 { [0.into(), self.c.rank()] } else { [self.c.rank(), 0.into()] }
    }
}
