//! Dropout, alone and in a residual sum before a norm: the elements that are kept, for every tiling and any position in a row.

use super::matrix::{Number, Shape, assembled, check, check_with, mixed, row};
use crate::philox::philox;
use warpwright::{
    kernels::{Dropout, Norm, NormFunction, RowTiling},
    prelude::*,
    run::Device,
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;
const SEED: u64 = 0x0123_4567_89ab_cdef;
const OFFSET: u64 = 0xfedc_ba98_0000_0007;
const EPSILON: f32 = 1e-3;

/// The element with dropout.
fn dropped(x: f64, row: usize, col: usize, p: f32) -> f64 {
    let counter = [row as u32, col as u32 / 4, OFFSET as u32, (OFFSET >> 32) as u32];
    let word = philox(counter, [SEED as u32, (SEED >> 32) as u32])[col % 4];
    let is_kept = f64::from(word >> 8) >= f64::from(p) * f64::from(1 << 24);
    if is_kept { x * f64::from(1.0 / (1.0 - p)) } else { 0.0 }
}

/// Lengths of rows and distances between rows of x and y, aligned and not; a warp, a block, and parts.
const SHAPES: [[usize; 4]; 9] = [
    [3, 1, 1, 1],
    [37, 8, 8, 16],
    [40, 17, 17, 19],
    [19, 100, 104, 100],
    [5, 777, 778, 779],
    [3, 1024, 1024, 1024],
    [3, 1027, 1028, 1029],
    [2, 8191, 8191, 8193],
    [2, 30000, 30000, 30008],
];

fn alone<X, Y>(tiling: RowTiling, [m, n, ldx, ldy]: [usize; 4], p: f32)
where
    X: Number + Convert<f32>,
    Y: Number,
    f32: Convert<Y>,
{
    let kernel = assembled(Dropout { tiling }.kernel::<X, Y>(TARGET));
    let shape = Shape { m, n, pitch: ldy };
    let x = Shape { pitch: ldx, ..shape }.filled::<X>(&mixed);
    check::<Y>(
        &format!("{}: {shape:?}, ldx {ldx}, p {p}", kernel.name()),
        shape,
        &|device, y| {
            let x = device.upload(&x).expect("room");
            let [m, n, ldy] = shape.numbers();
            let launched = device.launch(&kernel, (&x, ldx as u32, y, ldy, m, n, p, SEED, OFFSET));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| {
            let x = row::<X>(n, i, &mixed);
            x.iter().enumerate().map(|(col, &x)| dropped(x, i, col, p)).collect()
        },
        0.0,
    );
}

#[test]
fn elements_are_kept_by_row_and_column() {
    for (shape @ [_, n, ldx, ldy], p) in SHAPES.into_iter().zip([0.1, 0.5, 0.25, 0.9].into_iter().cycle()) {
        let sizes = [n, ldx, ldy].map(|size| size as u32);
        alone::<bf16, bf16>(Dropout::for_rows(TARGET, 2, &sizes).tiling, shape, p);
        alone::<f32, bf16>(Dropout::for_rows(TARGET, 4, &sizes).tiling, shape, p);
    }
}

/// The mask does not depend on how rows are divided.
#[test]
fn every_tiling_keeps_the_same_elements() {
    let shape = [5, 60, 61, 63];
    for (threads, rows, adjacent) in [(4, 8, 8), (8, 4, 2), (16, 2, 1), (32, 1, 4)] {
        let tiling =
            RowTiling { threads, rows, adjacent, stripes: 2, ..RowTiling::for_rows(TARGET, 4, &[61]) };
        if adjacent > 1 {
            alone::<f32, f32>(RowTiling { unaligned: true, streamed: true, ..tiling }, shape, 0.3);
        } else {
            alone::<f32, f32>(RowTiling { unaligned: false, streamed: true, ..tiling }, shape, 0.3);
        }
    }
}

/// Probabilities 0 and 1 keep and drop all elements, including NaN and ∞.
#[test]
fn probabilities_of_0_and_1() {
    let tiling = Dropout::for_rows(TARGET, 4, &[100]).tiling;
    alone::<f32, f32>(tiling, [2, 100, 100, 100], 0.0);
    let kernel = assembled(Dropout { tiling }.kernel::<f32, f32>(TARGET));
    let shape = Shape { m: 2, n: 100, pitch: 100 };
    let x = shape.filled::<f32>(&|row, _| if row == 0 { f64::NAN } else { f64::INFINITY });
    check::<f32>(
        "all dropped",
        shape,
        &|device, y| {
            let x = device.upload(&x).expect("room");
            let launched = device.launch(&kernel, (&x, 100, y, 100, 2, 100, 1.0f32, SEED, OFFSET));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|_| vec![0.0; 100],
        0.0,
    );
}

fn in_a_sum<T, Y>(function: NormFunction, [m, n, ldx, ldy]: [usize; 4], p: f32)
where
    T: Number + Convert<f32>,
    Y: Number,
    f32: Convert<T> + Convert<Y>,
{
    let sizes = [n, ldx, ldy].map(|size| size as u32);
    let norm = Norm::for_dropout_rows(function, TARGET, T::SIZE.max(Y::SIZE), &sizes);
    let kernel = assembled(norm.dropout_kernel::<T, T, Y>(TARGET));
    let shape = Shape { m, n, pitch: ldy };
    let of_x = Shape { pitch: ldx, ..shape };
    let residual = |row: usize, col: usize| mixed(row + 100, col);
    let (x, r) = (of_x.filled::<T>(&mixed), shape.filled::<T>(&residual));
    let vector = |seed: usize| -> Vec<T> { (0..n).map(|col| T::of(mixed(seed, col) / 2.0 + 1.0)).collect() };
    let (w, b) = (vector(1), vector(2));
    check_with::<Y, T>(
        &format!("{}: {shape:?}, ldx {ldx}, p {p}", kernel.name()),
        (shape, shape),
        &|device, y, h| {
            let [x, r, w, b] = [&x, &r, &w, &b].map(|elements| device.upload(elements).expect("room"));
            let [m, n, ldy] = shape.numbers();
            let ldx = ldx as u32;
            let arguments = (&x, ldx, &r, ldy, &w, &b, h, ldy, y, ldy, m, n, EPSILON, p, SEED, OFFSET);
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| {
            let (x, r) = (row::<T>(n, i, &mixed), row::<T>(n, i, &residual));
            let sum = |(col, (&x, &r)): (usize, (&f64, &f64))| T::of(dropped(x, i, col, p) + r).number();
            let h: Vec<f64> = x.iter().zip(&r).enumerate().map(sum).collect();
            let mean = if function == NormFunction::Layer { h.iter().sum::<f64>() / n as f64 } else { 0.0 };
            let square = h.iter().map(|h| (h - mean).powi(2)).sum::<f64>() / n as f64;
            let scale = 1.0 / (square + f64::from(EPSILON)).sqrt();
            let of = |(h, (w, b)): (&f64, (&T, &T))| (h - mean) * scale * w.number() + b.number();
            (h.iter().zip(w.iter().zip(&b)).map(of).collect(), h)
        },
        2e-5,
    );
}

#[test]
fn sums_with_dropout_are_stored_and_normalized() {
    for (shape, function) in
        SHAPES.into_iter().zip([NormFunction::Rms, NormFunction::Layer].into_iter().cycle())
    {
        in_a_sum::<f32, f32>(function, shape, 0.25);
    }
    for shape in [[9, 96, 96, 104], [3, 333, 335, 337]] {
        in_a_sum::<bf16, f32>(NormFunction::Layer, shape, 0.5);
    }
}

/// Rows for which norms with dropout have their own tilings.
#[test]
fn sums_of_long_rows_with_dropout() {
    for n in [12_288, 24_576, 32_768] {
        in_a_sum::<bf16, f32>(NormFunction::Layer, [2, n, n, n + 8], 0.5);
    }
    // In clusters, blocks process segments of odd rows.
    for n in [4097, 16_385, 24_001] {
        in_a_sum::<bf16, bf16>(NormFunction::Layer, [11, n, n, n], 0.5);
    }
    for n in [4097, 8191, 8192, 12_288, 16_384, 32_768] {
        in_a_sum::<f32, f32>(NormFunction::Layer, [2, n, n, n + 4], 0.25);
    }
}
