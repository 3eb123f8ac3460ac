//! Reductions of rows and columns, and cumulative sums.

use warpwright::{
    kernels::{Reduction, call},
    prelude::*,
    run::{Device, KernelCache, Simulator},
};

use super::{
    matrix::{Matrix, each, length, rows_of},
    numbers::{assert_near, downloaded_floats, downloaded_halves, results},
};
use crate::devices;

const FUNCTIONS: [Reduction; 5] =
    [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min, Reduction::Norm];

fn reduced(function: Reduction, x: impl Iterator<Item = f64> + Clone) -> f64 {
    let sum: f64 = x.clone().sum();
    match function {
        Reduction::Sum => sum,
        Reduction::Mean => sum / x.count() as f64,
        Reduction::Max => x.fold(f64::NEG_INFINITY, f64::max),
        Reduction::Min => x.fold(f64::INFINITY, f64::min),
        Reduction::Norm => x.map(|x| x * x).sum::<f64>().sqrt(),
    }
}

#[test]
fn rows_are_reduced() {
    each(|device, kernels, size @ [m, n, ld]| {
        let x = Matrix::new(device, size, 1);
        for function in FUNCTIONS {
            let mut y = results::<f32>(device, m);
            let shape = [m as u32, n as u32];
            call::reduce_rows(kernels, function, shape, (&x.buffer, ld as u32), &mut y).expect("launched");
            let expected: Vec<f64> =
                x.rows.iter().map(|row| reduced(function, row.iter().copied())).collect();
            assert_near(&format!("{function:?} {size:?}"), &downloaded_floats(device, &y), &expected, 1e-4);
        }
    });
}

/// Types without infinities, whose neutral elements they do not represent.
#[test]
fn rows_of_integers_are_reduced() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    for n in [16usize, 20, 33] {
        for (function, element) in [(Reduction::Max, -5i32), (Reduction::Min, 7), (Reduction::Sum, 3)] {
            let x = device.upload(&vec![element; 2 * n]).expect("room");
            let mut y = device.output::<f32>(2).expect("room");
            call::reduce_rows(&kernels, function, [2, n as u32], &x, &mut y).expect("launched");
            let expected = if function == Reduction::Sum { element * n as i32 } else { element };
            assert_eq!(device.download(&y).expect("copied"), [expected as f32; 2], "{function:?} {n}");
        }
    }
}

/// Few rows, which one launch reduces, and many, which two launches reduce; of those, 1009 rows have no parts of the same length.
#[test]
fn columns_are_reduced() {
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        for size @ [m, n, ld] in [[5, 7, 8], [2, 1001, 1003], [1000, 24, 24], [1009, 3, 5]] {
            let x = Matrix::new(&device, size, 2);
            let shape = [m as u32, n as u32];
            for function in FUNCTIONS {
                let length = call::column_workspace::<bf16>(&kernels, function, shape);
                let is_prime = m == 1009 && function == Reduction::Mean;
                assert_eq!(length == 0, m < 1000 || is_prime, "{function:?} {size:?}: {length}");
                let mut workspace = results::<f32>(&device, length);
                let mut y = results::<f32>(&device, n);
                let from = (&x.buffer, ld as u32);
                call::reduce_columns(&kernels, function, shape, from, &mut y, &mut workspace)
                    .expect("launched");
                let column = |col: usize| reduced(function, x.rows.iter().map(|row| row[col]));
                let expected: Vec<f64> = (0..n).map(column).collect();
                let what = format!("{function:?} {size:?}");
                assert_near(&what, &downloaded_floats(&device, &y), &expected, 1e-4);
                // The canaries after the workspace are still there.
                downloaded_floats(&device, &workspace);
            }
        }
    }
}

#[test]
fn sums_are_cumulative() {
    each(|device, kernels, size @ [m, n, ld]| {
        let x = Matrix::new(device, size, 3);
        let of_y = [m, n, ld + 8];
        for inclusive in [false, true] {
            let (mut y, mut rounded) =
                (results::<f32>(device, length(of_y)), results::<bf16>(device, length(of_y)));
            let (shape, from) = ([m as u32, n as u32], (&x.buffer, ld as u32));
            call::cumulative_sum(kernels, inclusive, shape, from, (&mut y, ld as u32 + 8)).expect("launched");
            call::cumulative_sum(kernels, inclusive, shape, from, (&mut rounded, ld as u32 + 8))
                .expect("launched");
            let sums = |row: &Vec<f64>| {
                let mut sum = 0.0;
                let sums = row.iter().map(move |x| {
                    let before = sum;
                    sum += x;
                    if inclusive { sum } else { before }
                });
                sums.collect::<Vec<_>>()
            };
            let expected: Vec<f64> = x.rows.iter().flat_map(sums).collect();
            assert_near("y", &rows_of(&downloaded_floats(device, &y), of_y), &expected, 1e-4);
            assert_near("bf16", &rows_of(&downloaded_halves(device, &rounded), of_y), &expected, 0.005);
        }
    });
}

#[test]
fn short_buffers_and_rows_that_overlap_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let x = device.upload(&[1.0f32; 64 * 4]).expect("room");
    let (mut y, mut short) =
        (device.output::<f32>(64 * 4).expect("room"), device.output::<f32>(3).expect("room"));
    let error = call::reduce_rows(&kernels, Reduction::Sum, [64, 4], &x, &mut short).expect_err("refused");
    assert!(
        error.to_string().ends_with("`y`: expected a buffer of at least 64 elements, found 3"),
        "{error}"
    );
    let error = call::reduce_columns(&kernels, Reduction::Sum, [128, 2], &x, &mut y, &mut short);
    let error = error.expect_err("refused").to_string();
    assert!(error.ends_with("`y`: expected a buffer of at least 4 elements, found 3"), "{error}");
    let error = call::cumulative_sum(&kernels, true, [64, 4], &x, (&mut y, 3)).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "cumulative_sum: expected rows of results that are at least 4 elements apart, found 3"
    );
}
