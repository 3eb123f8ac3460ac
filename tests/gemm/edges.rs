//! Sizes down to nothing, clusters, and orders of tiles.

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
