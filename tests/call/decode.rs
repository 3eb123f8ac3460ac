//! One or a few queries for each head, and caches of different lengths.

use warpwright::{
    kernels::call::{self, CacheScales, CacheShape},
    run::{Device, KernelCache},
};

use super::{
    numbers::{assert_near, downloaded_floats, downloaded_halves, halves, in_f64, on_hopper, results},
    scaled::scaled_cache,
};

#[test]
fn caches_have_any_lengths() {
    for queries in [1, 3] {
        check(CacheShape { queries, ..SHAPE }, false);
    }
}

#[test]
fn caches_of_8_bits_have_scales_of_heads() {
    check(CacheShape { queries: 2, ..SHAPE }, true);
}

const SHAPE: CacheShape =
    CacheShape { batches: 3, heads: 6, kv_heads: 2, queries: 1, capacity: 150, head_size: 64, scale: None };

/// Checks the call, for keys and values of bf16 or of `e4m3`.
fn check(shape: CacheShape, scaled: bool) {
    let lengths = [150u32, 3, 77];
    let CacheShape { batches, heads, kv_heads, queries, capacity, head_size, .. } = shape;
    let [batches, heads, kv_heads, queries, capacity, size] =
        [batches, heads, kv_heads, queries, capacity, head_size].map(|n| n as usize);
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        let q = halves(batches * queries * heads * size, 1);
        let [k, v] = [2, 3].map(|seed| halves(batches * kv_heads * capacity * size, seed));
        let on_q = device.upload(&q).expect("room");
        let on_lengths = device.upload(&lengths).expect("room");
        let (mut o, mut lse) = (results(device, q.len()), results(device, batches * queries * heads));
        let (k, v) = if scaled {
            let cache = scaled_cache(&[k, v].map(|elements| in_f64(&elements)), [kv_heads, capacity * size]);
            let [on_k, on_v] =
                cache.elements.each_ref().map(|elements| device.upload(elements).expect("room"));
            let scales = cache.scales.map(|scales| device.upload(&scales).expect("room"));
            let [k_scales, v_scales] = scales.each_ref().map(Into::into);
            let scales = CacheScales { k: k_scales, v: v_scales };
            call::scaled_cached_attention(
                &kernels,
                &shape,
                scales,
                &on_q,
                &on_k,
                &on_v,
                &on_lengths,
                &mut o,
                &mut lse,
            )
            .expect("launched");
            cache.numbers.into()
        } else {
            let [on_k, on_v] = [&k, &v].map(|elements| device.upload(elements).expect("room"));
            call::cached_attention(&kernels, &shape, &on_q, &on_k, &on_v, &on_lengths, &mut o, &mut lse)
                .expect("launched");
            (in_f64(&k), in_f64(&v))
        };

        let q = in_f64(&q);
        let (mut expected_o, mut expected_lse) = (vec![0.0; q.len()], vec![0.0; q.len() / size]);
        for row in 0..batches * queries * heads {
            let (batch, query, head) = (row / heads / queries, row / heads % queries, row % heads);
            let first = (batch * kv_heads + head / (heads / kv_heads)) * capacity * size;
            let rows = |of: &[f64], key: usize| of[first + key * size..][..size].to_vec();
            let weight = |key| {
                let products = q[row * size..][..size].iter().zip(rows(&k, key)).map(|(q, k)| q * k);
                (products.sum::<f64>() / (size as f64).sqrt()).exp()
            };
            let visible = (lengths[batch] as usize + query + 1).saturating_sub(queries);
            let weights: Vec<f64> = (0..visible).map(weight).collect();
            let total: f64 = weights.iter().sum();
            expected_lse[(batch * heads + head) * queries + query] = total.ln();
            for (key, weight) in weights.into_iter().enumerate() {
                let o = &mut expected_o[row * size..][..size];
                o.iter_mut().zip(rows(&v, key)).for_each(|(o, v)| *o += weight / total * v);
            }
        }
        assert_near("o", &downloaded_halves(device, &o), &expected_o, 0.01);
        assert_near("lse", &downloaded_floats(device, &lse), &expected_lse, 1e-5);
    });
}
