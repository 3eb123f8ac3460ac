//! Parameters and arguments that a kernel or a launch rejects.

use warpwright::{
    kernels::{Activation, Gemm, GemmResult, GemmSum, GemmTile, MatrixOrder},
    prelude::*,
    run::{Device, Simulator},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

fn refusal<T, C, D>(gemm: &Gemm) -> String
where
    T: TensorElement + Product<T, C>,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: GemmResult,
{
    gemm.kernel::<T, C, D>().expect_err("it is rejected").to_string()
}

#[test]
fn types_of_other_than_16_bits_have_one_order() {
    let found = refusal::<e4m3, f32, bf16>(&Gemm::new(GemmTile::T128x128));
    assert!(
        found.contains("expected row-major A and column-major B for types other than those of 16 bits"),
        "{found}"
    );
    let both = Gemm { a: MatrixOrder::Col, b: MatrixOrder::Col, ..Gemm::new(GemmTile::T128x128) };
    let found = refusal::<i8, i32, i32>(&both);
    assert!(
        found.contains("expected row-major A and column-major B for types other than those of 16 bits"),
        "{found}"
    );
}

#[test]
fn integers_have_no_gelu() {
    let gemm =
        Gemm { b: MatrixOrder::Col, activation: Some(Activation::GeluTanh), ..Gemm::new(GemmTile::T64x64) };
    let found = refusal::<i8, i32, i32>(&gemm);
    assert!(found.contains("expected an activation of i32, found gelu_tanh"), "{found}");
}

#[test]
fn clusters_have_at_most_eight_blocks() {
    let found = refusal::<bf16, f32, bf16>(&Gemm { cluster: [3, 3], ..Gemm::new(GemmTile::T64x64) });
    assert!(found.contains('8') && found.contains('9'), "{found}");
}

#[test]
fn parts_and_rows_that_are_not_implemented() {
    let found = refusal::<bf16, f32, bf16>(&Gemm { parts: 4, ..Gemm::new(GemmTile::T64x64) });
    assert!(found.contains("expected one of [1, 2] parts for tiles of 64x64, found 4"), "{found}");
    let found = refusal::<bf16, f32, bf16>(&Gemm { parts: 3, ..Gemm::new(GemmTile::T128x192) });
    assert!(found.contains("expected one of [1] parts for tiles of 128x192, found 3"), "{found}");
    let found = refusal::<e4m3, f32, e4m3>(&Gemm { b: MatrixOrder::Col, ..Gemm::new(GemmTile::T128x176) });
    assert!(found.contains("expected results of 16 or 32 bits for tiles of 128x176, found e4m3"), "{found}");
    let found = refusal::<bf16, f32, bf16>(&Gemm { a: MatrixOrder::Col, ..Gemm::new(GemmTile::T16x64) });
    assert!(found.contains("expected row-major A for tiles of 16 rows, found column-major A"), "{found}");
}

/// The error of a launch with these strides between rows, and this many elements of A.
fn launch(lda: u32, ldb: u32, ldd: u32, elements: usize) -> String {
    let gemm = Gemm::new(GemmTile::T64x64);
    let kernel = gemm.kernel::<bf16, f32, bf16>().expect("it builds");
    let device = Simulator::new();
    let a = device.upload(&vec![bf16::ONE; elements]).expect("room");
    let b = device.upload(&vec![bf16::ONE; 64 * 72]).expect("room");
    let mut d = device.output::<bf16>(64 * 72).expect("room");
    let launched = device.launch(&kernel, (&a, lda, &b, ldb, &mut d, ldd, 64, 64, 64));
    launched.expect_err("it is rejected").to_string()
}

#[test]
fn launches_check_rows_and_lengths() {
    let kernel = "kernel `gemm_bf16_row_row_64x64`";
    let apart = "expected rows that are a multiple of 16 bytes apart";
    assert_eq!(launch(65, 64, 64, 64 * 65), format!("{kernel}: parameter `a`: {apart}, found 130 bytes"));
    assert_eq!(launch(64, 68, 64, 64 * 64), format!("{kernel}: parameter `b`: {apart}, found 136 bytes"));
    assert_eq!(launch(64, 64, 66, 64 * 64), format!("{kernel}: parameter `d`: {apart}, found 132 bytes"));
    assert_eq!(
        launch(64, 64, 64, 64 * 64 - 1),
        format!("{kernel}: parameter `a`: expected a buffer of at least 4096 elements, found 4095")
    );
}
