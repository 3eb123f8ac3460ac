//! Products of f32 without tensor cores, and copies to another row stride.

use warpwright::{
    kernels::call,
    prelude::*,
    run::{Device, KernelCache},
};

use super::{
    matrix::{Matrix, each, length, rows_of},
    numbers::{assert_near, downloaded_floats, downloaded_halves, numbers, results},
};
use crate::devices;

/// Sizes that are multiples of 4, odd ones, and single rows and columns.
#[test]
fn products_agree_with_f64() {
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        for size @ [m, n, k] in [[40, 68, 36], [33, 45, 67], [1, 7, 130], [65, 1, 3]] {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let [on_a, on_b] = [&a, &b].map(|matrix| device.upload(matrix).expect("room"));
            let mut d = results::<f32>(&device, m * n);
            let sizes = size.map(|size| size as u32);
            let called = call::matmul_simt(&kernels, sizes, &on_a, &on_b, &mut d).expect("launched");
            assert!(called.kernel.name.starts_with("matmul_f32_"), "{}", called.kernel.name);
            let element = |row: usize, col: usize| -> f64 {
                (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[i * n + col])).sum()
            };
            let expected: Vec<f64> = (0..m * n).map(|at| element(at / n, at % n)).collect();
            assert_near(&format!("{size:?}"), &downloaded_floats(&device, &d), &expected, 1e-5);
        }
    }
}

#[test]
fn rows_are_copied_to_another_stride() {
    each(|device, kernels, size @ [m, n, ld]| {
        let x = Matrix::new(device, size, 3);
        let padded = [m, n, ld + 3];
        let mut y = results::<bf16>(device, length(padded));
        let (of_x, of_y) = ((&x.buffer, ld as u32), (&mut y, ld as u32 + 3));
        call::pad_rows(kernels, [m as u32, n as u32], of_x, of_y).expect("launched");
        let found = rows_of(&downloaded_halves(device, &y), padded);
        assert_near(&format!("{size:?}"), &found, &x.rows.concat(), 0.0);
        let short = (&mut y, n as u32 - 1);
        let error = call::pad_rows(kernels, [m as u32, n as u32], of_x, short).expect_err("refused");
        let expected = format!(
            "pad_rows: expected rows of results that are at least {n} elements apart, found {}",
            n - 1
        );
        assert_eq!(error.to_string(), expected);
    });
}
