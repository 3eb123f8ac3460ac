//! The gradients of attention.

use warpwright::{
    kernels::{
        AttentionMask,
        call::{
            self, AttentionGradients, AttentionShape, DropoutMask, ExtraOperands, HeadOrder, PackedShape,
        },
    },
    prelude::*,
    run::{AnyDevice, Buffer, BufferMut, BufferRef, Device, KernelCache},
};

use warpwright_reference::dot;

use super::{
    attention::{Reference, each, lengths},
    numbers::{assert_near, downloaded_halves, halves, in_f64, on_hopper, results},
};

/// Returns the gradients with respect to Q, K and V.
fn gradients(of: &Reference<'_>, d_o: &[f64]) -> [Vec<f64>; 3] {
    let AttentionShape { batches, heads, queries, head_size, value_size, .. } = of.shape;
    let scale = 1.0 / f64::from(head_size).sqrt();
    let [size, of_value] = [head_size, value_size].map(|size| size as usize);
    let (o, _) = of.results();
    let mut gradients = lengths(&of.shape).map(|length| vec![0.0; length]);
    let [dq, dk, dv] = &mut gradients;
    for (batch, head, query) in each([batches, heads, queries]) {
        let at = of.query(batch, head, query, head_size);
        let at_o = of.query(batch, head, query, value_size);
        let delta: f64 = (0..of_value).map(|col| o[at_o + col] * d_o[at_o + col]).sum();
        for (key, weight) in of.weights(batch, head, query).0.into_iter().enumerate() {
            let value = of.key(batch, head, key, value_size);
            let key = of.key(batch, head, key, head_size);
            let by_weight: f64 = (0..of_value).map(|col| d_o[at_o + col] * of.v[value + col]).sum();
            let by_score = weight * (by_weight - delta) * scale;
            for col in 0..of_value {
                dv[value + col] += weight * d_o[at_o + col];
            }
            for col in 0..size {
                dq[at + col] += by_score * of.k[key + col];
                dk[key + col] += by_score * of.q[at + col];
            }
        }
    }
    gradients
}

#[test]
fn gradients_agree_with_f64() {
    let cases = [
        (false, HeadOrder::Positions, [64, 64]),
        (true, HeadOrder::Heads, [64, 64]),
        (false, HeadOrder::Positions, [192, 128]),
    ];
    for (deterministic, order, [head_size, value_size]) in cases {
        let shape = AttentionShape {
            kv_heads: 1,
            value_size,
            mask: AttentionMask::CausalFromEnd,
            order,
            ..AttentionShape::new(2, 2, 50, head_size)
        };
        on_hopper(|device| {
            let kernels = KernelCache::new(device);
            let lengths = lengths(&shape);
            let of_o = lengths[0] / head_size as usize * value_size as usize;
            let [q, k, v, d_o] = [(lengths[0], 1), (lengths[1], 2), (lengths[2], 3), (of_o, 4)]
                .map(|(length, seed)| halves(length, seed));
            let [on_q, on_k, on_v, on_d_o] =
                [&q, &k, &v, &d_o].map(|elements| device.upload(elements).expect("room"));
            let mut o = device.output::<bf16>(of_o).expect("room");
            let mut lse = device.output::<f32>(2 * 2 * 50).expect("room");
            call::attention(&kernels, &shape, &on_q, &on_k, &on_v, &mut o, &mut lse).expect("launched");

            let [mut dq, mut dk, mut dv] = lengths.map(|length| results::<bf16>(device, length));
            let mut workspace =
                shape.workspace(deterministic).map(|length| device.output::<f32>(length).expect("room"));
            let [rows, sums] = &mut workspace;
            let buffers = AttentionGradients {
                o: BufferRef::from(&o),
                lse: BufferRef::from(&lse),
                d_o: BufferRef::from(&on_d_o),
                dq: BufferMut::from(&mut dq),
                dk: BufferMut::from(&mut dk),
                dv: BufferMut::from(&mut dv),
                workspace: [BufferMut::from(rows), BufferMut::from(sums)],
                dropout: None,
            };
            let called =
                call::attention_backward(&kernels, &shape, deterministic, &on_q, &on_k, &on_v, buffers);
            called.expect("launched");

            let (q, k, v, d_o) = (in_f64(&q), in_f64(&k), in_f64(&v), in_f64(&d_o));
            let expected = gradients(&Reference { shape, q: &q, k: &k, v: &v }, &d_o);
            let named = [("dq", &dq), ("dk", &dk), ("dv", &dv)];
            for ((name, found), expected) in named.into_iter().zip(&expected) {
                assert_near(name, &downloaded_halves(device, found), expected, 0.02);
            }
        });
    }
}

/// Q, K, V and dO on a device, and results of the length of Q, K and V.
struct Buffers {
    inputs: [Vec<bf16>; 4],
    on: [Buffer<bf16>; 4],
    o: Buffer<bf16>,
    lse: Buffer<f32>,
    results: [Buffer<bf16>; 3],
    workspace: [Buffer<f32>; 2],
}

impl Buffers {
    fn new(device: &AnyDevice, inputs: [Vec<bf16>; 4], rows: usize, workspace: [usize; 2]) -> Self {
        let on = inputs.each_ref().map(|elements| device.upload(elements).expect("room"));
        let of = |at: usize| device.output::<bf16>(on[at].len()).expect("room");
        let (o, results) = (of(0), [of(0), of(1), of(2)]);
        let lse = device.output::<f32>(rows).expect("room");
        let workspace = workspace.map(|length| device.output::<f32>(length).expect("room"));
        Self { inputs, on, o, lse, results, workspace }
    }

