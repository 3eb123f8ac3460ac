//! Attention with 8-bit floats and one scale per head.

use super::{
    attention::{Arguments, AttentionShape},
    operands::refused,
    tables::from_attention_tables,
};
use crate::{
    kernels::{AttentionProblem, AttentionValuesArgs, ScaledAttention, ScaledAttentionArgs},
    ptx::{Target, e4m3},
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::Convert,
};

/// The scale factors of Q, K and V in [`scaled_attention`]. They must not be negative.
#[derive(Clone, Copy, Debug)]
pub struct AttentionScales<'a> {
    /// The scales of Q, one for each query head of each batch.
    pub q: BufferRef<'a, f32>,
    /// The scales of K, one for each KV head of each batch.
    pub k: BufferRef<'a, f32>,
    /// The scales of V, one for each KV head of each batch.
    pub v: BufferRef<'a, f32>,
}

impl AttentionShape {
    /// Returns the required length, in elements, of the argument `values` of [`scaled_attention`].
    #[must_use]
    pub fn transposed_values(&self) -> usize {
        let heads = self.batches as usize * self.kv_heads as usize;
        ScaledAttention::new(self.head_size, self.mask).values(heads, self.keys as usize)
    }
}

/// Computes attention like [`attention`](super::attention()), with the same layouts, for `e4m3` elements that are multiplied by the scales
/// of their heads. There are two launches: the first writes the transpose of V to `values`, and the second computes O.
/// [`AttentionShape::transposed_values`] returns the required length of `values`. If a [table of the
/// cache](crate::run::KernelCache::with_attention_table) or a [built-in table](crate::kernels::AttentionTable::builtin) contains the
/// problem, that table determines the kernels; otherwise, [`ScaledAttention::for_problem`] chooses them. The returned [`Called`] describes
/// the second launch. Requires a device of compute capability 9.0.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `head_size` is neither 64 nor 128, or if `value_size` differs from `head_size`.
#[doc(alias = "fp8")]
pub fn scaled_attention<'a, O>(
    on: impl Into<Queue<'a>>,
    shape: &AttentionShape,
    scales: AttentionScales<'_>,
    q: impl Into<BufferRef<'a, e4m3>>,
    k: impl Into<BufferRef<'a, e4m3>>,
    v: impl Into<BufferRef<'a, e4m3>>,
    values: impl Into<BufferMut<'a, e4m3>>,
    o: impl Into<BufferMut<'a, O>>,
    lse: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError>
where
    O: TensorElement,
    f32: Convert<O>,
{
    const CALL: &str = "scaled_attention";
    let (queue, mut values) = (on.into(), values.into());
    if ScaledAttention::tiles(shape.head_size).next().is_none() {
        return Err(refused(CALL, "a head size of 64 or 128", shape.head_size));
    }
    if shape.value_size != shape.head_size {
        let expected = format!("values of {} elements, like the keys", shape.head_size);
        return Err(refused(CALL, expected, shape.value_size));
    }
    let Arguments { sizes, of_queries, of_keys, of_results, scale, .. } = shape.arguments(CALL)?;
    let problem = shape.problem(queue, Target::SM_90A);
    let pick = |problem: &AttentionProblem| {
        let tuned = from_attention_tables(queue, |table| table.get_scaled(problem));
        tuned.unwrap_or_else(|| ScaledAttention::for_problem(problem))
    };
    let AttentionShape { batches, kv_heads, keys, .. } = *shape;
    queue.launch::<_, _, AttentionValuesArgs>(
        CALL,
        problem,
        pick,
        ScaledAttention::values_kernel,
        (v.into(), values.reborrow(), [batches, kv_heads, keys], of_keys),
    )?;
    let AttentionScales { q: of_q, k: of_k, v: of_v } = scales;
    let (scales, strides) = ([of_q, of_k, of_v], [of_queries, of_keys, of_results]);
    queue.launch::<_, _, ScaledAttentionArgs<O>>(
        CALL,
        problem,
        pick,
        ScaledAttention::kernel,
        (q.into(), k.into(), values.as_read(), o.into(), lse.into(), scales, sizes, strides, scale),
    )
}
