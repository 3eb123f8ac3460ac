//! Attention between a few queries per head and a cache of keys and values.

use std::marker::PhantomData;

mod merge;
mod pages;
mod problem;
mod rows;
mod scaled;
mod views;
mod widened;

use super::{
    scores::Scores,
    strides,
    values::OfKeys,
    warpgroup::{FactorRing, Order, Queries, Warpgroup},
};
use crate::{
    ptx::{self, BuildError, Builder, Global, In, Kernel, Out, Ptr, Read, Scope, Target, Val, Write},
    tensor::TensorElement,
    tiles::{AllToAll, ColVec, Consumer, Convert, Product, Row, Rt, St, consumers, producer, row_major},
};
use merge::merged;
use pages::Caches;
use views::{CacheTile, Views};

pub use problem::CachedAttentionProblem;
pub use scaled::{ScaledCachedAttentionArgs, ScaledPagedAttentionArgs};

/// The arguments of the kernel that [`CachedAttention::kernel`] builds:
/// `(q, k, v, o, lse, lengths, [batches, kv_heads, group, queries, keys], of_queries, of_keys, scale)`. For each batch and KV head, K and V
/// each contain a cache of `keys` rows, of which the first `lengths[batch]` are in use. Each KV head is shared by `group` consecutive query
/// heads with `queries` queries each. `of_queries` contains the strides of Q and O between batches, between heads and between queries.
/// `of_keys` contains the strides of K and V between batches, between heads and between rows. Strides are in elements. `lse` is a
/// contiguous array of `batches`·`kv_heads`·`group`·`queries` elements.
pub type CachedAttentionArgs<T> =
    (In<T>, In<T>, In<T>, Out<T>, Out<f32>, In<u32>, [u32; 5], [[u32; 3]; 2], [[u32; 3]; 2], f32);

/// The arguments of the kernel that [`CachedAttention::paged_kernel`] builds:
/// `(q, k, v, o, lse, lengths, tables, [batches, kv_heads, group, queries, pages, table], of_queries, of_keys, scale)`. K and V are stored
/// in `pages` pages. `tables` is a contiguous `batches`×`table` matrix whose rows contain the page indices of the sequences. `of_keys`
/// contains the strides of K and V between pages, between heads and between rows, in elements. See [`CachedAttentionArgs`] for the other
/// arguments.
#[doc(alias = "paged_attention")]
pub type PagedAttentionArgs<T> =
    (In<T>, In<T>, In<T>, Out<T>, Out<f32>, In<u32>, In<u32>, [u32; 6], [[u32; 3]; 2], [[u32; 3]; 2], f32);

