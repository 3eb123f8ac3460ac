//! The gradients of attention.

use warpwright::{
    kernels::{
        AttentionMask,
        call::{self, AttentionDerivatives, AttentionShape, HeadOrder},
    },
    prelude::*,
    run::{BufferMut, BufferRef, Device, KernelCache},
};

use super::{
    attention::{Reference, each, lengths},
    numbers::{assert_near, downloaded_halves, halves, in_f64, on_hopper, results},
};

/// Returns the gradients with respect to Q, K and V.
fn derivatives(of: &Reference<'_>, d_o: &[f64]) -> [Vec<f64>; 3] {
    let AttentionShape { batches, heads, queries, head_size, .. } = of.shape;
    let scale = 1.0 / f64::from(head_size).sqrt();
    let size = head_size as usize;
    let (o, _) = of.results();
    let mut derivatives = lengths(&of.shape).map(|length| vec![0.0; length]);
    let [dq, dk, dv] = &mut derivatives;
    for (batch, head, query) in each([batches, heads, queries]) {
        let at = of.query(batch, head, query, head_size);
        let delta: f64 = (0..size).map(|col| o[at + col] * d_o[at + col]).sum();
        for (key, weight) in of.weights(batch, head, query).0.into_iter().enumerate() {
            let key = of.key(batch, head, key, head_size);
            let by_weight: f64 = (0..size).map(|col| d_o[at + col] * of.v[key + col]).sum();
            let by_score = weight * (by_weight - delta) * scale;
            for col in 0..size {
                dv[key + col] += weight * d_o[at + col];
                dq[at + col] += by_score * of.k[key + col];
                dk[key + col] += by_score * of.q[at + col];
            }
        }
    }
    derivatives
}

#[test]
fn derivatives_agree_with_f64() {
    for (deterministic, order) in [(false, HeadOrder::Positions), (true, HeadOrder::Heads)] {
        let shape = AttentionShape {
            kv_heads: 1,
            mask: AttentionMask::CausalFromEnd,
            order,
            ..AttentionShape::new(2, 2, 50, 64)
        };
        on_hopper(|device| {
            let kernels = KernelCache::new(device);
            let lengths = lengths(&shape);
            let [q, k, v, d_o] = [(0, 1), (1, 2), (2, 3), (0, 4)].map(|(of, seed)| halves(lengths[of], seed));
            let [on_q, on_k, on_v, on_d_o] =
                [&q, &k, &v, &d_o].map(|elements| device.upload(elements).expect("room"));
            let mut o = device.output::<bf16>(lengths[0]).expect("room");
            let mut lse = device.output::<f32>(2 * 2 * 50).expect("room");
            call::attention(&kernels, &shape, &on_q, &on_k, &on_v, &mut o, &mut lse).expect("launched");

            let [mut dq, mut dk, mut dv] = lengths.map(|length| results::<bf16>(device, length));
            let mut workspace =
                shape.workspace(deterministic).map(|length| device.output::<f32>(length).expect("room"));
            let [rows, sums] = &mut workspace;
            let buffers = AttentionDerivatives {
                o: BufferRef::from(&o),
                lse: BufferRef::from(&lse),
                d_o: BufferRef::from(&on_d_o),
                dq: BufferMut::from(&mut dq),
                dk: BufferMut::from(&mut dk),
                dv: BufferMut::from(&mut dv),
                workspace: [BufferMut::from(rows), BufferMut::from(sums)],
            };
            let called =
                call::attention_backward(&kernels, &shape, deterministic, &on_q, &on_k, &on_v, buffers);
            called.expect("launched");

            let (q, k, v, d_o) = (in_f64(&q), in_f64(&k), in_f64(&v), in_f64(&d_o));
            let expected = derivatives(&Reference { shape, q: &q, k: &k, v: &v }, &d_o);
            let named = [("dq", &dq), ("dk", &dk), ("dv", &dv)];
            for ((name, found), expected) in named.into_iter().zip(&expected) {
                assert_near(name, &downloaded_halves(device, found), expected, 0.02);
            }
        });
    }
}
