//! The gradients of attention, compared with f64 on every device.

mod packed;
mod wide;

use super::{
    dropout::{DROPOUT, Dropout},
    problem::{Element, GAP, Half, Order, Rows, Sizes, each, mixed},
    reference::Reference,
};
use crate::{assemble, devices};
use warpwright::{
    kernels::{AttentionBackward, AttentionMask},
    prelude::*,
    run::{AnyDevice, Buffer, Device},
    tiles::Convert,
};
use warpwright_reference::{add_scaled, dot, dot_with_size};

/// Q, K, V, O and dO.
const NAMES: [char; 5] = ['q', 'k', 'v', 'o', 'd'];

/// All matrices of a problem, as rows with gaps of NaN.
struct Matrices<T> {
    sizes: Sizes,
    /// The columns of Q, K, V and O.
    columns: [usize; 4],
    /// The rows of Q, K, V and O.
    rows: [Rows; 4],
    /// Q, K, V, O and dO.
    factors: [Vec<T>; 5],
    /// The factors in f64.
    numbers: [Vec<f64>; 5],
    lse: Vec<f32>,
    dropout: Option<Dropout>,
}

/// Returns which of Q, K, V and O has the rows of one of [`NAMES`].
fn rows_of(which: usize) -> usize {
    which.min(3)
}

impl<T: Half> Matrices<T> {
    fn new(backward: &AttentionBackward, sizes: Sizes, element: Element<'_>) -> Self {
        let Sizes { batches, heads, kv_heads, queries, keys, order } = sizes;
        let [d, e] = [backward.head_size, backward.value_size].map(|size| size as usize);
        let columns = [d, d, e, e];
        let shapes = [(heads, queries, d), (kv_heads, keys, d), (kv_heads, keys, e), (heads, queries, e)];
        let rows = shapes.map(|(heads, count, size)| Rows::new(order, [batches, heads, count, size]));
        let factors = [0, 1, 2, 3, 4].map(|which| {
            let of = rows_of(which);
            let (heads, count, size) = shapes[of];
            let mut elements = vec![T::NAN; rows[of].length];
            for (batch, head, row) in each([batches, heads, count]) {
                for col in 0..size {
                    let x = element(NAMES[which], [batch, head, row, col]);
                    elements[rows[of].at(batch, head, row) + col] = T::of(x);
                }
            }
            elements
        });
        let lse = vec![0.0; batches * heads * queries];
        let numbers = factors.each_ref().map(|factor| factor.iter().map(|x| x.number()).collect());
        let dropout = backward.dropout.then_some(DROPOUT);
        let mut matrices = Self { sizes, columns, rows, factors, numbers, lse, dropout };
        matrices.forward(backward.mask);
        matrices
    }

    fn row(&self, which: usize, [batch, head, row]: [usize; 3]) -> &[f64] {
        let of = rows_of(which);
        &self.numbers[which][self.rows[of].at(batch, head, row)..][..self.columns[of]]
    }

    /// Returns the factor of scores.
    fn scale(&self) -> f64 {
        1.0 / (self.columns[0] as f64).sqrt()
    }

    fn kv_head(&self, head: usize) -> usize {
        head / (self.sizes.heads / self.sizes.kv_heads)
    }

    fn dropout_of(&self, batch: usize, head: usize) -> Option<Dropout> {
        self.dropout.map(|dropout| dropout.of_head(batch * self.sizes.heads + head))
    }

