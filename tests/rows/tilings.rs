//! Tilings: every way to divide rows, the longest rows, and those that are rejected.

use super::matrix::{Shape, assembled, check, mixed};
use warpwright::{
    kernels::{RowTiling, Softmax},
    prelude::*,
    run::Device,
};

const TARGET: Target = Target::SM_90A;

/// Softmax with a tiling, of rows of `n` elements.
fn run(tiling: RowTiling, m: usize, n: usize) {
    let kernel = assembled(Softmax { tiling, log: false }.kernel::<f32, f32>(TARGET));
    let shape = Shape { m, n, pitch: n };
    let x = shape.filled::<f32>(&mixed);
    check::<f32>(
        &format!("{tiling:?}, rows of {n}"),
        shape,
        &|device, y| {
            let x = device.upload(&x).expect("room");
            let [m, n, pitch] = shape.numbers();
            let launched = device.launch(&kernel, (&x, pitch, y, pitch, m, n, 1.0f32));
            launched.unwrap_or_else(|error| panic!("{tiling:?}: {error}"));
        },
        &|row| {
            let row: Vec<f64> = (0..n).map(|col| f64::from(mixed(row, col) as f32).exp()).collect();
            let sum: f64 = row.iter().sum();
            row.iter().map(|x| x / sum).collect()
        },
        0.0,
    );
}

#[test]
fn parts_of_warps_blocks_and_clusters() {
    let tiling =
        RowTiling { threads: 32, rows: 1, cluster: 1, adjacent: 4, stripes: 2, streamed: false, resident: 0 };
    for (threads, rows) in [(1, 32), (2, 48), (4, 8), (8, 12), (16, 2), (32, 1), (32, 4)] {
        let tiling = RowTiling { threads, rows, ..tiling };
        run(tiling, 50, tiling.capacity() as usize);
        run(RowTiling { streamed: true, ..tiling }, 3, 4 * tiling.capacity() as usize - 4);
    }
    for (threads, cluster) in [(64, 1), (96, 2), (1024, 1), (128, 4), (64, 8), (32, 2), (512, 8)] {
        let tiling = RowTiling { threads, cluster, stripes: 1, ..tiling };
        run(tiling, 3, tiling.capacity() as usize - 4);
        run(RowTiling { streamed: true, ..tiling }, 2, 2 * tiling.capacity() as usize + 12);
    }
}

#[test]
fn long_rows() {
    for n in [100_000, 131_072, 140_000] {
        run(RowTiling::for_rows(TARGET, n, 4), 2, n as usize);
    }
}

#[test]
fn chosen_tilings_have_the_length() {
    for target in [Target::SM_80, TARGET] {
        for adjacent in [1, 2, 4, 8] {
            for n in
                (1..300).chain([511, 512, 513, 1024, 1025, 4097, 8192, 16384, 16385, 32768, 65_536, 131_072])
            {
                let n = n * adjacent;
                let tiling = RowTiling::for_rows(target, n, adjacent);
                assert!(tiling.streamed || tiling.capacity() >= n, "{n}: {tiling:?}");
                assert!(tiling.stripes * adjacent <= 32, "{n}: {tiling:?}");
            }
        }
    }
    assert!(RowTiling::for_rows(Target::SM_80, 40_000, 8).streamed);
    assert!(!RowTiling::for_rows(TARGET, 131_072, 8).streamed);
}

#[test]
fn adjacent_elements_divide_all_sizes() {
    assert_eq!(RowTiling::adjacent(2, &[4096, 4104, 8]), 8);
    assert_eq!(RowTiling::adjacent(4, &[4096, 4104, 8]), 4);
    assert_eq!(RowTiling::adjacent(1, &[4096, 48]), 16);
    assert_eq!(RowTiling::adjacent(2, &[4096, 4102]), 2);
    assert_eq!(RowTiling::adjacent(4, &[77]), 1);
}

#[test]
fn other_tilings_are_rejected() {
    let good = RowTiling::for_rows(TARGET, 512, 8);
    let rejected = |tiling: RowTiling, expected: &str| {
        let found = Softmax { tiling, log: false }.kernel::<bf16, bf16>(TARGET).expect_err("it is rejected");
        assert!(found.to_string().contains(expected), "{found}");
    };
    rejected(RowTiling { threads: 24, ..good }, "found 24 threads for each of 8 rows in clusters of 1");
    rejected(RowTiling { threads: 64, ..good }, "found 64 threads for each of 8 rows");
    rejected(
        RowTiling { cluster: 2, threads: 64, rows: 1, adjacent: 3, ..good },
        "expected 1, 2, 4, 8 or 16 adjacent elements, found 3",
    );
    rejected(RowTiling { cluster: 3, rows: 1, ..good }, "found 3");
    rejected(
        RowTiling { stripes: 0, ..good },
        "expected stripes of up to 65536 elements, found 0 of 32 times 8",
    );
}

#[test]
fn longer_rows_are_rejected() {
    let kernel = Softmax::for_rows(TARGET, 512, 8).kernel::<bf16, bf16>(TARGET).expect("it builds");
    let device = warpwright::run::Simulator::new();
    let x = device.upload(&[bf16::ZERO; 1040]).expect("room");
    let mut y = device.output::<bf16>(1040).expect("room");
    let mut launch = |n: u32| {
        device.launch(&kernel, (&x, n, &mut y, n, 2, n, 1.0)).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(launch(512), Ok(()));
    let found = launch(520).expect_err("it is too long");
    assert!(found.contains("parameter `n`: expected at most 512, found 520"), "{found}");
    let found = launch(510).expect_err("8 does not divide it");
    assert!(found.contains("expected a multiple of 8, found 510"), "{found}");
}
