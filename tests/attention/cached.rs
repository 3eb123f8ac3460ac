//! Attention of one or a few queries for each head to a cache of keys and values.

use super::{
    problem::{Half, compare_row, each, mixed},
    reference::Reference,
};
use crate::{assemble, devices};
use warpwright::{
    kernels::{
        AttentionMask, CachedAttention, CachedAttentionArgs, CachedAttentionProblem, PagedAttentionArgs,
        ScaledCachedAttentionArgs, ScaledPagedAttentionArgs,
    },
    prelude::*,
    ptx::{BuildError, e4m3},
    run::Device,
    tiles::Convert,
};
use warpwright_reference::dot;

/// The sequences of a problem, and the rows of a cache.
#[derive(Clone, Copy, Debug)]
struct Problem<'a> {
    heads: usize,
    kv_heads: usize,
    queries: usize,
    lengths: &'a [usize],
    /// The rows of a page; without pages, every sequence has `capacity` rows.
    page: Option<usize>,
    capacity: usize,
    /// Whether keys and values are `e4m3` with a scale for each KV head.
    scaled: bool,
    /// The factor of all queries, by which `scale` is divided.
    magnitude: f32,
}

/// The kernel of a problem.
enum Built<T> {
    Contiguous(Kernel<CachedAttentionArgs<T>>),
    Paged(Kernel<PagedAttentionArgs<T>>),
    Scaled(Kernel<ScaledCachedAttentionArgs<T>>),
    ScaledPaged(Kernel<ScaledPagedAttentionArgs<T>>),
}

impl<T: Half> Built<T>
where
    f32: Convert<T>,
{
    fn new(attention: CachedAttention, problem: &Problem<'_>) -> Result<Self, BuildError> {
        let page = problem.page.map(|page| page as u32);
        Ok(match (problem.scaled, page) {
            (false, None) => Self::Contiguous(attention.kernel()?),
            (false, Some(page)) => Self::Paged(attention.paged_kernel(page)?),
            (true, None) => Self::Scaled(attention.scaled_kernel()?),
            (true, Some(page)) => Self::ScaledPaged(attention.scaled_paged_kernel(page)?),
        })
    }

    fn assemble(&self) {
        match self {
            Self::Contiguous(kernel) => assemble::kernel(kernel),
            Self::Paged(kernel) => assemble::kernel(kernel),
            Self::Scaled(kernel) => assemble::kernel(kernel),
            Self::ScaledPaged(kernel) => assemble::kernel(kernel),
        }
    }
}

/// Returns the factors of the elements of each KV head. That of the third head's keys is 0.
fn scales_of(which: char, kv_heads: usize) -> Vec<f32> {
    let scale = |head| match (which, head) {
        ('k', 2) => 0.0,
        ('k', _) => 0.5 + (head * 5 % 7) as f32 * 0.125,
        _ => 0.75 + (head * 5 % 7) as f32 * 0.125,
    };
    (0..kv_heads).map(scale).collect()
}

/// The elements after each row of Q and O.
const GAP: usize = 8;

impl Problem<'_> {
    /// Returns the position of row `row` of a head of a sequence, in rows of a cache: batch or page, head, row.
    fn row(&self, table: &[u32], batch: usize, head: usize, row: usize) -> usize {
        let (outer, rows, within) = match self.page {
            None => (batch, self.capacity, row),
            Some(page) => (table[batch * self.table() + row / page] as usize, page, row % page),
        };
        (outer * self.kv_heads + head) * rows + within
    }

    /// Returns the number of pages of a sequence.
    fn table(&self) -> usize {
        self.page.map_or(0, |page| self.capacity.div_ceil(page))
    }

    /// Returns page indices in a different order than the sequences; entries without rows contain an invalid index.
    fn tables(&self) -> Vec<u32> {
        let count = self.table() * self.lengths.len();
        let mut tables = vec![u32::MAX; count];
        for (batch, length) in self.lengths.iter().enumerate() {
            for at in 0..length.div_ceil(self.page.unwrap_or(1)).min(self.table()) {
                let number = batch * self.table() + at;
                tables[number] = (number * 7 % count) as u32;
            }
        }
        tables
    }
}

