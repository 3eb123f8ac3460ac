//! Attention of one query per head to a cache of keys and values.

mod merge;
mod pages;

use super::{
    scores::Scores,
    visible::{AttentionMask, Visible},
    warpgroup::{FactorRing, Queries, Warpgroup},
};
use crate::{
    ptx::{self, BuildError, Builder, Global, In, Kernel, Out, Ptr, Read, Target, Val, Write},
    tensor::TensorElement,
    tiles::{Convert, Product, Row, Schedule, St, consumers, contiguous, producer, row_major, vector},
};
use merge::merged;
use pages::Caches;

/// The arguments of the kernel that [`CachedAttention::kernel`] builds:
/// `(q, k, v, o, lse, lengths, [batches, kv_heads, group, keys], of_queries, of_keys, scale)`. Each of `batches`·`kv_heads` caches consists
/// of `keys` rows of K and V, of which the first `lengths[batch]` are in use, and serves the queries of `group` consecutive heads.
/// `of_queries` contains the strides of Q and O between batches and between heads; `of_keys` contains those of K and V between batches,
/// between heads and between rows. `lse` is contiguous: `batches`·`kv_heads`·`group`.
pub type CachedAttentionArgs<T> =
    (In<T>, In<T>, In<T>, Out<T>, Out<f32>, In<u32>, [u32; 4], [[u32; 2]; 2], [[u32; 3]; 2], f32);

/// The arguments of the kernel that [`CachedAttention::paged_kernel`] builds:
/// `(q, k, v, o, lse, lengths, tables, [batches, kv_heads, group, pages, table], of_queries, of_keys, scale)`. They are those of
/// [`CachedAttentionArgs`], except that keys and values are stored in `pages` pages. Row `batch` of `tables` consists of `table` elements,
/// which are the page indices of a sequence. `of_keys` contains the strides of K and V between pages, between heads and between rows.
#[doc(alias = "paged_attention")]
pub type PagedAttentionArgs<T> =
    (In<T>, In<T>, In<T>, Out<T>, Out<f32>, In<u32>, In<u32>, [u32; 5], [[u32; 2]; 2], [[u32; 3]; 2], f32);

/// A kernel for attention of one query per head to a cache of keys and values. It computes O = softmax(`scale` · q·Kᵀ)·V and the logarithm
/// of the sum of exponentials, and requires sm_90a.
///
/// The query heads that share a KV head are the rows of one tile, so each key and value is read once. The blocks of a cluster divide the
/// keys of a sequence and merge their results, each of which is relative to the block's own maximum. The arithmetic is that of
/// [`Attention`](super::Attention), and `scale` must be positive. Rows that are not in use are ignored and may contain NaN. A length of 0
/// gives O = 0 and the logarithm −∞; a length beyond the end of the cache is limited to the cache. All strides must be multiples of 16
/// bytes.
#[doc(alias = "flash_decoding")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CachedAttention {
    /// The head size: 64 or 128.
    pub head_size: u32,
    /// The number of blocks that divide the keys of a sequence: 1, 2 or 4.
    pub parts: u32,
}

impl CachedAttention {
    /// The supported values of [`parts`](Self::parts).
    pub const PARTS: [u32; 3] = [1, 2, 4];

    /// Returns the kernel for `batches` sequences with long caches of `kv_heads` KV heads each. Each cache is divided among the smallest
    /// number of blocks that occupies at least nine tenths of the multiprocessors; if no number does, it is divided among the number that
    /// occupies the most multiprocessors. An H100 or H200 runs up to 30 clusters of 4 blocks at the same time.
    #[must_use]
    pub fn for_problem(head_size: u32, batches: u32, kv_heads: u32, multiprocessors: u32) -> Self {
        let caches = u64::from(batches) * u64::from(kv_heads);
        let occupied = |parts: u32| {
            let blocks = caches * u64::from(parts);
            let all = u64::from(multiprocessors.max(1));
            let resident = if parts > 2 { (all * 10 / 11).max(1) } else { all };
            (1000 * blocks) / (blocks.div_ceil(resident).max(1) * all)
        };
        let best = Self::PARTS.map(occupied).into_iter().max().unwrap_or_default().min(900);
        let parts = Self::PARTS.into_iter().find(|parts| occupied(*parts) >= best).unwrap_or(1);
        Self { head_size, parts }
    }

