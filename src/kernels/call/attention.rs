//! Attention and its gradients.

use super::{
    dropout::DropoutMask,
    extras::of_weights,
    heads::{HeadOrder, refused_sizes, scale_of_heads},
    operands::portable_target,
    tables::from_attention_tables,
};
use crate::{
    kernels::{
        Attention, AttentionArgs, AttentionBackward, AttentionFinishArgs, AttentionKeysArgs, AttentionMask,
        AttentionProblem, AttentionQueriesArgs, AttentionRowsArgs, AttentionTile,
    },
    ptx::Target,
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// The sizes, mask, scale and layout of an attention problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionShape {
    /// The number of sequences.
    pub batches: u32,
    /// The number of query heads per sequence.
    pub heads: u32,
    /// The number of KV heads per sequence, which must divide `heads`.
    pub kv_heads: u32,
    /// The number of queries per head.
    pub queries: u32,
    /// The number of keys per head.
    pub keys: u32,
    /// The head size of Q and K: the number of elements per row.
    pub head_size: u32,
    /// The head size of V and O: the number of elements per row.
    pub value_size: u32,
    /// The mask, which determines the keys that each query attends to.
    pub mask: AttentionMask,
    /// The scale factor for the scores, which must be positive. If it is `None`, 1/√`head_size` is used.
    pub scale: Option<f32>,
    /// The axis order of the contiguous arrays Q, K, V and O.
    pub order: HeadOrder,
}

impl AttentionShape {
    /// Returns the shape of self-attention without a mask for `batches` sequences of `positions` tokens, with the axis order
    /// [`HeadOrder::Positions`].
    pub const fn new(batches: u32, heads: u32, positions: u32, head_size: u32) -> Self {
        Self {
            batches,
            heads,
            kv_heads: heads,
            queries: positions,
            keys: positions,
            head_size,
            value_size: head_size,
            mask: AttentionMask::Full,
            scale: None,
            order: HeadOrder::Positions,
        }
    }

    pub(super) fn problem(&self, queue: Queue<'_>, target: Target) -> AttentionProblem {
        let Self { batches, heads, kv_heads, queries, keys, head_size, value_size, mask, .. } = *self;
        AttentionProblem {
            target,
            head_size,
            value_size,
            mask,
            heads: batches.saturating_mul(heads),
            kv_heads: batches.saturating_mul(kv_heads),
            queries,
            keys,
            multiprocessors: queue.cache().multiprocessors(),
        }
    }

    /// Checks `heads`, `kv_heads` and the scale, and returns the arguments of all kernels.
    pub(super) fn arguments(&self, call: &'static str) -> Result<Arguments, CallError> {
        let Self { batches, heads, kv_heads, queries, keys, head_size, value_size, scale, order, .. } = *self;
        let scale = scale_of_heads(call, [heads, kv_heads], head_size, scale)?;
        let strides = |sizes| match batches {
            // The stride between batches is unused, and might not fit in 32 bits.
            ..=1 => order.strides_of_one(call, sizes).map(|[head, row]| [0, head, row]),
            _ => order.strides(call, sizes),
        };
        let of_queries = strides([heads, queries, head_size])?;
        let of_keys = strides([kv_heads, keys, head_size])?;
        let of_values = strides([kv_heads, keys, value_size])?;
        let of_results = strides([heads, queries, value_size])?;
        Ok(Arguments {
            sizes: [batches, kv_heads, heads / kv_heads, queries, keys],
            of_queries,
            of_keys,
            of_values,
            of_results,
            scale,
        })
    }
}

/// The arguments that all kernels share.
pub(super) struct Arguments {
    pub(super) sizes: [u32; 5],
    pub(super) of_queries: [u32; 3],
    pub(super) of_keys: [u32; 3],
    pub(super) of_values: [u32; 3],
    pub(super) of_results: [u32; 3],
    pub(super) scale: f32,
}