fn check<T: Half>(attention: CachedAttention, problem: Problem<'_>)
where
    f32: Convert<T>,
{
    let Problem { heads, kv_heads, queries, lengths, page, capacity, scaled, magnitude } = problem;
    let (size, batches) = (attention.head_size as usize, lengths.len());
    let what = format!("{attention:?}, {problem:?}");
    let (tables, pitch) = (problem.tables(), size + GAP);
    let of_page = page.unwrap_or(capacity);
    let outer = page.map_or(batches, |_| tables.len());
    // Batch, query, head.
    let rows = batches * queries * heads;
    let q: Vec<T> = (0..rows * pitch)
        .map(|at| {
            if at % pitch < size {
                T::of(mixed('q', [0, 0, at / pitch, at % pitch]) * magnitude)
            } else {
                T::NAN
            }
        })
        .collect();
    // Rows that are not in use are NaN.
    let cache = |which: char| {
        let mut rows = vec![f32::NAN; outer * kv_heads * of_page * size];
        for (batch, &length) in lengths.iter().enumerate() {
            for (head, row) in (0..kv_heads).flat_map(|head| (0..length).map(move |row| (head, row))) {
                let start = problem.row(&tables, batch, head, row) * size;
                for col in 0..size {
                    rows[start + col] = mixed(which, [batch, head, row, col]);
                }
            }
        }
        rows
    };
    let caches = ['k', 'v'].map(cache);
    let scales = ['k', 'v'].map(|which| scales_of(which, kv_heads));
    let halves = caches.each_ref().map(|rows| rows.iter().map(|&x| T::of(x)).collect::<Vec<T>>());
    let bytes = caches.each_ref().map(|rows| rows.iter().map(|&x| e4m3::from_f32(x)).collect::<Vec<_>>());
    let scale = 1.0 / (size as f32).sqrt() / magnitude;
    let of_queries = [[queries * heads * pitch, pitch, heads * pitch].map(|stride| stride as u32); 2];
    let of_keys = [[kv_heads * of_page * size, of_page * size, size].map(|stride| stride as u32); 2];
    let [b, g, h, m, n] = [batches, kv_heads, heads / kv_heads, queries, capacity].map(|size| size as u32);
    let in_use: Vec<u32> = lengths.iter().map(|&length| length as u32).collect();

    let built = Built::<T>::new(attention, &problem).unwrap_or_else(|error| panic!("{what}: {error}"));
    built.assemble();
    let found = devices::everywhere(|device| {
        if device.capability() != (9, 0) {
            return None;
        }
        let q = device.upload(&q).expect("room");
        let [k, v] = halves.each_ref().map(|rows| device.upload(rows).expect("room"));
        let [k_bytes, v_bytes] = bytes.each_ref().map(|rows| device.upload(rows).expect("room"));
        let scales = scales.each_ref().map(|scales| device.upload(scales).expect("room"));
        let [lengths, tables] = [&in_use, &tables].map(|numbers| device.upload(numbers).expect("room"));
        let mut o = device.upload(&vec![T::NAN; rows * pitch]).expect("room");
        let mut lse = device.upload(&vec![f32::NAN; rows]).expect("room");
        let (sizes, o_on, lse_on) = ([b, g, h, m, n], &mut o, &mut lse);
        let of_pages = [b, g, h, m, outer as u32, problem.table() as u32];
        let scales = scales.each_ref();
        let launched = match &built {
            Built::Contiguous(kernel) => {
                let arguments = (&q, &k, &v, o_on, lse_on, &lengths, sizes, of_queries, of_keys, scale);
                device.launch(kernel, arguments)
            }
            Built::Paged(kernel) => {
                let arguments =
                    (&q, &k, &v, o_on, lse_on, &lengths, &tables, of_pages, of_queries, of_keys, scale);
                device.launch(kernel, arguments)
            }
            Built::Scaled(kernel) => {
                let (k, v) = (&k_bytes, &v_bytes);
                let arguments = (&q, k, v, o_on, lse_on, &lengths, scales, sizes, of_queries, of_keys, scale);
                device.launch(kernel, arguments)
            }
            Built::ScaledPaged(kernel) => {
                let (k, v) = (&k_bytes, &v_bytes);
                let arguments =
                    (&q, k, v, o_on, lse_on, &lengths, &tables, scales, of_pages, of_queries, of_keys, scale);
                device.launch(kernel, arguments)
            }
        };
        launched.unwrap_or_else(|error| panic!("{what}: {error}"));
        let o = device.download(&o).expect("copied").into_iter().map(T::bits).collect::<Vec<_>>();
        let lse = device.download(&lse).expect("copied").into_iter().map(f32::to_bits).collect::<Vec<_>>();
        Some((o, lse))
    });
    let (o, lse) = found.expect("the simulator has every capability");
    let q: Vec<_> = q.iter().map(|x| x.number()).collect();
    let [k, v] = [0, 1].map(|which| -> Vec<f64> {
        let of_head = of_page * size;
        let factor = |(at, x): (usize, &e4m3)| {
            f64::from(x.to_f32()) * f64::from(scales[which][at / of_head % kv_heads])
        };
        if scaled {
            bytes[which].iter().enumerate().map(factor).collect()
        } else {
            halves[which].iter().map(|x| x.number()).collect()
        }
    });
    for (batch, head, query) in each([batches, heads, queries]) {
        let kv_head = head / (heads / kv_heads);
        let at = (batch * queries + query) * heads + head;
        let start = |key| problem.row(&tables, batch, kv_head, key) * size;
        let score = |_, key| dot(&q[at * pitch..][..size], &k[start(key)..][..size]) * f64::from(scale);
        let reference = Reference {
            mask: AttentionMask::CausalFromEnd,
            queries,
            keys: lengths[batch],
            score: &score,
            value: &|key| &v[start(key)..][..size],
            columns: size,
            soft_cap: None,
            slope: 0.0,
            sink: None,
            dropout: None,
        };
        let what = format!("{what}: batch {batch}, head {head}, query {query}");
        let log = f32::from_bits(lse[(batch * heads + head) * queries + query]);
        compare_row::<T>(&what, &reference.row(query), &o[at * pitch..], log);
    }
}

const LENGTHS: &[usize] = &[1, 700, 128, 0, 257];
const ONE: Problem<'_> = Problem {
    heads: 2,
    kv_heads: 2,
    queries: 1,
    lengths: LENGTHS,
    page: None,
    capacity: 750,
    scaled: false,
    magnitude: 1.0,
};

