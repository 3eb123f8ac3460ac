//! Softmax over the latest tokens, and learned features for older ones.

use super::matrices::{Matrices, Sizes, assembled, everywhere, mixed};
use crate::half::Half;
use warpwright::{kernels::Hedgehog, prelude::*, run::Device, tiles::Convert};
use warpwright_reference::{add_scaled, dot};

const CHUNK: usize = 64;
const HALF: usize = 64;
/// The factors of the weights of the latest and of older tokens, of each head.
const ALPHAS: [f32; 3] = [1.0, 0.25, 2.0];
const BETAS: [f32; 3] = [1.0, 3.0, 0.0];

/// A map of a head, `rows`×64.
fn map<T: Half>(which: usize, head: usize, rows: usize) -> Vec<T> {
    (0..rows * HALF).map(|at| T::of(mixed(which, [0, head, at / HALF, at % HALF]) / 4.0)).collect()
}

/// φ by definition: softmax(x·W) and softmax(−x·W).
fn features<T: Half>(x: &[f64], map: &[T]) -> Vec<f64> {
    let mapped: Vec<f64> = (0..HALF)
        .map(|col| x.iter().enumerate().map(|(row, x)| x * map[row * HALF + col].number()).sum())
        .collect();
    let softmax = |sign: f64| {
        let terms: Vec<f64> = mapped.iter().map(|x| (sign * x).exp()).collect();
        let total: f64 = terms.iter().sum();
        terms.into_iter().map(move |term| term / total)
    };
    softmax(1.0).chain(softmax(-1.0)).collect()
}

/// Runs a kernel and compares its results with sums over all keys, and the part of older keys with the recurrence of features.
fn check<T: Half>(hedgehog: Hedgehog, sizes: Sizes, scale: f32)
where
    f32: Convert<T>,
{
    let (d, e) = (64, hedgehog.value_size as usize);
    let kernel = assembled(&|target| hedgehog.kernel::<T>(target));
    let inputs =
        [(0, d), (1, d), (2, e)].map(|(which, cols)| Matrices::<T>::new(sizes, cols, &|at| mixed(which, at)));
    let maps = [3, 4].map(|which| (0..sizes.heads).map(|head| map::<T>(which, head, d)).collect::<Vec<_>>());
    let (alphas, betas) = (&ALPHAS[..sizes.heads], &BETAS[..sizes.heads]);
    let empty = Matrices::<T>::poisoned(sizes, e);
    let [q, k, v] = &inputs;
    let strides = [q, k, v, &empty].map(Matrices::strides);
    let found = everywhere(&empty, &|device, o| {
        let [q, k, v] = inputs.each_ref().map(|matrices| device.upload(&matrices.elements).expect("room"));
        let [of_q, of_k] = maps.each_ref().map(|maps| device.upload(&maps.concat()).expect("room"));
        let [alphas, betas] = [alphas, betas].map(|factors| device.upload(factors).expect("room"));
        let arguments = (&q, &k, &v, &of_q, &of_k, &alphas, &betas, o, sizes.numbers(), strides, scale);
        device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{hedgehog:?}, {sizes:?}: {error}"));
    });

    for at in sizes.each() {
        let [of_q, of_k] = maps.each_ref().map(|maps| &maps[at.1]);
        let (alpha, beta) = (f64::from(alphas[at.1]), f64::from(betas[at.1]));
        let rows = |of: &Matrices<T>| (0..sizes.length).map(|i| of.row(at, i)).collect::<Vec<_>>();
        let [q, k, v] = [q, k, v].map(rows);
        let of_keys: Vec<_> = k.iter().map(|key| features(key, of_k)).collect();
        for i in 0..sizes.length {
            let of_query = features(&q[i], of_q);
            let older = (i / CHUNK).saturating_sub(1) * CHUNK;
            let scores: Vec<f64> = (older..=i).map(|j| dot(&q[i], &k[j]) * f64::from(scale)).collect();
            let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let past = (0..older).map(|j| beta * dot(&of_query, &of_keys[j]));
            let weights: Vec<f64> = past.chain(scores.iter().map(|s| alpha * (s - max).exp())).collect();
            let total: f64 = weights.iter().sum();
            let mut expected = vec![[0.0; 2]; e];
            for (weight, v) in weights.iter().map(|weight| weight / total).zip(&v) {
                // Features, weights and the state are rounded.
                add_scaled(&mut expected, [weight, 2.0 * weight.abs()], v);
            }
            found.compare(&format!("{hedgehog:?}, {sizes:?}"), at, i, &expected);
        }
    }
}

const SMALL: Hedgehog = Hedgehog { value_size: 64 };

#[test]
fn rows() {
    let sizes = Sizes { batches: 1, heads: 3, length: 270, rows_first: true };
    check::<bf16>(SMALL, sizes, 0.125);
    check::<f16>(
        Hedgehog { value_size: 128 },
        Sizes { batches: 2, heads: 1, rows_first: false, ..sizes },
        0.3,
    );
}

/// Heads of one token, of one token more or less than whole chunks, and of no tokens.
#[test]
fn lengths() {
    for length in [0, 1, 63, 64, 65, 127, 128, 129, 193] {
        check::<f16>(SMALL, Sizes { batches: 1, heads: 1, length, rows_first: false }, 0.125);
    }
}

/// Scores whose exponentials would overflow without the maximum.
#[test]
fn large_scores() {
    check::<f16>(SMALL, Sizes { batches: 1, heads: 1, length: 150, rows_first: false }, 20.0);
}

#[test]
fn other_rows_are_refused() {
    let error = Hedgehog { value_size: 96 }.kernel::<bf16>(Target::SM_80);
    let text = error.expect_err("no such kernel").to_string();
    assert!(text.contains("expected rows of 64 or 128 of V, found 96"), "{text}");
}
