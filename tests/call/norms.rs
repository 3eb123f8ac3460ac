//! Norms with a bias.

use std::iter;

use warpwright::{
    kernels::{NormFunction, call},
    prelude::*,
    run::Device,
};

use super::{
    matrix::{Matrix, each, length, rows_of},
    numbers::{assert_near, downloaded_floats, downloaded_halves, halves, in_f64, results},
};

pub(super) const EPSILON: f32 = 1e-5;

/// Returns the mean that a norm subtracts, and the factor by which it multiplies.
pub(super) fn statistics(function: NormFunction, row: &[f64]) -> [f64; 2] {
    let n = row.len() as f64;
    let mean = if function == NormFunction::Layer { row.iter().sum::<f64>() / n } else { 0.0 };
    let square = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    [mean, 1.0 / (square + f64::from(EPSILON)).sqrt()]
}

/// Returns norm(x) · w.
pub(super) fn norm(function: NormFunction, row: &[f64], w: &[f64]) -> Vec<f64> {
    let [mean, scale] = statistics(function, row);
    iter::zip(row, w).map(|(x, w)| (x - mean) * scale * w).collect()
}

#[test]
fn a_bias_is_added() {
    each(|device, kernels, size @ [m, n, ld]| {
        for function in [NormFunction::Rms, NormFunction::Layer] {
            let (x, r) = (Matrix::new(device, size, 1), Matrix::new(device, size, 2));
            let (w, b) = (halves(n, 3), halves(n, 4));
            let [on_w, on_b] = [&w, &b].map(|elements| device.upload(elements).expect("room"));
            let (mut y, mut z) = (results::<f32>(device, length(size)), results::<f32>(device, length(size)));
            let mut h = results::<bf16>(device, length(size));
            let [m, n, ld] = [m, n, ld].map(|n| n as u32);
            let (of_x, of_r) = ((&x.buffer, ld), (&r.buffer, ld));
            call::biased_norm(kernels, function, [m, n], EPSILON, of_x, (&on_w, &on_b), (&mut y, ld))
                .expect("launched");
            let (inputs, outputs) = ((of_x, of_r), ((&mut h, ld), (&mut z, ld)));
            call::residual_biased_norm(kernels, function, [m, n], EPSILON, inputs, (&on_w, &on_b), outputs)
                .expect("launched");

            let expected = |row: &Vec<f64>| {
                let normed = norm(function, row, &in_f64(&w));
                iter::zip(normed, in_f64(&b)).map(|(y, b)| y + b).collect::<Vec<_>>()
            };
            let what = format!("{function:?} {size:?}");
            let of_rows: Vec<f64> = x.rows.iter().flat_map(expected).collect();
            assert_near(&what, &rows_of(&downloaded_floats(device, &y), size), &of_rows, 1e-5);
            let sums = iter::zip(&x.rows, &r.rows)
                .map(|(x, r)| iter::zip(x, r).map(|(x, r)| bf16::from_f64(x + r).to_f64()).collect());
            let sums: Vec<Vec<f64>> = sums.collect();
            assert_near(&what, &rows_of(&downloaded_halves(device, &h), size), &sums.concat(), 0.0);
            let of_sums: Vec<f64> = sums.iter().flat_map(expected).collect();
            assert_near(&what, &rows_of(&downloaded_floats(device, &z), size), &of_sums, 1e-5);
        }
    });
}
