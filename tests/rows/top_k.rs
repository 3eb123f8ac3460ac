//! The largest elements of rows: values, columns and their order, exactly.

use std::cmp::Ordering;

use super::matrix::{Number, Shape, assembled, check_with, mixed};
use warpwright::{
    kernels::{RowTiling, TopK},
    prelude::*,
    run::{Device, Simulator},
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;

/// An element of x.
type Element<'a> = &'a dyn Fn(usize, usize) -> f64;

/// The largest elements and their columns: NaN first, and of equal elements the lower columns; NaN and −1 past the end.
fn largest(x: &[f64], count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut order: Vec<usize> = (0..x.len()).collect();
    let descending = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (a, b) if a || b => b.cmp(&a),
        _ => b.partial_cmp(&a).expect("both are numbers"),
    };
    // Stable.
    order.sort_by(|&a, &b| descending(x[a], x[b]));
    let selected = (0..count).map(|at| order.get(at).map_or((f64::NAN, -1.0), |&col| (x[col], col as f64)));
    selected.unzip()
}

fn top<X: Number + Convert<f32>>(tiling: RowTiling, [m, n, ldx, count]: [usize; 4], element: Element<'_>)
where
    f32: Convert<X>,
{
    let kernel = assembled(TopK { tiling }.kernel::<X>(TARGET));
    let of_x = Shape { m, n, pitch: ldx };
    let x = of_x.filled::<X>(element);
    let shape = Shape { m, n: count, pitch: count };
    check_with::<X, i32>(
        &format!("{}: {of_x:?}, the largest {count}", kernel.name()),
        (shape, shape),
        &|device, values, indices| {
            let x = device.upload(&x).expect("room");
            let [m, n, ldx, count] = [m, n, ldx, count].map(|size| size as u32);
            let launched = device.launch(&kernel, (&x, ldx, values, indices, m, n, count));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| largest(&super::matrix::row::<X>(n, i, element), count),
        0.0,
    );
}

fn chosen<X: Number + Convert<f32>>(shape @ [_, n, ldx, count]: [usize; 4], element: Element<'_>)
where
    f32: Convert<X>,
{
    let sizes = [n, ldx].map(|size| size as u32);
    let on = |target| TopK::for_rows(target, X::SIZE, &sizes, count as u32);
    assembled(on(Target::SM_80).kernel::<X>(Target::SM_80));
    top::<X>(on(TARGET).tiling, shape, element);
    top::<X>(TopK::for_many_rows(TARGET, X::SIZE, &sizes, count as u32).tiling, shape, element);
}

/// Rows, their lengths and distances, and the number of elements; aligned and not; a warp, a block, several parts.
const SHAPES: [[usize; 4]; 12] = [
    [3, 1, 1, 1],
    [9, 8, 8, 2],
    [6, 17, 19, 17],
    [5, 60, 61, 6],
    [5, 128, 128, 8],
    [3, 777, 778, 32],
    [2, 1024, 1032, 40],
    [2, 1027, 1027, 1],
    [2, 5000, 5000, 64],
    [2, 8191, 8193, 20],
    [1, 30_000, 30_000, 256],
    [1, 30_001, 30_003, 64],
];

#[test]
fn rows_of_each_type() {
    for shape in SHAPES {
        chosen::<bf16>(shape, &mixed);
        chosen::<f32>(shape, &mixed);
    }
    for shape in [[5, 100, 104, 10], [2, 9001, 9001, 50]] {
        chosen::<f16>(shape, &mixed);
    }
    // Numbers of 7 bits, most of which are distinguished by the lowest bits of their mantissas in f32.
    let of_bytes = |row: usize, col: usize| ((row * 7 + col * 37) % 256) as f64 - 128.0;
    for shape in [[3, 200, 208, 10], [2, 3001, 3001, 70]] {
        chosen::<i8>(shape, &of_bytes);
        let sizes = [shape[1], shape[2]].map(|size| size as u32);
        top::<e4m3>(TopK::for_rows(TARGET, 1, &sizes, shape[3] as u32).tiling, shape, &mixed);
    }
}

/// Many equal elements, of which those of lower columns are chosen; −0 is equal to 0.
#[test]
fn equal_elements() {
    let few = |row: usize, col: usize| match row {
        0 => 1.5,
        1 => f64::from(col as u32 % 3),
        2 => {
            if col.is_multiple_of(2) {
                0.0
            } else {
                -0.0
            }
        }
        _ => f64::NEG_INFINITY,
    };
    for (n, count) in [(100, 5), (256, 32), (2000, 64), (9001, 100)] {
        chosen::<f32>([4, n, n, count], &few);
        chosen::<bf16>([4, n, n, count], &few);
    }
}

/// Rows of more elements than slots, all of which are collected.
#[test]
fn rows_in_order() {
    let ordered = |row: usize, col: usize| if row == 0 { col as f64 } else { -(col as f64) };
    for (n, count) in [(200, 30), (1000, 8), (6000, 64), (6001, 200)] {
        chosen::<f32>([2, n, n, count], &ordered);
    }
}

/// NaN is greater than all numbers, whatever its sign, and so is +∞ than all others; −∞ is an element.
#[test]
fn elements_that_are_not_numbers() {
    let element = |row: usize, col: usize| match (row, col) {
        (0, 3 | 200) => f64::NAN,
        (0, 150) => -f64::NAN,
        (1, 2 | 199) => f64::INFINITY,
        (1, 1) => f64::NAN,
        (2, _) => f64::NAN,
        (3, 5..) => f64::NEG_INFINITY,
        (4, _) => f64::NEG_INFINITY,
        _ => mixed(row, col),
    };
    for (n, count) in [(250, 10), (256, 32), (4001, 20), (4000, 100)] {
        chosen::<bf16>([6, n, n, count], &element);
        chosen::<f32>([6, n, n, count], &element);
    }
}

#[test]
fn fewer_elements_than_requested() {
    for [n, count] in [[1, 3], [20, 32], [300, 512], [0, 4]] {
        chosen::<f32>([3, n, n.max(1), count], &mixed);
    }
}

#[test]
fn every_team() {
    let chosen = |n: u32| TopK::for_rows(TARGET, 4, &[n], 1).tiling;
    for n in [601u32, 604] {
        for (threads, rows, stripes) in [(32, 1, 1), (32, 3, 2), (64, 1, 2), (128, 1, 1), (512, 1, 1)] {
            let tiling = RowTiling { threads, rows, stripes, resident: 0, ..chosen(n) };
            top::<f32>(tiling, [4, n as usize, n as usize, 32], &mixed);
        }
    }
}

#[test]
fn other_teams_and_counts_are_rejected() {
    let good = TopK::for_rows(TARGET, 2, &[4096], 64);
    assert_eq!(good.tiling.threads, 256);
    for tiling in [
        RowTiling { stripes: 5, ..good.tiling },
        RowTiling { threads: 16, rows: 2, ..good.tiling },
        RowTiling { cluster: 2, ..good.tiling },
        RowTiling { streamed: false, ..good.tiling },
    ] {
        let error = TopK { tiling }.kernel::<bf16>(TARGET).expect_err("it is rejected").to_string();
        assert!(
            error.contains("expected a warp or a block that reads a row in parts, with up to 32 elements"),
            "{error}"
        );
    }
    let kernel = good.kernel::<bf16>(TARGET).expect("it builds");
    let device = Simulator::new();
    let x = device.upload(&[bf16::ONE; 1024]).expect("room");
    let (mut values, mut indices) = (device.output(300).expect("room"), device.output(300).expect("room"));
    let launched = device.launch(&kernel, (&x, 1024, &mut values, &mut indices, 1, 1024, 257));
    let error = launched.expect_err("more than threads").to_string();
    assert!(error.contains("parameter `count`: expected at most 256, found 257"), "{error}");
}
