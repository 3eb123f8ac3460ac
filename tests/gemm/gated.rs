//! Gated products, f(A·B₁) ⊙ (A·B₂), of integers that are exact in f32.

use super::problem::{Entry, Matrix, entry, launch, product};
use crate::assemble;
use warpwright::{
    kernels::{Activation, Gemm, GemmResult, GemmTile, MatrixOrder},
    prelude::*,
    run::Device,
    tiles::Product,
};

fn check<T, D>(gemm: &Gemm, rounded: fn(f32) -> D)
where
    T: Entry + Product<T, f32>,
    D: Entry + GemmResult,
{
    // Halves of tiles are not whole at the end of B₁.
    let (m, n, k) = if gemm.any_size { (150, 101, 203) } else { (152, 112, 208) };
    let kernel = gemm.gated_kernel::<T, f32, D>().unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
    assemble::kernel(&kernel);
    let (at_a, at_b) = (entry(true, 1), entry(true, 2));
    let (a, b) = (Matrix::new(m, k, gemm.a, 16), Matrix::new(k, 2 * n, gemm.b, 16));
    let d = Matrix::new(m, n, MatrixOrder::Row, 16);
    let sum = product([m, 2 * n, k], at_a, at_b);
    let expected: Vec<D> =
        d.filled(|row, col| rounded((sum(row, col) as f32).max(0.0) * sum(row, col + n) as f32));
    let factors = (&a.elements::<T>(at_a)[..], &b.elements::<T>(at_b)[..]);
    launch(gemm, &kernel, [m, n, k], factors, &expected, [&a, &b, &d]);
}

#[test]
fn gates_in_all_orders() {
    use MatrixOrder::{Col, Row};
    let activation = Some(Activation::Relu);
    for (a, b) in [(Row, Col), (Row, Row), (Col, Row), (Col, Col)] {
        for tile in [GemmTile::T64x128, GemmTile::T128x128] {
            check::<bf16, bf16>(&Gemm { a, b, activation, ..Gemm::new(tile) }, bf16::from_f32);
        }
    }
    let gemm = Gemm { b: Col, activation, cluster: [1, 2], ..Gemm::new(GemmTile::T128x128) };
    check::<e4m3, bf16>(&gemm, bf16::from_f32);
}

#[test]
fn gates_without_wgmma() {
    use MatrixOrder::{Col, Row};
    let on = |target, tile| Gemm { target, b: Col, activation: Some(Activation::Relu), ..Gemm::new(tile) };
    for (a, b) in [(Row, Col), (Row, Row), (Col, Row), (Col, Col)] {
        check::<bf16, bf16>(&Gemm { a, b, ..on(Target::SM_80, GemmTile::T128x128) }, bf16::from_f32);
    }
    check::<f16, f32>(&on(Target::SM_80, GemmTile::T128x256), |x| x);
    check::<tf32, f32>(&on(Target::SM_80, GemmTile::T128x128), |x| x);
    check::<e4m3, bf16>(&on(Target::SM_89, GemmTile::T128x128), bf16::from_f32);
    // Rows of any length, which are copied one element at a time.
    let any = Gemm { any_size: true, any_ldd: true, ..on(Target::SM_86, GemmTile::T128x128) };
    check::<bf16, f32>(&any, |x| x);
}

/// Copies begin at the columns of B₂, column n of a row-major B.
#[test]
fn columns_of_a_row_major_b_are_whole_units() {
    let gemm =
        Gemm { b: MatrixOrder::Row, activation: Some(Activation::Relu), ..Gemm::new(GemmTile::T64x128) };
    let kernel = gemm.gated_kernel::<bf16, f32, bf16>().expect("it builds");
    let device = warpwright::run::Simulator::new();
    let [a, b] = [(); 2].map(|()| device.zeros::<bf16>(64 * 256).expect("room"));
    let launched = |n: u32| {
        let mut d = device.zeros::<bf16>(64 * 128).expect("room");
        device.launch(&kernel, (&a, 64, &b, 256, &mut d, 128, 64, n, 64))
    };
    launched(96).expect("12 units");
    let error = launched(100).expect_err("12.5 units").to_string();
    assert!(error.contains("multiple of 8"), "{error}");
}

#[test]
fn other_tiles_are_rejected() {
    let found = Gemm::new(GemmTile::T128x192).gated_kernel::<bf16, f32, bf16>();
    let found = found.expect_err("it is rejected").to_string();
    assert!(found.contains("expected whole tiles of 64x128 or 128x128"), "{found}");
}
