//! Linear attention with learned feature maps for older tokens and softmax for the latest tokens (Hedgehog).

use std::f32::consts::LOG2_E;

use super::inputs::{CHUNK, SUBTILES, Sizes, strides_of};
use crate::{
    kernels::loads::load_no_further,
    ptx::{BuildError, Builder, Global, In, Kernel, Out, Ptr, Read, State, Target, Val, Visitor, Write},
    tensor::TensorElement,
    tiles::{Col, Convert, Filled, Gl, Product, Row, RowVec, Rt, St, contiguous, vector},
};

/// The arguments of the kernel that [`Hedgehog::kernel`] builds:
/// `(q, k, v, q_maps, k_maps, alphas, betas, o, [batches, heads, length], strides, scale)`. `q_maps` and `k_maps` contain a contiguous
/// 64×64 matrix for each head; `alphas` and `betas` contain one element per head. See [`LinearAttentionArgs`](super::LinearAttentionArgs)
/// for the other arguments.
pub type HedgehogArgs<T> =
    (In<T>, In<T>, In<T>, In<T>, In<T>, In<f32>, In<f32>, Out<T>, [u32; 3], [[u32; 3]; 4], f32);

/// A kernel for causal attention with softmax weights for the latest tokens and learned features for older tokens. The results are oᵢ = Σ
/// wᵢⱼ · vⱼ / Σ wᵢⱼ, with sums over the tokens j ≤ i. The weights are:
///
/// - wᵢⱼ = α · e^(sᵢⱼ − max sᵢ) with sᵢⱼ = `scale` · qᵢ·kⱼ, for tokens j in the chunk of 64 tokens that contains i and in the preceding
///   chunk;
/// - wᵢⱼ = β · φ(qᵢ)·φ(kⱼ) for older tokens j, with the 128 features φ(x) = \[softmax(x·W), softmax(−x·W)\]. Each head has one map W for
///   queries and one for keys.
///
/// The maximum is over the tokens j ≤ i in these two chunks. `scale` and α must be positive, and β must not be negative.
///
/// Sums and softmax are computed in f32. Features, weights (divided by their sum) and the state (Σ φ(kⱼ)ᵀ·vⱼ over older tokens) are rounded
/// to the element type before they are used as MMA operands.
#[doc(alias = "LoLCATs")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hedgehog {
    /// The head size of V and O: 64 or 128. With 128, two blocks share each head, and each computes half of the columns.
    pub value_size: u32,
}

/// The width of a map, in subtiles. The features of a token are twice as wide.
const HALF: usize = 4;
const FEATURES: usize = 2 * HALF;
/// The width of Q and K, in subtiles.
const D: usize = 4;
type Keys<'k, T> = St<'k, T, SUBTILES, D>;
type Values<'k, T> = St<'k, T, SUBTILES, VALUES>;
/// The number of columns of subtiles of V that a block processes: one per warp.
const VALUES: usize = 4;
/// The width of the weights of the tokens of two chunks, in subtiles.
const WINDOW: usize = 2 * SUBTILES;

/// The data that the warps exchange: the weights of the preceding chunk and of this chunk, and the features of queries and of keys.
type Exchanged<'k, T> = St<'k, T, SUBTILES, { WINDOW + 2 * FEATURES }>;
const OF_QUERIES: u32 = WINDOW as u32;
const OF_KEYS: u32 = OF_QUERIES + FEATURES as u32;

