//! Every type, order of the factors, and tile.

use super::problem::{Sizes, check};
use warpwright::{
    kernels::{Activation, Gemm, GemmTile, MatrixOrder},
    prelude::*,
};

/// More than one tile of up to 128×192, but not multiples of any tile; more steps than stages.
const SIZES: Sizes = Sizes { m: 150, n: 200, k: 600, gap: 16 };
/// The same for larger tiles.
const LARGE: Sizes = Sizes { m: 270, n: 260, k: 330, gap: 16 };

/// All tiles with their sizes, and all orders of the operands if `any_order`, otherwise row-major A and column-major B.
fn each(any_order: bool, check: impl Fn(&Gemm, Sizes)) {
    use MatrixOrder::{Col, Row};
    for &tile in GemmTile::for_target(Target::SM_90A) {
        for (a, b) in [(Row, Col), (Row, Row), (Col, Row), (Col, Col)] {
            let has_order = any_order || (a, b) == (Row, Col);
            if has_order && (a == Row || tile.size()[0] >= 64) {
                let sizes = if tile.size() > [128, 192] { LARGE } else { SIZES };
                check(&Gemm { a, b, ..Gemm::new(tile) }, sizes);
            }
        }
    }
}

#[test]
fn bf16_products_in_all_orders() {
    each(true, check::<bf16, f32, bf16>);
}

#[test]
fn f16_products_in_all_orders() {
    each(true, check::<f16, f32, f32>);
}

#[test]
fn fp8_products() {
    each(false, check::<e4m3, f32, bf16>);
    each(false, check::<e5m2, f32, f16>);
}

#[test]
fn tf32_products() {
    each(false, check::<tf32, f32, f32>);
}

#[test]
fn integer_products() {
    each(false, check::<i8, i32, i32>);
    each(false, check::<u8, i32, i32>);
}

#[test]
fn a_function_of_the_sums() {
    let gemm = Gemm { activation: Some(Activation::Relu), ..Gemm::new(GemmTile::T64x128) };
    check::<bf16, f32, f32>(&gemm, SIZES);
}