/// Returns the kernel for one query.
const fn one(head_size: u32, parts: u32) -> CachedAttention {
    CachedAttention { head_size, parts, queries: 1 }
}

#[test]
fn contiguous_caches() {
    for head_size in [64, 128] {
        for parts in CachedAttention::PARTS {
            for (heads, kv_heads) in [(2, 2), (8, 1)] {
                check::<bf16>(one(head_size, parts), Problem { heads, kv_heads, ..ONE });
            }
        }
    }
}

#[test]
fn caches_of_f16() {
    check::<f16>(one(64, 2), Problem { heads: 4, kv_heads: 1, lengths: &[300, 40], capacity: 300, ..ONE });
}

/// More heads than rows of a tile.
#[test]
fn large_groups() {
    check::<bf16>(one(64, 2), Problem { heads: 71, kv_heads: 1, lengths: &[150, 400], capacity: 400, ..ONE });
}

/// Fewer queries than a tile has, more queries than a sequence has keys, and more heads than a tile has.
#[test]
fn several_queries() {
    for (most, queries, parts) in [(2, 2, 1), (4, 3, 2), (8, 8, 4), (8, 5, 1), (4, 1, 2)] {
        let attention = CachedAttention { head_size: 64, parts, queries: most };
        for (heads, kv_heads) in [(4, 2), (19, 1)] {
            let lengths = &[1, 700, 128, 0, 257, 130, 4];
            check::<bf16>(attention, Problem { heads, kv_heads, queries, lengths, ..ONE });
        }
    }
    let attention = CachedAttention { head_size: 128, parts: 2, queries: 4 };
    check::<f16>(attention, Problem { heads: 16, kv_heads: 1, queries: 4, ..ONE });
}

#[test]
fn several_queries_and_pages() {
    for (page, most, queries) in [(16, 8, 6), (64, 2, 2)] {
        let attention = CachedAttention { head_size: 128, parts: 2, queries: most };
        let page = Some(page);
        check::<bf16>(attention, Problem { heads: 4, kv_heads: 2, queries, page, capacity: 768, ..ONE });
    }
}

#[test]
fn pages() {
    for (page, parts) in [(8, 2), (16, 1), (64, 4), (128, 2)] {
        let problem = Problem { heads: 4, kv_heads: 2, page: Some(page), capacity: 768, ..ONE };
        check::<bf16>(one(128, parts), problem);
    }
}

