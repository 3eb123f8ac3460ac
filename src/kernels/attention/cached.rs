//! Attention between a few queries per head and a cache of keys and values.

use std::marker::PhantomData;

mod format;
mod merge;
mod pages;
mod problem;
mod rows;
mod scaled;

use super::{
    scores::{Scores, nonzero},
    strides,
    values::OfKeys,
    visible::{AttentionMask, Visible},
    warpgroup::{Order, Queries, Warpgroup},
};
use crate::{
    ptx::{self, BuildError, Builder, Global, In, Kernel, Out, Ptr, Read, Target, Val, Write},
    tensor::TensorElement,
    tiles::{Convert, Product, Row, Schedule, St, consumers, contiguous, producer, row_major, vector},
};
use format::{Format, OfQueries};
use merge::merged;
use pages::Caches;
use rows::GroupRows;

pub use problem::CachedAttentionProblem;
pub use scaled::{ScaledCachedAttentionArgs, ScaledPagedAttentionArgs};

/// The arguments of the kernel that [`CachedAttention::kernel`] builds: `(q, k, v, o, lse, lengths, [batches, kv_heads, group, queries,
/// keys], of_queries, of_keys, scale)`. For each batch and KV head, there is a cache of `keys` rows of K and V, and the first
/// `lengths[batch]` rows are in use. Each KV head is shared by `group` consecutive query heads with `queries` queries each. `of_queries`
/// contains the strides of Q and O between batches, between heads and between queries. `of_keys` contains the strides of K and V between
/// batches, between heads and between rows. Strides are in elements. `lse` is a contiguous array of `batches`·`kv_heads`·`group`·`queries`
/// elements.
pub type CachedAttentionArgs<T> =
    (In<T>, In<T>, In<T>, Out<T>, Out<f32>, In<u32>, [u32; 5], [[u32; 3]; 2], [[u32; 3]; 2], f32);

/// The arguments of the kernel that [`CachedAttention::paged_kernel`] builds:
/// `(q, k, v, o, lse, lengths, tables, [batches, kv_heads, group, queries, pages, table], of_queries, of_keys, scale)`. K and V are stored
/// in `pages` pages. `tables` is a contiguous `batches`×`table` matrix whose rows contain the page indices of the sequences. `of_keys`
/// contains the strides of K and V between pages, between heads and between rows, in elements. [`CachedAttentionArgs`] describes the other
/// arguments.
#[doc(alias = "paged_attention")]
pub type PagedAttentionArgs<T> =
    (In<T>, In<T>, In<T>, Out<T>, Out<f32>, In<u32>, In<u32>, [u32; 6], [[u32; 3]; 2], [[u32; 3]; 2], f32);

/// A kernel for attention between the last queries of each sequence and a cache of keys and values. It computes O = softmax(`scale` ·
/// Q·Kᵀ)·V and the logarithm of the sum of exponentials in each row of `scale` · Q·Kᵀ. It requires sm_90a.
///
/// The number of queries per sequence and query head must be from 1 to [`queries`](Self::queries). The queries have the positions of the
/// last keys: the last query attends to all keys of the sequence, the preceding query to all keys but the last, and so on. `scale` must be
/// positive, and all strides must be multiples of 16 bytes. Rows of a cache that are not in use are ignored and may contain NaN. Lengths
/// that exceed the number of rows of the cache are clamped to that number. For a query that attends to no keys, O is 0 and the logarithm is
/// −∞.
///
/// The queries of the heads that share a KV head form tiles of 64 rows; each key and value is read once per tile. The blocks of a cluster
/// process different keys of a sequence and merge their results. The arithmetic is the same as in [`Attention`](super::Attention).
#[doc(alias = "flash_decoding")]
#[doc(alias = "speculative_decoding")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CachedAttention {
    /// The head size: 64 or 128.
    pub head_size: u32,
    /// The number of blocks among which the keys of a sequence are divided: 1, 2 or 4.
    pub parts: u32,
    /// The maximum number of queries per sequence and query head: 1, 2, 4 or 8. A tile contains the queries of 64 / `queries` heads.
    pub queries: u32,
}

impl CachedAttention {
    /// The supported values of [`parts`](Self::parts).
    pub const PARTS: [u32; 3] = [1, 2, 4];
    /// The supported values of [`queries`](Self::queries).
    pub const QUERIES: [u32; 4] = [1, 2, 4, 8];

    /// Returns the suffix of the kernel names.
    fn name(&self) -> String {
        let queries = if self.queries == 1 { String::new() } else { format!("_queries{}", self.queries) };
        format!("{queries}_split{}", self.parts)
    }

