//! Products of every order, with scales, sums and gates, and results with any row stride.

use warpwright::{
    kernels::{
        Activation, MatrixOrder,
        call::{self, EpilogueOperands, GemmShape},
    },
    prelude::*,
    run::{BufferRef, Device, KernelCache, Simulator},
    sim::Arch,
};

use super::numbers::{
    assert_near, downloaded_floats, downloaded_halves, halves, numbers, on_hopper, results,
};

/// A matrix without gaps.
pub(super) struct Matrix {
    pub(super) elements: Vec<bf16>,
    /// The strides between rows and between columns.
    strides: [usize; 2],
}

impl Matrix {
    pub(super) fn new(rows: usize, cols: usize, order: MatrixOrder, seed: u32) -> Self {
        let strides = if order == MatrixOrder::Row { [cols, 1] } else { [1, rows] };
        Self { elements: halves(rows * cols, seed), strides }
    }

    pub(super) fn at(&self, row: usize, col: usize) -> f64 {
        self.elements[row * self.strides[0] + col * self.strides[1]].to_f64()
    }
}

/// Returns A·B.
pub(super) fn product(a: &Matrix, b: &Matrix, [m, n, k]: [usize; 3]) -> Vec<f64> {
    let element = |row, col| (0..k).map(|i| a.at(row, i) * b.at(i, col)).sum();
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

pub(super) fn shape(sizes: [usize; 3]) -> GemmShape {
    let [m, n, k] = sizes.map(|size| size as u32);
    GemmShape::new(m, n, k)
}

#[test]
fn products_of_every_order_agree_with_f64() {
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        // Sizes that are multiples of 8, as contiguous factors require, but not of any tile.
        let sizes @ [m, n, k] = [40, 136, 72];
        for (a_order, b_order) in MatrixOrder::ALL.into_iter().flat_map(|a| MatrixOrder::ALL.map(|b| (a, b)))
        {
            let (a, b) = (Matrix::new(m, k, a_order, 1), Matrix::new(k, n, b_order, 2));
            let (on_a, on_b) =
                (device.upload(&a.elements).expect("room"), device.upload(&b.elements).expect("room"));
            let mut d = results(device, m * n);
            let shape = GemmShape { a: a_order, b: b_order, ..shape(sizes) };
            call::gemm(&kernels, &shape, &on_a, &on_b, &mut d).expect("launched");
            let what = format!("{a_order:?} {b_order:?}");
            assert_near(&what, &downloaded_floats(device, &d), &product(&a, &b, sizes), 1e-5 * k as f64);
        }
    });
}

/// Rows at distances that leave gaps; those of the result begin at any element.
#[test]
fn rows_may_be_any_distance_apart() {
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        let sizes @ [m, n, k] = [19, 33, 21];
        let (lda, ldb) = (24, 40);
        let (a, b) = (Matrix::new(m, lda, MatrixOrder::Row, 3), Matrix::new(k, ldb, MatrixOrder::Row, 4));
        let (on_a, on_b) =
            (device.upload(&a.elements).expect("room"), device.upload(&b.elements).expect("room"));
        let (a_rows, b_rows) = ((&on_a, lda as u32), (&on_b, ldb as u32));
        // The first result is stored by a tensor copy, the second by threads.
        for ldd in [36, 35] {
            let mut d = results(device, (m - 1) * ldd + n);
            let called = call::gemm(&kernels, &shape(sizes), a_rows, b_rows, (&mut d, ldd as u32));
            let name = &called.expect("launched").kernel.name;
            assert_eq!(name.contains("any_ldd"), ldd == 35, "{name}");
            let found = downloaded_floats(device, &d);
            let is_in_row = |at: usize| at % ldd < n;
            assert!(
                found.iter().enumerate().all(|(at, x)| is_in_row(at) || x.is_nan()),
                "wrote between rows"
            );
            let rows = found.iter().enumerate().filter(|(at, _)| is_in_row(*at)).map(|(_, &x)| x);
            assert_near("d", &rows.collect::<Vec<_>>(), &product(&a, &b, sizes), 1e-5 * k as f64);
        }
    });
}

/// Every operand of an epilogue, and each alone.
#[test]
fn operands_are_applied_in_order() {
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        let sizes @ [m, n, k] = [24, 72, 40];
        let (a, b) = (Matrix::new(m, k, MatrixOrder::Row, 5), Matrix::new(k, n, MatrixOrder::Col, 6));
        let (on_a, on_b) =
            (device.upload(&a.elements).expect("room"), device.upload(&b.elements).expect("room"));
        let (c, bias) = (Matrix::new(m, n, MatrixOrder::Row, 7), numbers(n, 8));
        let (row_scales, col_scales) = (numbers(m, 9), numbers(n, 10));
        let on_c = device.upload(&c.elements).expect("room");
        let [on_rows, on_cols, on_bias] =
            [&row_scales, &col_scales, &bias].map(|numbers| device.upload(numbers).expect("room"));
        let products = product(&a, &b, sizes);
        for mask in [0b11111, 1, 2, 4, 8, 16, 0] {
            let has = |bit: u32| mask & 1 << bit != 0;
            let operands = EpilogueOperands {
                alpha: has(0).then_some(0.5),
                row_scales: has(1).then_some(BufferRef::from(&on_rows)),
                col_scales: has(2).then_some(BufferRef::from(&on_cols)),
                c: has(3).then_some((BufferRef::from(&on_c), n as u32, -2.0)),
                bias: has(4).then_some(BufferRef::from(&on_bias)),
            };
            let expected: Vec<f64> = (0..m * n)
                .map(|at| {
                    let (row, col) = (at / n, at % n);
                    let scale = |present, scale: f32| if present { f64::from(scale) } else { 1.0 };
                    let scales =
                        scale(has(0), 0.5) * scale(has(1), row_scales[row]) * scale(has(2), col_scales[col]);
                    let c = if has(3) { -2.0 * c.at(row, col) } else { 0.0 };
                    let bias = if has(4) { f64::from(bias[col]) } else { 0.0 };
                    (products[at] * scales + c + bias).max(0.0)
                })
                .collect();
            let shape = GemmShape { b: MatrixOrder::Col, activation: Some(Activation::Relu), ..shape(sizes) };
            let mut d = results::<bf16>(device, m * n);
            call::fused_gemm(&kernels, &shape, &operands, &on_a, &on_b, &mut d).expect("launched");
            assert_near(&format!("{mask:05b}"), &downloaded_halves(device, &d), &expected, 0.01);
        }
    });
}

