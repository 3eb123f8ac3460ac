//! Attention with softmax over the latest tokens and learned features for older tokens.

use super::{
    heads::{positive_scale, refused_sizes},
    linear::LinearShape,
    operands::portable_target,
};
use crate::{
    kernels::{Hedgehog, HedgehogArgs},
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// The per-head parameters of [`hedgehog`].
#[derive(Clone, Copy, Debug)]
pub struct HedgehogOperands<'a, T> {
    /// The matrices that map queries to features: a contiguous `[head][64][64]` array.
    pub q_maps: BufferRef<'a, T>,
    /// The matrices that map keys to features: a contiguous `[head][64][64]` array.
    pub k_maps: BufferRef<'a, T>,
    /// α, the scale factor for the weights of the latest tokens: one element per head. All elements must be positive.
    pub alphas: BufferRef<'a, f32>,
    /// β, the scale factor for the weights of older tokens: one element per head. No element may be negative.
    pub betas: BufferRef<'a, f32>,
}

/// Computes causal attention with softmax over the latest tokens (those of the current chunk of 64 tokens and of the preceding chunk) and
/// learned features for older tokens, as described in [`Hedgehog`]. The head size must be 64 for Q and K, and 64 or 128 for V and O.
/// `scale` is the scale factor for the scores, which must be positive. If it is `None`, 1/√64 is used. Requires a device of compute
/// capability 8.0 or later with at least 128 KiB of shared memory per block, which excludes compute capabilities 8.6, 8.9 and 12.x.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if a head size is not supported.
#[doc(alias = "LoLCATs")]
pub fn hedgehog<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &LinearShape,
    scale: Option<f32>,
    operands: &HedgehogOperands<'_, T>,
    q: impl Into<BufferRef<'a, T>>,
    k: impl Into<BufferRef<'a, T>>,
    v: impl Into<BufferRef<'a, T>>,
    o: impl Into<BufferMut<'a, T>>,
) -> Result<Called, CallError>
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    const CALL: &str = "hedgehog";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let LinearShape { key_size, value_size, .. } = *shape;
    if !matches!([key_size, value_size], [64, 64 | 128]) {
        let expected = "head sizes 64 and 64, or 64 and 128";
        return Err(refused_sizes(CALL, expected, [key_size, value_size]));
    }
    let scale = positive_scale(CALL, key_size, scale)?;
    let (sizes, strides) = shape.arguments(CALL)?;
    let HedgehogOperands { q_maps, k_maps, alphas, betas } = *operands;
    let factors = (q.into(), k.into(), v.into());
    queue.launch::<_, _, HedgehogArgs<T>>(
        CALL,
        Hedgehog { value_size },
        |hedgehog| *hedgehog,
        |hedgehog| hedgehog.kernel(target),
        (factors.0, factors.1, factors.2, q_maps, k_maps, alphas, betas, o.into(), sizes, strides, scale),
    )
}
