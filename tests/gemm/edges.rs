//! Sizes from 0 on, clusters, and orders of tiles.

use super::problem::{Sizes, check, run};
use warpwright::{
    kernels::{Gemm, GemmTile, MatrixOrder},
    prelude::*,
    tiles::Schedule,
};

const COLUMNS: Gemm = Gemm { b: MatrixOrder::Col, ..Gemm::new(GemmTile::T128x128) };

#[test]
fn sizes_from_nothing_to_several_tiles() {
    let kernel = COLUMNS.kernel::<bf16, f32, bf16>().expect("it builds");
    for m in [0, 1, 127, 129] {
        for n in [0, 1, 130, 300] {
            for k in [0, 1, 64, 65, 500] {
                run::<bf16, f32, bf16>(&COLUMNS, &kernel, Sizes { m, n, k, gap: 0 });
            }
        }
    }
}

#[test]
fn clusters_share_tiles() {
    for cluster in [[2, 1], [1, 2], [2, 2], [4, 1], [1, 4]] {
        for (a, b) in [(MatrixOrder::Row, MatrixOrder::Col), (MatrixOrder::Col, MatrixOrder::Row)] {
            let gemm = Gemm { a, b, cluster, ..Gemm::new(GemmTile::T64x128) };
            check::<bf16, f32, bf16>(&gemm, Sizes { m: 330, n: 700, k: 200, gap: 8 });
        }
    }
}

#[test]
fn tiles_in_any_order() {
    for schedule in [Schedule::linear(), Schedule::grouped(2), Schedule::grouped(3)] {
        let gemm = Gemm { schedule, ..COLUMNS };
        check::<bf16, f32, bf16>(&gemm, Sizes { m: 700, n: 600, k: 72, gap: 0 });
    }
}

#[test]
fn blocks_of_a_cluster_divide_the_depth() {
    use GemmTile::{T16x64, T16x128, T64x64, T64x128};
    for (tile, parts) in [(T16x64, 2), (T64x64, 2), (T64x128, 4), (T16x128, 1)] {
        let is_high = tile.size()[0] == 64;
        let clusters = if is_high { &[[1, 1], [2, 1], [1, 2]][..] } else { &[[1, 1], [2, 1]] };
        for &cluster in clusters {
            let gemm = Gemm { parts, cluster, ..Gemm::new(tile) };
            let kernel = gemm.kernel::<bf16, f32, bf16>().expect("it builds");
            // No step, fewer steps than parts, and several rounds of the ring and of the sums.
            for (m, k) in [(70, 0), (1, 60), (600, 700)] {
                run::<bf16, f32, bf16>(&gemm, &kernel, Sizes { m, n: 200, k, gap: 8 });
            }
        }
    }
}

#[test]
fn split_k_products_of_other_types() {
    for (tile, parts) in [(GemmTile::T64x64, 2), (GemmTile::T64x128, 4)] {
        let split = Gemm { parts, b: MatrixOrder::Col, ..Gemm::new(tile) };
        check::<e4m3, f32, bf16>(&split, Sizes { m: 70, n: 200, k: 900, gap: 16 });
        check::<tf32, f32, f32>(&split, Sizes { m: 70, n: 200, k: 300, gap: 16 });
        check::<i8, i32, i32>(&split, Sizes { m: 70, n: 200, k: 900, gap: 16 });
    }
}

#[test]
fn clusters_share_tiles_of_several_warpgroups() {
    for (tile, cluster) in
        [(GemmTile::T256x160, [1, 2]), (GemmTile::T192x192, [2, 1]), (GemmTile::T128x256, [2, 2])]
    {
        let gemm = Gemm { b: MatrixOrder::Col, cluster, ..Gemm::new(tile) };
        check::<bf16, f32, bf16>(&gemm, Sizes { m: 300, n: 270, k: 330, gap: 8 });
    }
}

#[test]
fn results_in_rows_any_distance_apart() {
    let tiles =
        [(GemmTile::T16x64, 2), (GemmTile::T64x128, 4), (GemmTile::T128x192, 1), (GemmTile::T192x192, 1)];
    for (tile, parts) in tiles {
        let gemm = Gemm { parts, any_ldd: true, b: MatrixOrder::Col, ..Gemm::new(tile) };
        check::<bf16, f32, bf16>(&gemm, Sizes { m: 150, n: 201, k: 100, gap: 0 });
    }
    let gemm = Gemm { any_ldd: true, b: MatrixOrder::Col, ..Gemm::new(GemmTile::T64x128) };
    check::<e4m3, f32, bf16>(&gemm, Sizes { m: 70, n: 131, k: 200, gap: 0 });
}