    /// Calls `with` with the reference of a head.
    fn with_reference<R>(
        &self,
        mask: AttentionMask,
        [batch, head]: [usize; 2],
        with: impl FnOnce(&Reference<'_>) -> R,
    ) -> R {
        let kv_head = self.kv_head(head);
        with(&Reference {
            mask,
            queries: self.sizes.queries,
            keys: self.sizes.keys,
            score: &|query, key| {
                dot(self.row(0, [batch, head, query]), self.row(1, [batch, kv_head, key])) * self.scale()
            },
            value: &|key| self.row(2, [batch, kv_head, key]),
            columns: self.columns[2],
            soft_cap: None,
            slope: 0.0,
            sink: None,
            dropout: self.dropout_of(batch, head),
        })
    }

    /// Computes O and the logarithms of sums.
    fn forward(&mut self, mask: AttentionMask) {
        let Sizes { batches, heads, queries, .. } = self.sizes;
        for (batch, head, query) in each([batches, heads, queries]) {
            let row = self.with_reference(mask, [batch, head], |reference| reference.row(query));
            let at = self.rows[3].at(batch, head, query);
            for (col, [o, _]) in row.o.into_iter().enumerate() {
                self.factors[3][at + col] = T::of(o as f32);
                self.numbers[3][at + col] = self.factors[3][at + col].number();
            }
            self.lse[(batch * heads + head) * queries + query] = row.lse as f32;
        }
    }

    /// Returns dQ, dK and dV in f64, each with the sum of the absolute values of its terms.
    fn derivatives(&self, mask: AttentionMask) -> [Vec<[f64; 2]>; 3] {
        let Sizes { batches, heads, queries, .. } = self.sizes;
        let scale = self.scale();
        let mut results = [0, 1, 2].map(|which| vec![[0.0; 2]; self.rows[which].length]);
        for (batch, head, query) in each([batches, heads, queries]) {
            let [q, o, d_o] = [0, 3, 4].map(|which| self.row(which, [batch, head, query]));
            let [delta, size_of_delta] = dot_with_size(o, d_o);
            let lse = f64::from(self.lse[(batch * heads + head) * queries + query]);
            let visible = self.with_reference(mask, [batch, head], |reference| {
                let score = |key| reference.score(query, key);
                reference.visible(query).map(|key| (key, score(key))).collect::<Vec<_>>()
            });
            for (key, score) in visible {
                let at = [batch, self.kv_head(head), key];
                let [k, v] = [1, 2].map(|which| self.row(which, at));
                let p = (score - lse).exp();
                let [dp, size_of_dp] = dot_with_size(d_o, v);
                let z = self.dropout_of(batch, head).map_or(1.0, |dropout| dropout.factor(query, key));
                let ds = [p * (z * dp - delta) * scale, p * (z * size_of_dp + size_of_delta) * scale];
                let of_query = self.rows[0].at(batch, head, query);
                let [of_key, of_value] = [1, 2].map(|which| self.rows[which].at(at[0], at[1], key));
                let terms = [(0, of_query, ds, k), (1, of_key, ds, q), (2, of_value, [p * z, p * z], d_o)];
                for (which, start, factors, row) in terms {
                    add_scaled(&mut results[which][start..], factors, row);
                }
            }
        }
        results
    }
}

/// The buffers of a launch.
struct On<T: Half> {
    factors: [Buffer<T>; 5],
    lse: Buffer<f32>,
    workspace: [Buffer<f32>; 2],
    /// dQ, dK and dV.
    results: [Buffer<T>; 3],
}

impl<T: Half + Convert<f32>> On<T>
where
    f32: Convert<T>,
{
    fn new(device: &AnyDevice, matrices: &Matrices<T>, backward: &AttentionBackward) -> Self {
        let Sizes { batches, heads, queries, .. } = matrices.sizes;
        let workspace = backward.workspace(batches * heads, queries);
        let upload = |elements: &Vec<T>| device.upload(elements).expect("room");
        Self {
            factors: matrices.factors.each_ref().map(upload),
            lse: device.upload(&matrices.lse).expect("room"),
            workspace: workspace.map(|length| device.upload(&vec![f32::NAN; length]).expect("room")),
            results: [0, 1, 2].map(|which| upload(&vec![T::NAN; matrices.rows[which].length])),
        }
    }

    fn launch(&mut self, device: &AnyDevice, matrices: &Matrices<T>, backward: &AttentionBackward) {
        // The random numbers of dropout take registers, as do the gradients of wide heads.
        let spilled = backward.head_size > 128 || backward.dropout && matches!(backward.head_size, 32 | 128);
        let (sizes, scale) = (matrices.sizes.numbers(), matrices.scale() as f32);
        let [of_q, of_k, of_v, of_o] = matrices.rows.each_ref().map(Rows::numbers);
        let [q, k, v, o, d_o] = &self.factors;
        let [rows, sums] = &mut self.workspace;
        let [dq, dk, dv] = &mut self.results;

        let kernel = built(backward.rows_kernel::<T>(), false);
        let launched = device.launch(&kernel, (o, d_o, &self.lse, &mut *rows, &mut *sums, sizes, [of_o; 2]));
        launched.unwrap_or_else(|error| panic!("{backward:?}: {error}"));

        let kernel = built(backward.keys_kernel::<T>(), spilled);
        let strides = [of_q, of_k, of_v, of_o, of_k, of_v];
        let Dropout { p, seed, offset } = DROPOUT;
        let random = [seed, offset];
        let arguments = (q, k, v, d_o, &*rows, &mut *sums, dk, dv, sizes, strides, scale, p, random);
        let launched = device.launch(&kernel, arguments);
        launched.unwrap_or_else(|error| panic!("{backward:?}: {error}"));

        let launched = if backward.deterministic {
            let kernel = built(backward.queries_kernel::<T>(), spilled);
            let strides = [of_q, of_k, of_v, of_o, of_q];
            device.launch(&kernel, (q, k, v, d_o, &*rows, dq, sizes, strides, scale, p, random))
        } else {
            let kernel = built(backward.finish_kernel::<T>(), false);
            device.launch(&kernel, (&*sums, dq, sizes, of_q, scale))
        };
        launched.unwrap_or_else(|error| panic!("{backward:?}: {error}"));
    }
}

/// Unwraps a kernel and checks it with ptxas, unless some registers are `spilled`.
fn built<P: warpwright::ptx::Params>(
    kernel: Result<Kernel<P>, warpwright::ptx::BuildError>,
    spilled: bool,
) -> Kernel<P> {
    let kernel = kernel.unwrap_or_else(|error| panic!("{error}"));
    if !spilled {
        assemble::kernel(&kernel);
    }
    kernel
}

/// Launches on every device, and compares the results with f64. Those of all devices must be the same if they are `deterministic`; elements
/// between rows remain NaN.
fn check<T: Half + Convert<f32>>(backward: &AttentionBackward, sizes: Sizes, element: Element<'_>)
where
    f32: Convert<T>,
{
    let matrices = Matrices::<T>::new(backward, sizes, element);
    let expected = matrices.derivatives(backward.mask);
    let found = devices::everywhere(|device| {
        if device.capability() != (9, 0) {
            return None;
        }
        let mut on = On::new(device, &matrices, backward);
        on.launch(device, &matrices, backward);
        let results = on.results.each_ref().map(|result| device.download(result).expect("copied"));
        let results = results.map(|result| result.into_iter().map(T::bits).collect::<Vec<_>>());
        compare::<T>(backward, &matrices, &results, &expected);
        // Sums of dQ depend on their order.
        Some(if backward.deterministic { results.to_vec() } else { results[1..].to_vec() })
    });
    assert!(found.is_some(), "the simulator has every capability");
}

fn compare<T: Half>(
    backward: &AttentionBackward,
    matrices: &Matrices<T>,
    found: &[Vec<u16>; 3],
    expected: &[Vec<[f64; 2]>; 3],
) {
    let Sizes { batches, heads, kv_heads, queries, keys, .. } = matrices.sizes;
    let shapes = [[batches, heads, queries], [batches, kv_heads, keys], [batches, kv_heads, keys]];
    for (which, name) in ["dQ", "dK", "dV"].into_iter().enumerate() {
        let (rows, size) = (&matrices.rows[which], matrices.columns[which]);
        for (batch, head, row) in each(shapes[which]) {
            let start = rows.at(batch, head, row);
            for col in 0..size {
                let found = T::of_bits(found[which][start + col]).number();
                let [expected, size] = expected[which][start + col];
                let agrees = (found - expected).abs() <= size * 1.5 * T::ERROR + 1e-6
                    || found == expected
                    || found.is_nan() && expected.is_nan();
                assert!(
                    agrees,
                    "{backward:?}, {:?}: {name}, batch {batch}, head {head}, row {row}, column {col}: \
                     expected {expected}, found {found}",
                    matrices.sizes
                );
            }
            let behind = &found[which][start + size..][..GAP];
            assert!(behind.iter().all(|&bits| bits == T::NAN.bits()), "{backward:?}: wrote past a row");
        }
    }
}

fn both(head_size: u32, mask: AttentionMask) -> [AttentionBackward; 2] {
    let backward = AttentionBackward::new(head_size, mask);
    [backward, AttentionBackward { deterministic: true, ..backward }]
}

#[test]
fn every_head_size_agrees_with_f64() {
    for head_size in [32, 64, 96, 128] {
        for backward in both(head_size, AttentionMask::Full) {
            check::<bf16>(&backward, Sizes::one(150, 140), &mixed);
        }
    }
}

#[test]
fn every_mask_agrees_with_f64() {
    let masks = [
        AttentionMask::Causal,
        AttentionMask::CausalFromEnd,
        AttentionMask::Window { before: 40, after: 10 },
    ];
    for mask in masks {
        for backward in both(64, mask) {
            check::<f16>(&backward, Sizes::one(200, 270), &mixed);
            check::<f16>(&backward, Sizes::one(300, 135), &mixed);
        }
    }
    for backward in both(128, AttentionMask::Causal) {
        check::<bf16>(&backward, Sizes::one(260, 260), &mixed);
    }
}

/// Lengths around those of tiles, keys without queries, queries without keys, and neither.
#[test]
fn every_length_agrees_with_f64() {
    for (queries, keys) in [(1, 1), (64, 128), (130, 77), (40, 300), (33, 0), (0, 20)] {
        for mask in [AttentionMask::Full, AttentionMask::Causal] {
            for backward in both(128, mask) {
                check::<bf16>(&backward, Sizes::one(queries, keys), &mixed);
            }
        }
    }
}

#[test]
fn heads_that_share_keys_agree_with_f64() {
    for order in [Order::Heads, Order::Rows] {
        for backward in both(64, AttentionMask::Causal) {
            let sizes = Sizes { batches: 2, heads: 6, kv_heads: 2, queries: 70, keys: 70, order };
            check::<bf16>(&backward, sizes, &mixed);
        }
    }
}

/// The gradient kernels drop the weights that the forward kernel drops.
#[test]
fn dropped_weights_agree_with_f64() {
    for (head_size, mask) in
        [(32, AttentionMask::Full), (64, AttentionMask::CausalFromEnd), (128, AttentionMask::Causal)]
    {
        for backward in both(head_size, mask) {
            let backward = AttentionBackward { dropout: true, ..backward };
            let sizes =
                Sizes { batches: 2, heads: 4, kv_heads: 2, queries: 150, keys: 140, order: Order::Heads };
            check::<bf16>(&backward, sizes, &mixed);
        }
    }
}

/// As by definition, and with PyTorch: NaN in a row of Q makes its gradient NaN, and those of all keys that it sees; NaN in K and V reach the
/// gradients of all queries that see the key.
#[test]
fn inputs_that_are_not_numbers() {
    for (which, special) in [
        ('q', f32::NAN),
        ('k', f32::NAN),
        ('v', f32::NAN),
        ('d', f32::NAN),
        ('v', f32::INFINITY),
        ('d', f32::INFINITY),
    ] {
        let element = move |matrix: char, at: [usize; 4]| match matrix == which && at[2..] == [70, 5] {
            true => special,
            false => mixed(matrix, at),
        };
        for backward in both(64, AttentionMask::Full) {
            check::<bf16>(&backward, Sizes::one(150, 140), &element);
        }
    }
}
