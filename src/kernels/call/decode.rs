//! Attention of one query per head to a cache of keys and values.

use super::{
    heads::{HeadOrder, scale_of_heads},
    operands::{product, refused},
};
use crate::{
    kernels::{CachedAttention, CachedAttentionArgs},
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// The sizes of [`cached_attention`]. The layout of Q and O is `[batch][head][column]`, that of K and V is
/// `[batch][kv_head][position][column]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheShape {
    /// The number of sequences.
    pub batches: u32,
    /// The number of query heads per sequence.
    pub heads: u32,
    /// The number of KV heads per sequence, which must divide `heads`.
    pub kv_heads: u32,
    /// The maximum number of positions that a cache can store.
    pub capacity: u32,
    /// The head size, the number of elements per row: 64 or 128.
    pub head_size: u32,
    /// The positive factor by which scores are multiplied; 1/√`head_size` if `None`.
    pub scale: Option<f32>,
}

/// Computes, for each sequence and head, attention of one query to the first `lengths[batch]` positions of the cache, and stores the
/// logarithms of the sums of exponentials in `lse`, a contiguous array `[batch][head]`. [`CachedAttention::for_problem`] chooses the
/// kernel. Requires sm_90a.
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
    let CacheShape { batches, heads, kv_heads, capacity, head_size, scale } = *shape;
    let head_size = size_of_heads(CALL, head_size)?;
    let scale = scale_of_heads(CALL, [heads, kv_heads], head_size, scale)?;
    let of_queries = [product(CALL, &[heads, head_size])?, head_size];
    let of_keys = HeadOrder::Heads.strides(CALL, [kv_heads, capacity, head_size])?;
    let sizes = [batches, kv_heads, heads / kv_heads, capacity];
    let multiprocessors = queue.cache().multiprocessors();
    queue.launch::<_, _, CachedAttentionArgs<T>>(
        CALL,
        (head_size, batches, kv_heads),
        |_| CachedAttention::for_problem(head_size, batches, kv_heads, multiprocessors),
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

/// Checks the head size of a cache.
pub(super) fn size_of_heads(call: &'static str, head_size: u32) -> Result<u32, CallError> {
    if [64, 128].contains(&head_size) {
        Ok(head_size)
    } else {
        Err(refused(call, "rows of 64 or 128 elements", head_size))
    }
}
