//! Sums of 8-bit floats that are promoted to f32, and scales of blocks, with numbers that are exact.

use super::problem::{Entry, Matrix, assert_same, entry, launch, product};
use crate::{assemble, devices};
use warpwright::{
    kernels::{Activation, Epilogue, Gemm, GemmResult, GemmTile, MatrixOrder},
    prelude::*,
    run::Device,
    tiles::Convert,
};

const SIZES: [usize; 3] = [200, 330, 600];

fn gemm(tile: GemmTile) -> Gemm {
    Gemm { b: MatrixOrder::Col, ..Gemm::new(tile) }
}

/// Scales are powers of 2.
fn scale(at: usize) -> f32 {
    [0.5, 1.0, 2.0, 0.25][at % 4]
}

#[test]
fn promoted_sums() {
    // Sums that exceed 2^14, of products that are exact in fewer bits for every 128 of them.
    let [m, n, k] = [150, 200, 1600];
    let (at_a, at_b) = (|row, col| 1 + (row + col) as i32 % 7, |row, col| 1 + (3 * row + col) as i32 % 8);
    for tile in [GemmTile::T128x128, GemmTile::T128x192] {
        let gemm = gemm(tile);
        let kernel = gemm.promoted_kernel::<e4m3, f32>().expect("it builds");
        assemble::kernel(&kernel);
        let (a, b) = (Matrix::new(m, k, gemm.a, 16), Matrix::new(k, n, gemm.b, 0));
        let d = Matrix::new(m, n, MatrixOrder::Row, 8);
        let expected: Vec<f32> = d.elements(product([m, n, k], at_a, at_b));
        let factors = (&a.elements::<e4m3>(at_a)[..], &b.elements::<e4m3>(at_b)[..]);
        launch(&gemm, &kernel, [m, n, k], factors, &expected, [&a, &b, &d]);
    }
}

/// Scales of rows and columns, a bias, C and a function.
#[test]
fn epilogues_of_promoted_sums() {
    let [m, n, k] = SIZES;
    let (at_a, at_b, at_c) = (entry(true, 1), entry(true, 2), entry(true, 3));
    let gemm = Gemm { activation: Some(Activation::Relu), ..gemm(GemmTile::T128x192) };
    let (a, b) = (Matrix::new(m, k, gemm.a, 0), Matrix::new(k, n, gemm.b, 16));
    let (c, d) = (Matrix::new(m, n, MatrixOrder::Row, 8), Matrix::new(m, n, MatrixOrder::Row, 0));
    let sum = product([m, n, k], at_a, at_b);
    let plain: Vec<f32> = d.elements(|row, col| sum(row, col).max(0));
    let fused: Vec<f32> = d.filled(|row, col| {
        let scaled = 0.5 * sum(row, col) as f32 * scale(row) * scale(3 * col);
        (scaled - 2.0 * at_c(row, col) as f32 + (col % 5) as f32).max(0.0)
    });
    let all = Epilogue { alpha: true, row_scales: true, col_scales: true, c: true, bias: true };
    let of = |length: usize, value: &dyn Fn(usize) -> f32| (0..length).map(value).collect::<Vec<f32>>();
    let (kernel, fused_kernel) =
        (gemm.promoted_kernel::<e4m3, f32>(), gemm.fused_promoted_kernel::<e4m3, f32>(all));
    let (kernel, fused_kernel) = (kernel.expect("it builds"), fused_kernel.expect("it builds"));
    assemble::kernel(&kernel);
    assemble::kernel(&fused_kernel);
    for device in devices::all().iter().filter(|device| device.capability() == (9, 0)) {
        let on_a = device.upload(&a.elements::<e4m3>(at_a)).expect("room");
        let on_b = device.upload(&b.elements::<e4m3>(at_b)).expect("room");
        let on_c = device.upload(&c.elements::<f32>(at_c)).expect("room");
        let rows = device.upload(&of(m, &scale)).expect("room");
        let cols = device.upload(&of(n, &|col| scale(3 * col))).expect("room");
        let bias = device.upload(&of(n, &|col| (col % 5) as f32)).expect("room");
        let [lda, ldb, ldc, ldd] = [&a, &b, &c, &d].map(|matrix| matrix.stride as u32);
        let [m, n, k] = [m, n, k].map(|size| size as u32);
        let mut on_d = device.upload(&vec![16_384.0; d.len()]).expect("room");
        let launched = device.launch(&kernel, (&on_a, lda, &on_b, ldb, &mut on_d, ldd, m, n, k));
        launched.unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
        assert_same("a function", &device.download(&on_d).expect("copied"), &plain, d.stride);
        let mut on_d = device.upload(&vec![16_384.0; d.len()]).expect("room");
        let arguments =
            (&on_a, lda, &on_b, ldb, &mut on_d, ldd, m, n, k, 0.5, -2.0, &on_c, ldc, &bias, &rows, &cols);
        device.launch(&fused_kernel, arguments).unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
        assert_same("an epilogue", &device.download(&on_d).expect("copied"), &fused, d.stride);
    }
}

