//! Attention between one or a few queries per head and a cache of keys and values.

use super::{
    heads::{HeadOrder, scale_of_heads},
    operands::refused,
};
use crate::{
    kernels::{CachedAttention, CachedAttentionArgs, CachedAttentionProblem, ScaledCachedAttentionArgs},
    ptx::e4m3,
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::{ConvertibleElement, TensorElement},
    tiles::{Convert, Product},
};

/// The sizes and scale of [`cached_attention`]. All arrays are contiguous: Q and O have the layout `[batch][query][head][column]`, and K
/// and V have the layout `[batch][kv_head][position][column]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheShape {
    /// The number of sequences.
    pub batches: u32,
    /// The number of query heads per sequence.
    pub heads: u32,
    /// The number of KV heads per sequence, which must divide `heads`.
    pub kv_heads: u32,
    /// The number of queries per sequence and head: 1 to 8.
    pub queries: u32,
    /// The number of positions in the cache of each sequence.
    pub capacity: u32,
    /// The head size (elements per row): 64 or 128.
    pub head_size: u32,
    /// The scale factor for the scores, which must be positive. If it is `None`, 1/√`head_size` is used.
    pub scale: Option<f32>,
}

/// Computes attention between the last queries of each sequence and the sequence's cache of keys and values. The last query has position
/// `lengths[batch]` − 1 and attends to the first `lengths[batch]` positions; each earlier query attends to one fewer position than the next
/// query. `lse`, a contiguous `[batch][head][query]` array, receives the logarithm of each row's sum of exponentials.
/// [`CachedAttention::for_problem`] chooses the kernel. Requires a device of compute capability 9.0.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `heads` is not a multiple of `kv_heads`, or if no kernel supports the head size.
#[doc(alias = "decode")]
pub fn cached_attention<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &CacheShape,
    q: impl Into<BufferRef<'a, T>>,
    k: impl Into<BufferRef<'a, T>>,
    v: impl Into<BufferRef<'a, T>>,
    lengths: impl Into<BufferRef<'a, u32>>,
    o: impl Into<BufferMut<'a, T>>,
    lse: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    const CALL: &str = "cached_attention";
    let queue = on.into();
    let Arguments { problem, sizes, of_queries, of_keys, scale } = shape.arguments(CALL, queue)?;
    queue.launch::<_, _, CachedAttentionArgs<T>>(
        CALL,
        problem,
        CachedAttention::for_problem,
        CachedAttention::kernel,
        (
            q.into(),
            k.into(),
            v.into(),
            o.into(),
            lse.into(),
            lengths.into(),
            sizes,
            [of_queries; 2],
            [of_keys; 2],
            scale,
        ),
    )
}

/// The scale factors of K and V in [`scaled_cached_attention`] and [`scaled_paged_attention`](super::scaled_paged_attention).
#[derive(Clone, Copy, Debug)]
pub struct CacheScales<'a> {
    /// The scales of K, one for each of the `kv_heads` KV heads. All sequences share them.
    pub k: BufferRef<'a, f32>,
    /// The scales of V, one for each of the `kv_heads` KV heads. All sequences share them.
    pub v: BufferRef<'a, f32>,
}

/// Computes attention like [`cached_attention`], with `e4m3` keys and values that are multiplied by the scales of their KV heads. `T` is
/// the type of Q and O. [`CachedAttention::scaled_kernel`] builds the kernel.
///
/// # Errors
/// Returns the same errors as [`cached_attention`].
#[doc(alias = "fp8")]
pub fn scaled_cached_attention<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &CacheShape,
    scales: CacheScales<'_>,
    q: impl Into<BufferRef<'a, T>>,
    k: impl Into<BufferRef<'a, e4m3>>,
    v: impl Into<BufferRef<'a, e4m3>>,
    lengths: impl Into<BufferRef<'a, u32>>,
    o: impl Into<BufferMut<'a, T>>,
    lse: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError>
where
    T: ConvertibleElement,
    f32: Convert<T>,
{
    const CALL: &str = "scaled_cached_attention";
    let queue = on.into();
    let Arguments { problem, sizes, of_queries, of_keys, scale } = shape.arguments(CALL, queue)?;
    queue.launch::<_, _, ScaledCachedAttentionArgs<T>>(
        CALL,
        problem,
        CachedAttention::for_problem,
        CachedAttention::scaled_kernel,
        (
            q.into(),
            k.into(),
            v.into(),
            o.into(),
            lse.into(),
            lengths.into(),
            [scales.k, scales.v],
            sizes,
            [of_queries; 2],
            [of_keys; 2],
            scale,
        ),
    )
}

/// The arguments that both kernels share.
struct Arguments {
    problem: CachedAttentionProblem,
    sizes: [u32; 5],
    of_queries: [u32; 3],
    of_keys: [u32; 3],
    scale: f32,
}

impl CacheShape {
    fn arguments(&self, call: &'static str, queue: Queue<'_>) -> Result<Arguments, CallError> {
        let Self { batches, heads, kv_heads, queries, capacity, head_size, scale } = *self;
        let head_size = size_of_heads(call, head_size)?;
        let scale = scale_of_heads(call, [heads, kv_heads], head_size, scale)?;
        let of_queries = strides_of_queries(call, [queries, heads, head_size])?;
        let of_keys = HeadOrder::Heads.strides(call, [kv_heads, capacity, head_size])?;
        let sizes = [batches, kv_heads, heads / kv_heads, queries, capacity];
        let multiprocessors = queue.cache().multiprocessors();
        let problem =
            CachedAttentionProblem { head_size, batches, kv_heads, queries, capacity, multiprocessors };
        Ok(Arguments { problem, sizes, of_queries, of_keys, scale })
    }
}

/// Checks the number of queries, and returns the strides of Q and O between batches, heads and queries.
pub(super) fn strides_of_queries(
    call: &'static str,
    [queries, heads, head_size]: [u32; 3],
) -> Result<[u32; 3], CallError> {
    if !(1..=8).contains(&queries) {
        return Err(refused(call, "1 to 8 queries", queries));
    }
    HeadOrder::Positions.strides(call, [heads, queries, head_size])
}

/// Checks and returns the head size of a cache.
pub(super) fn size_of_heads(call: &'static str, head_size: u32) -> Result<u32, CallError> {
    if [64, 128].contains(&head_size) {
        Ok(head_size)
    } else {
        Err(refused(call, "a head size of 64 or 128", head_size))
    }
}
