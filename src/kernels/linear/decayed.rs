//! Linear attention with a state that decays by a constant factor per head.

use std::f32::consts::LOG2_E;

use super::{
    chunk::{Chunk, Past},
    decay::Decays,
    inputs::{CHUNK, SUBTILES, Sizes, strides_of},
};
use crate::{
    ptx::{BuildError, Builder, Global, In, InOut, Kernel, Out, Ptr, Read, ReadWrite, Target, Val, Write},
    tensor::TensorElement,
    tiles::{Convert, Naive, Product, Row, Rv, St, contiguous, vector},
};

/// The arguments of the kernel that [`DecayedAttention::kernel`] builds: `(q, k, v, decays, o, state, [batches, heads, length], strides)`.
/// `decays` contains one element per head, and `state` contains a contiguous `key_size`×`value_size` matrix for each batch and head; see
/// [`LinearAttentionArgs`](super::LinearAttentionArgs) for the other arguments.
pub type DecayedAttentionArgs<T> =
    (In<T>, In<T>, In<T>, In<f32>, Out<T>, InOut<f32>, [u32; 3], [[u32; 3]; 4]);

/// A kernel for causal linear attention with a state S that decays by a constant factor λ = e^`decay` per token, where `decay` is the
/// head's element of `decays`. For each token i, the kernel computes Sᵢ = λ · Sᵢ₋₁ + kᵢᵀ·vᵢ and oᵢ = qᵢ·Sᵢ.
///
/// The argument `state` contains S₀ and is overwritten with the state after the last token, so a sequence can be processed in several
/// launches. Each element of `decays` must be finite and at most 0; with 0, the state does not decay.
///
/// Sums are computed in f32. The scores q·k and the values v are multiplied by decay factors in f32. Scores, values and the state are
/// rounded to the element type before they are used as MMA operands.
#[doc(alias = "Lightning Attention")]
#[doc(alias = "RetNet")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecayedAttention {
    /// The head size of Q and K: 64 or 128.
    pub key_size: u32,
    /// The head size of V and O: 64 or 128.
    pub value_size: u32,
}

impl DecayedAttention {
    /// Builds the kernel. Its name contains the type and the head sizes, as in `decayed_attention_bf16_128_128`.
    ///
    /// # Errors
    /// Returns an error for unsupported head sizes, for a target older than sm_80, or, if both head sizes are 128, for a target with less
    /// than 106 KiB of shared memory per block (such as sm_86, sm_89 and sm_120a).
    pub fn kernel<T>(&self, target: Target) -> Result<Kernel<DecayedAttentionArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32> + Convert<f32>,
        f32: Convert<T>,
    {
        let Self { key_size, value_size } = *self;
        let signature = format!(
            "decayed_attention_{}_{key_size}_{value_size}(q, k, v, decays, o, state, batches, heads, length, {})",
            T::NAME,
            strides_of(&["q", "k", "v", "o"])
        );
        Kernel::<DecayedAttentionArgs<T>>::build(
            &signature,
            target,
            |k, (q, keys, values, decays, o, state, sizes, strides)| {
                k.describe(format!(
                    "Sᵢ = e^decay·Sᵢ₋₁ + kᵢᵀ·vᵢ, oᵢ = qᵢ·Sᵢ: rows of {key_size} of Q and K, of {value_size} of V ({})",
                    T::NAME
                ));
                let [batches, heads, length] = sizes;
                let sizes = Sizes { batches, heads, length };
                let inputs = Inputs { factors: [q, keys, values], decays, o, state, sizes, strides };
                match [key_size, value_size] {
                    [64, 64] => emit::<T, 4, 4, 4>(k, inputs),
                    [64, 128] => emit::<T, 4, 8, 2>(k, inputs),
                    [128, 64] => emit::<T, 8, 4, 4>(k, inputs),
                    [128, 128] => emit::<T, 8, 8, 2>(k, inputs),
                    _ => {
                        k.block([128]);
                        k.refuse(format!("expected rows of 64 or 128, found {key_size} and {value_size}"));
                    }
                }
            },
        )
    }
}

/// The parameters of a kernel.
struct Inputs<'k, T> {
    factors: [Ptr<'k, T, Global, Read>; 3],
    decays: Ptr<'k, f32, Global, Read>,
    o: Ptr<'k, T, Global, Write>,
    state: Ptr<'k, f32, Global, ReadWrite>,
    sizes: Sizes<'k>,
    strides: [[Val<'k, u32>; 3]; 4],
}

/// Emits the kernel for rows of `D` subtiles of Q and K and of `E` subtiles of V and O. There are `E` warps, each of which computes one
/// column of subtiles of O and `P` columns of subtiles of the products of queries and keys.
fn emit<'k, T, const D: usize, const E: usize, const P: usize>(k: Builder<'k>, inputs: Inputs<'k, T>)
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    let Inputs { factors: [q, keys, values], decays, o, state, sizes, strides } = inputs;
    let (d, e) = (16 * D as u32, 16 * E as u32);
    k.block([32 * E as u32]);
    k.min_blocks(2);
    let at = sizes.block_of_each(k);
    let q = sizes.matrices(k, q, d, strides[0]).batch(at);
    let keys = sizes.matrices(k, keys, d, strides[1]).batch(at);
    let values = sizes.matrices(k, values, e, strides[2]).batch(at);
    let o = sizes.matrices(k, o, e, strides[3]).batch(at);
    let state = k.global(state, contiguous([sizes.batches, sizes.heads, d.into(), e.into()])).batch(at);
    let state = state.transposed().tile(k.warp(), 0);

    let log = k.global(decays, vector(sizes.heads)).at(at.1).load() * LOG2_E;
    let stages = k.pipeline::<(St<T, SUBTILES, D>, St<T, SUBTILES, D>, St<T, SUBTILES, E>), 2>();
    let memory = (k.shared_tile::<St<T, SUBTILES, SUBTILES>>(), Decays::memory(k));
    let start: (Past<'k, D>, _) = (state.clone().load::<f32, 1, D, Row>(), memory);
    let (past, _) = stages.run_indexed(
        sizes.length.ceil_div(CHUNK),
        start,
        |i, stage| stage.fill((q.tile(i, 0), keys.tile(i, 0), values.tile(i, 0))),
        |i, (past, (scores, memory)), (q, keys, values)| {
            // The state does not decay after the last token.
            let tokens = sizes.length - i * CHUNK;
            let logs = k.zeros::<Rv<f32, SUBTILES, Naive>>();
            let logs = logs.map_indexed(|_, token, _| token.lt(tokens).select(log, 0.0));
            let decays = Decays::of(k, memory, &logs);
            let chunk = Chunk::<T, D, E, P> { k, q, keys, values, decays: &decays, weights: None };
            let scores = chunk.scores(scores);
            for (subtile, sums) in chunk.sums(&past, &scores) {
                o.tile(i * SUBTILES as u32 + subtile, k.warp()).store(&sums);
            }
            (chunk.after(past), (scores.release(), decays.release()))
        },
    );
    state.store(&past);
}
