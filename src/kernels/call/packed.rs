//! Attention for packed sequences, and its gradients.

use super::{
    attention::{AttentionGradients, target_for},
    heads::{HeadOrder, scale_of_heads},
    operands::refused,
};
use crate::{
    kernels::{
        Attention, AttentionBackward, AttentionMask, PackedAttentionArgs, PackedAttentionFinishArgs,
        PackedAttentionKeysArgs, PackedAttentionQueriesArgs, PackedAttentionRowsArgs,
    },
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// The sizes, mask, scale and layout of [`packed_attention`] and its gradients. The sequences are stored one after the other, without a
/// batch axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackedShape {
    /// The number of sequences.
    pub sequences: u32,
    /// The number of query heads.
    pub heads: u32,
    /// The number of KV heads, which must divide `heads`.
    pub kv_heads: u32,
    /// The number of rows of Q and O per head, including rows that do not belong to any sequence.
    pub queries: u32,
    /// The number of rows of K and V per head.
    pub keys: u32,
    /// The maximum number of queries per sequence. If a sequence has more queries, results are computed only for the first `longest`
    /// queries, rounded up to whole tiles.
    pub longest: u32,
    /// The maximum number of keys per sequence; used only by [`packed_attention_backward`]. If a sequence has more keys, gradients are not
    /// computed for all of them.
    pub longest_keys: u32,
    /// The head size of Q and K: the number of elements per row.
    pub head_size: u32,
    /// The head size of V and O: the number of elements per row.
    pub value_size: u32,
    /// The mask, which determines the keys of the same sequence that each query attends to.
    pub mask: AttentionMask,
    /// The scale factor for the scores, which must be positive. If it is `None`, 1/√`head_size` is used.
    pub scale: Option<f32>,
    /// The axis order of Q, K, V and O, which are contiguous arrays without a batch axis: `[position][head][column]` or
    /// `[head][position][column]`.
    pub order: HeadOrder,
}

impl PackedShape {
    /// Returns the shape of self-attention without a mask, with the axis order [`HeadOrder::Positions`]. `positions` is the total number of
    /// positions of all sequences, and `longest` is the maximum number of positions per sequence.
    pub const fn new(sequences: u32, heads: u32, positions: u32, longest: u32, head_size: u32) -> Self {
        Self {
            sequences,
            heads,
            kv_heads: heads,
            queries: positions,
            keys: positions,
            longest,
            longest_keys: longest,
            head_size,
            value_size: head_size,
            mask: AttentionMask::Full,
            scale: None,
            order: HeadOrder::Positions,
        }
    }

    /// Returns the required lengths, in elements, of the two `workspace` buffers of [`packed_attention_backward`]. The value of
    /// `deterministic` must be the same as in the call to `packed_attention_backward`.
    #[must_use]
    pub fn workspace(&self, deterministic: bool) -> [usize; 2] {
        let [heads, sequences, queries] =
            [self.heads, self.sequences, self.queries].map(|count| count as usize);
        self.backward(deterministic).packed_workspace(heads, sequences, queries)
    }

    fn backward(&self, deterministic: bool) -> AttentionBackward {
        let Self { head_size, value_size, mask, .. } = *self;
        AttentionBackward { value_size, deterministic, ..AttentionBackward::new(head_size, mask) }
    }

    /// Returns the strides between heads and between rows, given the number of heads, rows and columns.
    fn strides(&self, call: &'static str, sizes: [u32; 3]) -> Result<[u32; 2], CallError> {
        self.order.strides_of_one(call, sizes)
    }
}

/// Computes attention as [`attention`](super::attention()) does, but for packed sequences, that is, sequences of different lengths that
/// are stored one after another. `query_starts` and `key_starts` each have `sequences` + 1 elements: the index of the first row of each sequence, in
/// ascending order, followed by the end of the last sequence. `lse` is a contiguous `[head][query]` array. Rows of O and elements of `lse`
/// that do not belong to any sequence are not written.
///
/// [`Attention::new`] chooses the kernel. The choice does not depend on the number or lengths of the sequences, so calls with different
/// sequences reuse the kernel. Requires a device of compute capability 8.0 or later.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// // Two sequences, of 3 and 5 positions, with one head of size 64.
/// let shape = call::PackedShape::new(2, 1, 8, 5, 64);
/// let starts = device.upload(&[0u32, 3, 8])?;
/// let values: Vec<_> = (0..8 * 64).map(|at| bf16::from_f32(if at / 64 < 3 { 1.0 } else { 2.0 })).collect();
/// let (q, v) = (device.upload(&[bf16::ONE; 8 * 64])?, device.upload(&values)?);
/// let (mut o, mut lse) = (device.output::<bf16>(8 * 64)?, device.output::<f32>(8)?);
/// call::packed_attention(&kernels, &shape, (&starts, &starts), &q, &q, &v, &mut o, &mut lse)?;
/// assert_eq!(device.download(&o)?, values);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `heads` is not a multiple of `kv_heads`, or if no kernel supports the head sizes.
#[doc(alias = "varlen")]
#[doc(alias = "cu_seqlens")]
pub fn packed_attention<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &PackedShape,
    (query_starts, key_starts): (impl Into<BufferRef<'a, u32>>, impl Into<BufferRef<'a, u32>>),
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
    const CALL: &str = "packed_attention";
    let queue = on.into();
    let PackedShape { sequences, heads, kv_heads, queries, keys, longest, head_size, value_size, .. } =
        *shape;
    let target = target_for(CALL, queue, head_size, value_size)?;
    let scale = scale_of_heads(CALL, [heads, kv_heads], head_size, shape.scale)?;
    let strides = |sizes| shape.strides(CALL, sizes);
    let strides = [
        strides([heads, queries, head_size])?,
        strides([kv_heads, keys, head_size])?,
        strides([kv_heads, keys, value_size])?,
        strides([heads, queries, value_size])?,
    ];
    let sizes = [sequences, kv_heads, heads / kv_heads, queries, keys];
    let starts = [query_starts.into(), key_starts.into()];
    let arguments =
        (q.into(), k.into(), v.into(), o.into(), lse.into(), starts, sizes, longest, strides, scale);
    queue.launch::<_, _, PackedAttentionArgs<T>>(
        CALL,
        Attention::new(target, head_size, value_size, shape.mask),
        |attention| *attention,
        Attention::packed_kernel,
        arguments,
    )
}

