//! Linear attention: with the Taylor expansion of the exponential, and with decays.

use warpwright::{
    kernels::call::{self, HeadOrder, LinearShape},
    prelude::*,
    run::{AnyDevice, Buffer, CallError, Called, Device, KernelCache, Simulator},
};
use warpwright_reference::{add_scaled, dot};

use super::{
    attention::each,
    heads::row_of,
    numbers::{downloaded_floats, downloaded_halves, halves, in_f64, numbers, results},
};
use crate::devices;

/// The rows of all heads in f64.
pub(super) struct HeadRows {
    pub(super) order: HeadOrder,
    /// The numbers of heads, of positions, and of elements of a row.
    pub(super) sizes: [usize; 3],
    pub(super) elements: Vec<f64>,
}

impl HeadRows {
    /// Returns numbers on a device, and the same in f64.
    pub(super) fn new(
        device: &AnyDevice,
        order: HeadOrder,
        [batches, heads, positions, size]: [usize; 4],
        seed: u32,
    ) -> (Buffer<bf16>, Self) {
        let elements = halves(batches * heads * positions * size, seed);
        let rows = Self { order, sizes: [heads, positions, size], elements: in_f64(&elements) };
        (device.upload(&elements).expect("room"), rows)
    }

    pub(super) fn row(&self, batch: usize, head: usize, position: usize) -> &[f64] {
        let [heads, positions, size] = self.sizes;
        let row = row_of(self.order, [heads, positions], [batch, head, position]);
        &self.elements[row * size..][..size]
    }
}

/// Compares sums, given with the sums of the absolute values of their terms, some of which are rounded to bf16.
pub(super) fn assert_sums(what: &str, found: &[f64], expected: &[[f64; 2]]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, [sum, size])) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - sum).abs() <= 0.01 * size + 1e-6,
            "{what}, element {i}: expected {sum}, found {found}"
        );
    }
}

const ORDERS: [HeadOrder; 2] = [HeadOrder::Positions, HeadOrder::Heads];

fn shape(order: HeadOrder, key_size: u32, value_size: u32) -> LinearShape {
    LinearShape { batches: 2, heads: 2, positions: 150, key_size, value_size, order }
}

/// Returns Q, K and V on a device and in f64.
pub(super) fn factors(device: &AnyDevice, shape: &LinearShape) -> [(Buffer<bf16>, HeadRows); 3] {
    let LinearShape { batches, heads, positions, key_size, value_size, order } = *shape;
    [(key_size, 1), (key_size, 2), (value_size, 3)].map(|(size, seed)| {
        HeadRows::new(device, order, [batches, heads, positions, size].map(|n| n as usize), seed)
    })
}

/// Returns the rows of a result, which must have the layout of V.
pub(super) fn like(v: &HeadRows, elements: Vec<f64>) -> HeadRows {
    HeadRows { order: v.order, sizes: v.sizes, elements }
}

#[test]
fn taylor_weights_agree_with_f64() {
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        for (order, normalized) in ORDERS.into_iter().zip([false, true]) {
            let shape = shape(order, 16, 64);
            let [(on_q, q), (on_k, k), (on_v, v)] = factors(&device, &shape);
            let mut o = results(&device, v.elements.len());
            call::taylor_attention(&kernels, &shape, normalized, &on_q, &on_k, &on_v, &mut o)
                .expect("launched");
            let o = like(&v, downloaded_halves(&device, &o));
            for (batch, head, i) in each([2, 2, 150]) {
                let weights: Vec<f64> = (0..=i)
                    .map(|j| dot(q.row(batch, head, i), k.row(batch, head, j)) / 4.0)
                    .map(|s| 1.0 + s + s * s / 2.0)
                    .collect();
                let total: f64 = if normalized { weights.iter().sum() } else { 1.0 };
                let mut expected = vec![[0.0; 2]; 64];
                for (j, weight) in weights.iter().enumerate() {
                    add_scaled(
                        &mut expected,
                        [weight / total, 2.0 * weight.abs() / total],
                        v.row(batch, head, j),
                    );
                }
                assert_sums(&format!("{order:?} {batch} {head} {i}"), o.row(batch, head, i), &expected);
            }
        }
    }
}