/// Computes O = softmax(scale · Q·Kᵀ)·V for each head, and stores the logarithm of each row's sum of exponentials in `lse`, a contiguous
/// `[batch][head][query]` array. If a [table of the cache](crate::run::KernelCache::with_attention_table) or a [built-in
/// table](crate::kernels::AttentionTable::builtin) contains the problem, that table determines the kernel; otherwise,
/// [`Attention::for_problem`] chooses it. Requires a device of compute capability 8.0 or later.
///
/// ```
/// use warpwright::{kernels::{AttentionMask, call}, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// // Two query heads share one KV head; 40 positions, head size 64.
/// let shape =
///     call::AttentionShape { kv_heads: 1, mask: AttentionMask::Causal, ..call::AttentionShape::new(1, 2, 40, 64) };
/// let q = device.upload(&[bf16::ONE; 40 * 2 * 64])?;
/// let [k, v] = [0.5, 2.0].map(|x| device.upload(&[bf16::from_f32(x); 40 * 64]));
/// let (mut o, mut lse) = (device.output::<bf16>(q.len())?, device.output::<f32>(2 * 40)?);
/// let called = call::attention(&kernels, &shape, &q, &k?, &v?, &mut o, &mut lse)?;
/// assert_eq!(called.kernel.name, "attention_bf16_64_causal");
/// assert!(device.download(&o)?.iter().all(|&x| x == bf16::from_f32(2.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `heads` is not a multiple of `kv_heads`, or if no kernel supports the head sizes.
#[doc(alias = "scaled_dot_product_attention")]
pub fn attention<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &AttentionShape,
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
    const CALL: &str = "attention";
    let queue = on.into();
    let target = target_for(CALL, queue, shape.head_size, shape.value_size)?;
    let Arguments { sizes, of_queries, of_keys, of_values, of_results, scale } = shape.arguments(CALL)?;
    let strides = [of_queries, of_keys, of_values, of_results];
    queue.launch::<_, _, AttentionArgs<T>>(
        CALL,
        shape.problem(queue, target),
        |problem| {
            let tuned = from_attention_tables(queue, |table| table.get::<T>(problem));
            tuned.unwrap_or_else(|| Attention::for_problem(problem))
        },
        Attention::kernel,
        (q.into(), k.into(), v.into(), o.into(), lse.into(), sizes, strides, scale),
    )
}

/// Checks the head sizes, and returns the target of the device's attention kernels.
pub(super) fn target_for(
    call: &'static str,
    queue: Queue<'_>,
    head_size: u32,
    value_size: u32,
) -> Result<Target, CallError> {
    let is_hopper = queue.cache().capability() == (9, 0);
    let target = if is_hopper { Target::SM_90A } else { portable_target(call, queue)? };
    if AttentionTile::all(target, head_size, value_size).next().is_none() {
        let expected = "equal head sizes of 32, 64, 96, 128 or 256, or 192 for Q and K and 128 for V";
        return Err(refused_sizes(call, expected, [head_size, value_size]));
    }
    Ok(target)
}

/// The operands (except Q, K and V) and the results of [`attention_backward`] and
/// [`packed_attention_backward`](super::packed_attention_backward).
#[derive(Debug)]
pub struct AttentionGradients<'a, T> {
    /// The result O of the forward call.
    pub o: BufferRef<'a, T>,
    /// The result `lse` of the forward call.
    pub lse: BufferRef<'a, f32>,
    /// The gradient with respect to O, in the layout of O.
    pub d_o: BufferRef<'a, T>,
    /// The gradient with respect to Q, in the layout of Q.
    pub dq: BufferMut<'a, T>,
    /// The gradient with respect to K, in the layout of K.
    pub dk: BufferMut<'a, T>,
    /// The gradient with respect to V, in the layout of V.
    pub dv: BufferMut<'a, T>,
    /// Two buffers for intermediate results. For their required lengths, see [`AttentionShape::workspace`] or, for packed sequences,
    /// [`PackedShape::workspace`](super::PackedShape::workspace).
    pub workspace: [BufferMut<'a, f32>; 2],
    /// The dropout that [`attention_with_extras`](super::attention_with_extras) applied when it computed O; `None` if O was computed
    /// without dropout. Packed sequences do not support dropout.
    pub dropout: Option<DropoutMask>,
}

