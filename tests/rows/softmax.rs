//! Softmax in all types and masks.

use super::matrix::{Number, Shape, assembled, check, mixed, row};
use warpwright::{
    kernels::{RowTiling, Softmax},
    prelude::*,
    run::Device,
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;

/// Softmax of the first `visible` elements of a row of `n`.
fn reference(x: &[f64], scale: f64, visible: usize, log: bool) -> Vec<f64> {
    let max = x[..visible].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = x[..visible].iter().map(|x| ((x - max) * scale).exp()).sum();
    let masked = if log { f64::NEG_INFINITY } else { 0.0 };
    let one = |(col, x): (usize, &f64)| match (col < visible, log) {
        (false, _) => masked,
        (true, false) => ((x - max) * scale).exp() / sum,
        (true, true) => (x - max) * scale - sum.ln(),
    };
    x.iter().enumerate().map(one).collect()
}

/// An element of x.
type Element<'a> = &'a dyn Fn(usize, usize) -> f64;

fn softmax<X: Number + Convert<f32>, Y: Number>(
    softmax: Softmax,
    shape: Shape,
    ldx: usize,
    element: Element<'_>,
) where
    f32: Convert<Y>,
{
    let kernel = assembled(softmax.kernel::<X, Y>(TARGET));
    let what = format!("{}: {shape:?}, ldx {ldx}", kernel.name());
    let x = Shape { pitch: ldx, ..shape };
    let (elements, scale) = (x.filled::<X>(element), 0.75f32);
    check::<Y>(
        &what,
        shape,
        &|device, y| {
            let x = device.upload(&elements).expect("room");
            let [m, n, ldy] = shape.numbers();
            let launched = device.launch(&kernel, (&x, ldx as u32, y, ldy, m, n, scale));
            launched.unwrap_or_else(|error| panic!("{what}: {error}"));
        },
        &|i| reference(&row::<X>(shape.n, i, element), scale.into(), shape.n, softmax.log),
        if softmax.log { 2e-6 } else { 1e-8 },
    );
}

/// Lengths of rows and distances between rows of x and y.
const SHAPES: [[usize; 4]; 12] = [
    // m, n, ldx, ldy
    [1, 1, 1, 1],
    [37, 8, 8, 16],
    [40, 17, 17, 19],
    [19, 100, 104, 100],
    [9, 500, 500, 500],
    [5, 777, 778, 779],
    [3, 1024, 1024, 1024],
    [3, 1025, 1026, 1025],
    [2, 4096, 4096, 4104],
    [2, 5001, 5001, 5003],
    [2, 16384, 16384, 16384],
    [2, 30000, 30000, 30008],
];

fn shapes<X: Number + Convert<f32>, Y: Number>(log: bool)
where
    f32: Convert<Y>,
{
    for [m, n, ldx, ldy] in SHAPES {
        let bytes = X::SIZE.max(Y::SIZE);
        let sizes = [n, ldx, ldy].map(|size| size as u32);
        let kernel = Softmax { log, ..Softmax::for_rows(TARGET, bytes, &sizes) };
        softmax::<X, Y>(kernel, Shape { m, n, pitch: ldy }, ldx, &mixed);
    }
}

#[test]
fn bf16_rows() {
    shapes::<bf16, bf16>(false);
}

#[test]
fn f32_rows() {
    shapes::<f32, f32>(false);
}

#[test]
fn logarithms_of_f16_in_bf16() {
    shapes::<f16, bf16>(true);
}

/// As in PyTorch, NaN, +∞, or only −∞ make a row NaN, regardless of their positions; other rows are not affected.
#[test]
fn rows_of_special_numbers() {
    let element = |row: usize, col: usize| match (row % 8, col) {
        (0, 3) | (1, 200) => f64::NAN,
        (2, 3) | (3, 200) => f64::INFINITY,
        (4, _) => f64::NEG_INFINITY,
        (5, 7..) => f64::NEG_INFINITY,
        (6, _) => 6e4 * mixed(row, col),
        _ => mixed(row, col),
    };
    for log in [false, true] {
        for (n, threads) in [(250, 16), (256, 16), (3998, 256), (4000, 512)] {
            let chosen = Softmax { log, ..Softmax::for_rows(TARGET, 4, &[n]) };
            assert_eq!(chosen.tiling.threads, threads);
            let shape = Shape { m: 11, n: n as usize, pitch: n as usize };
            softmax::<bf16, f32>(chosen, shape, n as usize, &element);
            let streamed = RowTiling { stripes: 1, streamed: true, ahead: 0, ..chosen.tiling };
            softmax::<bf16, f32>(Softmax { tiling: streamed, log }, shape, n as usize, &element);
        }
    }
}

#[test]
fn causal_masks() {
    let (queries, n) = (9, 70);
    for (first, log) in [(1, false), (n as i32 + 1 - queries, true), (-3, false), (-3, true)] {
        let softmax = Softmax { log, ..Softmax::for_rows(TARGET, 4, &[n as u32]) };
        let kernel = assembled(softmax.causal_kernel::<bf16, f32>(TARGET));
        let shape = Shape { m: 20, n, pitch: n + 2 };
        let x = shape.filled::<bf16>(&mixed);
        check::<f32>(
            &format!("{}, first {first}", kernel.name()),
            shape,
            &|device, y| {
                let x = device.upload(&x).expect("room");
                let [m, n, pitch] = shape.numbers();
                let arguments = (&x, pitch, y, pitch, m, n, 1.5f32, queries as u32, first);
                device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{error}"));
            },
            &|i| {
                let visible = (i as i32 % queries + first).clamp(0, n as i32);
                reference(&row::<bf16>(n, i, &mixed), 1.5, visible as usize, log)
            },
            if log { 2e-6 } else { 1e-8 },
        );
    }
}

#[test]
fn masks_of_lengths() {
    // The last row has no length, and therefore sees no columns. Some lengths end in the first of several parts.
    let (rows, lengths) = (2, [1777, 3000, 5, 0]);
    let streamed = |tiling| RowTiling { streamed: true, stripes: 1, ahead: 0, ..tiling };
    let in_registers = |n, divisor| Softmax::for_masked_rows(TARGET, 2, &[n, divisor]).tiling;
    let aligned = in_registers(3000, 8);
    let unaligned = in_registers(3000, 1);
    for (n, tiling) in [
        (3000, aligned),
        (3000, streamed(aligned)),
        (2997, unaligned),
        (2999, streamed(unaligned)),
        (9003, RowTiling::for_copied_rows(TARGET, 2, &[9003])),
    ] {
        let kernel = assembled(Softmax { tiling, log: false }.lengths_kernel::<f16, f16>(TARGET));
        let shape = Shape { m: 7, n, pitch: n };
        let x = shape.filled::<f16>(&mixed);
        check::<f16>(
            kernel.name(),
            shape,
            &|device, y| {
                let (x, lengths) =
                    (device.upload(&x).expect("room"), device.upload(&lengths[..3]).expect("room"));
                let [m, n, pitch] = shape.numbers();
                let arguments = (&x, pitch, y, pitch, m, n, 1.0f32, &lengths, 3, rows);
                device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{error}"));
            },
            &|i| reference(&row::<f16>(n, i, &mixed), 1.0, n.min(lengths[i / rows as usize] as usize), false),
            4e-8,
        );
    }
}