/// A kernel for attention between the last queries of each sequence and a cache of keys and values. It computes O = softmax(`scale` ·
/// Q·Kᵀ)·V and the logarithm of the sum of exponentials in each row of `scale` · Q·Kᵀ. It requires sm_90a.
///
/// The number of queries per sequence and query head must be between 1 and [`queries`](Self::queries). The queries are at the positions of
/// the last keys: the last query attends to all keys of the sequence, the preceding query to all keys but the last, and so on. `scale` must
/// be positive, and all strides must be multiples of 16 bytes. Rows of a cache that are not in use are ignored and may contain NaN. Lengths
/// that exceed the number of rows of the cache are clamped to that number. For a query that attends to no keys, O is 0 and the logarithm is
/// −∞.
///
/// The queries of the heads that share a KV head form tiles of 64 rows, or of 16, 32 or 64 rows for `e4m3`
/// caches; each key and value is read once per tile. The blocks of a cluster process different keys of a
/// sequence and merge their results. The arithmetic is the same as in [`Attention`](super::Attention), except
/// for `e4m3` caches.
#[doc(alias = "flash_decoding")]
#[doc(alias = "speculative_decoding")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CachedAttention {
    /// The head size: 64 or 128.
    pub head_size: u32,
    /// The number of blocks among which the keys of a sequence are divided: 1, 2 or 4.
    pub parts: u32,
    /// The maximum number of queries per sequence and query head: 1, 2, 4 or 8. A tile of `r` rows contains the queries of `r` / `queries`
    /// heads.
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
                let inputs = Inputs { q, o, lse, lengths, sizes, of_queries, scale };
                let (factors, caches) = contiguous_caches(&inputs, [keys, values], n, of_keys);
                self.emit(k, inputs, factors, caches);
            },
        )
    }

    /// Builds the kernel for caches that are stored in pages of `page` rows. `page` must be a power of two from 8 to 128. The kernel's name
    /// also contains the page size, as in `attention_paged_bf16_128_pages16_split2`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel). Also returns an error for an unsupported page size.
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
                let inputs = Inputs { q, o, lse, lengths, sizes, of_queries, scale };
                let pages = Pages { tables, pages, table, rows: page };
                let (factors, caches) = paged_caches(k, &inputs, [keys, values], pages, of_keys);
                self.emit(k, inputs, factors, caches);
            },
        )
    }

    #[track_caller]
    fn emit<'k, T>(
        &self,
        k: Builder<'k>,
        inputs: Inputs<'k, T>,
        factors: [Rows<'k, T>; 2],
        caches: Caches<'k>,
    ) where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let Self { head_size, parts, queries } = *self;
        self.describe::<T>(k, "");
        match [head_size, parts] {
            _ if !self.is_supported() => self.refuse(k),
            [64, 1] => emit::<T, 4, 1, 4>(k, inputs, factors, caches, queries),
            [64, 2] => emit::<T, 4, 2, 2>(k, inputs, factors, caches, queries),
            [64, _] => emit::<T, 4, 4, 1>(k, inputs, factors, caches, queries),
            [_, 1] => emit::<T, 8, 1, 8>(k, inputs, factors, caches, queries),
            [_, 2] => emit::<T, 8, 2, 4>(k, inputs, factors, caches, queries),
            _ => emit::<T, 8, 4, 2>(k, inputs, factors, caches, queries),
        }
    }

    #[track_caller]
    fn describe<T: TensorElement>(&self, k: Builder<'_>, of_cache: &str) {
        let Self { head_size, parts, .. } = *self;
        k.describe(format!(
            "o = softmax(scale·q·Kᵀ)·V with rows of {head_size} ({}) and a cache of K and V{of_cache}; {parts} blocks for each",
            T::NAME
        ));
    }

    /// Returns whether the values of all fields are supported.
    fn is_supported(&self) -> bool {
        let Self { head_size, parts, queries } = self;
        [64, 128].contains(head_size) && Self::PARTS.contains(parts) && Self::QUERIES.contains(queries)
    }

    #[track_caller]
    fn refuse(&self, k: Builder<'_>) {
        let Self { head_size, parts, queries } = self;
        k.block([128]);
        k.refuse(if Self::QUERIES.contains(queries) {
            format!(
                "expected a head size of 64 or 128 and 1, 2 or 4 parts, found a head size of {head_size} and {parts} parts"
            )
        } else {
            format!("expected 1, 2, 4 or 8 queries, found {queries}")
        });
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
}