impl AttentionShape {
    /// Returns the required lengths, in elements, of the two `workspace` buffers of [`attention_backward`]. The value of `deterministic`
    /// must be the same as in the call to `attention_backward`.
    #[must_use]
    pub fn workspace(&self, deterministic: bool) -> [usize; 2] {
        let heads = self.batches as usize * self.heads as usize;
        let backward = AttentionBackward {
            value_size: self.value_size,
            deterministic: deterministic || AttentionBackward::is_faster_deterministic(self.head_size),
            ..AttentionBackward::new(self.head_size, self.mask)
        };
        backward.workspace(heads, self.queries as usize)
    }
}

/// Computes the gradients of [`attention`] with respect to Q, K and V in three launches. `gradients` contains the other operands and the
/// results. [`AttentionBackward::for_problem`] chooses the kernels. If `deterministic` is true, or if `head_size` is greater than 128, the
/// results are bit-identical in every run. The returned [`Called`] describes the kernel that computes dK and dV. Requires a device of
/// compute capability 9.0.
///
/// # Errors
/// Returns [`CallError`], for example if no kernel supports the head sizes. `head_size` must be 32, 64, 96, 128, 192 or 256. `value_size`
/// must be equal to `head_size`, or 128 if `head_size` is 192. If the second or third launch fails, the contents of the results are
/// unspecified.
#[doc(alias = "scaled_dot_product_attention_backward")]
pub fn attention_backward<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &AttentionShape,
    deterministic: bool,
    q: impl Into<BufferRef<'a, T>>,
    k: impl Into<BufferRef<'a, T>>,
    v: impl Into<BufferRef<'a, T>>,
    gradients: AttentionGradients<'_, T>,
) -> Result<Called, CallError>
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    const CALL: &str = "attention_backward";
    let queue = on.into();
    let (q, k, v) = (q.into(), k.into(), v.into());
    let AttentionGradients { o, lse, d_o, dq, dk, dv, workspace: [mut rows, mut sums], dropout } = gradients;
    let (p, random) = of_weights(CALL, dropout)?;
    let deterministic = deterministic || AttentionBackward::is_faster_deterministic(shape.head_size);
    let Arguments { sizes, of_queries, of_keys, of_values, of_results, scale } = shape.arguments(CALL)?;
    let problem = (shape.problem(queue, Target::SM_90A), deterministic, dropout.is_some());
    let pick = |&(problem, deterministic, dropout): &(AttentionProblem, bool, bool)| AttentionBackward {
        deterministic,
        dropout,
        ..AttentionBackward::for_problem(&problem)
    };

    queue.launch::<_, _, AttentionRowsArgs<T>>(
        CALL,
        problem,
        pick,
        AttentionBackward::rows_kernel,
        (o, d_o, lse, rows.reborrow(), sums.reborrow(), sizes, [of_results; 2]),
    )?;
    let strides = [of_queries, of_keys, of_values, of_results, of_keys, of_values];
    let called = queue.launch::<_, _, AttentionKeysArgs<T>>(
        CALL,
        problem,
        pick,
        AttentionBackward::keys_kernel,
        (q, k, v, d_o, rows.as_read(), sums.reborrow(), dk, dv, sizes, strides, scale, p, random),
    )?;
    if deterministic {
        let strides = [of_queries, of_keys, of_values, of_results, of_queries];
        let arguments = (q, k, v, d_o, rows.as_read(), dq, sizes, strides, scale, p, random);
        queue.launch::<_, _, AttentionQueriesArgs<T>>(
            CALL,
            problem,
            pick,
            AttentionBackward::queries_kernel,
            arguments,
        )?;
    } else {
        let arguments = (sums.as_read(), dq, sizes, of_queries, scale);
        queue.launch::<_, _, AttentionFinishArgs<T>>(
            CALL,
            problem,
            pick,
            AttentionBackward::finish_kernel,
            arguments,
        )?;
    }
    Ok(called)
}
