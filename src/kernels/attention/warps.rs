//! Attention without `wgmma`, for sm_80 and later: warps multiply with `mma.sync`, and `cp.async` copies to shared memory.

use super::{
    forward::Shape,
    inputs::{Heads, Inputs, Sizes},
    scores::Scores,
    softmax::Softmax,
    visible::Visible,
};
use crate::{
    ptx::{Builder, State, Val, Visitor},
    tensor::TensorElement,
    tiles::{Col, Convert, Filled, Product, Row, Rt, St},
};

/// The queries of a warp.
#[allow(clippy::large_enum_variant, reason = "a kernel has one")]
enum Queries<'k, T: TensorElement, const M: usize, const H: usize, const D: usize> {
    Registers(Vec<Rt<'k, T, H, 1>>),
    Shared(Filled<St<'k, T, M, D>>),
}

/// The weighted sum of the values so far, and the softmax.
pub(super) struct Running<'k, const H: usize, const E: usize> {
    pub(super) sum: Rt<'k, f32, H, E>,
    pub(super) softmax: Softmax<'k, H>,
}

impl<'k, const H: usize, const E: usize> State<'k> for Running<'k, H, E> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.sum.visit(visitor);
        self.softmax.visit(visitor);
    }
}

/// The number of registers per thread that tiles may occupy if queries are also kept in registers.
const REGISTERS: usize = 170;

/// Emits the kernel for rows of `D` subtiles of Q and K and of `E` subtiles of V and O.
///
/// A block processes a tile of `M` subtiles of queries, `H` per warp. While the block processes a step of `N` subtiles of keys and values,
/// the next steps are copied to `STAGES` stages in shared memory.
pub(super) fn forward_by_warps<
    'k,
    T,
    const D: usize,
    const E: usize,
    const M: usize,
    const H: usize,
    const N: usize,
    const STAGES: usize,
>(
    k: Builder<'k>,
    inputs: Inputs<'k, T>,
    Shape { mask, soft_cap, .. }: Shape,
) where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    k.block([32 * (M / H) as u32]);
    let inputs = inputs.aligned(16 / T::SIZE);
    let matrices = Heads::new(k, &inputs, 16 * D as u32, 16 * E as u32);
    if matrices.sequences.are_packed() {
        // Without a minimum, ptxas limits registers to 128 for some of these kernels, and spills.
        k.min_blocks(1);
    }
    let sizes @ Sizes { batches, longest, .. } = inputs.sizes;
    let height = 16 * M as u32;

    // There is one block per tile of queries. With a causal mask, the last tiles of all heads, which require the most steps, come first.
    let (heads, columns) = (sizes.heads(), longest.ceil_div(height));
    k.grid([batches * heads * columns]);
    let at = k.ctaid_x();
    let (row, column) = if mask.is_causal() {
        let rows = batches * heads;
        (at % rows, at / rows)
    } else {
        (at / columns, at % columns)
    };
    let (sequence, head) = (matrices.sequences.sequence(row / heads), row % heads);
    let (of_sequence, step) = (sequence.queries, 16 * N as u32);
    let visible = Visible { mask, queries: of_sequence, keys: sequence.keys, step, heads: 1 };
    let tile = visible.tile(column, columns);
    let queries = k.shared_tile::<St<T, M, D>>();
    let stages = k.pipeline::<(St<T, N, D>, St<T, N, E>), STAGES>();

    sequence.if_has(k, tile * height, sequence.queries, || {
        let [q, keys, values] = matrices.own_factors(sequence, head, [16 * D as u32, 16 * E as u32]);
        let row = k.warp() * H as u32;
        let queries = queries.fill(q.tile(tile, 0)).wait();
        let in_registers = 8 * H * E + 8 * H * N + 4 * H * D <= REGISTERS;
        let queries: Queries<'k, T, M, H, D> = if in_registers {
            Queries::Registers((0..D as u32).map(|col| queries.subtile(row, col).load()).collect())
        } else {
            Queries::Shared(queries)
        };
        let range = visible.range(tile * height, (tile + 1) * height);
        let first_query = tile * height + row * 16;
        let scores = Scores { scale: inputs.scale, soft_cap, slope: matrices.slope(head) };
        let dropout = matrices.dropout(sequence, head);
        let start = Running { sum: k.zeros(), softmax: Softmax::empty(k, scores.factor()) };
        let Running { sum, softmax } = stages.run_indexed(
            range.end - range.first,
            start,
            |i, stage| stage.fill((keys.tile(range.first + i, 0), values.tile(range.first + i, 0))),
            |i, Running { sum, softmax }, (keys, values)| {
                let step = range.first + i;
                let scores = scores.of(products(k, &queries, row, keys), visible, first_query, step);
                let scores = only_if(k, range.is_masked(step), scores, |scores| {
                    visible.only(scores, first_query, step)
                });
                let (softmax, weights, rescale) = softmax.weigh(scores);
                let weights = match dropout {
                    Some(dropout) => dropout.keep(weights, [first_query / 16, step * N as u32]),
                    None => weights,
                };
                Running { sum: add_values(rescale.apply(sum), weights.convert(), values), softmax }
            },
        );
        let (divisor, log) = softmax.finish(matrices.sink(head));
        let factors = divisor.recip();
        let factors = match dropout {
            Some(dropout) => factors * dropout.scale(),
            None => factors,
        };
        let (o, logs) = matrices.results(sequence, head, 16 * E as u32);
        logs.tile(tile * (M / H) as u32 + k.warp()).store(&log);
        o.tile(tile * (M / H) as u32 + k.warp(), 0).store(&(sum * &factors));
    });
}

/// Multiplies the queries of a warp, which start at row `row` of subtiles, by the keys of a step.
#[track_caller]
fn products<'k, T, const M: usize, const H: usize, const D: usize, const N: usize>(
    k: Builder<'k>,
    queries: &Queries<'k, T, M, H, D>,
    row: Val<'k, u32>,
    keys: &Filled<St<'k, T, N, D>>,
) -> Rt<'k, f32, H, N>
where
    T: TensorElement + Product<T, f32>,
{
    (0..D as u32).fold(k.zeros(), |products: Rt<f32, H, N>, col| {
        let keys = keys.subtile(0, col).load::<N, 1, Row>();
        match queries {
            Queries::Registers(queries) => products.mma_abt(&queries[col as usize], &keys),
            Queries::Shared(queries) => products.mma_abt(&queries.subtile(row, col).load(), &keys),
        }
    })
}

/// Adds the weighted values of a step to the sum.
#[track_caller]
fn add_values<'k, T, const H: usize, const N: usize, const E: usize>(
    sum: Rt<'k, f32, H, E>,
    weights: Rt<'k, T, H, N>,
    values: &Filled<St<'k, T, N, E>>,
) -> Rt<'k, f32, H, E>
where
    T: TensorElement + Product<T, f32>,
{
    (0u32..)
        .zip(weights.hsplit::<1, N>())
        .fold(sum, |sum, (row, weights)| sum.mma_ab(&weights, &values.subtile(row, 0).load::<1, E, Col>()))
}

/// Applies `f` if `condition` is true. `f` must compute in place.
#[track_caller]
fn only_if<'k, S>(k: Builder<'k>, condition: Val<'k, bool>, value: S, f: impl FnOnce(S) -> S) -> S {
    let mut value = Some(value);
    k.if_(condition, || value = value.take().map(f));
    value.expect("the body of a condition is emitted")
}