/// Steps of 128 elements: less than one, an even number and an odd number.
#[test]
fn scales_of_blocks() {
    [100, 512, 600].into_iter().for_each(check_scales);
}

fn check_scales(k: usize) {
    let [m, n, _] = SIZES;
    let (at_a, at_b) = (entry(true, 1), entry(true, 2));
    let gemm = gemm(GemmTile::T128x128);
    let kernel = gemm.block_scaled_kernel::<e4m3, f32>().expect("it builds");
    assemble::kernel(&kernel);
    let (a, b) = (Matrix::new(m, k, gemm.a, 0), Matrix::new(k, n, gemm.b, 16));
    let d = Matrix::new(m, n, MatrixOrder::Row, 0);
    let blocks = k.div_ceil(128);
    let of_row = |row: usize, block: usize| scale(3 * row + 5 * block);
    let of_col = |col: usize, block: usize| scale(col / 128 + 7 * block / 2);
    let expected: Vec<f32> = d.filled(|row, col| {
        let products = |block: usize| {
            let sum: i32 =
                (128 * block..(128 * block + 128).min(k)).map(|i| at_a(row, i) * at_b(i, col)).sum();
            sum as f32 * of_row(row, block) * of_col(col, block)
        };
        (0..blocks).map(products).sum()
    });
    let a_scales: Vec<f32> = (0..blocks * m).map(|at| of_row(at % m, at / m)).collect();
    let b_scales: Vec<f32> =
        (0..n.div_ceil(128) * blocks).map(|at| of_col(at / blocks * 128, at % blocks)).collect();
    for device in devices::all().iter().filter(|device| device.capability() == (9, 0)) {
        let on_a = device.upload(&a.elements::<e4m3>(at_a)).expect("room");
        let on_b = device.upload(&b.elements::<e4m3>(at_b)).expect("room");
        let (of_a, of_b) = (device.upload(&a_scales).expect("room"), device.upload(&b_scales).expect("room"));
        let mut on_d = device.upload(&vec![16_384.0; d.len()]).expect("room");
        let [lda, ldb, ldd] = [&a, &b, &d].map(|matrix| matrix.stride as u32);
        let arguments = (&on_a, lda, &of_a, &on_b, ldb, &of_b, &mut on_d, ldd, m as u32, n as u32, k as u32);
        device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
        let found = device.download(&on_d).expect("copied");
        assert_same(&format!("{gemm:?}, {}", device.name()), &found, &expected, d.stride);
    }
}

/// Results of other types, which are stored in pieces of other sizes.
#[test]
fn promoted_sums_are_rounded() {
    for (tile, k) in [(GemmTile::T128x128, 100), (GemmTile::T128x128, 384), (GemmTile::T128x192, 600)] {
        check_rounded(tile, k, bf16::from_f32);
        check_rounded(tile, k, |x| e4m3::from_f32(x.clamp(-448.0, 448.0)));
    }
}

/// Checks a product of several tiles.
fn check_rounded<D: Entry + GemmResult>(tile: GemmTile, k: usize, rounded: impl Fn(f32) -> D)
where
    f32: Convert<D>,
{
    let ([m, n], gemm) = ([300, 420], gemm(tile));
    let kernel = gemm.promoted_kernel::<e4m3, D>().expect("it builds");
    assemble::kernel(&kernel);
    let (at_a, at_b) = (entry(true, 1), entry(true, 2));
    let (a, b) = (Matrix::new(m, k, gemm.a, 16), Matrix::new(k, n, gemm.b, 0));
    let d = Matrix::new(m, n, MatrixOrder::Row, 16);
    let sum = product([m, n, k], at_a, at_b);
    let expected: Vec<D> = d.filled(|row, col| rounded(sum(row, col) as f32));
    let factors = (&a.elements::<e4m3>(at_a)[..], &b.elements::<e4m3>(at_b)[..]);
    launch(&gemm, &kernel, [m, n, k], factors, &expected, [&a, &b, &d]);
}

#[test]
fn kernels_without_promotion_are_rejected() {
    let in_clusters = Gemm { cluster: [2, 1], ..gemm(GemmTile::T128x128) };
    for gemm in [Gemm::new(GemmTile::T128x128), gemm(GemmTile::T64x64), in_clusters] {
        let found = gemm.promoted_kernel::<e4m3, bf16>().expect_err("it is rejected").to_string();
        assert!(
            found.contains("expected factors of 8 bits, row-major A, column-major B, whole tiles"),
            "{found}"
        );
    }
    let found = gemm(GemmTile::T128x128).promoted_kernel::<bf16, bf16>().expect_err("it is rejected");
    assert!(found.to_string().contains("found gemm_bf16_row_col_128x128 of bf16"), "{found}");
}