/// Caches of `e4m3` with scales, for several groups, numbers of parts and queries, and queries of both types.
#[test]
fn scaled_caches() {
    for head_size in [64, 128] {
        for (parts, heads, kv_heads) in [(1, 2, 2), (2, 8, 1), (4, 6, 3)] {
            check::<bf16>(one(head_size, parts), Problem { heads, kv_heads, scaled: true, ..ONE });
        }
    }
    let attention = CachedAttention { head_size: 64, parts: 2, queries: 4 };
    check::<f16>(attention, Problem { heads: 8, queries: 3, scaled: true, ..ONE });
}

/// More heads than a tile has, for each number of queries.
#[test]
fn scaled_caches_and_large_groups() {
    for (head_size, parts, most, heads, queries) in
        [(64, 4, 1, 71, 1), (128, 1, 2, 19, 2), (64, 2, 4, 11, 4), (128, 2, 8, 9, 7)]
    {
        let attention = CachedAttention { head_size, parts, queries: most };
        let lengths = &[150, 0, 400, 3];
        let problem = Problem { heads, kv_heads: 1, queries, lengths, capacity: 400, scaled: true, ..ONE };
        check::<bf16>(attention, problem);
    }
}

/// Queries that f16 cannot represent.
#[test]
fn scaled_caches_and_queries_of_any_magnitude() {
    for magnitude in [1e30, 1e-30] {
        check::<bf16>(one(64, 2), Problem { heads: 4, kv_heads: 1, scaled: true, magnitude, ..ONE });
    }
}

#[test]
fn scaled_caches_in_pages() {
    for (head_size, page, most, queries, parts) in
        [(128, 8, 1, 1, 4), (128, 16, 1, 1, 1), (128, 64, 4, 3, 2), (64, 128, 8, 5, 2)]
    {
        let attention = CachedAttention { head_size, parts, queries: most };
        let page = Some(page);
        check::<bf16>(
            attention,
            Problem { heads: 4, kv_heads: 2, queries, page, capacity: 768, scaled: true, ..ONE },
        );
    }
}

#[test]
fn parts_occupy_the_multiprocessors() {
    for (batches, kv_heads, [parts, of_long]) in [
        (8, 8, [2, 2]),
        (16, 8, [1, 1]),
        (64, 8, [1, 2]),
        (4, 8, [2, 2]),
        (3, 8, [4, 4]),
        (1, 8, [4, 4]),
        (1, 1, [4, 4]),
        (1000, 8, [1, 2]),
    ] {
        for (capacity, parts) in [(4096, parts), (32768, of_long)] {
            let problem = CachedAttentionProblem { batches, kv_heads, capacity, ..PROBLEM };
            let found = CachedAttention::for_problem(&problem).parts;
            assert_eq!(found, parts, "{batches}×{kv_heads}×{capacity}");
        }
    }
}

const PROBLEM: CachedAttentionProblem = CachedAttentionProblem {
    head_size: 128,
    batches: 8,
    kv_heads: 8,
    queries: 1,
    capacity: 4096,
    multiprocessors: 132,
};

#[test]
fn queries_are_rounded_up() {
    for (queries, most) in [(0, 1), (1, 1), (2, 2), (3, 4), (5, 8), (8, 8)] {
        let problem = CachedAttentionProblem { queries, ..PROBLEM };
        assert_eq!(CachedAttention::for_problem(&problem).queries, most, "{queries} queries");
    }
}

#[test]
fn other_parts_and_pages_are_rejected() {
    let attention = one(128, 3);
    let found = attention.kernel::<bf16>().expect_err("it is rejected").to_string();
    let expected =
        "expected a head size of 64 or 128 and 1, 2 or 4 parts, found a head size of 128 and 3 parts";
    assert!(found.contains(expected), "{found}");
    for queries in [0, 3, 16] {
        let attention = CachedAttention { parts: 2, queries, ..attention };
        let found = [
            attention.kernel::<bf16>().expect_err("it is rejected").to_string(),
            attention.scaled_kernel::<bf16>().expect_err("it is rejected").to_string(),
        ];
        let expected = format!("expected 1, 2, 4 or 8 queries, found {queries}");
        assert!(found.iter().all(|found| found.contains(&expected)), "{found:?}");
    }
    let attention = CachedAttention { parts: 2, ..attention };
    for page in [0, 4, 24, 256] {
        let found = attention.paged_kernel::<bf16>(page).expect_err("it is rejected").to_string();
        let expected = format!("expected pages of 8, 16, 32, 64 or 128 rows, found {page}");
        assert!(found.contains(&expected), "{found}");
    }
}
