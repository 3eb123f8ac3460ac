//! One query for each head, and caches of different lengths in pages.

use warpwright::{
    kernels::call::{self, CacheScales, HeadOrder, PagedCacheShape},
    run::{Device, KernelCache, Simulator},
};
use warpwright_reference::{dot, weighted_values};

use super::{
    heads::row_of,
    numbers::{assert_near, downloaded_floats, downloaded_halves, halves, in_f64, on_hopper, results},
    scaled::scaled_cache,
};

const SHAPE: PagedCacheShape = PagedCacheShape {
    batches: 3,
    heads: 6,
    kv_heads: 2,
    queries: 1,
    pages: 20,
    page_size: 16,
    table_columns: 6,
    head_size: 64,
    scale: Some(0.2),
    order: HeadOrder::Positions,
};

#[test]
fn pages_have_any_order() {
    let lengths = [90u32, 4, 48];
    for (order, queries, scaled) in [
        (HeadOrder::Positions, 1, false),
        (HeadOrder::Heads, 1, false),
        (HeadOrder::Heads, 4, false),
        (HeadOrder::Heads, 2, true),
    ] {
        let shape = PagedCacheShape { order, queries, ..SHAPE };
        let PagedCacheShape { batches, heads, kv_heads, pages, page_size, table_columns, head_size, .. } =
            shape;
        let [batches, heads, kv_heads, queries, page_size, columns, size] =
            [batches, heads, kv_heads, queries, page_size, table_columns, head_size].map(|n| n as usize);
        // The pages in use are all different; other entries do not refer to a page.
        let page = |at: usize| {
            let is_used = at % columns * page_size < lengths[at / columns] as usize;
            if is_used { at as u32 * 7 % pages } else { u32::MAX }
        };
        let tables: Vec<u32> = (0..batches * columns).map(page).collect();
        let row = |batch: usize, head: usize, key: usize| {
            let (page, position) = (tables[batch * columns + key / page_size] as usize, key % page_size);
            size * row_of(order, [kv_heads, page_size], [page, head, position])
        };
        on_hopper(|device| {
            let kernels = KernelCache::new(device);
            let q = halves(batches * queries * heads * size, 1);
            let [k, v] = [2, 3].map(|seed| halves(pages as usize * page_size * kv_heads * size, seed));
            let on_q = device.upload(&q).expect("room");
            let on_lengths = device.upload(&lengths).expect("room");
            let on_tables = device.upload(&tables).expect("room");
            let (mut o, mut lse) = (results(device, q.len()), results(device, batches * queries * heads));
            let of_caches = (&on_lengths, &on_tables);
            let (k, v) = if scaled {
                let numbers = [k, v].map(|elements| in_f64(&elements));
                let cache = scaled_cache(&numbers, [kv_heads, page_size * size]);
                let [on_k, on_v] = cache.elements.each_ref().map(|of| device.upload(of).expect("room"));
                let scales = cache.scales.map(|scales| device.upload(&scales).expect("room"));
                let [k_scales, v_scales] = scales.each_ref().map(Into::into);
                let scales = CacheScales { k: k_scales, v: v_scales };
                call::scaled_paged_attention(
                    &kernels, &shape, scales, &on_q, &on_k, &on_v, of_caches, &mut o, &mut lse,
                )
                .expect("launched");
                cache.numbers.into()
            } else {
                let [on_k, on_v] = [&k, &v].map(|elements| device.upload(elements).expect("room"));
                call::paged_attention(&kernels, &shape, &on_q, &on_k, &on_v, of_caches, &mut o, &mut lse)
                    .expect("launched");
                (in_f64(&k), in_f64(&v))
            };

            let q = in_f64(&q);
            let (mut expected_o, mut expected_lse) = (Vec::new(), vec![0.0; q.len() / size]);
            for (at, q) in q.chunks(size).enumerate() {
                let (batch, query, of_queries) = (at / heads / queries, at / heads % queries, at % heads);
                let head = of_queries / (heads / kv_heads);
                let visible = lengths[batch] as usize + query + 1 - queries;
                let score = |key| f64::from(0.2f32) * dot(q, &k[row(batch, head, key)..][..size]);
                let scores: Vec<f64> = (0..visible).map(score).collect();
                let expected = weighted_values(&scores, None, size, &|key| &v[row(batch, head, key)..]);
                expected_o.extend(expected.o.iter().map(|[sum, _]| *sum));
                expected_lse[(batch * heads + of_queries) * queries + query] = expected.lse;
            }
            assert_near("o", &downloaded_halves(device, &o), &expected_o, 0.01);
            assert_near("lse", &downloaded_floats(device, &lse), &expected_lse, 1e-5);
        });
    }
}

#[test]
fn other_pages_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let q = device.upload(&halves(20 * 16 * 2 * 64, 1)).expect("room");
    let numbers = device.upload(&[0u32; 17]).expect("room");
    let refused = |shape: PagedCacheShape| {
        let (mut o, mut lse) = (device.output(3 * 6 * 64).expect("room"), device.output(18).expect("room"));
        call::paged_attention(&kernels, &shape, &q, &q, &q, (&numbers, &numbers), &mut o, &mut lse)
            .expect_err("refused")
            .to_string()
    };
    for (shape, expected) in [
        (PagedCacheShape { page_size: 24, ..SHAPE }, "pages of 8, 16, 32, 64 or 128 positions, found 24"),
        (PagedCacheShape { head_size: 32, ..SHAPE }, "a head size of 64 or 128, found 32"),
        (PagedCacheShape { queries: 9, ..SHAPE }, "1 to 8 queries, found 9"),
        (PagedCacheShape { kv_heads: 4, ..SHAPE }, "heads that are a multiple of kv_heads = 4, found 6"),
        (
            PagedCacheShape { scale: Some(f32::INFINITY), ..SHAPE },
            "a positive scale of at most 2.3e38, found inf",
        ),
    ] {
        assert_eq!(refused(shape), format!("paged_attention: expected {expected}"));
    }
    let short = refused(SHAPE);
    assert!(
        short.ends_with("parameter `tables`: expected a buffer of at least 18 elements, found 17"),
        "{short}"
    );
}
