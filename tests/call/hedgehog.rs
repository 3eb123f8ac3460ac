//! Softmax over the latest tokens, and learned features for older ones.

use warpwright::{
    kernels::call::{self, HeadOrder, HedgehogOperands, LinearShape},
    prelude::*,
    run::{Device, KernelCache, Simulator},
};
use warpwright_reference::{add_scaled, dot};

use super::{
    attention::each,
    linear::{assert_sums, factors, like},
    numbers::{downloaded_halves, halves, in_f64, on_hopper, results},
};

/// The elements of a map of a head.
const MAP: usize = 64 * 64;

/// The features softmax(x·W) and softmax(−x·W).
fn features(x: &[f64], map: &[f64]) -> Vec<f64> {
    let mapped = |col: usize| x.iter().zip(map.chunks(64)).map(|(x, row)| x * row[col]).sum::<f64>();
    let mapped: Vec<f64> = (0..64).map(mapped).collect();
    let softmax = |sign: f64| {
        let total: f64 = mapped.iter().map(|x| (sign * x).exp()).sum();
        mapped.iter().map(move |x| (sign * x).exp() / total)
    };
    softmax(1.0).chain(softmax(-1.0)).collect()
}

#[test]
fn latest_and_older_tokens_agree_with_f64() {
    let (alphas, betas, scale) = ([1.0f32, 0.5], [2.0f32, 1.0], 0.25);
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        for (order, value_size) in [(HeadOrder::Positions, 64), (HeadOrder::Heads, 128)] {
            let shape = LinearShape { batches: 1, heads: 2, positions: 200, key_size: 64, value_size, order };
            let [(on_q, q), (on_k, k), (on_v, v)] = factors(device, &shape);
            let maps: [Vec<bf16>; 2] = [5, 6].map(|seed| {
                halves(2 * MAP, seed).into_iter().map(|x| bf16::from_f32(x.to_f32() / 4.0)).collect()
            });
            let [q_maps, k_maps] = maps.each_ref().map(|maps| device.upload(maps).expect("room"));
            let [on_alphas, on_betas] = [alphas, betas].map(|of| device.upload(&of).expect("room"));
            let operands = HedgehogOperands {
                q_maps: (&q_maps).into(),
                k_maps: (&k_maps).into(),
                alphas: (&on_alphas).into(),
                betas: (&on_betas).into(),
            };
            let mut o = results(device, v.elements.len());
            call::hedgehog(&kernels, &shape, Some(scale), &operands, &on_q, &on_k, &on_v, &mut o)
                .expect("launched");
            let o = like(&v, downloaded_halves(device, &o));
            let maps = maps.map(|maps| in_f64(&maps));
            for (_, head, i) in each([1, 2, 200]) {
                let [q_map, k_map] = maps.each_ref().map(|maps| &maps[head * MAP..][..MAP]);
                let of_query = features(q.row(0, head, i), q_map);
                // Tokens of the chunk before and of this one are the latest.
                let older = (i / 64).saturating_sub(1) * 64;
                let score = |j| f64::from(scale) * dot(q.row(0, head, i), k.row(0, head, j));
                let most = (older..=i).map(score).fold(f64::NEG_INFINITY, f64::max);
                let weight = |j| {
                    if j < older {
                        f64::from(betas[head]) * dot(&of_query, &features(k.row(0, head, j), k_map))
                    } else {
                        f64::from(alphas[head]) * f64::exp(score(j) - most)
                    }
                };
                let weights: Vec<f64> = (0..=i).map(weight).collect();
                let total: f64 = weights.iter().sum();
                let mut expected = vec![[0.0; 2]; value_size as usize];
                for (j, weight) in weights.iter().enumerate() {
                    add_scaled(&mut expected, [weight / total, 2.0 * weight / total], v.row(0, head, j));
                }
                assert_sums(&format!("{order:?}, head {head}, row {i}"), o.row(0, head, i), &expected);
            }
        }
    });
}

#[test]
fn other_sizes_and_scales_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let order = HeadOrder::Heads;
    let shape = LinearShape { batches: 1, heads: 1, positions: 2, key_size: 64, value_size: 64, order };
    let (q, maps) = (device.upload(&halves(2 * 64, 1)), device.upload(&halves(MAP, 2)));
    let (q, maps, ones) = (q.expect("room"), maps.expect("room"), device.upload(&[1.0f32]).expect("room"));
    let operands = HedgehogOperands {
        q_maps: (&maps).into(),
        k_maps: (&maps).into(),
        alphas: (&ones).into(),
        betas: (&ones).into(),
    };
    let mut o = device.output(2 * 64).expect("room");
    let mut refused = |shape: LinearShape, scale| {
        call::hedgehog(&kernels, &shape, scale, &operands, &q, &q, &q, &mut o)
            .expect_err("refused")
            .to_string()
    };
    assert_eq!(
        refused(LinearShape { key_size: 128, ..shape }, None),
        "hedgehog: expected head sizes 64 and 64, or 64 and 128, found 128 and 64"
    );
    assert_eq!(refused(shape, Some(-1.0)), "hedgehog: expected a positive scale of at most 2.3e38, found -1");
    let error = refused(LinearShape { heads: 2, positions: 1, ..shape }, None);
    assert!(error.ends_with("`alphas`: expected a buffer of at least 2 elements, found 1"), "{error}");
}