/// Returns contiguous caches of `n` rows.
fn contiguous_caches<'k, T, E>(
    inputs: &Inputs<'k, T>,
    rows: [Ptr<'k, E, Global, Read>; 2],
    n: Val<'k, u32>,
    of_keys: [[Val<'k, u32>; 3]; 2],
) -> ([Rows<'k, E>; 2], Caches<'k>) {
    let [batches, kv_heads, ..] = inputs.sizes;
    (with_layouts(rows, [batches, kv_heads, n], of_keys), Caches::Contiguous { rows: n })
}

/// Returns caches that are stored in pages. Rejects an unsupported number of rows per page.
#[track_caller]
fn paged_caches<'k, T, E>(
    k: Builder<'k>,
    inputs: &Inputs<'k, T>,
    rows: [Ptr<'k, E, Global, Read>; 2],
    Pages { tables, pages, table, rows: page }: Pages<'k>,
    of_keys: [[Val<'k, u32>; 3]; 2],
) -> ([Rows<'k, E>; 2], Caches<'k>) {
    let [batches, kv_heads, ..] = inputs.sizes;
    if !(8..=128).contains(&page) || !page.is_power_of_two() {
        k.refuse(format!("expected pages of 8, 16, 32, 64 or 128 rows, found {page}"));
    }
    let page = page.clamp(8, 128).next_power_of_two();
    let tables = k.global(tables, row_major(batches, table));
    let extents = [pages, kv_heads, Val::from(page)];
    (with_layouts(rows, extents, of_keys), Caches::Paged { tables, count: table, page })
}

fn with_layouts<'k, E>(
    [keys, values]: [Ptr<'k, E, Global, Read>; 2],
    extents: [Val<'k, u32>; 3],
    of_keys: [[Val<'k, u32>; 3]; 2],
) -> [Rows<'k, E>; 2] {
    [(keys, extents, of_keys[0]), (values, extents, of_keys[1])]
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
fn emit<'k, T, const D: usize, const PARTS: usize, const P: usize>(
    k: Builder<'k>,
    inputs: Inputs<'k, T>,
    factors: [Rows<'k, T>; 2],
    caches: Caches<'k>,
    most: u32,
) where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    let (scale, step) = (inputs.scale, 16 * N as u32);
    let views = Views::new(k, inputs, factors, [16 * D as u32, most, 64, PARTS as u32]);
    let Views { rows, tiles, .. } = views;
    let query_ring = tiles.ring::<(St<T, 4, D>,), 1, 1>();
    let (key_ring, value_ring): (FactorRing<T, N, D, STAGES, 1>, FactorRing<T, N, D, STAGES, 1>) =
        (tiles.ring(), tiles.ring());
    let all_to_all = (PARTS > 1).then(|| tiles.all_to_all::<f32, P>());
    let outbox = (most == 1).then(|| k.outbox::<T, P, 1, 1>());
    let part = tiles.part();
    k.specialize(
        producer(120, |p| {
            views.each_tile(&caches, step, |tile| {
                let CacheTile { batch, head, index, length, .. } = tile;
                p.fill(&query_ring, |stage| stage.fill((rows.tile(&views.q, [batch, head], index),)));
                k.for_(ptx::Steps::new(tile.first, end_of(tile)), |j| {
                    let at = caches.locate(batch, j, length, step);
                    p.fill(&key_ring, |stage| stage.fill((at.of(&views.keys, head),)));
                    p.fill(&value_ring, |stage| stage.fill((at.of(&views.values, head),)));
                });
            });
        }),
        consumers::<1, _>(232, |c| {
            views.each_tile(&caches, step, |tile| {
                let CacheTile { batch, head, index, first, .. } = tile;
                let end = end_of(tile);
                let stage = c.receive(&query_ring);
                let of_warp = stage.tiles().0.subtile(c.warp(), 0).load::<1, D, Row>().frozen();
                c.release_loaded(&query_ring, stage);
                let visible = views.visible(tile, step);
                let work = Warpgroup {
                    c,
                    queries: Queries::Registers(of_warp),
                    scores: Scores { scale, soft_cap: None, slope: None },
                    sink: None,
                    dropout: None,
                    factor: None,
                    keys: &key_ring,
                    values: &value_ring,
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
                let (sum, logs) = merged_parts::<D, PARTS, P>(c, all_to_all.as_ref(), work.finish(state));
                k.if_(part.rank().eq(0), || {
                    rows.store_logarithms(&views.lse, [batch, head], index, c.warp(), &logs);
                });
                match &outbox {
                    Some(outbox) => {
                        c.store(outbox, [sum], |_| views.o.batch((batch, 0, head)).tile(index, part.rank()));
                    }
                    None => rows.store(&views.o, [batch, head], [index, part.rank()], c.warp(), &sum),
                }
            });
        }),
    );
}

/// Returns the end of the steps of a tile. There is at least one step, because the products with the values of a step start in the next
/// step.
#[track_caller]
fn end_of<'k>(CacheTile { first, count, .. }: CacheTile<'k>) -> Val<'k, u32> {
    first + count.max(1)
}

/// Merges the results of the blocks that process the keys of a tile, and returns the `P` columns of subtiles of this block.
#[track_caller]
fn merged_parts<'k, const D: usize, const PARTS: usize, const P: usize>(
    c: Consumer<'k, 1>,
    all_to_all: Option<&AllToAll<'k, f32, P>>,
    (means, logs): (Rt<'k, f32, 1, D>, ColVec<'k, f32, 1>),
) -> (Rt<'k, f32, 1, P>, ColVec<'k, f32, 1>) {
    match all_to_all {
        Some(all_to_all) => merged(c.group().kernel(), c.all_to_all(all_to_all, &means, &logs)),
        None => (means.hsplit::<P, PARTS>().into_iter().next().expect("a part"), logs),
    }
}
