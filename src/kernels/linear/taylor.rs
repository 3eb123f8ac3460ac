//! Linear attention with the Taylor expansion of the exponential (Based).

use std::array;

use super::inputs::{CHUNK, LinearAttentionArgs, SUBTILES, Sizes, strides_of};
use crate::{
    atoms::MmaOperand,
    kernels::loads::load_no_further,
    ptx::{BuildError, Builder, Global, Kernel, Ptr, Read, State, Target, Val, Visitor, Write},
    tensor::Arithmetic,
    tiles::{Col, ColVec, Convert, Product, Row, Rt, St},
};

/// A kernel for causal attention whose weights are second-order Taylor expansions of the exponential. It computes oᵢ = Σ w(qᵢ·kⱼ / 4) · vⱼ
/// with w(s) = 1 + s + s²/2, where the sum is over the tokens j ≤ i. The head size is 16 for Q and K, and 64 for V and O.
///
/// Because w(q·k / 4) = φ(q)·φ(k) with 1 + 16 + 16² features φ, the tokens before a chunk of 64 tokens are represented by a state with one
/// row per feature. Of the 16² rows for products of two elements, the rows for the pairs (a, b) and (b, a) are equal, so only 16 · 9 rows
/// are stored. Sums are computed in f32. Weights, features and the state are rounded to the element type before they are used as MMA
/// operands.
#[doc(alias = "Based")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaylorAttention {
    /// Whether each oᵢ is divided by the sum of its weights. Every weight is at least ½, so the divisor is not 0.
    pub normalized: bool,
}

/// The width of V and O, in subtiles; Q and K are one subtile wide.
const VALUES: usize = 4;

impl TaylorAttention {
    /// Builds the kernel. Its name contains the type, as in `taylor_attention_bf16` or, if `normalized` is true,
    /// `taylor_attention_normalized_bf16`.
    ///
    /// # Errors
    /// Returns an error if the target is older than sm_80.
    pub fn kernel<T>(&self, target: Target) -> Result<Kernel<LinearAttentionArgs<T>>, BuildError>
    where
        T: Arithmetic + Product<T, f32> + Convert<f32>,
        f32: Convert<T>,
    {
        let (name, what) = if self.normalized { ("_normalized", ", normalized") } else { ("", "") };
        let signature = format!(
            "taylor_attention{name}_{}(q, k, v, o, batches, heads, length, {})",
            T::NAME,
            strides_of(&["q", "k", "v", "o"])
        );
        Kernel::<LinearAttentionArgs<T>>::build(
            &signature,
            target,
            |k, (q, keys, values, o, sizes, strides)| {
                let [batches, heads, length] = sizes;
                k.describe(format!(
                "oᵢ = Σ (1 + s + s²/2)·vⱼ over j ≤ i with s = qᵢ·kⱼ/4{what}: rows of 16 of Q and K, of 64 of V ({})",
                T::NAME
            ));
                self.emit(k, [q, keys, values], o, Sizes { batches, heads, length }, strides);
            },
        )
    }

