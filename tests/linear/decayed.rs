//! Linear attention with a decay for each head.

use super::matrices::{Matrices, Sizes, States, assembled, everywhere_with, mixed};
use crate::half::Half;
use warpwright::{kernels::DecayedAttention, prelude::*, run::Device, tiles::Convert};
use warpwright_reference::dot;

/// The logarithms of the decays of heads: none, and some of Lightning Attention's.
const DECAYS: [f32; 3] = [0.0, -0.05, -1.0];

/// Runs a kernel and compares its results with the recurrence, and the recurrence with sums over all keys.
fn check<T: Half>(attention: DecayedAttention, sizes: Sizes)
where
    f32: Convert<T>,
{
    let DecayedAttention { key_size, value_size } = attention;
    let (d, e) = (key_size as usize, value_size as usize);
    let kernel = assembled(&|target| attention.kernel::<T>(target));
    let inputs =
        [(0, d), (1, d), (2, e)].map(|(which, cols)| Matrices::<T>::new(sizes, cols, &|at| mixed(which, at)));
    let (empty, start) = (Matrices::<T>::poisoned(sizes, e), States::new(sizes, d * e));
    let [q, k, v] = &inputs;
    let strides = [q, k, v, &empty].map(Matrices::strides);
    let decays = &DECAYS[..sizes.heads];
    let (found, end) = everywhere_with(&empty, &start, &|device, o, state| {
        let [q, k, v] = inputs.each_ref().map(|matrices| device.upload(&matrices.elements).expect("room"));
        let decays = device.upload(decays).expect("room");
        let launched = device.launch(&kernel, (&q, &k, &v, &decays, o, state, sizes.numbers(), strides));
        launched.unwrap_or_else(|error| panic!("{attention:?}, {sizes:?}: {error}"));
    });

    let what = format!("{attention:?}, {sizes:?}");
    for at in sizes.each() {
        let log = f64::from(decays[at.1]);
        let first = start.of(sizes, at);
        let mut state: Vec<[f64; 2]> = first.iter().map(|&x| [x, x.abs()]).collect();
        for i in 0..sizes.length {
            let (q, key, value) = (q.row(at, i), k.row(at, i), v.row(at, i));
            for (row, key) in state.chunks_mut(e).zip(&key) {
                for ([sum, size], value) in row.iter_mut().zip(&value) {
                    *sum = *sum * log.exp() + key * value;
                    *size = *size * log.exp() + (key * value).abs();
                }
            }
            let mut expected = vec![[0.0; 2]; e];
            for (row, q) in state.chunks(e).zip(&q) {
                for ([sum, size], [state, of_state]) in expected.iter_mut().zip(row) {
                    *sum += q * state;
                    *size += q.abs() * of_state;
                }
            }
            // By definition, for one column: Σ λ^(i − j) · (qᵢ·kⱼ) · vⱼ, and the contribution of the first state.
            let col = i % e;
            let past: f64 = (0..d).map(|row| q[row] * first[row * e + col]).sum();
            let keys =
                (0..=i).map(|j| ((i - j) as f64 * log).exp() * dot(&q, &k.row(at, j)) * v.row(at, j)[col]);
            let defined = ((i + 1) as f64 * log).exp() * past + keys.sum::<f64>();
            let [sum, size] = expected[col];
            assert!((defined - sum).abs() <= 1e-9 * size, "{defined} and {sum}");
            found.compare(&what, at, i, &expected);
        }
        end.compare::<T>(&what, sizes, at, &state);
    }
}

#[test]
fn rows() {
    let sizes = Sizes { batches: 1, heads: 2, length: 150, rows_first: true };
    check::<bf16>(DecayedAttention { key_size: 64, value_size: 64 }, sizes);
    check::<f16>(DecayedAttention { key_size: 64, value_size: 128 }, Sizes { rows_first: false, ..sizes });
    check::<f16>(DecayedAttention { key_size: 128, value_size: 64 }, sizes);
    check::<bf16>(
        DecayedAttention { key_size: 128, value_size: 128 },
        Sizes { batches: 2, heads: 3, ..sizes },
    );
}

/// Heads of one token, of one more token than a chunk, and of no tokens, which leaves the state unchanged.
#[test]
fn lengths() {
    for length in [0, 1, 63, 65] {
        let attention = DecayedAttention { key_size: 64, value_size: 64 };
        check::<bf16>(attention, Sizes { batches: 1, heads: 3, length, rows_first: false });
    }
}

#[test]
fn other_rows_are_refused() {
    let error = DecayedAttention { key_size: 96, value_size: 64 }.kernel::<bf16>(Target::SM_80);
    let text = error.expect_err("no such kernel").to_string();
    assert!(text.contains("expected rows of 64 or 128, found 96 and 64"), "{text}");
}