/// Computes the gradients of [`packed_attention`] with respect to Q, K and V in three launches. `query_starts` and `key_starts` must be
/// those of the forward call, and `gradients` contains the other operands and the results. [`AttentionBackward::new`] chooses the
/// kernels. If `deterministic` is true, the results are bit-identical in every run. Rows of the gradients that do not belong to any
/// sequence are not written. The returned [`Called`] describes the kernel that computes dK and dV. Requires a device of compute capability
/// 9.0.
///
/// The kernels process each sequence in tiles of rows, and the last tile may extend past the end of the sequence. If rows of Q, K, V, O or
/// dO that are in this tile but past the end of the sequence contain NaN or ∞, gradients of the sequence may become NaN.
///
/// # Errors
/// Returns [`CallError`], for example if [`attention_backward`](super::attention_backward) does not support the head sizes, or if `dropout`
/// is not `None`. If the second or third launch fails, the contents of the results are unspecified.
#[doc(alias = "varlen")]
#[doc(alias = "cu_seqlens")]
pub fn packed_attention_backward<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &PackedShape,
    deterministic: bool,
    (query_starts, key_starts): (impl Into<BufferRef<'a, u32>>, impl Into<BufferRef<'a, u32>>),
    q: impl Into<BufferRef<'a, T>>,
    k: impl Into<BufferRef<'a, T>>,
    v: impl Into<BufferRef<'a, T>>,
    gradients: AttentionGradients<'_, T>,
) -> Result<Called, CallError>
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    const CALL: &str = "packed_attention_backward";
    let queue = on.into();
    let PackedShape { sequences, heads, kv_heads, queries, keys, longest, longest_keys, .. } = *shape;
    let scale = scale_of_heads(CALL, [heads, kv_heads], shape.head_size, shape.scale)?;
    let (q, k, v) = (q.into(), k.into(), v.into());
    let AttentionGradients { o, lse, d_o, dq, dk, dv, workspace: [mut rows, mut sums], dropout } = gradients;
    if let Some(dropout) = dropout {
        return Err(refused(CALL, "packed sequences without dropout", format!("p = {}", dropout.p)));
    }
    let PackedShape { head_size, value_size, .. } = *shape;
    let of_queries = shape.strides(CALL, [heads, queries, head_size])?;
    let of_keys = shape.strides(CALL, [kv_heads, keys, head_size])?;
    let of_values = shape.strides(CALL, [kv_heads, keys, value_size])?;
    let of_results = shape.strides(CALL, [heads, queries, value_size])?;
    let sizes = [sequences, kv_heads, heads / kv_heads, queries, keys];
    let (starts, longest) = ([query_starts.into(), key_starts.into()], [longest, longest_keys]);
    let backward = shape.backward(deterministic);
    let pick = |backward: &AttentionBackward| *backward;

    queue.launch::<_, _, PackedAttentionRowsArgs<T>>(
        CALL,
        backward,
        pick,
        AttentionBackward::packed_rows_kernel,
        (o, d_o, lse, rows.reborrow(), sums.reborrow(), starts, sizes, longest, [of_results; 2]),
    )?;
    let strides = [of_queries, of_keys, of_values, of_results, of_keys, of_values];
    let (from, to) = (rows.as_read(), sums.reborrow());
    let called = queue.launch::<_, _, PackedAttentionKeysArgs<T>>(
        CALL,
        backward,
        pick,
        AttentionBackward::packed_keys_kernel,
        (q, k, v, d_o, from, to, dk, dv, starts, sizes, longest, strides, scale),
    )?;
    if deterministic {
        let strides = [of_queries, of_keys, of_values, of_results, of_queries];
        queue.launch::<_, _, PackedAttentionQueriesArgs<T>>(
            CALL,
            backward,
            pick,
            AttentionBackward::packed_queries_kernel,
            (q, k, v, d_o, rows.as_read(), dq, starts, sizes, longest, strides, scale),
        )?;
    } else {
        queue.launch::<_, _, PackedAttentionFinishArgs<T>>(
            CALL,
            backward,
            pick,
            AttentionBackward::packed_finish_kernel,
            (sums.as_read(), dq, starts, sizes, longest, of_queries, scale),
        )?;
    }
    Ok(called)
}