/// Few rows and more than a tile of them.
#[test]
fn gates_are_products_of_the_other_half() {
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        for m in [5, 130] {
            let [n, k] = [72, 48];
            let a = Matrix::new(m, k, MatrixOrder::Row, 11);
            let b = Matrix::new(k, 2 * n, MatrixOrder::Col, 12);
            let (on_a, on_b) =
                (device.upload(&a.elements).expect("room"), device.upload(&b.elements).expect("room"));
            let both = product(&a, &b, [m, 2 * n, k]);
            let expected: Vec<f64> = (0..m * n)
                .map(|at| {
                    let [gate, up] = [0, n].map(|half| both[at / n * 2 * n + half + at % n]);
                    gate / (1.0 + (-gate).exp()) * up
                })
                .collect();
            let shape =
                GemmShape { b: MatrixOrder::Col, activation: Some(Activation::Silu), ..shape([m, n, k]) };
            let mut d = results::<bf16>(device, m * n);
            call::gated_gemm(&kernels, &shape, &on_a, &on_b, &mut d).expect("launched");
            assert_near("d", &downloaded_halves(device, &d), &expected, 0.01);
        }
    });
}

/// Types of 8 bits, with sums of i32.
#[test]
fn integers_are_summed_exactly() {
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        let [m, n, k] = [20, 24, 48];
        let [a, b]: [Vec<i8>; 2] = [(m, 7), (n, 5)]
            .map(|(rows, step)| (0..rows * k).map(|i| (i * step % 251) as u8 as i8).collect());
        let (on_a, on_b) = (device.upload(&a).expect("room"), device.upload(&b).expect("room"));
        let mut d = device.output::<i32>(m * n).expect("room");
        let shape = GemmShape { b: MatrixOrder::Col, ..shape([m, n, k]) };
        call::gemm(&kernels, &shape, &on_a, &on_b, &mut d).expect("launched");
        let element = |row: usize, col: usize| -> i32 {
            (0..k).map(|i| i32::from(a[row * k + i]) * i32::from(b[col * k + i])).sum()
        };
        let expected: Vec<i32> = (0..m * n).map(|at| element(at / n, at % n)).collect();
        assert_eq!(device.download(&d).expect("copied"), expected);
    });
}

/// The same call on devices without `wgmma`, for sizes whose rows are multiples of 16 bytes and for others.
#[test]
fn products_on_every_device() {
    for (arch, target) in [
        (Arch::Sm80, Target::SM_80),
        (Arch::Sm86, Target::SM_86),
        (Arch::Sm90, Target::SM_90A),
        (Arch::Sm100, Target::SM_90),
    ] {
        let device = Simulator::new().arch(arch);
        let kernels = KernelCache::new(&device);
        for (sizes @ [m, n, k], any) in [([40, 136, 72], ""), ([33, 45, 67], "_any_ldd_any_size")] {
            // Tensor copies require copies of the factors.
            let any = if target == Target::SM_90A { any.trim_end_matches("_any_size") } else { any };
            for (a_order, b_order) in
                MatrixOrder::ALL.into_iter().flat_map(|a| MatrixOrder::ALL.map(|b| (a, b)))
            {
                let (a, b) = (Matrix::new(m, k, a_order, 1), Matrix::new(k, n, b_order, 2));
                let on_a = device.upload(&a.elements).expect("room");
                let on_b = device.upload(&b.elements).expect("room");
                let mut d = device.output::<f32>(m * n).expect("room");
                let shape = GemmShape { a: a_order, b: b_order, ..shape(sizes) };
                let called = call::gemm(&kernels, &shape, &on_a, &on_b, &mut d).expect("launched");
                assert_eq!(called.kernel.target, target);
                let name = &called.kernel.name;
                assert_eq!(name.contains("_any"), !any.is_empty(), "{name}");
                assert!(name.ends_with(any), "{name}");
                let found: Vec<f64> =
                    device.download(&d).expect("copied").into_iter().map(f64::from).collect();
                let what = format!("{target} {a_order:?} {b_order:?} {sizes:?}");
                assert_near(&what, &found, &product(&a, &b, sizes), 1e-5 * k as f64);
            }
        }
    }
}
