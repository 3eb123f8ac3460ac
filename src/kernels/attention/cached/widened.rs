//! Attention over caches of 8-bit floats. Each warp converts its keys and values in registers, and multiplies
//! with `mma.sync`.

use std::f32::consts::LOG2_E;

use super::{
    Inputs, Rows,
    merge::merged,
    merged_parts,
    pages::Caches,
    views::{CacheTile, Views},
};
use crate::{
    atoms::MmaOperand,
    kernels::attention::{scores::nonzero, softmax::Softmax, warps::Running},
    ptx::{self, Builder, Global, Ptr, Read, Scope, Val, e4m3, f16},
    tensor::ConvertibleElement,
    tiles::{ColVec, Consumer, Convert, Filled, Rt, St, Sv, consumers, producer, vector},
};

/// The number of subtiles of keys in a step.
const N: usize = 8;
const STAGES: usize = 4;
/// The number of warps that multiply.
const WARPS: usize = 4;

/// Emits the kernel for rows of `D` subtiles of queries, or `W` subtiles of keys, and at most `most` queries
/// per head. Each of the `PARTS` blocks stores `P` subtiles of each row. Each warp processes `K` subtiles of
/// keys per step.
///
/// Each warp processes 16 rows. A tile has 8·`K` rows; if it has fewer than 64, several warps process the
/// same rows, each with different keys of a step.
pub(super) fn emit<
    'k,
    T,
    const D: usize,
    const W: usize,
    const PARTS: usize,
    const P: usize,
    const K: usize,
>(
    k: Builder<'k>,
    inputs: Inputs<'k, T>,
    scales: [Ptr<'k, f32, Global, Read>; 2],
    factors: [Rows<'k, e4m3>; 2],
    caches: Caches<'k>,
    most: u32,
) where
    T: ConvertibleElement,
    f32: Convert<T>,
{
    let (scale, step) = (inputs.scale, 16 * N as u32);
    let scales = scales.map(|scales| k.global(scales, vector(inputs.sizes[1])));
    // The keys of a step are divided among the warps that process the same rows.
    let row_warps = (WARPS * K / N) as u32;
    let views = Views::new(k, inputs, factors, [16 * D as u32, most, 16 * row_warps, PARTS as u32]);
    let Views { rows, tiles, .. } = views;
    let ring = tiles.ring::<(St<e4m3, N, W>, St<e4m3, N, W>), STAGES, 1>();
    let all_to_all = (PARTS > 1).then(|| tiles.all_to_all::<f32, P>());
    let part = tiles.part();
    k.specialize(
        producer(40, |p| {
            views.each_tile(&caches, step, |CacheTile { batch, head, length, first, count, .. }| {
                p.run(&ring, count, |i, stage| {
                    let at = caches.locate(batch, first + i, length, step);
                    stage.fill((at.of(&views.keys, head), at.of(&views.values, head)))
                });
            });
        }),
        consumers::<1, _>(232, |c| {
            views.each_tile(&caches, step, |tile| {
                let CacheTile { batch, head, index, length, first, count } = tile;
                let end = first + count;
                let (of_rows, of_keys) = (c.warp() % row_warps, c.warp() / row_warps);
                let [key_scale, value_scale] = scales.each_ref().map(|scales| scales.at(head).load());
                let scale = nonzero(scale * key_scale);
                let (of_warp, magnitudes) =
                    rounded_queries::<T, D>(k, &rows.load(&views.q, [batch, head], index, of_rows));
                // Each warp processes `unit` keys per step.
                let unit = 16 * K as u32;
                let visible = views.visible(tile, unit);
                let query = of_rows * 16;

                let advance = |j: Val<'k, u32>, masked: bool, state, tiles: &(Filled<_>, Filled<_>)| {
                    let (Running { sum, softmax }, (keys, values)) = (state, tiles);
                    let products = products::<D, W, K>(k, &of_warp, keys, of_keys) * &magnitudes;
                    let number = j * (step / unit) + of_keys;
                    let scores = if masked { visible.only(products, query, number) } else { products };
                    let (softmax, weights, rescale) = softmax.weigh(scores);
                    let end = masked.then(|| length.max(number * unit) - number * unit);
                    let sum = add_values::<D, W, P, K>(rescale.apply(sum), weights, values, of_keys, end);
                    Running { sum, softmax }
                };
                let whole = (visible.all_see() / (step / unit)).max(first).min(end);
                let state = Running { sum: k.zeros(), softmax: Softmax::empty(k, scale * LOG2_E) };
                let state = c.each(&ring, whole - first, state, |i, state, step| {
                    advance(first + i, false, state, step)
                });
                let Running { sum, softmax } =
                    c.each(&ring, end - whole, state, |i, state, step| advance(whole + i, true, state, step));

                let (divisor, logs) = softmax.finish(None);
                let means = (sum * &(divisor.recip() * value_scale), logs);
                let means = merged_parts::<D, PARTS, P>(c, all_to_all.as_ref(), means);
                merge_warps(c, row_warps, means, |column, mean, logs| {
                    rows.store(
                        &views.o,
                        [batch, head],
                        [index, part.rank() * P as u32 + column],
                        of_rows,
                        mean,
                    );
                    k.if_(part.rank().eq(0) & column.eq(0), || {
                        rows.store_logarithms(&views.lse, [batch, head], index, of_rows, logs);
                    });
                });
            });
        }),
    );
}

/// Returns the products of a warp's queries and the keys at `at`, in units of `K` subtiles. Keys are converted to f16.
#[track_caller]
fn products<'k, const D: usize, const W: usize, const K: usize>(
    k: Builder<'k>,
    queries: &Rt<'k, f16, 1, D>,
    keys: &Filled<St<'k, e4m3, N, W>>,
    at: Val<'k, u32>,
) -> Rt<'k, f32, 1, K> {
    let keys: Rt<e4m3, K, W> = keys.subtile(at * K as u32, 0).load_operand(MmaOperand::B);
    k.zeros::<Rt<f32, 1, K>>().mma_abt(queries, &keys.widen_in_lanes::<f16, D>())
}