    fn emit<'k, T>(
        &self,
        k: Builder<'k>,
        factors: [Ptr<'k, T, Global, Read>; 3],
        o: Ptr<'k, T, Global, Write>,
        sizes: Sizes<'k>,
        strides: [[Val<'k, u32>; 3]; 4],
    ) where
        T: Arithmetic + Product<T, f32> + Convert<f32>,
        f32: Convert<T>,
    {
        // Each warp processes 16 columns of V. An additional warp processes columns of ones, whose weighted sums are the divisors.
        let warps = VALUES as u32 + u32::from(self.normalized);
        k.block([32 * warps]);
        k.min_blocks(if self.normalized { 1 } else { 2 });
        let at = sizes.block_of_each(k);
        let [q, keys, values] = [(0, 16), (1, 16), (2, 16 * VALUES as u32)]
            .map(|(which, columns)| sizes.matrices(k, factors[which], columns, strides[which]).batch(at));
        let o = sizes.matrices(k, o, 16 * VALUES as u32, strides[3]).batch(at);
        let warp = k.warp().rank();
        let has_values = warp.lt(VALUES as u32);

        let ones: Rt<T, 1, 1> = k.filled::<Rt<f32, 1, 1>>(1.0).convert();
        let one = ones.registers()[0];
        let divided = self.normalized.then(|| k.shared_tile::<St<f32, SUBTILES, { VALUES + 1 }>>());
        let stages = k.pipeline::<(St<T, SUBTILES, 1>, St<T, SUBTILES, 1>, St<T, SUBTILES, VALUES>), 3>();
        stages.run_indexed(
            sizes.length.ceil_div(CHUNK),
            (Past::new(k), divided),
            |i, stage| stage.fill((q.tile(i, 0), keys.tile(i, 0), values.tile(i, 0))),
            |chunk, (past, divided), (q, keys, values)| {
                let values_at = |j: usize| -> Rt<T, 1, 1, Col> {
                    let values = values.subtile(j as u32, warp.min(VALUES as u32 - 1)).load();
                    if self.normalized {
                        values.map_words(|pair| has_values.select(pair, one))
                    } else {
                        values
                    }
                };
                // The weighted sums of 16 queries.
                let sums = |i: usize| {
                    load_no_further(k);
                    let q = q.subtile(i as u32, 0).load_as::<f32, 1, 1, Row>() * 0.25;
                    let q: Rt<T, 1, 1> = q.convert();
                    let mut sums = past.weighted(&q);
                    for j in 0..=i {
                        load_no_further(k);
                        let keys: Rt<T, 1, 1> = keys.subtile(j as u32, 0).load_operand(MmaOperand::B);
                        let s = k.zeros::<Rt<f32, 1, 1>>().mma_abt(&q, &keys);
                        let weights = (&s * 0.5 + 1.0).mul_add(&s, 1.0);
                        let weights = if i == j { weights.causal(0.0) } else { weights };
                        sums = sums.mma_ab(&weights.convert::<T>(), &values_at(j));
                    }
                    sums
                };
                let row = |i: usize| chunk * SUBTILES as u32 + i as u32;
                let divided = match divided {
                    None => {
                        (0..SUBTILES).for_each(|i| o.tile(row(i), warp).store(&sums(i)));
                        None
                    }
                    Some(divided) => {
                        let divided = divided.store_with(|all| {
                            (0..SUBTILES).for_each(|i| all.subtile(i as u32, warp).store(&sums(i)));
                        });
                        let divided = divided.wait();
                        k.if_(has_values, || {
                            let divisors: ColVec<f32, 1> =
                                divided.subtile(warp, VALUES as u32).load::<1, 1, Row>().row_max();
                            let sums: Rt<f32, 1, VALUES> = divided.subtile(warp, 0).load();
                            o.tile(chunk * SUBTILES as u32 + warp, 0).store(&(sums * &divisors.recip()));
                        });
                        Some(divided.release())
                    }
                };
                let past = (0..SUBTILES).fold(past, |past, j| {
                    load_no_further(k);
                    past.with(&ones, &keys.subtile(j as u32, 0).load(), &values_at(j))
                });
                (past, divided)
            },
        );
    }
}

/// The keys before a chunk, for the 16 columns of V of a warp.
struct Past<'k> {
    /// Σ v in every row.
    constant: Rt<'k, f32, 1, 1>,
    /// Σ vᵀ·k.
    linear: Rt<'k, f32, 1, 1>,
    /// Σ vᵀ·(k ∘ k′), where column a of k′ is column [`partner`]`(mask, a)` of k.
    quadratic: [Rt<'k, f32, 1, 1>; MASKS.len()],
}

/// The masks of the stored pairs: (q·k)² is the sum over a and b of q_a·q_b · k_a·k_b, and each mask represents 16 pairs (a, b). The pairs
/// of mask 0 are the squares. For each pair (a, b) of mask 1, (b, a) is also a pair of mask 1; the other masks contain only one of (a, b)
/// and (b, a). No two masks have a pair in common.
const MASKS: [u32; 9] = [0, 1, 2, 4, 6, 8, 10, 12, 14];

/// Returns b of the pair (a, b): a ^ `mask` or, if `mask` is at least 2 and its highest bit is set in a, a ^ (`mask` + 1).
fn partner(mask: u32, a: u32) -> u32 {
    let is_second = if mask < 2 { 0 } else { a >> mask.ilog2() & 1 };
    a ^ mask ^ is_second
}

impl<'k> State<'k> for Past<'k> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.constant.visit(visitor);
        self.linear.visit(visitor);
        self.quadratic.visit(visitor);
    }
}

impl<'k> Past<'k> {
    #[track_caller]
    fn new(k: Builder<'k>) -> Self {
        Self { constant: k.zeros(), linear: k.zeros(), quadratic: array::from_fn(|_| k.zeros()) }
    }

    /// Returns the weighted sums of all values for 16 queries.
    #[track_caller]
    fn weighted<T>(&self, q: &Rt<'k, T, 1, 1>) -> Rt<'k, f32, 1, 1>
    where
        T: Arithmetic + Product<T, f32>,
        f32: Convert<T>,
    {
        let mut sums = self.constant.map(|x| x).mma_abt(q, &self.linear.convert::<T>());
        for (mask, state) in MASKS.into_iter().zip(&self.quadratic) {
            // s²/2 contains half of each square, and the product of each other pair once.
            let state = if mask < 2 { (state * 0.5).convert::<T>() } else { state.convert() };
            sums = sums.mma_abt(&(q * &q.gather_cols(|a| partner(mask, a))), &state);
        }
        sums
    }

    /// Adds 16 keys and values.
    #[track_caller]
    fn with<T>(
        self,
        ones: &Rt<'k, T, 1, 1>,
        keys: &Rt<'k, T, 1, 1, Col>,
        values: &Rt<'k, T, 1, 1, Col>,
    ) -> Self
    where
        T: Arithmetic + Product<T, f32>,
    {
        let Self { constant, linear, quadratic } = self;
        let mut masks = MASKS.into_iter();
        Self {
            constant: constant.mma_ab(ones, values),
            linear: linear.mma_atb(values, keys),
            quadratic: quadratic.map(|state| {
                let mask = masks.next().expect("one for each");
                state.mma_atb(values, &(keys * &keys.gather_cols(|a| partner(mask, a))))
            }),
        }
    }
}
