//! RMSNorm and LayerNorm in all forms.

use super::matrix::{Number, Shape, assembled, check, check_with, mixed, row};
use warpwright::{
    kernels::{Norm, NormFunction, RowTiling},
    prelude::*,
    run::Device,
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;
const EPSILON: f32 = 1e-3;
const FUNCTIONS: [NormFunction; 2] = [NormFunction::Rms, NormFunction::Layer];

/// norm(x) · w + b.
fn reference(function: NormFunction, x: &[f64], w: &[f64], b: &[f64]) -> Vec<f64> {
    let n = x.len() as f64;
    let mean = if function == NormFunction::Layer { x.iter().sum::<f64>() / n } else { 0.0 };
    let squares: f64 = x.iter().map(|x| (x - mean).powi(2)).sum();
    let scale = 1.0 / (squares / n + f64::from(EPSILON)).sqrt();
    x.iter().zip(w).zip(b).map(|((x, w), b)| (x - mean) * scale * w + b).collect()
}

/// An element of x.
type Element<'a> = &'a dyn Fn(usize, usize) -> f64;

fn vector<T: Number>(n: usize, seed: usize) -> (Vec<T>, Vec<f64>) {
    let elements: Vec<T> = (0..n).map(|col| T::of(mixed(seed, col) / 2.0 + 1.0)).collect();
    let numbers = elements.iter().map(|&x| x.number()).collect();
    (elements, numbers)
}

/// norm(x) · w.
fn plain<X, W, Y>(norm: Norm, shape: Shape, ldx: usize, element: Element<'_>)
where
    X: Number + Convert<f32>,
    W: Number + Convert<f32>,
    Y: Number,
    f32: Convert<X> + Convert<Y>,
{
    let kernel = assembled(norm.kernel::<X, W, Y>(TARGET));
    let x = Shape { pitch: ldx, ..shape }.filled::<X>(element);
    let (w, weights) = vector::<W>(shape.n, 1);
    check::<Y>(
        &format!("{}: {shape:?}, ldx {ldx}", kernel.name()),
        shape,
        &|device, y| {
            let (x, w) = (device.upload(&x).expect("room"), device.upload(&w).expect("room"));
            let [m, n, ldy] = shape.numbers();
            let launched = device.launch(&kernel, (&x, ldx as u32, &w, y, ldy, m, n, EPSILON));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| reference(norm.function, &row::<X>(shape.n, i, element), &weights, &vec![0.0; shape.n]),
        1e-6,
    );
}

/// Lengths of rows and distances between rows of x and y.
const SHAPES: [[usize; 4]; 12] = [
    // m, n, ldx, ldy
    [1, 1, 1, 1],
    [37, 8, 8, 16],
    [40, 17, 17, 19],
    [19, 100, 104, 100],
    [5, 777, 778, 779],
    [3, 1024, 1024, 1024],
    [3, 1026, 1026, 1028],
    [2, 5000, 5000, 5008],
    [2, 8190, 8190, 8190],
    [2, 8191, 8191, 8193],
    [2, 16384, 16384, 16384],
    [2, 30000, 30000, 30008],
];

fn chosen(function: NormFunction, bytes: u32, sizes: [usize; 3]) -> Norm {
    Norm::for_rows(function, TARGET, bytes, &sizes.map(|size| size as u32))
}

#[test]
fn bf16_rows() {
    for ([m, n, ldx, ldy], function) in SHAPES.into_iter().zip(FUNCTIONS.into_iter().cycle()) {
        plain::<bf16, bf16, bf16>(
            chosen(function, 2, [n, ldx, ldy]),
            Shape { m, n, pitch: ldy },
            ldx,
            &mixed,
        );
    }
}

#[test]
fn f16_rows_in_f32_with_weights_of_f32() {
    for ([m, n, ldx, ldy], function) in SHAPES.into_iter().zip(FUNCTIONS.into_iter().rev().cycle()) {
        plain::<f16, f32, f32>(chosen(function, 4, [n, ldx, ldy]), Shape { m, n, pitch: ldy }, ldx, &mixed);
    }
}

#[test]
fn rows_in_parts() {
    for function in FUNCTIONS {
        for n in [1200, 1201, 1203] {
            let tiling = RowTiling::for_rows(TARGET, 4, &[n]);
            let tiling = RowTiling { stripes: 1, streamed: true, ..tiling };
            let n = n as usize;
            let shape = Shape { m: 3, n, pitch: n };
            plain::<bf16, bf16, f32>(Norm { tiling, function }, shape, n, &mixed);
        }
    }
}

/// Rows that blocks process in turn, more of them than there are blocks.
#[test]
fn rows_in_turn() {
    for function in FUNCTIONS {
        for (n, ldx) in [(301, 301), (304, 312), (303, 304)] {
            let tiling = RowTiling::for_copied_rows(TARGET, 2, &[n, ldx, n]);
            let tiling = RowTiling { resident: 1, ahead: 2, turns: 4, ..tiling };
            let n = n as usize;
            let shape = Shape { m: 132 * tiling.rows as usize + 7, n, pitch: n };
            plain::<bf16, bf16, bf16>(Norm { tiling, function }, shape, ldx as usize, &mixed);
        }
    }
}

/// Unaligned rows whose weights are arranged in shared memory or in registers, with more rows than blocks; some are loaded in parts.
#[test]
fn unaligned_rows_in_turn() {
    for (function, (n, stripes, ldx)) in FUNCTIONS
        .into_iter()
        .flat_map(|f| [(1001, 4, 1001), (1003, 8, 1003), (1006, 8, 1007)].map(|s| (f, s)))
    {
        let tiling = RowTiling::for_copied_rows(TARGET, 2, &[n, ldx, n]);
        let groups = (n + 7).div_ceil(8);
        let threads = groups.div_ceil(stripes).next_multiple_of(32);
        let tiling = RowTiling { threads, stripes, rows: 1, resident: 1, ahead: 2, turns: 4, ..tiling };
        let n = n as usize;
        let shape = Shape { m: 139, n, pitch: n };
        plain::<bf16, bf16, bf16>(Norm { tiling, function }, shape, ldx as usize, &mixed);
        // Too many weights of f32 for shared memory, and for registers where a thread has more elements.
        plain::<bf16, f32, bf16>(Norm { tiling, function }, shape, ldx as usize, &mixed);
        plain::<f16, f16, f32>(Norm { tiling, function }, shape, ldx as usize, &mixed);
    }
}

/// Unaligned rows in segments, which the blocks of a cluster process: more rows than clusters, and segments without elements.
#[test]
fn rows_in_segments() {
    for function in FUNCTIONS {
        for (cluster, stripes, turns, ahead, n) in
            [(2, 4, 4, 2, 4075), (2, 8, 1, 1, 3001), (4, 2, 16, 2, 1207), (8, 1, 4, 1, 2003)]
        {
            let tiling = RowTiling::for_copied_rows(TARGET, 2, &[n]);
            let tiling =
                RowTiling { threads: 64, rows: 1, cluster, stripes, resident: 1, ahead, turns, ..tiling };
            let shape = Shape { m: 3 * (132 / cluster as usize) / 2, n: n as usize, pitch: n as usize };
            plain::<bf16, bf16, bf16>(Norm { tiling, function }, shape, shape.n, &mixed);
            plain::<bf16, f32, f16>(
                Norm { tiling, function },
                Shape { pitch: shape.n + 3, ..shape },
                shape.n + 1,
                &mixed,
            );
        }
    }
}

/// Segments of rows of f32 with a bias, and of rows that the chosen tilings divide.
#[test]
fn segments_of_f32_and_chosen_segments() {
    for function in FUNCTIONS {
        let tiling = RowTiling::for_copied_rows(TARGET, 4, &[3001]);
        let tiling = RowTiling {
            threads: 64,
            rows: 1,
            cluster: 4,
            stripes: 4,
            resident: 1,
            ahead: 2,
            turns: 4,
            ..tiling
        };
        let shape = Shape { m: 70, n: 3001, pitch: 3001 };
        plain::<f32, f32, f32>(Norm { tiling, function }, shape, shape.n, &mixed);
        plain::<f32, bf16, f32>(Norm { tiling, function }, shape, shape.n + 2, &mixed);
        for (bytes, n) in [(2, 33_001), (2, 33_002), (4, 16_385)] {
            let norm = chosen(function, bytes, [n; 3]);
            assert!(norm.tiling.unaligned && norm.tiling.cluster > 1 && norm.tiling.ahead > 0, "{norm:?}");
            let shape = Shape { m: 3, n, pitch: n };
            match bytes {
                2 => plain::<bf16, bf16, bf16>(norm, shape, n, &mixed),
                _ => plain::<f32, f32, f32>(norm, shape, n, &mixed),
            }
        }
    }
}

/// A mean that is large compared with the deviations from it.
#[test]
fn deviations_of_distant_numbers() {
    for n in [640, 3000] {
        let shape = Shape { m: 3, n, pitch: n };
        let element = |row: usize, col: usize| 1000.0 + mixed(row, col) / 4.0;
        let chosen = chosen(NormFunction::Layer, 4, [n; 3]);
        // Sums of f32 give the mean with an error of about 1e-4, and the deviations are 0.4.
        let kernel = assembled(chosen.kernel::<f32, f32, f32>(TARGET));
        let (x, w) = (shape.filled::<f32>(&element), vec![1.0f32; n]);
        check::<f32>(
            kernel.name(),
            shape,
            &|device, y| {
                let (x, w) = (device.upload(&x).expect("room"), device.upload(&w).expect("room"));
                let [m, n, pitch] = shape.numbers();
                let launched = device.launch(&kernel, (&x, pitch, &w, y, pitch, m, n, EPSILON));
                launched.unwrap_or_else(|error| panic!("{error}"));
            },
            &|i| reference(chosen.function, &row::<f32>(n, i, &element), &vec![1.0; n], &vec![0.0; n]),
            6e-4,
        );
    }
}

/// As in PyTorch: NaN and ±∞ make the mean square, and so the whole row, NaN or 0; other rows are not affected.
#[test]
fn rows_of_special_numbers() {
    for (function, n) in [
        (NormFunction::Rms, 40),
        (NormFunction::Layer, 40),
        (NormFunction::Rms, 3000),
        (NormFunction::Layer, 3000),
    ] {
        let element = |row: usize, col: usize| match (row, col) {
            (0, 3) => f64::NAN,
            (1, 3) => f64::INFINITY,
            (2, 39) => f64::NEG_INFINITY,
            (3, _) => 0.0,
            _ => mixed(row, col),
        };
        let shape = Shape { m: 6, n, pitch: n };
        plain::<bf16, bf16, bf16>(chosen(function, 2, [n; 3]), shape, n, &element);
    }
}

/// h = x + r, norm(h) · w + b.
fn residual(function: NormFunction, biased: bool, [n, ldx, ldr, ldh, ldy]: [usize; 5]) {
    let sizes = [n, ldx, ldr, ldh, ldy].map(|size| size as u32);
    let norm = Norm::for_residual_rows(function, TARGET, 2, &sizes);
    let norms =
        [norm, Norm { tiling: RowTiling { stripes: 1, streamed: true, ahead: 0, ..norm.tiling }, ..norm }];
    let other = |row: usize, col: usize| mixed(row + 100, col);
    let sums = |i: usize| {
        let (x, r) = (row::<bf16>(n, i, &mixed), row::<bf16>(n, i, &other));
        x.iter().zip(r).map(|(x, r)| f64::from(bf16::from_f64(x + r))).collect::<Vec<_>>()
    };
    for norm in norms {
        let shape = Shape { m: 5, n, pitch: ldy };
        let (x, r) = (Shape { pitch: ldx, ..shape }, Shape { pitch: ldr, ..shape });
        let (x, r) = (x.filled::<bf16>(&mixed), r.filled::<bf16>(&other));
        let (w, weights) = vector::<bf16>(n, 1);
        let (b, biases) = vector::<bf16>(n, 2);
        let biases = if biased { biases } else { vec![0.0; n] };
        let plain = assembled(norm.residual_kernel::<bf16, bf16, bf16>(TARGET));
        let with_bias = assembled(norm.residual_biased_kernel::<bf16, bf16, bf16>(TARGET));
        let h = Shape { pitch: ldh, ..shape };
        check_with::<bf16, bf16>(
            &format!("{}, bias {biased}, {:?}", plain.name(), [n, ldx, ldr, ldh, ldy]),
            (shape, h),
            &|device, y, h| {
                let [x, r, w, b] = [&x, &r, &w, &b].map(|x| device.upload(x).expect("room"));
                let [ldx, ldr, ldh, ldy] = [ldx, ldr, ldh, ldy].map(|pitch| pitch as u32);
                let [m, n, _] = shape.numbers();
                let launched = if biased {
                    device.launch(&with_bias, (&x, ldx, &r, ldr, &w, &b, h, ldh, y, ldy, m, n, EPSILON))
                } else {
                    device.launch(&plain, (&x, ldx, &r, ldr, &w, h, ldh, y, ldy, m, n, EPSILON))
                };
                launched.unwrap_or_else(|error| panic!("{error}"));
            },
            &|i| (reference(function, &sums(i), &weights, &biases), sums(i)),
            1e-6,
        );
    }
}

#[test]
fn residual_sums() {
    for function in FUNCTIONS {
        residual(function, false, [256, 256, 264, 256, 272]);
        residual(function, true, [77, 78, 77, 79, 80]);
        residual(function, true, [2048; 5]);
        residual(function, false, [5002, 5002, 5004, 5006, 5002]);
    }
}

#[test]
fn biases() {
    for (function, n) in FUNCTIONS.into_iter().zip([120, 4104]) {
        let norm = chosen(function, 4, [n; 3]);
        let kernel = assembled(norm.biased_kernel::<f32, bf16, f32>(TARGET));
        let shape = Shape { m: 9, n, pitch: n };
        let x = shape.filled::<f32>(&mixed);
        let ((w, weights), (b, biases)) = (vector::<bf16>(n, 1), vector::<bf16>(n, 2));
        check::<f32>(
            kernel.name(),
            shape,
            &|device, y| {
                let x = device.upload(&x).expect("room");
                let [w, b] = [&w, &b].map(|x| device.upload(x).expect("room"));
                let [m, n, pitch] = shape.numbers();
                let launched = device.launch(&kernel, (&x, pitch, &w, &b, y, pitch, m, n, EPSILON));
                launched.unwrap_or_else(|error| panic!("{error}"));
            },
            &|i| reference(function, &row::<f32>(n, i, &mixed), &weights, &biases),
            2e-6,
        );
    }
}
