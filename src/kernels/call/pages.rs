//! Attention of one or a few queries per head to a paged cache of keys and values.

use super::{
    decode::{size_of_heads, strides_of_queries},
    heads::{HeadOrder, scale_of_heads},
    operands::refused,
};
use crate::{
    kernels::{CachedAttention, CachedAttentionProblem, PagedAttentionArgs},
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// The sizes of [`paged_attention`]. The layout of Q and O is `[batch][query][head][column]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PagedCacheShape {
    /// The number of sequences.
    pub batches: u32,
    /// The number of query heads per sequence.
    pub heads: u32,
    /// The number of KV heads per sequence, which must divide `heads`.
    pub kv_heads: u32,
    /// The number of queries per sequence and head: 1 to 8.
    pub queries: u32,
    /// The number of pages of K and of V, which all sequences share.
    pub pages: u32,
    /// The number of positions of a page: 8, 16, 32, 64 or 128.
    pub page_size: u32,
    /// The maximum number of pages of a sequence: the number of columns of the page table.
    pub table_columns: u32,
    /// The head size, the number of elements per row: 64 or 128.
    pub head_size: u32,
    /// The positive factor by which scores are multiplied; 1/√`head_size` if `None`.
    pub scale: Option<f32>,
    /// The order of the axes of K and V: `[page][position][head][column]` or `[page][head][position][column]`.
    pub order: HeadOrder,
}

/// Computes [`cached_attention`](super::cached_attention) for caches that are stored in pages. `tables` is the page table, a contiguous
/// `batches`×`table_columns` matrix: position p of a sequence is position p mod `page_size` of the page `tables[batch][p / page_size]`.
/// Entries for positions at or after `lengths[batch]` may contain any number. `lse` is a contiguous array `[batch][head][query]`.
/// [`CachedAttention::for_problem`] chooses the kernel. Requires sm_90a.
///
/// # Errors
/// Returns the errors of [`cached_attention`](super::cached_attention), and `Refused` if the page size is not supported.
#[doc(alias = "vLLM")]
pub fn paged_attention<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &PagedCacheShape,
    q: impl Into<BufferRef<'a, T>>,
    k: impl Into<BufferRef<'a, T>>,
    v: impl Into<BufferRef<'a, T>>,
    (lengths, tables): (impl Into<BufferRef<'a, u32>>, impl Into<BufferRef<'a, u32>>),
    o: impl Into<BufferMut<'a, T>>,
    lse: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    const CALL: &str = "paged_attention";
    let queue = on.into();
    let PagedCacheShape { batches, heads, kv_heads, queries, pages, page_size, table_columns, .. } = *shape;
    let head_size = size_of_heads(CALL, shape.head_size)?;
    if !(8..=128).contains(&page_size) || !page_size.is_power_of_two() {
        return Err(refused(CALL, "pages of 8, 16, 32, 64 or 128 positions", page_size));
    }
    let scale = scale_of_heads(CALL, [heads, kv_heads], head_size, shape.scale)?;
    let of_queries = strides_of_queries(CALL, [queries, heads, head_size])?;
    let of_keys = shape.order.strides(CALL, [kv_heads, page_size, head_size])?;
    let sizes = [batches, kv_heads, heads / kv_heads, queries, pages, table_columns];
    let multiprocessors = queue.cache().multiprocessors();
    let capacity = table_columns.saturating_mul(page_size);
    let problem = CachedAttentionProblem { head_size, batches, kv_heads, queries, capacity, multiprocessors };
    let arguments = (
        q.into(),
        k.into(),
        v.into(),
        o.into(),
        lse.into(),
        lengths.into(),
        tables.into(),
        sizes,
        [of_queries; 2],
        [of_keys; 2],
        scale,
    );
    queue.launch::<_, _, PagedAttentionArgs<T>>(
        CALL,
        (problem, page_size),
        |(problem, page_size)| (CachedAttention::for_problem(problem), *page_size),
        |(attention, page)| attention.paged_kernel(*page),
        arguments,
    )
}
