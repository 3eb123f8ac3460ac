//! One or a few queries for each head, and caches of different lengths.

use warpwright::{
    kernels::call::{self, CacheShape},
    run::{Device, KernelCache},
};

use super::numbers::{assert_near, downloaded_floats, downloaded_halves, halves, in_f64, on_hopper, results};

#[test]
fn caches_have_any_lengths() {
    for queries in [1, 3] {
        check(CacheShape { queries, ..SHAPE });
    }
}

const SHAPE: CacheShape =
    CacheShape { batches: 3, heads: 6, kv_heads: 2, queries: 1, capacity: 150, head_size: 64, scale: None };

fn check(shape: CacheShape) {
    let lengths = [150u32, 3, 77];
    let CacheShape { batches, heads, kv_heads, queries, capacity, head_size, .. } = shape;
    let [batches, heads, kv_heads, queries, capacity, size] =
        [batches, heads, kv_heads, queries, capacity, head_size].map(|n| n as usize);
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        let q = halves(batches * queries * heads * size, 1);
        let [k, v] = [2, 3].map(|seed| halves(batches * kv_heads * capacity * size, seed));
        let [on_q, on_k, on_v] = [&q, &k, &v].map(|elements| device.upload(elements).expect("room"));
        let on_lengths = device.upload(&lengths).expect("room");
        let (mut o, mut lse) = (results(device, q.len()), results(device, batches * queries * heads));
        call::cached_attention(&kernels, &shape, &on_q, &on_k, &on_v, &on_lengths, &mut o, &mut lse)
            .expect("launched");

        let (q, k, v) = (in_f64(&q), in_f64(&k), in_f64(&v));
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
