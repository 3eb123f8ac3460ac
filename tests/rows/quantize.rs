//! Quantization of rows and blocks, alone and after norms and gates.

use super::matrix::{Number, Shape, assembled, check_with, mixed, row};
use warpwright::{
    kernels::{NormFunction, PointwiseFunction, Quantize, Quantized, RowTiling, ScaleGroup},
    prelude::*,
    run::Device,
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;
const EPSILON: f32 = 1e-3;

/// Numbers of different magnitudes; row 1 is 0, and others have NaN and ∞.
fn element(row: usize, col: usize) -> f64 {
    match (row, col) {
        (1, _) => 0.0,
        (3, 5) => f64::NAN,
        (4, 6) => f64::INFINITY,
        _ => mixed(row, col) * (1.0 + (col / 128 % 5) as f64) * 2f64.powi(row as i32 % 7 - 3),
    }
}

fn u(row: usize, col: usize) -> f64 {
    mixed(row + 50, col)
}

fn w(col: usize) -> f64 {
    mixed(7, col)
}

/// Returns the quantized numbers of a row, and their scales.
fn quantized<Q: Quantized>(group: ScaleGroup, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let length = if group == ScaleGroup::Row { x.len() } else { 128 };
    let scale = |x: &[f64]| {
        let larger = |a: f64, b: &f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b.abs()) };
        x.iter().fold(0.0, larger) / f64::from(Q::LARGEST)
    };
    let scales: Vec<f64> = x.chunks(length).map(scale).collect();
    let number = |(i, &x): (usize, &f64)| match scales[i / length] {
        0.0 => 0.0,
        // Only e4m3 has NaN.
        scale if !(x / scale).is_nan() => x / scale,
        _ => {
            if Q::SIZE == 1 && Q::NAME == "e4m3" {
                f64::NAN
            } else {
                0.0
            }
        }
    };
    (x.iter().enumerate().map(number).collect(), scales)
}

/// A kernel's rows, distances and tiling.
#[derive(Clone, Copy)]
struct Case {
    group: ScaleGroup,
    /// The number of rows, their length, and the distances between those of the result and the inputs.
    sizes: [usize; 4],
    tiling: Option<RowTiling>,
}

