//! Linear attention with the Taylor expansion of the exponential.

use super::matrices::{Matrices, Sizes, assembled, everywhere, mixed};
use crate::half::Half;
use warpwright::{kernels::TaylorAttention, prelude::*, run::Device, tiles::Convert};
use warpwright_reference::{add_scaled, dot};

const COLUMNS: [usize; 3] = [16, 16, 64];

fn absolute(row: &[f64]) -> Vec<f64> {
    row.iter().map(|x| x.abs()).collect()
}

fn weight(s: f64) -> f64 {
    1.0 + s + s * s / 2.0
}

/// φ of Based: 1, x / √√16 and x ⊗ x / √(2·16).
fn features(x: &[f64]) -> Vec<f64> {
    let linear = x.iter().map(|x| x / 2.0);
    let quadratic = x.iter().flat_map(|a| x.iter().map(move |b| a * b / 32f64.sqrt()));
    [1.0].into_iter().chain(linear).chain(quadratic).collect()
}

/// Runs a kernel on numbers of a scale and compares its results with sums over all keys and with the recurrence of features.
fn check<T: Half>(normalized: bool, sizes: Sizes, scale: f64)
where
    f32: Convert<T>,
{
    let attention = TaylorAttention { normalized };
    let kernel = assembled(&|target| attention.kernel::<T>(target));
    let inputs = [0, 1, 2].map(|which| {
        Matrices::<T>::new(sizes, COLUMNS[which], &|at| {
            mixed(which, at) * if which < 2 { scale } else { 1.0 }
        })
    });
    let empty = Matrices::<T>::poisoned(sizes, 64);
    let [q, k, v] = &inputs;
    let strides = [q, k, v, &empty].map(Matrices::strides);
    let found = everywhere(&empty, &|device, o| {
        let [q, k, v] = inputs.each_ref().map(|matrices| device.upload(&matrices.elements).expect("room"));
        let launched = device.launch(&kernel, (&q, &k, &v, o, sizes.numbers(), strides));
        launched.unwrap_or_else(|error| panic!("{attention:?}, {sizes:?}: {error}"));
    });

    for at in sizes.each() {
        let mut state = vec![[0.0; 64]; 1 + 16 + 256];
        let mut divisors = vec![0.0; state.len()];
        for i in 0..sizes.length {
            let (q, key, value) = (q.row(at, i), k.row(at, i), v.row(at, i));
            for ((feature, state), divisor) in features(&key).into_iter().zip(&mut state).zip(&mut divisors) {
                state.iter_mut().zip(&value).for_each(|(state, value)| *state += feature * value);
                *divisor += feature;
            }
            let of_query = features(&q);
            let divisor = if normalized { dot(&of_query, &divisors) } else { 1.0 };
            let paper =
                |col| of_query.iter().zip(&state).map(|(q, state)| q * state[col]).sum::<f64>() / divisor;

            let mut expected = vec![[0.0; 2]; 64];
            let mut total = 0.0;
            for j in 0..=i {
                let key = k.row(at, j);
                let weights =
                    [weight(dot(&q, &key) / 4.0), weight(dot(&absolute(&q), &absolute(&key)) / 4.0)];
                total += weights[0];
                add_scaled(&mut expected, weights, &v.row(at, j));
            }
            for (col, sums) in expected.iter_mut().enumerate() {
                if normalized {
                    // An error of a weight is one of the divisor, too.
                    *sums = sums.map(|sum| sum / total);
                    sums[1] *= 1.5;
                }
                assert!((sums[0] - paper(col)).abs() <= 1e-9 * sums[1], "{} and {}", sums[0], paper(col));
            }
            found.compare(&format!("{attention:?}, {sizes:?}"), at, i, &expected);
        }
    }
}

#[test]
fn sums() {
    check::<bf16>(false, Sizes { batches: 2, heads: 3, length: 200, rows_first: true }, 1.0);
    check::<f16>(false, Sizes { batches: 1, heads: 2, length: 129, rows_first: false }, 1.0);
}

#[test]
fn normalized_sums() {
    check::<bf16>(true, Sizes { batches: 1, heads: 3, length: 150, rows_first: false }, 1.0);
    check::<f16>(true, Sizes { batches: 2, heads: 1, length: 64, rows_first: true }, 1.0);
}

/// Heads of one token, of one more token than a chunk, and of no tokens.
#[test]
fn lengths() {
    for length in [0, 1, 63, 65] {
        check::<bf16>(false, Sizes { batches: 1, heads: 1, length, rows_first: false }, 1.0);
        check::<bf16>(true, Sizes { batches: 1, heads: 1, length, rows_first: false }, 1.0);
    }
}

/// The quadratic term alone matters, and the state of earlier chunks: each pair of features must occur with its own factor.
#[test]
fn large_products() {
    check::<f16>(false, Sizes { batches: 1, heads: 1, length: 192, rows_first: false }, 4.0);
}
