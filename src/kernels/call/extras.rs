//! Attention with a soft cap, ALiBi slopes, attention sinks and dropout.

use super::{
    attention::{Arguments, AttentionShape, target_for},
    dropout::DropoutMask,
    operands::refused,
};
use crate::{
    kernels::{Attention, AttentionExtras, AttentionExtrasArgs},
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// The operands of the optional extensions of attention ([`AttentionExtras`]). An extension whose field is `None` is not applied.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraOperands<'a> {
    /// The soft cap c, from 0.001 to 10,000: each score is replaced with c·tanh(score / c).
    pub soft_cap: Option<f32>,
    /// The ALiBi slopes, one per query head. The product of the head's slope and the distance between the positions of the query and the
    /// key is subtracted from each score.
    pub slopes: Option<BufferRef<'a, f32>>,
    /// The attention sinks, one score per query head. The exponential of the head's sink is added to each row's sum of exponentials.
    pub sinks: Option<BufferRef<'a, f32>>,
    /// The dropout of the weights; its probability must be less than 1. The random numbers of a query head use the mask's `offset` plus the
    /// index of that head among the query heads of all batches.
    pub dropout: Option<DropoutMask>,
}

/// Computes attention like [`attention`](super::attention()), with the same layouts, and with any combination of a soft cap, ALiBi slopes,
/// attention sinks and dropout. [`Attention::for_problem`] chooses the kernel. With dropout, [`Attention::with_tile_for_dropout`] chooses
/// the tile; with a soft cap but without dropout, [`Attention::with_tile_for_cap`] chooses it. Requires a device of compute capability 8.0
/// or later.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// // A query and a key with a score of 0, and a sink of 0: the weight of the value is ½.
/// let shape = call::AttentionShape::new(1, 1, 1, 64);
/// let [q, k, v] = [0.0, 1.0, 3.0].map(|x| device.upload(&[bf16::from_f32(x); 64]));
/// let sinks = device.upload(&[0.0f32])?;
/// let extras = call::ExtraOperands { sinks: Some((&sinks).into()), ..call::ExtraOperands::default() };
/// let (mut o, mut lse) = (device.output::<bf16>(64)?, device.output::<f32>(1)?);
/// call::attention_with_extras(&kernels, &shape, &extras, &q?, &k?, &v?, &mut o, &mut lse)?;
/// assert_eq!(device.download(&o)?, [bf16::from_f32(1.5); 64]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the same errors as [`attention`](super::attention()). Also returns `Refused` if the soft cap or the dropout probability is out
/// of range.
#[doc(alias = "softcap")]
#[doc(alias = "ALiBi")]
pub fn attention_with_extras<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &AttentionShape,
    extras: &ExtraOperands<'_>,
    q: impl Into<BufferRef<'a, T>>,
    k: impl Into<BufferRef<'a, T>>,
    v: impl Into<BufferRef<'a, T>>,
    o: impl Into<BufferMut<'a, T>>,
    lse: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    const CALL: &str = "attention_with_extras";
    let queue = on.into();
    let target = target_for(CALL, queue, shape.head_size, shape.value_size)?;
    let Arguments { sizes, of_queries, of_keys, of_values, of_results, scale } = shape.arguments(CALL)?;
    let strides = [of_queries, of_keys, of_values, of_results];
    let ExtraOperands { soft_cap, slopes, sinks, dropout } = *extras;
    if let Some(cap) = soft_cap.filter(|cap| !(1e-3..=1e4).contains(cap)) {
        return Err(refused(CALL, "a soft cap from 0.001 to 10000", cap));
    }
    // `f32` does not implement `Hash`, so the problem contains the bits of the cap.
    let present = (soft_cap.map(f32::to_bits), slopes.is_some(), sinks.is_some(), dropout.is_some());
    let (p, random) = of_weights(CALL, dropout)?;
    let [slopes, sinks] = [slopes, sinks].map(|numbers| numbers.unwrap_or(BufferRef::empty()));
    queue.launch::<_, _, AttentionExtrasArgs<T>>(
        CALL,
        (shape.problem(queue, target), present),
        |(problem, present)| {
            let attention = Attention::for_problem(problem);
            let attention = match (dropout, soft_cap) {
                (Some(_), _) => attention.with_tile_for_dropout(),
                (None, Some(_)) => attention.with_tile_for_cap(),
                (None, None) => attention,
            };
            (attention, *present)
        },
        |(attention, (_, slopes, sinks, dropout))| {
            let (slopes, sinks, dropout) = (*slopes, *sinks, *dropout);
            attention.kernel_with_extras(AttentionExtras { soft_cap, slopes, sinks, dropout })
        },
        (q.into(), k.into(), v.into(), o.into(), lse.into(), sizes, strides, scale, slopes, sinks, p, random),
    )
}

/// Returns the probability, seed and offset for dropout of the weights. Without dropout, all three are 0.
pub(super) fn of_weights(
    call: &'static str,
    dropout: Option<DropoutMask>,
) -> Result<(f32, [u64; 2]), CallError> {
    match dropout {
        None => Ok((0.0, [0; 2])),
        Some(DropoutMask { p, seed, offset }) if (0.0..1.0).contains(&p) => Ok((p, [seed, offset])),
        Some(DropoutMask { p, .. }) => Err(refused(call, "a probability of at least 0 and less than 1", p)),
    }
}
