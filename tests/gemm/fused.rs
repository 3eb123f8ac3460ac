//! Epilogues: factors and addends applied to the sums, with numbers for which results are exact.

use super::problem::{Entry, Matrix, assert_same, entry, product};
use crate::{assemble, devices};
use warpwright::{
    kernels::{Activation, Epilogue, Gemm, GemmResult, GemmSum, GemmTile, MatrixOrder},
    prelude::*,
    run::Device,
    tiles::{Convert, Product},
};

const ALPHA: f32 = 0.5;
const BETA: f32 = -2.0;

/// Scales are powers of 2.
fn scale(index: usize) -> f32 {
    [0.25, 1.0, 2.0, 0.5][index % 4]
}

fn bias(col: usize) -> f32 {
    (col % 7) as f32 - 3.0
}

/// All factors and terms, and each alone.
fn epilogues() -> [Epilogue; 6] {
    let none = Epilogue::default();
    [
        Epilogue { alpha: true, row_scales: true, col_scales: true, c: true, bias: true },
        Epilogue { alpha: true, ..none },
        Epilogue { row_scales: true, ..none },
        Epilogue { col_scales: true, ..none },
        Epilogue { c: true, ..none },
        Epilogue { bias: true, ..none },
    ]
}

/// Checks a product of 150×200 and depth 70 with an epilogue on every device, bit for bit.
fn check<T, C, D>(gemm: &Gemm, epilogue: Epilogue, rounded: impl Fn(f32) -> D)
where
    T: Entry + Product<T, C>,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: Entry + GemmResult,
{
    let (m, n, k) = (150, 200, 72);
    let kernel = gemm.fused_kernel::<T, C, D>(epilogue).unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
    assemble::kernel(&kernel);
    let (at_a, at_b, at_c) = (entry(true, 1), entry(true, 2), entry(true, 3));
    let (a, b) = (Matrix::new(m, k, gemm.a, 16), Matrix::new(k, n, gemm.b, 16));
    let (c, d) = (Matrix::new(m, n, MatrixOrder::Row, 32), Matrix::new(m, n, MatrixOrder::Row, 16));
    let product = product([m, n, k], at_a, at_b);
    let expected: Vec<D> = d.filled(|row, col| {
        let mut sum = product(row, col) as f32;
        sum *= if epilogue.alpha { ALPHA } else { 1.0 };
        sum *= if epilogue.row_scales { scale(row) } else { 1.0 };
        sum *= if epilogue.col_scales { scale(col / 3) } else { 1.0 };
        sum += if epilogue.c { BETA * at_c(row, col) as f32 } else { 0.0 };
        sum += if epilogue.bias { bias(col) } else { 0.0 };
        rounded(if gemm.activation == Some(Activation::Relu) { sum.max(0.0) } else { sum })
    });
    for device in devices::all() {
        if device.capability() != (9, 0) {
            continue;
        }
        let on_a = device.upload(&a.elements::<T>(at_a)).expect("room");
        let on_b = device.upload(&b.elements::<T>(at_b)).expect("room");
        let of = |present: bool, length: usize, value: &dyn Fn(usize) -> f32| {
            let values: Vec<f32> = (0..if present { length } else { 0 }).map(value).collect();
            device.upload(&values).expect("room")
        };
        let rows = of(epilogue.row_scales, m, &scale);
        let cols = of(epilogue.col_scales, n, &|col| scale(col / 3));
        let on_bias = of(epilogue.bias, n, &bias);
        let on_c = device.upload(&if epilogue.c { c.elements::<D>(at_c) } else { Vec::new() }).expect("room");
        let mut on_d = device.upload(&vec![D::of(D::GAP); d.len()]).expect("room");
        let [lda, ldb, ldc, ldd] = [&a, &b, &c, &d].map(|matrix| matrix.stride as u32);
        let [m, n, k] = [m, n, k].map(|size| size as u32);
        let arguments = (
            &on_a, lda, &on_b, ldb, &mut on_d, ldd, m, n, k, ALPHA, BETA, &on_c, ldc, &on_bias, &rows, &cols,
        );
        let launched = device.launch(&kernel, arguments);
        launched.unwrap_or_else(|error| panic!("{gemm:?}, {epilogue:?}: {error}"));
        let found = device.download(&on_d).expect("copied");
        assert_same(&format!("{gemm:?}, {epilogue:?}, {}", device.name()), &found, &expected, d.stride);
    }
}

#[test]
fn factors_and_terms_alone_and_together() {
    for epilogue in epilogues() {
        check::<bf16, f32, f32>(&Gemm::new(GemmTile::T64x128), epilogue, |x| x);
    }
}

#[test]
fn all_tiles_and_parts() {
    let ([all, ..], activation) = (epilogues(), Some(Activation::Relu));
    for &tile in GemmTile::for_target(Target::SM_90A) {
        check::<bf16, f32, bf16>(&Gemm { activation, ..Gemm::new(tile) }, all, bf16::from_f32);
    }
    for &tile in GemmTile::for_target(Target::SM_80) {
        let gemm = Gemm { target: Target::SM_80, activation, ..Gemm::new(tile) };
        check::<bf16, f32, bf16>(&gemm, all, bf16::from_f32);
    }
    for (tile, parts) in [(GemmTile::T64x64, 2), (GemmTile::T64x128, 4)] {
        check::<bf16, f32, bf16>(&Gemm { parts, ..Gemm::new(tile) }, all, bf16::from_f32);
    }
}

/// Without C, larger tiles are those of the product alone.
#[test]
fn tiles_of_all_sizes_without_c() {
    let bias = Epilogue { bias: true, ..Epilogue::default() };
    for &tile in GemmTile::for_target(Target::SM_90A) {
        let gemm = Gemm::new(tile);
        let kernel = gemm.fused_kernel::<bf16, f32, bf16>(bias).expect("it builds");
        assert_eq!(kernel.name(), format!("gemm_bf16_row_row_{tile}_bias"));
        check::<bf16, f32, bf16>(&gemm, bias, bf16::from_f32);
    }
}

#[test]
fn the_depth_determines_the_tile_with_an_epilogue() {
    let tile = |tile, k| Gemm::new(tile).for_epilogue(k).tile;
    assert_eq!(tile(GemmTile::T128x192, 64), GemmTile::T128x192);
    for together in [GemmTile::T192x192, GemmTile::T128x256, GemmTile::T256x128] {
        assert_eq!(tile(together, 8191), GemmTile::T128x128);
        assert_eq!(tile(together, 8192), together);
    }
}

#[test]
fn quantized_factors_and_results() {
    let [all, alpha, rows, ..] = epilogues();
    for (tile, parts) in [(GemmTile::T64x64, 2), (GemmTile::T64x128, 4), (GemmTile::T128x128, 1)] {
        let gemm = Gemm { b: MatrixOrder::Col, parts, ..Gemm::new(tile) };
        check::<e4m3, f32, e4m3>(&gemm, alpha, |x| e4m3::from_f32(x.clamp(-448.0, 448.0)));
        check::<e4m3, f32, e4m3>(&gemm, rows, |x| e4m3::from_f32(x.clamp(-448.0, 448.0)));
        let rounded = |x: f32| x.round_ties_even().clamp(-128.0, 127.0) as i8;
        check::<i8, i32, i8>(&gemm, all, rounded);
    }
}