fn all<X: Number + Convert<f32>, Q: Number + Quantized>(Case { group, sizes, tiling }: Case, absolute: f64)
where
    f32: Convert<X> + Convert<Q>,
{
    let [m, n, out, ld] = sizes;
    let chosen = Quantize::for_rows(group, TARGET, X::SIZE, &[n, out, ld].map(|size| size as u32));
    let kernels = Quantize { tiling: tiling.unwrap_or(chosen.tiling), ..chosen };
    let shape = Shape { m, n, pitch: out };
    let groups = if group == ScaleGroup::Row { 1 } else { n.div_ceil(128) };
    let scales = Shape { m, n: groups, pitch: groups };
    let input = Shape { pitch: ld, ..shape };
    // NaN and ∞ make rows of norms and gates NaN.
    let finite =
        |row: usize, col: usize| if row == 3 || row == 4 { mixed(row, col) } else { element(row, col) };
    let (xs, finites) = (input.filled::<X>(&element), input.filled::<X>(&finite));
    let us = input.filled::<X>(&u);
    let ws: Vec<X> = (0..n).map(|col| X::of(w(col))).collect();
    let ([rows, cols, out], [_, _, lds], ld) = (shape.numbers(), scales.numbers(), ld as u32);

    let kernel = assembled(kernels.kernel::<X, Q>(TARGET));
    check_with::<Q, f32>(
        &format!("{}: {shape:?}", kernel.name()),
        (shape, scales),
        &|device, q, s| {
            let x = device.upload(&xs).expect("room");
            let launched = device.launch(&kernel, (&x, ld, q, out, s, lds, rows, cols));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| quantized::<Q>(group, &row::<X>(n, i, &element)),
        absolute,
    );
    let kernel = assembled(kernels.gated_kernel::<X, Q>(PointwiseFunction::Silu, TARGET));
    check_with::<Q, f32>(
        &format!("{}: {shape:?}", kernel.name()),
        (shape, scales),
        &|device, q, s| {
            let (x, u) = (device.upload(&finites).expect("room"), device.upload(&us).expect("room"));
            let launched = device.launch(&kernel, (&x, ld, &u, ld, q, out, s, lds, rows, cols));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| {
            let (x, u) = (row::<X>(n, i, &finite), row::<X>(n, i, &u));
            let y: Vec<f64> = x.iter().zip(&u).map(|(x, u)| x / (1.0 + (-x).exp()) * u).collect();
            quantized::<Q>(group, &y)
        },
        absolute,
    );
    let chosen = Quantize::for_norm_rows(
        group,
        TARGET,
        X::SIZE,
        &[n, out as usize, ld as usize].map(|size| size as u32),
    );
    let kernels = Quantize { tiling: tiling.unwrap_or(chosen.tiling), ..chosen };
    let kernel = assembled(kernels.norm_kernel::<X, X, Q>(NormFunction::Rms, TARGET));
    check_with::<Q, f32>(
        &format!("{}: {shape:?}", kernel.name()),
        (shape, scales),
        &|device, q, s| {
            let (x, w) = (device.upload(&finites).expect("room"), device.upload(&ws).expect("room"));
            let launched = device.launch(&kernel, (&x, ld, &w, q, out, s, lds, rows, cols, EPSILON));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| {
            let x = row::<X>(n, i, &finite);
            let squares: f64 = x.iter().map(|x| x * x).sum();
            let scale = 1.0 / (squares / n as f64 + f64::from(EPSILON)).sqrt();
            let y: Vec<f64> = x.iter().zip(&ws).map(|(x, &w)| x * scale * w.number()).collect();
            quantized::<Q>(group, &y)
        },
        absolute,
    );
}

/// Half of the distance between the smallest numbers of e4m3, and of i8, and the error of the computation in f32.
const OF_E4M3: f64 = 0.00098;
const OF_I8: f64 = 0.5003;

#[test]
fn of_rows() {
    let group = ScaleGroup::Row;
    for sizes in [[37, 64, 64, 72], [5, 100, 101, 103], [5, 3001, 3004, 3001], [2, 8192, 8200, 8192]] {
        all::<bf16, e4m3>(Case { group, sizes, tiling: None }, OF_E4M3);
    }
    all::<f32, i8>(Case { group, sizes: [6, 1000, 1004, 1000], tiling: None }, OF_I8);
    let tiling = RowTiling { stripes: 1, streamed: true, ..RowTiling::for_rows(TARGET, 4, &[1000]) };
    all::<f32, i8>(Case { group, sizes: [6, 5000, 5000, 5000], tiling: Some(tiling) }, OF_I8);
}

/// Rows in the registers of a block or of a cluster, with each number of groups per thread.
#[test]
fn of_long_rows() {
    let group = ScaleGroup::Row;
    for n in [4097, 8191, 12_296, 20_000, 24_584, 40_960] {
        all::<bf16, e4m3>(Case { group, sizes: [2, n, n, n + 8], tiling: None }, OF_E4M3);
    }
    for n in [2501, 6148, 10_244, 14_340, 16_388, 20_484, 32_772] {
        all::<f32, i8>(Case { group, sizes: [2, n, n, n + 4], tiling: None }, OF_I8);
    }
}

#[test]
fn of_blocks() {
    let group = ScaleGroup::Block;
    for sizes in [[37, 128, 128, 136], [19, 1000, 1008, 1000], [5, 1001, 1003, 1001], [6, 7, 7, 9]] {
        all::<bf16, e4m3>(Case { group, sizes, tiling: None }, OF_E4M3);
        all::<f32, i8>(Case { group, sizes, tiling: None }, OF_I8);
    }
}

/// Blocks whose threads are adjacent in longer rows, which are in registers, in shared memory, or read in parts.
#[test]
fn of_blocks_of_long_rows() {
    let group = ScaleGroup::Block;
    for n in [1032, 2048, 4096, 8192, 16384] {
        all::<bf16, e4m3>(Case { group, sizes: [5, n, n, n + 16], tiling: None }, OF_E4M3);
        let copied = Quantize::for_norm_rows(group, TARGET, 2, &[n as u32, n as u32, 16]).tiling;
        let tiling = Some(RowTiling { streamed: true, ahead: 0, ..copied });
        all::<bf16, i8>(Case { group, sizes: [5, n, n, n], tiling }, OF_I8);
    }
    all::<f32, e4m3>(Case { group, sizes: [5, 2052, 2052, 2056], tiling: None }, OF_E4M3);
}

/// Tilings in which other numbers of threads process a block.
#[test]
fn other_tilings_are_rejected() {
    for n in [64, 4001] {
        let tiling = RowTiling::for_rows(TARGET, 2, &[n]);
        let kernel = Quantize { tiling, group: ScaleGroup::Block }.kernel::<bf16, e4m3>(TARGET);
        let error = kernel.expect_err("blocks without threads").to_string();
        assert!(error.contains("in which up to 32 adjacent threads process 128 elements"), "{error}");
    }
}