    /// Builds the kernel for contiguous caches. For bf16, a head size of 128 and two parts, it is named `attention_cached_bf16_128_split2`.
    ///
    /// # Errors
    /// Returns an error for an unsupported head size or number of parts.
    pub fn kernel<T>(&self) -> Result<Kernel<CachedAttentionArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_cached_{}_{}_split{}(q, k, v, o, lse, lengths, batches, kv_heads, group, keys, q_batch, q_head, o_batch, o_head, \
             k_batch, k_head, k_row, v_batch, v_head, v_row, scale)",
            T::NAME,
            self.head_size,
            self.parts
        );
        Kernel::<CachedAttentionArgs<T>>::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, o, lse, lengths, sizes, of_queries, of_keys, scale)| {
                let [batches, kv_heads, group, n] = sizes;
                let caches = [(keys, of_keys[0]), (values, of_keys[1])];
                let caches = caches.map(|(rows, strides)| (rows, [batches, kv_heads, n], strides));
                let inputs =
                    Inputs { q, o, lse, lengths, sizes: [batches, kv_heads, group], of_queries, scale };
                self.emit(k, inputs, caches, Caches::Contiguous { rows: n });
            },
        )
    }

    /// Builds the kernel for caches in pages of `page` rows, a power of two from 8 to 128. For bf16, a head size of 128, pages of 16 rows
    /// and two parts, it is named `attention_paged_bf16_128_pages16_split2`.
    ///
    /// # Errors
    /// Returns the errors of [`kernel`](Self::kernel), and an error for an unsupported page size.
    pub fn paged_kernel<T>(&self, page: u32) -> Result<Kernel<PagedAttentionArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_paged_{}_{}_pages{page}_split{}(q, k, v, o, lse, lengths, tables, batches, kv_heads, group, pages, table, q_batch, q_head, o_batch, \
             o_head, k_page, k_head, k_row, v_page, v_head, v_row, scale)",
            T::NAME,
            self.head_size,
            self.parts
        );
        Kernel::<PagedAttentionArgs<T>>::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, o, lse, lengths, tables, sizes, of_queries, of_keys, scale)| {
                let [batches, kv_heads, group, pages, table] = sizes;
                if !(8..=128).contains(&page) || !page.is_power_of_two() {
                    k.block([128]);
                    return k.refuse(format!("expected pages of 8, 16, 32, 64 or 128 rows, found {page}"));
                }
                let tables = k.global(tables, row_major(batches, table));
                let caches = [(keys, of_keys[0]), (values, of_keys[1])];
                let caches =
                    caches.map(|(rows, strides)| (rows, [pages, kv_heads, Val::from(page)], strides));
                let inputs =
                    Inputs { q, o, lse, lengths, sizes: [batches, kv_heads, group], of_queries, scale };
                self.emit(k, inputs, caches, Caches::Paged { tables, count: table, page });
            },
        )
    }

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
        let Self { head_size, parts } = *self;
        k.describe(format!(
            "o = softmax(scale·q·Kᵀ)·V with rows of {head_size} ({}) and a cache of K and V; {parts} blocks for each",
            T::NAME
        ));
        match [head_size, parts] {
            [64, 1] => emit::<T, 4, 1, 4>(k, inputs, factors, caches),
            [64, 2] => emit::<T, 4, 2, 2>(k, inputs, factors, caches),
            [64, 4] => emit::<T, 4, 4, 1>(k, inputs, factors, caches),
            [128, 1] => emit::<T, 8, 1, 8>(k, inputs, factors, caches),
            [128, 2] => emit::<T, 8, 2, 4>(k, inputs, factors, caches),
            [128, 4] => emit::<T, 8, 4, 2>(k, inputs, factors, caches),
            _ => {
                k.block([128]);
                k.refuse(format!(
                    "expected rows of 64 or 128 and 1, 2 or 4 parts, found rows of {head_size} and {parts} parts"
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
    /// Batches, heads of keys, and the heads of queries of each of these.
    sizes: [Val<'k, u32>; 3],
    /// The strides of Q and of O.
    of_queries: [[Val<'k, u32>; 2]; 2],
    scale: Val<'k, f32>,
}

/// Keys or values, their extents and their strides: batches or pages, heads, rows.
type Rows<'k, T> = (Ptr<'k, T, Global, Read>, [Val<'k, u32>; 3], [Val<'k, u32>; 3]);

/// The subtiles of keys of a step, and the stages.
const N: usize = 8;
const STAGES: usize = 2;

/// Emits the kernel for rows of `D` subtiles, of which each of `PARTS` blocks stores `P`.
fn emit<'k, T, const D: usize, const PARTS: usize, const P: usize>(
    k: Builder<'k>,
    inputs: Inputs<'k, T>,
    factors: [Rows<'k, T>; 2],
    caches: Caches<'k>,
) where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    let Inputs { q, o, lse, lengths, sizes: [batches, kv_heads, group], of_queries, scale } = inputs;
    k.block([256]);
    if PARTS > 1 {
        k.cluster([PARTS as u32]);
    }
    let (d, step) = (16 * D as u32, 16 * N as u32);
    // The heads of a group are rows.
    let of_group = |[batch, head]: [Val<'k, u32>; 2]| [batch, group * head, head, Val::from(1)];
    let extents = [batches, kv_heads, group, d.into()];
    let q = k.global(q, contiguous(extents).with_strides(of_group(of_queries[0])));
    let o = k.global(o, contiguous(extents).with_strides(of_group(of_queries[1])));
    let lse = k.global(lse, row_major(batches * kv_heads, group));
    let lengths = k.global(lengths, vector(batches));
    let [keys, values] = factors.map(|(rows, [outer, heads, rows_of_each], [a, b, c])| {
        let layout = contiguous([outer, heads, rows_of_each, d.into()]).with_strides([a, b, c, 1.into()]);
        k.global(rows, layout)
    });

    let tiles = k.persistent(Schedule::linear().split(PARTS as u32), batches * kv_heads, group.ceil_div(64));
    let query_ring = tiles.ring::<(St<T, 4, D>,), 1, 1>();
    let key_ring: FactorRing<'_, T, N, D, STAGES, 1> = tiles.ring();
    let value_ring: FactorRing<'_, T, N, D, STAGES, 1> = tiles.ring();
    let all_to_all = (PARTS > 1).then(|| tiles.all_to_all::<f32, P>());
    let outbox = k.outbox::<T, P, 1, 1>();
    let part = tiles.part();

    // Calls `each` with the batch, the head of keys, the tile of heads, the keys in use, and the first and last step of this part; at least one.
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
                p.fill(&query_ring, |stage| stage.fill((q.batch((batch, head)).tile(tile, 0),)));
                k.for_(ptx::Steps::new(first, end), |j| {
                    let at = caches.locate(batch, j, length, step);
                    p.fill(&key_ring, |stage| stage.fill((at.of(&keys, head),)));
                    p.fill(&value_ring, |stage| stage.fill((at.of(&values, head),)));
                });
            });
        }),
        consumers::<1, _>(232, |c| {
            each_tile(&|batch, head, tile, length, [first, end]| {
                let warp = tile * 4 + c.warp();
                let stage = c.receive(&query_ring);
                let queries = stage.tiles().0.subtile(c.warp(), 0).load::<1, D, Row>().frozen();
                c.release_loaded(&query_ring, stage);
                let work = Warpgroup {
                    c,
                    queries: Queries::Registers(queries),
                    scores: Scores { scale, soft_cap: None, slope: None },
                    sink: None,
                    keys: &key_ring,
                    values: &value_ring,
                    visible: Visible { mask: AttentionMask::Full, queries: group, keys: length, step },
                    query: warp * 16,
                    clears_values: true,
                };
                let whole = (length / step).min(end);
                let state = work.start(first);
                let state = k
                    .fold(ptx::Steps::new(first + 1, whole), state, |j, state| work.advance(j, false, state));
                let masked = ptx::Steps::new(whole.max(first + 1), end);
                let state = k.fold(masked, state, |j, state| work.advance(j, true, state));
                let (sum, logs) = work.finish(state);

                let parts = match &all_to_all {
                    Some(all_to_all) => c.all_to_all(all_to_all, &sum, &logs),
                    None => {
                        sum.hsplit::<P, PARTS>().into_iter().map(|sum| (sum, logs.map(|log| log))).collect()
                    }
                };
                let (sum, logs) = merged(k, parts);
                k.if_(part.rank().eq(0), || lse.row(batch * kv_heads + head).tile(warp).store(&logs));
                c.store(&outbox, [sum], |_| o.batch((batch, head)).tile(tile, part.rank()));
            });
        }),
    );
}
