//! Attention in both layouts, with grouped heads and masks.

use warpwright::{
    kernels::{
        AttentionMask,
        call::{self, AttentionShape, HeadOrder},
    },
    run::{AnyDevice, Device, KernelCache, Simulator},
    sim::Arch,
};

use super::{
    heads::row_of,
    numbers::{assert_near, downloaded_floats, downloaded_halves, halves, in_f64, on_hopper, results},
};

/// Attention in f64.
pub(super) struct Reference<'a> {
    pub(super) shape: AttentionShape,
    pub(super) q: &'a [f64],
    pub(super) k: &'a [f64],
    pub(super) v: &'a [f64],
}

impl Reference<'_> {
    /// Returns the offset at which a row of queries or keys begins; these have `heads` heads of `rows` rows of `size` elements.
    pub(super) fn at(&self, [heads, rows, size]: [u32; 3], [batch, head, row]: [usize; 3]) -> usize {
        let [heads, rows, size] = [heads, rows, size].map(|n| n as usize);
        size * row_of(self.shape.order, [heads, rows], [batch, head, row])
    }

    pub(super) fn key(&self, batch: usize, head: usize, key: usize, size: u32) -> usize {
        let AttentionShape { heads, kv_heads, keys, .. } = self.shape;
        self.at([kv_heads, keys, size], [batch, head / (heads / kv_heads) as usize, key])
    }

    pub(super) fn query(&self, batch: usize, head: usize, query: usize, size: u32) -> usize {
        let AttentionShape { heads, queries, .. } = self.shape;
        self.at([heads, queries, size], [batch, head, query])
    }

    /// Returns the number of keys that a query attends to.
    pub(super) fn visible(&self, query: usize) -> usize {
        let AttentionShape { mask, queries, keys, .. } = self.shape;
        match mask {
            AttentionMask::Full => keys as usize,
            AttentionMask::CausalFromEnd => (query + 1 + keys as usize).saturating_sub(queries as usize),
            other => panic!("no reference for {other:?}"),
        }
    }

    /// Returns the weights of the visible keys, and the logarithm of the sum of exponentials.
    pub(super) fn weights(&self, batch: usize, head: usize, query: usize) -> (Vec<f64>, f64) {
        let AttentionShape { head_size, scale, .. } = self.shape;
        let scale = scale.map_or(1.0 / f64::from(head_size).sqrt(), f64::from);
        let q = &self.q[self.query(batch, head, query, head_size)..][..head_size as usize];
        let score = |key| {
            let k = &self.k[self.key(batch, head, key, head_size)..];
            scale * q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>()
        };
        let exponentials: Vec<f64> = (0..self.visible(query)).map(|key| f64::exp(score(key))).collect();
        let total: f64 = exponentials.iter().sum();
        (exponentials.into_iter().map(|x| x / total).collect(), total.ln())
    }

    /// Returns O and the logarithms.
    pub(super) fn results(&self) -> (Vec<f64>, Vec<f64>) {
        let AttentionShape { batches, heads, queries, value_size, .. } = self.shape;
        let mut o = vec![0.0; (batches * heads * queries * value_size) as usize];
        let mut lse = Vec::new();
        for (batch, head, query) in each([batches, heads, queries]) {
            let (weights, log) = self.weights(batch, head, query);
            lse.push(log);
            let at = self.query(batch, head, query, value_size);
            for (key, weight) in weights.into_iter().enumerate() {
                let v = &self.v[self.key(batch, head, key, value_size)..];
                o[at..at + value_size as usize].iter_mut().zip(v).for_each(|(o, v)| *o += weight * v);
            }
        }
        (o, lse)
    }
}

pub(super) fn each([a, b, c]: [u32; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    let [a, b, c] = [a, b, c].map(|n| n as usize);
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |l| (i, j, l))))
}

/// Returns the elements of Q, K and V.
pub(super) fn lengths(shape: &AttentionShape) -> [usize; 3] {
    let AttentionShape { batches, heads, kv_heads, queries, keys, head_size, value_size, .. } = *shape;
    [heads * queries * head_size, kv_heads * keys * head_size, kv_heads * keys * value_size]
        .map(|size| (batches * size) as usize)
}

fn check(shape: AttentionShape) {
    on_hopper(|device| check_on(device, shape));
}

fn check_on(device: &AnyDevice, shape: AttentionShape) {
    let kernels = KernelCache::new(device);
    let lengths = lengths(&shape);
    let [q, k, v] = [0, 1, 2].map(|which| halves(lengths[which], which as u32 + 1));
    let [on_q, on_k, on_v] = [&q, &k, &v].map(|elements| device.upload(elements).expect("room"));
    let (q, k, v) = (in_f64(&q), in_f64(&k), in_f64(&v));
    let (expected_o, expected_lse) = Reference { shape, q: &q, k: &k, v: &v }.results();
    let (mut o, mut lse) = (results(device, expected_o.len()), results(device, expected_lse.len()));
    call::attention(&kernels, &shape, &on_q, &on_k, &on_v, &mut o, &mut lse).expect("launched");
    assert_near("o", &downloaded_halves(device, &o), &expected_o, 0.01);
    assert_near("lse", &downloaded_floats(device, &lse), &expected_lse, 1e-5);
}

/// Before and after Hopper, the kernels multiply with `mma.sync`.
#[test]
fn other_architectures_have_kernels() {
    for arch in [Arch::Sm80, Arch::Sm89, Arch::Sm120] {
        let device = AnyDevice::Sim(Simulator::new().arch(arch));
        for (head_size, value_size) in [(64, 64), (192, 128), (256, 256)] {
            check_on(&device, AttentionShape { value_size, ..AttentionShape::new(1, 2, 70, head_size) });
        }
    }
}

#[test]
fn heads_are_grouped_in_both_orders() {
    for order in [HeadOrder::Positions, HeadOrder::Heads] {
        check(AttentionShape { kv_heads: 2, order, ..AttentionShape::new(2, 6, 37, 64) });
    }
}

#[test]
fn queries_continue_a_sequence_with_another_scale() {
    check(AttentionShape {
        kv_heads: 1,
        queries: 20,
        mask: AttentionMask::CausalFromEnd,
        scale: Some(0.7),
        ..AttentionShape::new(1, 2, 75, 32)
    });
}

#[test]
fn values_have_their_own_length() {
    for order in [HeadOrder::Positions, HeadOrder::Heads] {
        check(AttentionShape { value_size: 128, order, ..AttentionShape::new(1, 2, 33, 192) });
    }
}