    /// Builds the kernel for contiguous caches. Its name contains the type, the head size, [`queries`](Self::queries) (unless it is 1) and
    /// [`parts`](Self::parts), as in `attention_cached_bf16_128_queries4_split2`.
    ///
    /// # Errors
    /// Returns an error if the value of a field is not supported.
    pub fn kernel<T>(&self) -> Result<Kernel<CachedAttentionArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_cached_{}_{}{}(q, k, v, o, lse, lengths, batches, kv_heads, group, queries, keys, {}, {}, scale)",
            T::NAME,
            self.head_size,
            self.name(),
            strides(&["q", "o"], &["batch", "head", "query"]),
            strides(&["k", "v"], &["batch", "head", "row"])
        );
        Kernel::<CachedAttentionArgs<T>>::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, o, lse, lengths, sizes, of_queries, of_keys, scale)| {
                let [batches, kv_heads, group, queries, n] = sizes;
                let sizes = [batches, kv_heads, group, queries];
                let inputs = Inputs { q, o, lse, lengths, sizes, of_queries, scale, scales: None };
                self.emit_contiguous::<T, T, OfQueries, OfQueries>(k, inputs, [keys, values], n, of_keys);
            },
        )
    }

    /// Builds the kernel for caches that are stored in pages of `page` rows. `page` must be a power of two from 8 to 128. The kernel's name
    /// also contains the page size, as in `attention_paged_bf16_128_pages16_split2`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel), and an error for an unsupported page size.
    pub fn paged_kernel<T>(&self, page: u32) -> Result<Kernel<PagedAttentionArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_paged_{}_{}_pages{page}{}(q, k, v, o, lse, lengths, tables, batches, kv_heads, group, queries, pages, table, {}, {}, scale)",
            T::NAME,
            self.head_size,
            self.name(),
            strides(&["q", "o"], &["batch", "head", "query"]),
            strides(&["k", "v"], &["page", "head", "row"])
        );
        Kernel::<PagedAttentionArgs<T>>::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, o, lse, lengths, tables, sizes, of_queries, of_keys, scale)| {
                let [batches, kv_heads, group, queries, pages, table] = sizes;
                let sizes = [batches, kv_heads, group, queries];
                let inputs = Inputs { q, o, lse, lengths, sizes, of_queries, scale, scales: None };
                let pages = Pages { tables, pages, table, rows: page };
                self.emit_paged::<T, T, OfQueries, OfQueries>(k, inputs, [keys, values], pages, of_keys);
            },
        )
    }

    /// Emits the kernel for contiguous caches of `n` rows, with elements of type `E`.
    fn emit_contiguous<'k, T, E, F4, F8>(
        &self,
        k: Builder<'k>,
        inputs: Inputs<'k, T>,
        [keys, values]: [Ptr<'k, E, Global, Read>; 2],
        n: Val<'k, u32>,
        of_keys: [[Val<'k, u32>; 3]; 2],
    ) where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
        F4: Format<'k, T, 4, Element = E>,
        F8: Format<'k, T, 8, Element = E>,
    {
        let [batches, kv_heads, ..] = inputs.sizes;
        let extents = [batches, kv_heads, n];
        let caches = [(keys, extents, of_keys[0]), (values, extents, of_keys[1])];
        self.emit::<T, E, F4, F8>(k, inputs, caches, Caches::Contiguous { rows: n });
    }

    /// Emits the kernel for caches that are stored in pages, with elements of type `E`.
    fn emit_paged<'k, T, E, F4, F8>(
        &self,
        k: Builder<'k>,
        inputs: Inputs<'k, T>,
        [keys, values]: [Ptr<'k, E, Global, Read>; 2],
        Pages { tables, pages, table, rows: page }: Pages<'k>,
        of_keys: [[Val<'k, u32>; 3]; 2],
    ) where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
        F4: Format<'k, T, 4, Element = E>,
        F8: Format<'k, T, 8, Element = E>,
    {
        let [batches, kv_heads, ..] = inputs.sizes;
        if !(8..=128).contains(&page) || !page.is_power_of_two() {
            k.block([128]);
            return k.refuse(format!("expected pages of 8, 16, 32, 64 or 128 rows, found {page}"));
        }
        let tables = k.global(tables, row_major(batches, table));
        let extents = [pages, kv_heads, Val::from(page)];
        let caches = [(keys, extents, of_keys[0]), (values, extents, of_keys[1])];
        self.emit::<T, E, F4, F8>(k, inputs, caches, Caches::Paged { tables, count: table, page });
    }

    fn emit<'k, T, E, F4, F8>(
        &self,
        k: Builder<'k>,
        inputs: Inputs<'k, T>,
        factors: [Rows<'k, E>; 2],
        caches: Caches<'k>,
    ) where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
        F4: Format<'k, T, 4, Element = E>,
        F8: Format<'k, T, 8, Element = E>,
    {
        let Self { head_size, parts, queries } = *self;
        k.describe(format!(
            "o = softmax(scale·q·Kᵀ)·V with rows of {head_size} ({}) and a cache of K and V{}; {parts} blocks for each",
            T::NAME,
            if inputs.scales.is_some() { " (e4m3 with scales of heads)" } else { "" }
        ));
        if !Self::QUERIES.contains(&queries) {
            k.block([128]);
            return k.refuse(format!("expected 1, 2, 4 or 8 queries, found {queries}"));
        }
        match [head_size, parts] {
            [64, 1] => emit::<T, F4, 4, 1, 4>(k, inputs, factors, caches, queries),
            [64, 2] => emit::<T, F4, 4, 2, 2>(k, inputs, factors, caches, queries),
            [64, 4] => emit::<T, F4, 4, 4, 1>(k, inputs, factors, caches, queries),
            [128, 1] => emit::<T, F8, 8, 1, 8>(k, inputs, factors, caches, queries),
            [128, 2] => emit::<T, F8, 8, 2, 4>(k, inputs, factors, caches, queries),
            [128, 4] => emit::<T, F8, 8, 4, 2>(k, inputs, factors, caches, queries),
            _ => {
                k.block([128]);
                k.refuse(format!(
                    "expected a head size of 64 or 128 and 1, 2 or 4 parts, found a head size of {head_size} and {parts} parts"
                ));
            }
        }
    }
}

/// The parameters of a kernel, other than the caches.
struct Inputs<'k, T> {
    q: Ptr<'k, T, Global, Read>,
    o: Ptr<'k, T, Global, Write>,
    lse: Ptr<'k, f32, Global, Write>,
    lengths: Ptr<'k, u32, Global, Read>,
    /// The number of batches, of KV heads, of query heads per KV head, and of queries.
    sizes: [Val<'k, u32>; 4],
    /// The strides of Q and of O between batches, heads and queries.
    of_queries: [[Val<'k, u32>; 3]; 2],
    scale: Val<'k, f32>,
    /// The scale factors for K and for V, one for each KV head.
    scales: Option<[Ptr<'k, f32, Global, Read>; 2]>,
}

/// The page table, the number of pages, the number of columns of the table, and the number of rows per page.
struct Pages<'k> {
    tables: Ptr<'k, u32, Global, Read>,
    pages: Val<'k, u32>,
    table: Val<'k, u32>,
    rows: u32,
}

/// Keys or values, their extents, and their strides between batches or pages, between heads and between rows.
type Rows<'k, T> = (Ptr<'k, T, Global, Read>, [Val<'k, u32>; 3], [Val<'k, u32>; 3]);

/// The number of subtiles of keys in a step.
const N: usize = 8;
/// The number of stages of keys and of values.
const STAGES: usize = 2;

/// Emits the kernel for rows of `D` subtiles and at most `most` queries per head. Each of the `PARTS` blocks stores `P` subtiles of each
/// row.
fn emit<'k, T, F, const D: usize, const PARTS: usize, const P: usize>(
    k: Builder<'k>,
    inputs: Inputs<'k, T>,
    factors: [Rows<'k, F::Element>; 2],
    caches: Caches<'k>,
    most: u32,
) where
    T: TensorElement + Product<T, f32>,
    F: Format<'k, T, D>,
    f32: Convert<T>,
{
    let Inputs { q, o, lse, lengths, sizes, of_queries, scale, scales } = inputs;
    let [batches, kv_heads, group, queries] = sizes;
    k.block([256]);
    if PARTS > 1 {
        k.cluster([PARTS as u32]);
    }
    let (d, step) = (16 * D as u32, 16 * N as u32);
    let queries = queries.at_most(most);
    let rows = GroupRows::new(k, [batches, kv_heads, group, queries], most);
    let (q, o) = (rows.matrices(q, d, of_queries[0]), rows.matrices(o, d, of_queries[1]));
    let lse = rows.logarithms(lse);
    let lengths = k.global(lengths, vector(batches));
    let scales = scales.map(|scales| scales.map(|scales| k.global(scales, vector(kv_heads))));
    let [keys, values] = factors.map(|(rows, [outer, heads, rows_of_each], [a, b, c])| {
        let layout = contiguous([outer, heads, rows_of_each, d.into()]).with_strides([a, b, c, 1.into()]);
        k.global(rows, layout)
    });

    let columns = group.ceil_div(rows.heads());
    let tiles = k.persistent(Schedule::linear().split(PARTS as u32), batches * kv_heads, columns);
    let query_ring = tiles.ring::<(St<T, 4, D>,), 1, 1>();
    let (key_steps, value_steps) = (F::steps(k, tiles), F::steps(k, tiles));
    let all_to_all = (PARTS > 1).then(|| tiles.all_to_all::<f32, P>());
    let outbox = (most == 1).then(|| k.outbox::<T, P, 1, 1>());
    let part = tiles.part();
    let mask = if most == 1 { AttentionMask::Full } else { AttentionMask::CausalFromEnd };

    // Calls `each` with the batch, the KV head, the tile of heads, the number of keys in use, and this block's range of steps, which
    // contains at least one step.
    let each_tile = |each: &dyn Fn(_, _, _, Val<'k, u32>, [Val<'k, u32>; 2])| {
        tiles.each(|row, tile| {
            let (batch, head) = (row / kv_heads, row % kv_heads);
            let length = lengths.at(batch).load().min(caches.capacity());
            let (first, count) = part.of(length.ceil_div(step));
            each(batch, head, tile, length, [first, first + count.max(1)]);
        });
    };
    k.specialize(
        producer(120, |p| {
            each_tile(&|batch, head, tile, length, [first, end]| {
                p.fill(&query_ring, |stage| stage.fill((rows.tile(&q, [batch, head], tile),)));
                k.for_(ptx::Steps::new(first, end), |j| {
                    let at = caches.locate(batch, j, length, step);
                    F::fill(p, &key_steps, at.of(&keys, head));
                    F::fill(p, &value_steps, at.of(&values, head));
                });
            });
        }),
        consumers::<1, _>(F::REGISTERS, |c| {
            each_tile(&|batch, head, tile, length, [first, end]| {
                let stage = c.receive(&query_ring);
                let (queries_of_tile, stage) = if F::QUERIES_IN_REGISTERS {
                    let of_warp = stage.tiles().0.subtile(c.warp(), 0).load::<1, D, Row>().frozen();
                    c.release_loaded(&query_ring, stage);
                    (Queries::Registers(of_warp), None)
                } else {
                    (Queries::Shared(stage.tiles().0.rows(c.rank())), Some(stage))
                };
                let visible = Visible { mask, queries, keys: length, step, heads: rows.heads() };
                let of_head =
                    scales.as_ref().map(|scales| scales.each_ref().map(|scales| scales.at(head).load()));
                let (scale, factor) = match of_head {
                    Some([keys, values]) => (nonzero(scale * keys), Some(values)),
                    None => (scale, None),
                };
                let work = Warpgroup {
                    c,
                    queries: queries_of_tile,
                    scores: Scores { scale, soft_cap: None, slope: None },
                    sink: None,
                    dropout: None,
                    factor,
                    keys: &key_steps,
                    values: &value_steps,
                    layout: PhantomData::<OfKeys>,
                    visible,
                    query: c.warp() * 16,
                    clears_values: true,
                    order: &Order::Free,
                    rounds_early: false,
                };
                let whole = visible.all_see().min(end);
                let state = work.start(first);
                let state = k
                    .fold(ptx::Steps::new(first + 1, whole), state, |j, state| work.advance(j, false, state));
                let masked = ptx::Steps::new(whole.max(first + 1), end);
                let state = k.fold(masked, state, |j, state| work.advance(j, true, state));
                if let Some(stage) = stage {
                    c.release(&query_ring, stage);
                }
                let (sum, logs) = work.finish(state);

                let parts = match &all_to_all {
                    Some(all_to_all) => c.all_to_all(all_to_all, &sum, &logs),
                    None => {
                        sum.hsplit::<P, PARTS>().into_iter().map(|sum| (sum, logs.map(|log| log))).collect()
                    }
                };
                let (sum, logs) = merged(k, parts);
                k.if_(part.rank().eq(0), || {
                    rows.store_logarithms(&lse, [batch, head], tile, c.warp(), &logs);
                });
                match &outbox {
                    Some(outbox) => {
                        c.store(outbox, [sum], |_| o.batch((batch, 0, head)).tile(tile, part.rank()));
                    }
                    None => rows.store(&o, [batch, head], [tile, part.rank()], c.warp(), &sum),
                }
            });
        }),
    );
}
