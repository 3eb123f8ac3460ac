//! Attention with a soft cap, slopes and sinks, together and separately.

use warpwright::{
    kernels::{
        AttentionMask,
        call::{self, AttentionShape, DropoutMask, ExtraOperands},
    },
    run::{Device, KernelCache, Simulator},
};
use warpwright_reference::{dot, weighted_values};

use super::{
    attention::{Reference, each, lengths},
    numbers::{assert_near, downloaded_floats, downloaded_halves, halves, in_f64, on_hopper, results},
};

/// Extras in f64.
struct Extras<'a> {
    soft_cap: Option<f64>,
    slopes: Option<&'a [f64]>,
    sinks: Option<&'a [f64]>,
}

impl Extras<'_> {
    fn results(&self, of: &Reference<'_>) -> (Vec<f64>, Vec<f64>) {
        let AttentionShape { batches, heads, queries, keys, head_size, .. } = of.shape;
        let size = head_size as usize;
        let (mut o, mut lse) = (vec![0.0; of.q.len()], Vec::new());
        for (batch, head, query) in each([batches, heads, queries]) {
            let at = of.query(batch, head, query, head_size);
            let score = |key| {
                let k = &of.k[of.key(batch, head, key, head_size)..][..size];
                let score = dot(&of.q[at..][..size], k) / (size as f64).sqrt();
                let capped = self.soft_cap.map_or(score, |cap| cap * (score / cap).tanh());
                // The last query has the position of the last key.
                let position = query as f64 + f64::from(keys) - f64::from(queries);
                capped - self.slopes.map_or(0.0, |slopes| slopes[head] * (position - key as f64).abs())
            };
            let scores: Vec<f64> = (0..of.visible(query)).map(score).collect();
            let sink = self.sinks.map(|sinks| sinks[head]);
            let values = |key| &of.v[of.key(batch, head, key, head_size)..];
            let expected = weighted_values(&scores, sink, size, &values);
            lse.push(expected.lse);
            o[at..at + size].iter_mut().zip(expected.o).for_each(|(o, [sum, _])| *o = sum);
        }
        (o, lse)
    }
}

#[test]
fn extras_agree_with_f64() {
    let shape = AttentionShape {
        kv_heads: 1,
        queries: 40,
        mask: AttentionMask::CausalFromEnd,
        ..AttentionShape::new(2, 2, 70, 64)
    };
    let (slopes, sinks) = ([0.25f32, 0.0625], [1.5f32, -0.5]);
    let [slopes_in_f64, sinks_in_f64] = [slopes, sinks].map(|numbers| numbers.map(f64::from));
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        let lengths = lengths(&shape);
        let [q, k, v] = [0, 1, 2].map(|which| halves(lengths[which], which as u32 + 1));
        let [on_q, on_k, on_v] = [&q, &k, &v].map(|elements| device.upload(elements).expect("room"));
        let [on_slopes, on_sinks] = [slopes, sinks].map(|numbers| device.upload(&numbers).expect("room"));
        let (q, k, v) = (in_f64(&q), in_f64(&k), in_f64(&v));
        let reference = Reference { shape, q: &q, k: &k, v: &v };
        for mask in [0b111, 1, 2, 4, 0] {
            let has = |bit: u32| mask & 1 << bit != 0;
            let operands = ExtraOperands {
                soft_cap: has(0).then_some(0.5),
                slopes: has(1).then(|| (&on_slopes).into()),
                sinks: has(2).then(|| (&on_sinks).into()),
                dropout: None,
            };
            let expected = Extras {
                soft_cap: has(0).then_some(0.5),
                slopes: has(1).then_some(&slopes_in_f64),
                sinks: has(2).then_some(&sinks_in_f64),
            };
            let (o, lse) = expected.results(&reference);
            let (mut on_o, mut on_lse) = (results(device, o.len()), results(device, lse.len()));
            let called = call::attention_with_extras(
                &kernels,
                &shape,
                &operands,
                &on_q,
                &on_k,
                &on_v,
                &mut on_o,
                &mut on_lse,
            );
            // Another set of extras is another kernel.
            assert!(!called.expect("launched").reused);
            assert_near(&format!("o, {mask:03b}"), &downloaded_halves(device, &on_o), &o, 0.01);
            assert_near(&format!("lse, {mask:03b}"), &downloaded_floats(device, &on_lse), &lse, 1e-5);
        }
    });
}

#[test]
fn other_caps_and_short_buffers_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let shape = AttentionShape::new(1, 2, 4, 64);
    let q = device.upload(&halves(4 * 2 * 64, 1)).expect("room");
    let slopes = device.upload(&[1.0f32]).expect("room");
    let refused = |shape: &AttentionShape, operands: &ExtraOperands<'_>| {
        let (mut o, mut lse) = (device.output(q.len()).expect("room"), device.output(8).expect("room"));
        call::attention_with_extras(&kernels, shape, operands, &q, &q, &q, &mut o, &mut lse)
            .expect_err("refused")
            .to_string()
    };
    let none = ExtraOperands::default();
    for cap in [0.0, f32::NAN] {
        assert_eq!(
            refused(&shape, &ExtraOperands { soft_cap: Some(cap), ..none }),
            format!("attention_with_extras: expected a soft cap from 0.001 to 10000, found {cap}")
        );
    }
    assert_eq!(
        refused(&shape, &ExtraOperands { slopes: Some((&slopes).into()), ..none }),
        "attention_with_extras: kernel `attention_bf16_64_full_slopes`: parameter `slopes`: expected a buffer of at least 2 elements, found 1"
    );
    for p in [1.0, -0.1] {
        let dropout = Some(DropoutMask { p, seed: 1, offset: 2 });
        assert_eq!(
            refused(&shape, &ExtraOperands { dropout, ..none }),
            format!("attention_with_extras: expected a probability of at least 0 and less than 1, found {p}")
        );
    }
    assert_eq!(
        refused(&AttentionShape { kv_heads: 3, ..shape }, &none),
        "attention_with_extras: expected heads that are a multiple of kv_heads = 3, found 2"
    );
}