/// Adds the weighted values at `at`, in units of `K` subtiles. If `end` is given, only the values before it are in use.
#[track_caller]
fn add_values<'k, const D: usize, const W: usize, const P: usize, const K: usize>(
    sum: Rt<'k, f32, 1, D>,
    weights: Rt<'k, f32, 1, K>,
    values: &Filled<St<'k, e4m3, N, W>>,
    at: Val<'k, u32>,
    end: Option<Val<'k, u32>>,
) -> Rt<'k, f32, 1, D> {
    let weights: Rt<f16, 1, K> = weights.convert();
    (0u32..).zip(weights.hsplit::<1, K>()).fold(sum, |sum, (row, weights)| {
        let end = end.map(|end| end.max(row * 16) - row * 16);
        let values = values.subtile(at * K as u32 + row, 0).load_widened::<f16, D, P>(end);
        sum.mma_ab(&weights, &values)
    })
}

/// Rounds each row of queries, divided by a power of two, to f16, and returns these powers. Unless it is less
/// than 2⁻¹²⁶ or at least 2¹²⁷, the largest element of a row becomes at least 1 and less than 2, so that only
/// elements smaller than 2⁻¹⁴ times the largest can lose bits.
#[track_caller]
fn rounded_queries<'k, T: ConvertibleElement, const D: usize>(
    k: Builder<'k>,
    queries: &Rt<'k, T, 1, D>,
) -> (Rt<'k, f16, 1, D>, ColVec<'k, f32, 1>) {
    let elements: Vec<_> = queries.registers().into_iter().flat_map(T::to_f32).collect();
    let queries = Rt::<f32, 1, D>::from_registers(k, elements);
    let largest: ColVec<f32, 1> = queries.map(|x| x.abs()).row_max();
    // The powers, and their reciprocals, are normal numbers.
    let power = |x: Val<'k, f32>| {
        (x.bits::<u32>() & EXPONENT).bits::<f32>().max(f32::MIN_POSITIVE).min(1.0 / f32::MIN_POSITIVE)
    };
    let magnitudes = largest.map(power);
    let inverses = magnitudes.map(|power| (RECIPROCALS - power.bits::<u32>()).bits::<f32>());
    let rounded: Rt<f16, 1, D> = (queries * &inverses).convert();
    (rounded.in_order_of_lanes(), magnitudes)
}

/// The exponent bits of an f32, and the sum of the bit patterns of a power of two and of its reciprocal.
const EXPONENT: u32 = 0x7f80_0000;
const RECIPROCALS: u32 = 2 * 0x3f80_0000;

/// Merges the results of the warps that process the same rows: those whose index modulo `row_warps` is the
/// same. Calls `each` with columns of subtiles, which are divided among these warps. All warps of the
/// warpgroup must take part.
#[track_caller]
fn merge_warps<'k, const P: usize>(
    c: Consumer<'k, 1>,
    row_warps: u32,
    (means, logs): (Rt<'k, f32, 1, P>, ColVec<'k, f32, 1>),
    each: impl Fn(Val<'k, u32>, &Rt<'k, f32, 1, 1>, &ColVec<'k, f32, 1>),
) {
    let (k, warp) = (c.group().kernel(), c.warp());
    let all_logs = k.shared_tile_of::<Sv<f32, WARPS>>(c.group());
    let all_means = k.shared_tile_of::<St<f32, WARPS, P>>(c.group());
    let all_logs = all_logs.store_with(|all| all.tile(warp).store(&logs)).wait();
    let all_means = all_means.store_with(|all| all.subtile(warp, 0).store_gathered(&means)).wait();
    let count = WARPS as u32 / row_warps;
    k.for_(ptx::Steps::new(warp / row_warps, P as u32).by(count), |column| {
        let of_warp = |at: u32| {
            let from = warp % row_warps + at * row_warps;
            (all_means.subtile(from, column).load(), all_logs.tile(from).load())
        };
        let (mean, logs) = merged(k, (0..count).map(of_warp).collect());
        each(column, &mean, &logs);
    });
}
