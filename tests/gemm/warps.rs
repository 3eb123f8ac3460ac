//! Targets without `wgmma`: every type, order of the factors, tile and form.

use super::problem::{Sizes, check};
use warpwright::{
    kernels::{
        Activation, Gemm, GemmTile,
        MatrixOrder::{Col, Row},
    },
    prelude::*,
};

/// More than one tile of every size, but not multiples of any tile; more steps than stages; rows of multiples of 16 bytes for all types.
const SIZES: Sizes = Sizes { m: 176, n: 272, k: 592, gap: 16 };

/// All tiles, and all orders of the factors if `any_order`, otherwise row-major A and column-major B.
fn each(target: Target, any_order: bool, check: impl Fn(&Gemm)) {
    for &tile in GemmTile::for_target(target) {
        for (a, b) in [(Row, Col), (Row, Row), (Col, Row), (Col, Col)] {
            if any_order || (a, b) == (Row, Col) {
                check(&Gemm { target, a, b, ..Gemm::new(tile) });
            }
        }
    }
}

#[test]
fn halves_in_all_orders() {
    each(Target::SM_80, true, |gemm| check::<bf16, f32, bf16>(gemm, SIZES));
    each(Target::SM_86, true, |gemm| check::<f16, f32, f32>(gemm, SIZES));
}

#[test]
fn other_types() {
    each(Target::SM_80, false, |gemm| check::<tf32, f32, f32>(gemm, SIZES));
    each(Target::SM_80, false, |gemm| check::<i8, i32, i32>(gemm, SIZES));
    each(Target::SM_80, false, |gemm| check::<u8, i32, f16>(gemm, SIZES));
    each(Target::SM_89, false, |gemm| check::<e4m3, f32, bf16>(gemm, SIZES));
    each(Target::SM_89, false, |gemm| check::<e5m2, f32, f32>(gemm, SIZES));
}

/// Rows of any length and at any distance, with sizes below one tile and above.
#[test]
fn any_sizes() {
    for tile in [GemmTile::T64x64, GemmTile::T128x128] {
        for (a, b) in [(Row, Col), (Row, Row), (Col, Row), (Col, Col)] {
            let gemm = Gemm { target: Target::SM_80, a, b, any_size: true, any_ldd: true, ..Gemm::new(tile) };
            check::<bf16, f32, f32>(&gemm, Sizes { m: 131, n: 67, k: 45, gap: 3 });
            check::<f16, f32, f16>(&gemm, Sizes { m: 1, n: 1, k: 1, gap: 0 });
            check::<f16, f32, f16>(&gemm, Sizes { m: 5, n: 9, k: 0, gap: 1 });
        }
        let gemm = Gemm { target: Target::SM_80, b: Col, any_ldd: true, ..Gemm::new(tile) };
        check::<bf16, f32, bf16>(&gemm, Sizes { m: 70, n: 133, k: 72, gap: 0 });
        check::<i8, i32, i32>(&Gemm { any_size: true, ..gemm }, Sizes { m: 70, n: 133, k: 71, gap: 5 });
    }
}

/// Results of 8 bits, whose subtiles have twice as many columns, of sums in their range.
#[test]
fn results_of_8_bits() {
    let sizes = Sizes { m: 80, n: 144, k: 32, gap: 0 };
    each(Target::SM_89, false, |gemm| check::<bf16, f32, e4m3>(gemm, sizes));
    each(Target::SM_89, false, |gemm| check::<bf16, f32, e5m2>(gemm, sizes));
    each(Target::SM_80, false, |gemm| check::<i8, i32, i8>(gemm, Sizes { k: 16, ..sizes }));
}

#[test]
fn a_function_of_the_sums() {
    let relu = |tile| Gemm { target: Target::SM_80, activation: Some(Activation::Relu), ..Gemm::new(tile) };
    for tile in [GemmTile::T64x64, GemmTile::T128x256] {
        check::<bf16, f32, f32>(&relu(tile), SIZES);
    }
}

