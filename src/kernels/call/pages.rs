//! Attention between one or a few queries per head and a paged cache of keys and values.

use super::{
    decode::{CacheScales, size_of_heads, strides_of_queries},
    heads::{HeadOrder, scale_of_heads},
    operands::refused,
};
use crate::{
    kernels::{CachedAttention, CachedAttentionProblem, PagedAttentionArgs, ScaledPagedAttentionArgs},
    ptx::e4m3,
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::{ConvertibleElement, TensorElement},
    tiles::{Convert, Product},
};

/// The sizes, scale and layout of [`paged_attention`]. All arrays are contiguous; Q and O have the layout `[batch][query][head][column]`.
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
    /// The number of pages of K, which is also the number of pages of V. All sequences share the pages.
    pub pages: u32,
    /// The number of positions per page: 8, 16, 32, 64 or 128.
    pub page_size: u32,
    /// The number of columns of the page table: the maximum number of pages per sequence.
    pub table_columns: u32,
    /// The head size (elements per row): 64 or 128.
    pub head_size: u32,
    /// The scale factor for the scores, which must be positive. If it is `None`, 1/√`head_size` is used.
    pub scale: Option<f32>,
    /// The axis order of K and V: `[page][position][head][column]` or `[page][head][position][column]`.
    pub order: HeadOrder,
}

/// Computes attention like [`cached_attention`](super::cached_attention), for caches that are stored in pages. `tables` is the page table,
/// a contiguous `batches`×`table_columns` matrix: position p of a sequence is stored at position `p % page_size` of page
/// `tables[batch][p / page_size]`. Entries of the page table may have any value if their pages contain only positions at or after
/// `lengths[batch]`. `lse` is a contiguous `[batch][head][query]` array. [`CachedAttention::for_problem`] chooses the kernel. Requires a
/// device of compute capability 9.0.
///
/// # Errors
/// Returns the same errors as [`cached_attention`](super::cached_attention). Also returns `Refused` if the page size is not supported.
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
    let Arguments { problem, sizes, of_queries, of_keys, scale } = shape.arguments(CALL, queue)?;
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
        problem,
        for_problem,
        |(attention, page)| attention.paged_kernel(*page),
        arguments,
    )
}

/// Computes attention like [`paged_attention`], with `e4m3` keys and values that are multiplied by the scales of their KV heads. `T` is the
/// type of Q and O. [`CachedAttention::scaled_paged_kernel`] builds the kernel.
///
/// # Errors
/// Returns the same errors as [`paged_attention`].
#[doc(alias = "fp8")]
pub fn scaled_paged_attention<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &PagedCacheShape,
    scales: CacheScales<'_>,
    q: impl Into<BufferRef<'a, T>>,
    k: impl Into<BufferRef<'a, e4m3>>,
    v: impl Into<BufferRef<'a, e4m3>>,
    (lengths, tables): (impl Into<BufferRef<'a, u32>>, impl Into<BufferRef<'a, u32>>),
    o: impl Into<BufferMut<'a, T>>,
    lse: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError>
where
    T: ConvertibleElement,
    f32: Convert<T>,
{
    const CALL: &str = "scaled_paged_attention";
    let queue = on.into();
    let Arguments { problem, sizes, of_queries, of_keys, scale } = shape.arguments(CALL, queue)?;
    let arguments = (
        q.into(),
        k.into(),
        v.into(),
        o.into(),
        lse.into(),
        lengths.into(),
        tables.into(),
        [scales.k, scales.v],
        sizes,
        [of_queries; 2],
        [of_keys; 2],
        scale,
    );
    queue.launch::<_, _, ScaledPagedAttentionArgs<T>>(
        CALL,
        problem,
        for_problem,
        |(attention, page)| attention.scaled_paged_kernel(*page),
        arguments,
    )
}

/// The arguments that both kernels share; the problem includes the page size.
struct Arguments {
    problem: (CachedAttentionProblem, u32),
    sizes: [u32; 6],
    of_queries: [u32; 3],
    of_keys: [u32; 3],
    scale: f32,
}

/// Returns the kernel for a problem, and the page size.
fn for_problem((problem, page): &(CachedAttentionProblem, u32)) -> (CachedAttention, u32) {
    (CachedAttention::for_problem(problem), *page)
}

impl PagedCacheShape {
    fn arguments(&self, call: &'static str, queue: Queue<'_>) -> Result<Arguments, CallError> {
        let Self { batches, heads, kv_heads, queries, pages, page_size, table_columns, order, .. } = *self;
        let head_size = size_of_heads(call, self.head_size)?;
        if !(8..=128).contains(&page_size) || !page_size.is_power_of_two() {
            return Err(refused(call, "pages of 8, 16, 32, 64 or 128 positions", page_size));
        }
        let scale = scale_of_heads(call, [heads, kv_heads], head_size, self.scale)?;
        let of_queries = strides_of_queries(call, [queries, heads, head_size])?;
        let of_keys = order.strides(call, [kv_heads, page_size, head_size])?;
        let sizes = [batches, kv_heads, heads / kv_heads, queries, pages, table_columns];
        let multiprocessors = queue.cache().multiprocessors();
        let capacity = table_columns.checked_mul(page_size).ok_or_else(|| {
            let expected =
                format!("tables of fewer than 2³² positions, at most {} columns", u32::MAX / page_size);
            refused(call, expected, table_columns)
        })?;
        let problem =
            CachedAttentionProblem { head_size, batches, kv_heads, queries, capacity, multiprocessors };
        Ok(Arguments { problem: (problem, page_size), sizes, of_queries, of_keys, scale })
    }
}