impl Hedgehog {
    /// Builds the kernel. Its name contains the type and the head size of V, as in `hedgehog_bf16_64`.
    ///
    /// # Errors
    /// Returns an error for an unsupported head size, for a target older than sm_80, or for a target with less than 128 KiB of shared
    /// memory per block (such as sm_86, sm_89 and sm_120a).
    pub fn kernel<T>(&self, target: Target) -> Result<Kernel<HedgehogArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32> + Convert<f32>,
        f32: Convert<T>,
    {
        let value_size = self.value_size;
        let signature = format!(
            "hedgehog_{}_{value_size}(q, k, v, q_maps, k_maps, alphas, betas, o, batches, heads, length, {}, scale)",
            T::NAME,
            strides_of(&["q", "k", "v", "o"])
        );
        Kernel::<HedgehogArgs<T>>::build(
            &signature,
            target,
            |k, (q, keys, values, q_maps, k_maps, alphas, betas, o, sizes, strides, scale)| {
                k.describe(format!(
                    "softmax over 64 to 128 tokens, and features of softmax for older ones: rows of 64 of Q and K, of {value_size} of V ({})",
                    T::NAME
                ));
                let [batches, heads, length] = sizes;
                let inputs = Inputs {
                    factors: [q, keys, values],
                    maps: [q_maps, k_maps],
                    factors_of_weights: [alphas, betas],
                    o,
                    sizes: Sizes { batches, heads, length },
                    strides,
                    scale,
                };
                if !matches!(value_size, 64 | 128) {
                    k.block([128]);
                    k.refuse(format!("expected rows of 64 or 128 of V, found {value_size}"));
                    return;
                }
                emit(k, inputs, value_size);
            },
        )
    }
}