#[test]
fn options_that_require_wgmma_are_rejected() {
    let on = |target| Gemm { target, b: Col, ..Gemm::new(GemmTile::T128x128) };
    let refused = |gemm: &Gemm| gemm.kernel::<bf16, f32, bf16>().expect_err("it is rejected").to_string();
    for (gemm, expected) in [
        (on(Target::SM_75), "expected sm_80 or later, found sm_75"),
        (
            Gemm { tile: GemmTile::T128x192, ..on(Target::SM_80) },
            "expected tiles of 64x64, 128x128, 128x256 for sm_80, found 128x192",
        ),
        (
            Gemm { tile: GemmTile::T128x256, ..on(Target::SM_86) },
            "expected tiles of 64x64, 128x128 for sm_86, found 128x256",
        ),
        (
            Gemm { tile: GemmTile::T192x192, ..on(Target::SM_100A) },
            "expected tiles of 64x64, 128x128, 128x256 for sm_100a, found 192x192",
        ),
        (
            Gemm { cluster: [2, 1], ..on(Target::SM_100A) },
            "expected blocks without clusters for sm_100a, found 2x1 tiles in 1 parts",
        ),
        (
            Gemm { any_size: true, tile: GemmTile::T128x256, ..on(Target::SM_80) },
            "expected tiles of 64x64 or 128x128 for any sizes, found 128x256",
        ),
        (
            Gemm { any_size: true, ..on(Target::SM_90A) },
            "expected strides that are multiples of 16 bytes for tensor copies, found `any_size`",
        ),
    ] {
        let found = refused(&gemm);
        assert!(found.ends_with(expected), "{found}");
    }
    let gated = Gemm { tile: GemmTile::T64x64, ..on(Target::SM_80) }.gated_kernel::<bf16, f32, bf16>();
    let gated = gated.expect_err("it is rejected").to_string();
    assert!(
        gated.ends_with("expected tiles of 128x128 or 128x256 for a gated product, found 64x64"),
        "{gated}"
    );
    let promoted = on(Target::SM_89).promoted_kernel::<e4m3, bf16>().expect_err("it is rejected").to_string();
    assert!(promoted.ends_with("expected sm_90a for promoted sums, found sm_89"), "{promoted}");
    // e4m3 has `mma.sync` from sm_89.
    let found = on(Target::SM_80).kernel::<e4m3, f32, bf16>().expect_err("it is rejected").to_string();
    assert!(found.contains("sm_89"), "{found}");
}

#[test]
fn fragments_are_loaded_in_the_order_of_products() {
    let registers = |list: &str| -> Vec<String> {
        list.trim_matches(['{', '}']).split(", ").map(str::to_owned).collect()
    };
    for (a, b) in [(Row, Row), (Row, Col), (Col, Row), (Col, Col)] {
        let gemm = Gemm { target: Target::SM_80, a, b, ..Gemm::new(GemmTile::T128x256) };
        let text = gemm.kernel::<bf16, f32, bf16>().expect("it builds").ptx().to_string();
        let operands = |line: &str| -> Vec<Vec<String>> {
            let braces =
                line.split_inclusive('}').filter_map(|part| part.find('{').map(|at| part[at..].to_owned()));
            braces.map(|list| registers(&list)).collect()
        };
        let lines =
            |mnemonic: &'static str| text.lines().filter(move |line| line.trim_start().starts_with(mnemonic));
        let loaded: Vec<Vec<String>> = lines("ldmatrix.").map(|line| operands(line).swap_remove(0)).collect();
        let mut products = 0;
        for product in lines("mma.sync.").map(operands) {
            let [_, of_a, of_b, _] = &product[..] else {
                panic!("expected four operands, found {product:?}")
            };
            assert!(loaded.iter().any(|list| list == of_a), "{a:?} {b:?}: A {of_a:?} is not one load");
            let pairs = |list: &Vec<String>| list.chunks(2).any(|pair| pair == of_b);
            assert!(loaded.iter().any(pairs), "{a:?} {b:?}: B {of_b:?} are not adjacent registers of a load");
            products += 1;
        }
        assert!(products > 0, "{a:?} {b:?}");
    }
}
