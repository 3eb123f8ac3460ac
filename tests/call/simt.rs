//! Products of f32 without tensor cores, and copies to another row stride.

use warpwright::{
    kernels::{
        Activation, MatrixOrder,
        call::{self, EpilogueOperands, GemmShape},
    },
    prelude::*,
    run::{Device, KernelCache},
};

use super::{
    gemm::shape,
    matrix::{Matrix, each, length, rows_of},
    numbers::{assert_near, downloaded_floats, downloaded_halves, numbers, results},
};
use crate::devices;

/// Sizes that are multiples of 4, odd ones, and single rows and columns, in every order.
#[test]
fn products_agree_with_f64() {
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        let sizes = [[40, 68, 36], [33, 45, 67], [1, 7, 130], [65, 1, 3]];
        let orders = MatrixOrder::ALL.into_iter().flat_map(|a| MatrixOrder::ALL.map(|b| [a, b]));
        for (size @ [m, n, k], [of_a, of_b]) in sizes.into_iter().zip(orders) {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let [on_a, on_b] = [&a, &b].map(|matrix| device.upload(matrix).expect("room"));
            let mut d = results::<f32>(&device, m * n);
            let shape = GemmShape { a: of_a, b: of_b, ..shape(size) };
            let called = call::matmul_simt(&kernels, &shape, &on_a, &on_b, &mut d).expect("launched");
            assert!(called.kernel.name.starts_with("matmul_f32_"), "{}", called.kernel.name);
            let expected = product([&a, &b], [of_a, of_b], size);
            assert_near(&format!("{size:?}"), &downloaded_floats(&device, &d), &expected, 1e-5);
        }
    }
}

/// A linear layer with and without gaps between the rows, or columns, of every matrix.
#[test]
fn epilogues_and_strides_agree_with_f64() {
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        let size @ [m, n, k] = [36, 20, 44];
        let orders = [MatrixOrder::Row, MatrixOrder::Col];
        let (a, b, c, bias) = (numbers(m * k, 1), numbers(k * n, 2), numbers(m * n, 3), numbers(n, 4));
        let sums = product([&a, &b], orders, size);
        let shape = GemmShape { b: MatrixOrder::Col, activation: Some(Activation::Relu), ..shape(size) };
        let expected: Vec<f64> = (0..m * n)
            .map(|at| (2.0 * sums[at] - 0.5 * f64::from(c[at]) + f64::from(bias[at % n])).max(0.0))
            .collect();
        for gap in [0, 4, 3] {
            let spread = |elements: &[f32], length: usize| {
                let row = |row: &[f32]| {
                    row.iter().copied().chain([f32::NAN; 4].into_iter().take(gap)).collect::<Vec<_>>()
                };
                device.upload(&elements.chunks(length).flat_map(row).collect::<Vec<_>>()).expect("room")
            };
            let (on_a, on_b, on_c) = (spread(&a, k), spread(&b, k), spread(&c, n));
            let on_bias = device.upload(&bias).expect("room");
            let ldd = (n + gap) as u32;
            let mut d = results::<f32>(&device, m * (n + gap));
            let operands = EpilogueOperands {
                alpha: Some(2.0),
                c: Some(((&on_c).into(), ldd, -0.5)),
                bias: Some((&on_bias).into()),
                ..EpilogueOperands::default()
            };
            let stride = (k + gap) as u32;
            let called = call::fused_matmul_simt(
                &kernels,
                &shape,
                &operands,
                (&on_a, stride),
                (&on_b, stride),
                (&mut d, ldd),
            )
            .unwrap_or_else(|error| panic!("{gap}: {error}"));
            let is_wide = called.kernel.name.contains("_by4");
            assert_eq!(is_wide, gap != 3, "{}", called.kernel.name);
            let found = rows_of(&downloaded_floats(&device, &d), [m, n, n + gap]);
            assert_near(&format!("gaps of {gap}"), &found, &expected, 1e-5);
        }
        let mut d = results::<f32>(&device, m * n);
        let [on_a, on_b] = [&a, &b].map(|matrix| device.upload(matrix).expect("room"));
        let error =
            call::matmul_simt(&kernels, &shape, &on_a, &on_b, (&mut d, n as u32 - 1)).expect_err("refused");
        let expected =
            format!("matmul_simt: expected rows of D that are at least {n} elements apart, found {}", n - 1);
        assert_eq!(error.to_string(), expected);
    }
}

/// Returns A·B in f64 for matrices without gaps.
fn product([a, b]: [&[f32]; 2], [of_a, of_b]: [MatrixOrder; 2], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let at = |order, [rows, cols]: [usize; 2], row, col| match order {
        MatrixOrder::Row => row * cols + col,
        MatrixOrder::Col => col * rows + row,
    };
    let element = |row: usize, col: usize| -> f64 {
        (0..k).map(|i| f64::from(a[at(of_a, [m, k], row, i)]) * f64::from(b[at(of_b, [k, n], i, col)])).sum()
    };
    (0..m * n).map(|at| element(at / n, at % n)).collect()
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
