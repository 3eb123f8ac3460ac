//! Several products in one launch.

use super::problem::{Matrix, assert_same, entry, product};
use crate::{assemble, devices};
use warpwright::{
    kernels::{Gemm, GemmTile, MatrixOrder},
    prelude::*,
    run::Device,
};

/// The entry of matrix `number`.
fn numbered(seed: usize, number: usize) -> impl Fn(usize, usize) -> i32 + Copy {
    entry(true, seed + 5 * number)
}

#[test]
fn products_at_equal_distances() {
    let (m, n, k, batches) = (150, 136, 104, 3);
    for (target, tile, cluster, parts) in [
        (Target::SM_90A, GemmTile::T64x64, [1, 1], 1),
        (Target::SM_90A, GemmTile::T128x128, [1, 1], 1),
        (Target::SM_90A, GemmTile::T64x64, [1, 2], 1),
        (Target::SM_90A, GemmTile::T64x64, [1, 1], 2),
        (Target::SM_90A, GemmTile::T64x128, [1, 1], 4),
        (Target::SM_80, GemmTile::T64x64, [1, 1], 1),
        (Target::SM_80, GemmTile::T128x256, [1, 1], 1),
    ] {
        let gemm = Gemm { target, b: MatrixOrder::Col, cluster, parts, ..Gemm::new(tile) };
        let kernel = gemm.batched_kernel::<bf16, f32, f32>().expect("it builds");
        assemble::kernel(&kernel);
        let (a, b) = (Matrix::new(m, k, gemm.a, 0), Matrix::new(k, n, gemm.b, 8));
        let d = Matrix::new(m, n, MatrixOrder::Row, 0);
        // All products have the same B if their distance is 0.
        for shared in [false, true] {
            let of_b = |number| numbered(2, if shared { 0 } else { number });
            let on_a = (0..batches).flat_map(|i| a.elements::<bf16>(numbered(1, i)));
            let on_b = (0..if shared { 1 } else { batches }).flat_map(|i| b.elements::<bf16>(of_b(i)));
            let (on_a, on_b): (Vec<_>, Vec<_>) = (on_a.collect(), on_b.collect());
            let expected: Vec<f32> = (0..batches)
                .flat_map(|i| d.elements::<f32>(product([m, n, k], numbered(1, i), of_b(i))))
                .collect();
            for device in devices::all().iter().filter(|device| device.capability() == (9, 0)) {
                let on_a = device.upload(&on_a).expect("room");
                let on_b = device.upload(&on_b).expect("room");
                let mut on_d = device.upload(&vec![16_384.0; expected.len()]).expect("room");
                let [lda, ldb, ldd] = [&a, &b, &d].map(|matrix| matrix.stride as u32);
                let [of_a, of_b, of_d] = [&a, &b, &d].map(|matrix| matrix.len() as u32);
                let of_b = if shared { 0 } else { of_b };
                let [m, n, k, batches] = [m, n, k, batches].map(|size| size as u32);
                let arguments = (&on_a, lda, of_a, &on_b, ldb, of_b, &mut on_d, ldd, of_d, m, n, k, batches);
                device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
                let found = device.download(&on_d).expect("copied");
                assert_same(&format!("{gemm:?}, {}", device.name()), &found, &expected, d.stride);
            }
        }
    }
}

#[test]
fn groups_of_rows_have_their_own_factor() {
    let (n, k, count) = (200, 104, 3);
    for (target, tile) in [
        (Target::SM_90A, GemmTile::T64x128),
        (Target::SM_90A, GemmTile::T128x192),
        (Target::SM_90A, GemmTile::T256x128),
        (Target::SM_80, GemmTile::T128x128),
    ] {
        let gemm = Gemm { target, b: MatrixOrder::Col, ..Gemm::new(tile) };
        let kernel = gemm.grouped_kernel::<bf16, f32, f32>().expect("it builds");
        assemble::kernel(&kernel);
        let height = tile.size()[0] as usize;
        // Three tiles of rows with two factors, the last of them not whole.
        let (groups, m) = ([2, 0, 0], 2 * height + 10);
        let (a, b) = (Matrix::new(m, k, gemm.a, 0), Matrix::new(k, n, gemm.b, 0));
        let d = Matrix::new(m, n, MatrixOrder::Row, 8);
        let on_b: Vec<bf16> = (0..count).flat_map(|i| b.elements::<bf16>(numbered(2, i))).collect();
        let products: Vec<_> =
            (0..count).map(|i| product([m, n, k], numbered(1, 0), numbered(2, i))).collect();
        let expected: Vec<f32> = d.elements(|row, col| products[groups[row / height] as usize](row, col));
        for device in devices::all().iter().filter(|device| device.capability() == (9, 0)) {
            let on_a = device.upload(&a.elements::<bf16>(numbered(1, 0))).expect("room");
            let (on_b, groups) = (device.upload(&on_b).expect("room"), device.upload(&groups).expect("room"));
            let mut on_d = device.upload(&vec![16_384.0; d.len()]).expect("room");
            let [lda, ldb, ldd] = [&a, &b, &d].map(|matrix| matrix.stride as u32);
            let [m, n, k, count] = [m, n, k, count].map(|size| size as u32);
            let arguments = (&on_a, lda, &on_b, ldb, b.len() as u32, &mut on_d, ldd, &groups, m, n, k, count);
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
            let found = device.download(&on_d).expect("copied");
            assert_same(&format!("{gemm:?}, {}", device.name()), &found, &expected, d.stride);
        }
    }
}

#[test]
fn clusters_of_several_products_have_one_row() {
    let gemm = Gemm { cluster: [2, 1], ..Gemm::new(GemmTile::T64x64) };
    let found = gemm.batched_kernel::<bf16, f32, bf16>().expect_err("it is rejected").to_string();
    assert!(
        found.contains("expected clusters of one row of tiles for several products and gated ones, found 2"),
        "{found}"
    );
}