    /// Returns Q, K and V, and the arguments of the gradients.
    fn gradients(
        &mut self,
        dropout: Option<DropoutMask>,
    ) -> ([BufferRef<'_, bf16>; 3], AttentionGradients<'_, bf16>) {
        let ([q, k, v, d_o], [dq, dk, dv]) = (&self.on, &mut self.results);
        let workspace = self.workspace.each_mut().map(BufferMut::from);
        let gradients = AttentionGradients {
            o: BufferRef::from(&self.o),
            lse: BufferRef::from(&self.lse),
            d_o: BufferRef::from(d_o),
            dq: BufferMut::from(dq),
            dk: BufferMut::from(dk),
            dv: BufferMut::from(dv),
            workspace,
            dropout,
        };
        ([q, k, v].map(BufferRef::from), gradients)
    }
}

/// O is linear in V, so that dO·O = dV·V if both directions drop the same weights.
#[test]
fn both_directions_drop_the_same_weights() {
    let shape = AttentionShape { kv_heads: 1, ..AttentionShape::new(2, 2, 50, 64) };
    let mask = DropoutMask { p: 0.5, seed: 7, offset: 9 };
    for deterministic in [false, true] {
        on_hopper(|device| {
            let kernels = KernelCache::new(device);
            let lengths = lengths(&shape);
            let inputs = [(0, 1), (1, 2), (2, 3), (0, 4)].map(|(of, seed)| halves(lengths[of], seed));
            let mut buffers = Buffers::new(device, inputs, 2 * 2 * 50, shape.workspace(deterministic));
            let [q, k, v, _] = &buffers.on;
            let extras = ExtraOperands { dropout: Some(mask), ..ExtraOperands::default() };
            call::attention_with_extras(&kernels, &shape, &extras, q, k, v, &mut buffers.o, &mut buffers.lse)
                .expect("launched");
            let products = [mask, DropoutMask { seed: 8, ..mask }].map(|mask| {
                let ([q, k, v], gradients) = buffers.gradients(Some(mask));
                call::attention_backward(&kernels, &shape, deterministic, q, k, v, gradients)
                    .expect("launched");
                let dv = in_f64(&device.download(&buffers.results[2]).expect("copied"));
                dot(&dv, &in_f64(&buffers.inputs[2]))
            });
            let o = in_f64(&device.download(&buffers.o).expect("copied"));
            let expected = dot(&o, &in_f64(&buffers.inputs[3]));
            assert!((products[0] - expected).abs() < 0.05, "expected {expected}, found {products:?}");
            assert!((products[1] - expected).abs() > 0.5, "another seed drops other weights: {products:?}");
        });
    }
}

/// The gradients of packed sequences are those of each sequence.
#[test]
fn packed_sequences_have_their_own_gradients() {
    let lengths = [70u32, 1, 130];
    let starts = [0u32, 70, 71, 201];
    let (heads, size) = (2, 64);
    for deterministic in [false, true] {
        let shape = PackedShape {
            kv_heads: 1,
            mask: AttentionMask::Causal,
            ..PackedShape::new(3, heads, 201, 130, size)
        };
        on_hopper(|device| {
            let kernels = KernelCache::new(device);
            let of = |heads: u32, seed| halves((heads * 201 * size) as usize, seed);
            let inputs = [of(heads, 1), of(1, 2), of(1, 3), of(heads, 4)];
            let rows = (heads * 201) as usize;
            let mut packed = Buffers::new(device, inputs, rows, shape.workspace(deterministic));
            let starts_on = device.upload(&starts).expect("room");
            let both = (&starts_on, &starts_on);
            let [q, k, v, _] = &packed.on;
            call::packed_attention(&kernels, &shape, both, q, k, v, &mut packed.o, &mut packed.lse)
                .expect("launched");
            let ([q, k, v], gradients) = packed.gradients(None);
            call::packed_attention_backward(&kernels, &shape, deterministic, both, q, k, v, gradients)
                .expect("launched");
            let found =
                packed.results.each_ref().map(|result| in_f64(&device.download(result).expect("copied")));
            for (sequence, &length) in lengths.iter().enumerate() {
                let shape = AttentionShape {
                    kv_heads: 1,
                    mask: AttentionMask::Causal,
                    ..AttentionShape::new(1, heads, length, size)
                };
                let part = |heads: u32| {
                    let [first, count] =
                        [starts[sequence], length].map(|rows| (rows * heads * size) as usize);
                    first..first + count
                };
                let inputs = [(0, heads), (1, 1), (2, 1), (3, heads)]
                    .map(|(at, heads)| packed.inputs[at][part(heads)].to_vec());
                let rows = (heads * length) as usize;
                let mut alone = Buffers::new(device, inputs, rows, shape.workspace(deterministic));
                let [q, k, v, _] = &alone.on;
                call::attention(&kernels, &shape, q, k, v, &mut alone.o, &mut alone.lse).expect("launched");
                let ([q, k, v], gradients) = alone.gradients(None);
                call::attention_backward(&kernels, &shape, deterministic, q, k, v, gradients)
                    .expect("launched");
                for (at, heads) in [(0, heads), (1, 1), (2, 1)] {
                    let expected = in_f64(&device.download(&alone.results[at]).expect("copied"));
                    let what = format!("result {at} of sequence {sequence}");
                    assert_near(&what, &found[at][part(heads)], &expected, 0.02);
                }
            }
        });
    }
}
