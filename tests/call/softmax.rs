//! Softmax with masks.

use warpwright::{
    kernels::call,
    run::{Device, KernelCache, Simulator},
};

use super::{
    matrix::{Matrix, each, length, rows_of},
    numbers::{assert_near, downloaded_floats, results},
};

/// Returns softmax(3x), or its logarithm, of the first `visible` elements; the others are not visible.
pub(super) fn softmax(row: &[f64], visible: usize, log: bool) -> Vec<f64> {
    let total: f64 = row[..visible].iter().map(|x| (3.0 * x).exp()).sum();
    let element = |(col, x): (usize, &f64)| match (col < visible, log) {
        (true, true) => 3.0 * x - total.ln(),
        (true, false) => (3.0 * x).exp() / total,
        (false, true) => f64::NEG_INFINITY,
        (false, false) => 0.0,
    };
    row.iter().enumerate().map(element).collect()
}

/// Compares elements; those of −∞ must be the same.
fn assert_rows(what: &str, found: &[f64], expected: &[f64]) {
    let finite = |elements: &[f64]| -> Vec<f64> {
        elements.iter().map(|x| if *x == f64::NEG_INFINITY { -1e9 } else { *x }).collect()
    };
    assert_near(what, &finite(found), &finite(expected), 1e-5);
}

/// The rows of several heads of two queries; the first query of three sees no column.
#[test]
fn later_keys_are_not_visible() {
    each(|device, kernels, size @ [m, n, ld]| {
        for (log, queries, first) in
            [(false, 2, 1), (true, 2, n as i32 - 1), (false, 3, 0), (false, 2, i32::MAX)]
        {
            let x = Matrix::new(device, size, 1);
            let mut y = results::<f32>(device, length(size));
            let [m, width, ld] = [m, n, ld].map(|n| n as u32);
            let of_x = (&x.buffer, ld);
            call::causal_softmax(kernels, log, [m, width], 3.0, (queries, first), of_x, (&mut y, ld))
                .expect("launched");
            let visible = |row: usize| row % queries as usize + first as usize;
            let of_row = |(row, x): (usize, &Vec<f64>)| softmax(x, visible(row).min(n), log);
            let expected: Vec<f64> = x.rows.iter().enumerate().flat_map(of_row).collect();
            let what = format!("{queries} {first} {size:?}");
            assert_rows(&what, &rows_of(&downloaded_floats(device, &y), size), &expected);
        }
    });
}

/// Two rows have the same length; one of the lengths is 0 and one is that of the whole row.
#[test]
fn rows_have_different_lengths() {
    each(|device, kernels, size @ [m, n, ld]| {
        for log in [false, true] {
            let x = Matrix::new(device, size, 2);
            let mut y = results::<f32>(device, length(size));
            let lengths: Vec<u32> = [n as u32, 0, 3][..m.div_ceil(2)].to_vec();
            let on_lengths = device.upload(&lengths).expect("room");
            let [m, width, ld] = [m, n, ld].map(|n| n as u32);
            let of_x = (&x.buffer, ld);
            call::lengths_softmax(kernels, log, [m, width], 3.0, (&on_lengths, 2), of_x, (&mut y, ld))
                .expect("launched");
            let of_row = |(row, x): (usize, &Vec<f64>)| match (lengths[row / 2] as usize, log) {
                (0, true) => vec![f64::NEG_INFINITY; n],
                (0, false) => vec![0.0; n],
                (visible, _) => softmax(x, visible, log),
            };
            let expected: Vec<f64> = x.rows.iter().enumerate().flat_map(of_row).collect();
            assert_rows(
                &format!("{log} {size:?}"),
                &rows_of(&downloaded_floats(device, &y), size),
                &expected,
            );
        }
    });
}

#[test]
fn masks_without_rows_and_scales_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let (x, mut y) = (device.upload(&[1.0f32; 8]).expect("room"), device.output::<f32>(8).expect("room"));
    let lengths = device.upload(&[1u32]).expect("room");
    let size = [4, 2];
    let causal = call::causal_softmax(&kernels, false, size, 1.0, (0, 1), &x, &mut y)
        .expect_err("refused")
        .to_string();
    assert_eq!(causal, "causal_softmax: expected at least 1 query, found 0");
    let mut of_rows = |scale: f32, rows: u32| {
        let called = call::lengths_softmax(&kernels, true, size, scale, (&lengths, rows), &x, &mut y);
        called.expect_err("refused").to_string()
    };
    assert_eq!(of_rows(1.0, 0), "lengths_softmax: expected at least 1 row for each length, found 0");
    assert_eq!(of_rows(0.0, 4), "lengths_softmax: expected a positive scale of at most 2.3e38, found 0");
    assert_eq!(
        of_rows(f32::INFINITY, 4),
        "lengths_softmax: expected a positive scale of at most 2.3e38, found inf"
    );
    assert!(of_rows(1.0, 2).ends_with("`lengths`: expected a buffer of at least 2 elements, found 1"));
}
