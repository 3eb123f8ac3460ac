//! Attention in f64, and its comparison with a kernel's.

use crate::{assemble, devices};
use warpwright::{
    kernels::{Attention, AttentionArgs, AttentionMask},
    prelude::*,
    run::Device,
};

/// The order of rows in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Batches, heads, rows.
    Heads,
    /// Batches, rows, heads.
    Rows,
}

/// The sizes of a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) batches: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) order: Order,
}

impl Sizes {
    /// One head of this many queries and keys.
    pub(super) fn one(queries: usize, keys: usize) -> Self {
        Self { batches: 1, heads: 1, kv_heads: 1, queries, keys, order: Order::Heads }
    }
}

/// Rows of numbers for each batch and head, with gaps of NaN between rows.
struct Rows {
    /// Between batches, between heads and between rows.
    strides: [usize; 3],
    length: usize,
}

/// The elements after each row in memory: 16 bytes.
const GAP: usize = 8;

impl Rows {
    fn new(order: Order, [batches, heads, rows, size]: [usize; 4]) -> Self {
        let pitch = size + GAP;
        let strides = match order {
            Order::Heads => [heads * rows * pitch, rows * pitch, pitch],
            Order::Rows => [heads * rows * pitch, pitch, heads * pitch],
        };
        Self { strides, length: batches * heads * rows * pitch }
    }

    fn at(&self, batch: usize, head: usize, row: usize) -> usize {
        let [per_batch, per_head, per_row] = self.strides;
        batch * per_batch + head * per_head + row * per_row
    }

    fn numbers(&self) -> [u32; 3] {
        self.strides.map(|stride| stride as u32)
    }
}

/// An element of Q, K or V: of which, batch, head, row and column.
pub(super) type Element<'a> = &'a dyn Fn(char, [usize; 4]) -> f32;

/// Numbers between −1.5 and 1.5, all different.
pub(super) fn mixed(which: char, [batch, head, row, col]: [usize; 4]) -> f32 {
    let index = ((batch * 7 + head) * 1009 + row) * 263 + col;
    let mix =
        (index as u32 ^ which as u32).wrapping_mul(2_654_435_761).rotate_left(15).wrapping_mul(2_246_822_519);
    (mix >> 8) as f32 / (1 << 24) as f32 * 3.0 - 1.5
}

/// Builds a kernel and checks it with ptxas.
pub(super) fn built(attention: &Attention) -> Kernel<AttentionArgs<bf16>> {
    let kernel = attention.kernel::<bf16>().unwrap_or_else(|error| panic!("{attention:?}: {error}"));
    assemble::kernel(&kernel);
    kernel
}

/// What a kernel must compute for a query.
struct Expected {
    /// Of each column, with the sum of the weighted absolute values.
    o: Vec<[f64; 2]>,
    lse: f64,
}

impl Expected {
    fn new(scores: &[f64], value: &dyn Fn(usize, usize) -> f64, size: usize) -> Self {
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if scores.is_empty() {
            return Self { o: vec![[0.0; 2]; size], lse: f64::NEG_INFINITY };
        }
        let weights: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
        let total: f64 = weights.iter().sum();
        let column = |col| {
            let terms = weights.iter().enumerate().map(|(key, weight)| weight / total * value(key, col));
            terms.fold([0.0; 2], |[sum, size], term| [sum + term, size + f64::abs(term)])
        };
        Self { o: (0..size).map(column).collect(), lse: max + total.ln() }
    }
}

