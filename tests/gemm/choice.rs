//! The choice of a kernel.

use warpwright::{
    kernels::{Gemm, GemmTile, GpuKind, MatrixOrder, SplitKGemm},
    prelude::*,
};

const ORDERS: [MatrixOrder; 2] = [MatrixOrder::Row, MatrixOrder::Col];

fn hopper(multiprocessors: u32) -> GpuKind {
    GpuKind { name: "a GPU without a table".into(), capability: (9, 0), multiprocessors }
}

#[test]
fn all_candidates_build() {
    for m in [1, 16, 17] {
        for (a, b) in ORDERS.into_iter().flat_map(|a| ORDERS.map(|b| (a, b))) {
            for gemm in Gemm::candidates(Target::SM_90A, a, b, m) {
                gemm.kernel::<bf16, f32, bf16>().unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
            }
        }
        for gemm in Gemm::candidates(Target::SM_90A, MatrixOrder::Row, MatrixOrder::Col, m) {
            gemm.kernel::<tf32, f32, f32>().unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
            gemm.kernel::<i8, i32, i32>().unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
            // The model never chooses this tile, because it does not support such results.
            if gemm.tile != GemmTile::T128x176 {
                gemm.kernel::<e4m3, f32, e4m3>().unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
            }
        }
    }
}

/// Clusters have at most as many blocks as the device has multiprocessors.
#[test]
fn extreme_sizes_and_devices() {
    let (a, b) = (MatrixOrder::Row, MatrixOrder::Col);
    let lengths = [0, 1, 17, 1000, 8192, u32::MAX];
    let sizes = lengths
        .into_iter()
        .flat_map(|m| lengths.map(|n| [m, n]))
        .flat_map(|[m, n]| lengths.map(|k| [m, n, k]));
    for (size, multiprocessors) in sizes.flat_map(|size| [0, 1, 3, 7, 14, 132].map(|count| (size, count))) {
        let gpu = hopper(multiprocessors);
        let blocks = |gemm: &Gemm| gemm.cluster.iter().product::<u32>() * gemm.parts;
        let single = Gemm::for_problem::<bf16, bf16>(a, b, size, &gpu);
        assert!(blocks(&single) <= multiprocessors.max(1), "{size:?}, {multiprocessors}: {single:?}");
        let several = Gemm::for_batches::<bf16>(a, b, size, u32::MAX, &gpu);
        assert_eq!(several.cluster, [1, 1]);
        assert!(blocks(&several) <= multiprocessors.max(1), "{size:?}, {multiprocessors}: {several:?}");
        let ragged = Gemm::for_ragged_groups::<bf16>(b, size, u32::MAX, &gpu);
        assert_eq!((ragged.parts, ragged.cluster), (1, [1, 1]));
        let split = SplitKGemm::for_problem::<bf16>(a, b, size, &gpu);
        assert!(split.is_none_or(|split| (2..=16).contains(&split.parts)), "{split:?}");
    }
}

/// Kernels that are among the fastest in measurements on an H100.
#[test]
fn choices_of_the_model() {
    let of = |a, b, size| Gemm::for_problem::<bf16, bf16>(a, b, size, &hopper(132));
    let (row, col) = (MatrixOrder::Row, MatrixOrder::Col);
    // Rows that do not start at cache lines are shared by clusters of four.
    for size in [[256, 2296, 5264], [839, 744, 1248], [1174, 1216, 4936]] {
        assert_eq!(of(row, col, size).cluster, [2, 2], "{size:?}");
    }
    // Few tiles of great depth: 5 rows of the second row of tiles, or one row of tiles.
    let deep = of(row, col, [69, 1024, 8064]);
    assert_eq!((deep.tile, deep.parts), (GemmTile::T64x128, 4));
    assert!(of(row, col, [64, 1216, 4096]).parts > 1);
    // Many tiles.
    let many = of(row, row, [7000; 3]);
    assert_eq!((many.tile, many.cluster), (GemmTile::T128x256, [2, 1]));
    // Rows of 160 elements of B allow only a swizzle of 64 bytes.
    assert_ne!(of(row, row, [775, 7424, 640]).tile, GemmTile::T128x160);
    // A tile in parts would be faster, but ragged groups do not have them.
    let ragged = Gemm::for_ragged_groups::<bf16>(col, [288, 512, 8192], 6, &hopper(132));
    assert_eq!((ragged.tile, ragged.parts), (GemmTile::T64x64, 1));
}