/// The parameters of a kernel.
struct Inputs<'k, T> {
    factors: [Ptr<'k, T, Global, Read>; 3],
    maps: [Ptr<'k, T, Global, Read>; 2],
    /// α and β.
    factors_of_weights: [Ptr<'k, f32, Global, Read>; 2],
    o: Ptr<'k, T, Global, Write>,
    sizes: Sizes<'k>,
    strides: [[Val<'k, u32>; 3]; 4],
    scale: Val<'k, f32>,
}

/// Emits the kernel for rows of `D` subtiles of Q and K. For each chunk, a warp computes the weights and features of 16 tokens, and 16
/// columns of the weighted sums of V.
fn emit<'k, T>(k: Builder<'k>, inputs: Inputs<'k, T>, value_size: u32)
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    let Inputs { factors: [q, keys, values], maps, factors_of_weights, o, sizes, strides, scale } = inputs;
    k.block([32 * VALUES as u32]);
    k.min_blocks(1);
    let parts = value_size / (16 * VALUES as u32);
    k.grid([sizes.batches * sizes.heads * parts]);
    let (of_head, part) = (k.ctaid_x() / parts, k.ctaid_x() % parts);
    let at = (of_head / sizes.heads, of_head % sizes.heads);
    let columns = 16 * D as u32;
    let q = sizes.matrices(k, q, columns, strides[0]).batch(at);
    let keys = sizes.matrices(k, keys, columns, strides[1]).batch(at);
    let values = sizes.matrices(k, values, value_size, strides[2]).batch(at);
    let o = sizes.matrices(k, o, value_size, strides[3]).batch(at);
    let [alpha, beta] = factors_of_weights.map(|of| k.global(of, vector(sizes.heads)).at(at.1).load());
    let extents = [sizes.heads, columns.into(), (16 * HALF as u32).into()];
    let [q_map, k_map] = maps.map(|map| {
        let map = k.global(map, contiguous(extents)).batch(at.1);
        shared_map::<T>(k, &map)
    });

    let warp = k.warp().rank();
    let stages = k.pipeline::<(Keys<T>, Values<T>, Keys<T>, Values<T>), 2>();
    let start = (Past::new(k), k.shared_tile::<Exchanged<T>>());
    stages.run_indexed(
        sizes.length.ceil_div(CHUNK),
        start,
        |i, stage| {
            // For the first chunk, the chunk itself serves as the preceding chunk, with weights of 0.
            let before = i.max(1) - 1;
            let (keys_before, values_before) = (keys.tile(before, 0), values.tile(before, part));
            stage.fill((keys.tile(i, 0), values.tile(i, part), keys_before, values_before))
        },
        |i, (past, exchanged), (keys, values, keys_before, values_before)| {
            let q = q.tile(i * SUBTILES as u32 + warp, 0).load::<T, 1, D, Row>();
            let has_before = i.gt(0);
            let exchanged = exchanged.store_with(|all| {
                // Features and weights are computed one after the other, because there are not enough registers for all of them.
                let keys_before_at = |d| keys_before.subtile(warp, d).load();
                for (half, of_key) in halves().zip(features(k, keys_before_at, &k_map)) {
                    let of_key = of_key * has_before.select(1.0, Val::from(0.0));
                    all.subtile(warp, OF_KEYS + half).store(&of_key);
                }
                load_no_further(k);
                let of_query = features(k, |d| q.subtile(0, d as usize), &q_map).map(|of| of * beta);
                let [first, second] = [0, 1].map(|half| (&of_query[half] * &past.features[half]).row_sum());
                let of_query = of_query.map(|of| of.convert::<T>());
                load_no_further(k);
                let window = Window { k, q: &q, alpha, scale: scale * LOG2_E };
                let [own, before] = window.weights([keys, keys_before], has_before);
                let inverse = (own.row_sum() + &before.row_sum() + &first + &second).recip();
                all.subtile(warp, 0).store(&(before * &inverse));
                all.subtile(warp, SUBTILES as u32).store(&(own * &inverse));
                for (half, of_query) in halves().zip(of_query) {
                    all.subtile(warp, OF_QUERIES + half).store(&(of_query.convert::<f32>() * &inverse));
                }
            });
            let exchanged = exchanged.wait();
            for (r, sums) in past.sums(k, &exchanged) {
                load_no_further(k);
                let mut sums = sums;
                for j in 0..SUBTILES as u32 {
                    let values = values_before.subtile(j, warp).load::<1, 1, Col>();
                    sums = sums.mma_ab(&exchanged.subtile(r, j).load::<1, 1, Row>(), &values);
                }
                for j in 0..=r {
                    let values = values.subtile(j, warp).load::<1, 1, Col>();
                    sums =
                        sums.mma_ab(&exchanged.subtile(r, SUBTILES as u32 + j).load::<1, 1, Row>(), &values);
                }
                o.tile(i * SUBTILES as u32 + r, part * VALUES as u32 + warp).store(&sums);
            }
            (past.with(k, &exchanged, values_before), exchanged.release())
        },
    );
}

/// Returns the first column of each half of the features, in subtiles.
fn halves() -> impl Iterator<Item = u32> {
    (0..FEATURES as u32).step_by(HALF)
}

/// Copies a map to shared memory; each warp copies some of the rows.
#[track_caller]
fn shared_map<'k, T>(k: Builder<'k>, map: &Gl<'k, T, Read, 2>) -> Filled<St<'k, T, D, HALF>>
where
    T: TensorElement,
{
    let warp = k.warp().rank();
    let all = k.shared_tile::<St<T, D, HALF>>();
    let filled = all.store_with(|all| {
        for first in (0..D as u32).step_by(VALUES) {
            let rows = map.tile(warp + first, 0).load::<T, 1, HALF, Row>();
            all.subtile(warp + first, 0).store(&rows);
        }
    });
    filled.wait()
}

/// Returns the features of 16 tokens; `x` returns the tokens' subtile in a column of subtiles.
#[track_caller]
fn features<'k, T>(
    k: Builder<'k>,
    x: impl Fn(u32) -> Rt<'k, T, 1, 1>,
    map: &Filled<St<'k, T, D, HALF>>,
) -> [Rt<'k, f32, 1, HALF>; 2]
where
    T: TensorElement + Product<T, f32>,
{
    let mut mapped = k.zeros::<Rt<f32, 1, HALF>>();
    for d in 0..D as u32 {
        load_no_further(k);
        mapped = mapped.mma_ab(&x(d), &map.subtile(d, 0).load::<1, HALF, Col>());
    }
    let softmax = |x: Rt<'k, f32, 1, HALF>| {
        let max = x.row_max();
        let terms = (x - &max).exp();
        let inverse = terms.row_sum().recip();
        terms * &inverse
    };
    [softmax(&mapped * 1.0), softmax(-mapped)]
}

/// The queries of a warp, for the softmax over the latest tokens.
struct Window<'a, 'k, T: TensorElement> {
    k: Builder<'k>,
    q: &'a Rt<'k, T, 1, D>,
    alpha: Val<'k, f32>,
    /// The factor by which products are multiplied to obtain base-2 exponents.
    scale: Val<'k, f32>,
}

impl<'k, T> Window<'_, 'k, T>
where
    T: TensorElement + Product<T, f32>,
{
    /// Returns the weights of the tokens of this chunk and of the preceding one; `has_before` is false for the first chunk.
    #[track_caller]
    fn weights(
        &self,
        [own, before]: [&Filled<Keys<'k, T>>; 2],
        has_before: Val<'k, bool>,
    ) -> [Rt<'k, f32, 1, SUBTILES>; 2] {
        let first = (self.k.warp().rank() * 16).cast::<i32>();
        let own = self.products(own).tril(first, f32::NEG_INFINITY);
        let before = self.products(before).map(|s| has_before.select(s, f32::NEG_INFINITY));
        let max = own.row_max().max(before.row_max());
        [own, before].map(|s| ((s - &max) * self.scale).exp2() * self.alpha)
    }

    #[track_caller]
    fn products(&self, keys: &Filled<Keys<'k, T>>) -> Rt<'k, f32, 1, SUBTILES> {
        let mut products = self.k.zeros::<Rt<f32, 1, SUBTILES>>();
        for d in 0..D {
            load_no_further(self.k);
            let keys = keys.subtile(0, d as u32).load::<SUBTILES, 1, Row>();
            products = products.mma_abt(&self.q.subtile::<1, 1>(0, d), &keys);
        }
        products
    }
}

/// The state: sums over the tokens before the two latest chunks.
struct Past<'k> {
    /// Σ vᵀ·φ(k), for the 16 columns of V of a warp.
    values: Rt<'k, f32, 1, FEATURES>,
    /// Σ φ(k).
    features: [RowVec<'k, f32, HALF>; 2],
}

impl<'k> State<'k> for Past<'k> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.values.visit(visitor);
        self.features.visit(visitor);
    }
}

impl<'k> Past<'k> {
    #[track_caller]
    fn new(k: Builder<'k>) -> Self {
        Self { values: k.zeros(), features: [k.zeros(), k.zeros()] }
    }

    /// Returns the weighted sums of the values for each group of 16 queries.
    #[track_caller]
    fn sums<T>(
        &self,
        k: Builder<'k>,
        exchanged: &Filled<Exchanged<'k, T>>,
    ) -> impl Iterator<Item = (u32, Rt<'k, f32, 1, 1>)> + use<'k, T>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let mut sums = k.zeros::<Rt<f32, SUBTILES, 1>>();
        for feature in 0..FEATURES {
            load_no_further(k);
            let past = self.values.subtile::<1, 1>(0, feature).convert::<T>();
            let of_queries = exchanged.subtile(0, OF_QUERIES + feature as u32).load::<SUBTILES, 1, Row>();
            sums = sums.mma_abt(&of_queries, &past);
        }
        (0..).zip(sums.vsplit::<1, SUBTILES>())
    }

    /// Returns the state after a chunk, given the exchanged features and the values of the chunk.
    #[track_caller]
    fn with<T>(
        self,
        k: Builder<'k>,
        exchanged: &Filled<Exchanged<'k, T>>,
        values: &Filled<St<'k, T, SUBTILES, VALUES>>,
    ) -> Self
    where
        T: TensorElement + Product<T, f32> + Convert<f32>,
    {
        let Self { values: mut sums, features: [mut first, mut second] } = self;
        for j in 0..SUBTILES as u32 {
            load_no_further(k);
            let of_keys = exchanged.subtile(j, OF_KEYS).load::<1, FEATURES, Col>();
            sums = sums.mma_atb(&values.subtile(j, k.warp()).load::<1, 1, Col>(), &of_keys);
            load_no_further(k);
            first += &exchanged.subtile(j, OF_KEYS).load_as::<f32, 1, HALF, Row>().col_sum();
            second += &exchanged.subtile(j, OF_KEYS + HALF as u32).load_as::<f32, 1, HALF, Row>().col_sum();
        }
        Self { values: sums, features: [first, second] }
    }
}