/// The state is that of an earlier part of the sequence, and of this one afterwards.
#[test]
fn states_decay() {
    let logs = [-0.05f32, -0.5];
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        for (order, [d, e]) in ORDERS.into_iter().zip([[64, 128], [128, 64]]) {
            let shape = shape(order, d as u32, e as u32);
            let [(on_q, q), (on_k, k), (on_v, v)] = factors(&device, &shape);
            let start = numbers(4 * d * e, 9);
            let (mut state, decays) =
                (device.upload(&start).expect("room"), device.upload(&logs).expect("room"));
            let mut o = results(&device, v.elements.len());
            call::decayed_attention(&kernels, &shape, &on_q, &on_k, &on_v, &decays, &mut o, &mut state)
                .expect("launched");
            let o = like(&v, downloaded_halves(&device, &o));
            let end: Vec<f64> = device.download(&state).expect("copied").into_iter().map(f64::from).collect();
            for (batch, head, _) in each([2, 2, 1]) {
                let own = (batch * 2 + head) * d * e..(batch * 2 + head + 1) * d * e;
                let mut state: Vec<[f64; 2]> =
                    start[own.clone()].iter().map(|&x| f64::from(x)).map(|x| [x, x.abs()]).collect();
                let decay = f64::from(logs[head]).exp();
                for i in 0..150 {
                    let mut expected = vec![[0.0; 2]; e];
                    let (q, k) = (q.row(batch, head, i), k.row(batch, head, i));
                    for (at, state) in state.chunks_mut(e).enumerate() {
                        state.iter_mut().for_each(|sum| *sum = sum.map(|x| decay * x));
                        add_scaled(state, [k[at], k[at].abs()], v.row(batch, head, i));
                        for (sum, [x, size]) in expected.iter_mut().zip(state) {
                            *sum = [sum[0] + q[at] * *x, sum[1] + q[at].abs() * *size];
                        }
                    }
                    assert_sums(&format!("{order:?} {batch} {head} {i}"), o.row(batch, head, i), &expected);
                }
                assert_sums("state", &end[own], &state);
            }
        }
    }
}

#[test]
fn other_sizes_are_refused() {
    let device = AnyDevice::Sim(Simulator::new());
    let kernels = KernelCache::new(&device);
    let order = HeadOrder::Heads;
    let shape = LinearShape { batches: 1, heads: 1, positions: 2, key_size: 64, value_size: 96, order };
    let q = device.upload(&halves(2 * 128, 1)).expect("room");
    let (mut o, mut state) = (results::<bf16>(&device, 2 * 128), results::<f32>(&device, 64 * 128 - 41));
    let decays = device.upload(&[-1.0f32]).expect("room");
    let text = |called: Result<Called, CallError>| called.expect_err("refused").to_string();
    assert_eq!(
        text(call::taylor_attention(&kernels, &shape, true, &q, &q, &q, &mut o)),
        "taylor_attention: expected head sizes 16 and 64, found 64 and 96"
    );
    assert_eq!(
        text(call::decayed_attention(&kernels, &shape, &q, &q, &q, &decays, &mut o, &mut state)),
        "decayed_attention: expected head sizes of 64 or 128, found 64 and 96"
    );
    let shape = LinearShape { value_size: 128, ..shape };
    let error = text(call::decayed_attention(&kernels, &shape, &q, &q, &q, &decays, &mut o, &mut state));
    assert!(error.ends_with("`state`: expected a buffer of at least 8192 elements, found 8191"), "{error}");
    assert!(downloaded_floats(&device, &state).iter().all(|x| x.is_nan()));
}