/// Runs a kernel on every device, and compares its results with f64. Those of all devices must be the same; elements between rows remain NaN.
pub(super) fn check(
    attention: &Attention,
    kernel: &Kernel<AttentionArgs<bf16>>,
    sizes: Sizes,
    element: Element<'_>,
) {
    let Sizes { batches, heads, kv_heads, queries, keys, order } = sizes;
    let size = attention.head_size as usize;
    let (of_queries, of_keys) = (
        Rows::new(order, [batches, heads, queries, size]),
        Rows::new(order, [batches, kv_heads, keys, size]),
    );
    let matrix = |which, rows: &Rows, heads, count| {
        let mut elements = vec![bf16::NAN; rows.length];
        for (batch, head, row) in each([batches, heads, count]) {
            for col in 0..size {
                elements[rows.at(batch, head, row) + col] =
                    bf16::from_f32(element(which, [batch, head, row, col]));
            }
        }
        elements
    };
    let (q, k, v) = (
        matrix('q', &of_queries, heads, queries),
        matrix('k', &of_keys, kv_heads, keys),
        matrix('v', &of_keys, kv_heads, keys),
    );
    let scale = 1.0 / (size as f32).sqrt();
    let found = devices::everywhere(|device| {
        if device.capability() != (9, 0) {
            return None;
        }
        let [on_q, on_k, on_v] = [&q, &k, &v].map(|x| device.upload(x).expect("room"));
        let mut on_o = device.upload(&vec![bf16::NAN; of_queries.length]).expect("room");
        let mut on_lse = device.upload(&vec![f32::NAN; batches * heads * queries]).expect("room");
        let [b, h, g, m, n] = [batches, heads, kv_heads, queries, keys].map(|size| size as u32);
        let ([qb, qh, qr], [kb, kh, kr]) = (of_queries.numbers(), of_keys.numbers());
        let arguments = (
            &on_q,
            &on_k,
            &on_v,
            &mut on_o,
            &mut on_lse,
            b,
            h,
            g,
            m,
            n,
            scale,
            qb,
            qh,
            qr,
            kb,
            kh,
            kr,
            kb,
            kh,
            kr,
            qb,
            qh,
            qr,
        );
        let launched = device.launch(kernel, arguments);
        launched.unwrap_or_else(|error| panic!("{attention:?}, {sizes:?}: {error}"));
        let o = device.download(&on_o).expect("copied");
        let lse = device.download(&on_lse).expect("copied");
        Some((
            o.into_iter().map(bf16::to_bits).collect::<Vec<_>>(),
            lse.into_iter().map(f32::to_bits).collect::<Vec<_>>(),
        ))
    });
    let (o, lse) = found.expect("the simulator has every capability");
    for (batch, head, query) in each([batches, heads, queries]) {
        let kv_head = head / (heads / kv_heads);
        let visible = match attention.mask {
            AttentionMask::Full => keys,
            AttentionMask::Causal => keys.min(query + 1),
            AttentionMask::CausalFromEnd => (query + 1 + keys).saturating_sub(queries),
        };
        let q = &q[of_queries.at(batch, head, query)..][..size];
        let score = |key| {
            let k = &k[of_keys.at(batch, kv_head, key)..][..size];
            q.iter().zip(k).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum::<f64>() * f64::from(scale)
        };
        let scores: Vec<f64> = (0..visible).map(score).collect();
        let value = |key, col| f64::from(v[of_keys.at(batch, kv_head, key) + col]);
        let Expected { o: expected, lse: expected_lse } = Expected::new(&scores, &value, size);
        let what = format!("{attention:?}, {sizes:?}: batch {batch}, head {head}, query {query}");
        let row = &o[of_queries.at(batch, head, query)..][..size + GAP];
        for (col, (&bits, [expected, size])) in row.iter().zip(expected).enumerate() {
            // Weights are rounded to 8 bits, and so is the result.
            let (found, allowed) = (f64::from(bf16::from_bits(bits)), size / 128.0 + 1e-6);
            let agrees = found == expected
                || (found - expected).abs() <= allowed
                || found.is_nan() && expected.is_nan();
            assert!(agrees, "{what}, column {col}: expected {expected}, found {found}");
        }
        assert!(row[size..].iter().all(|&bits| bits == bf16::NAN.to_bits()), "{what}: wrote past the row");
        let found = f64::from(f32::from_bits(lse[(batch * heads + head) * queries + query]));
        let agrees =
            found == expected_lse || (found - expected_lse).abs() <= 1e-5 * (1.0 + expected_lse.abs());
        assert!(
            agrees || found.is_nan() && expected_lse.is_nan(),
            "{what}: expected logarithm {expected_lse}, found {found}"
        );
    }
}

/// All coordinates below these.
fn each([a, b, c]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
}
