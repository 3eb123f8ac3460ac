//! Reductions of rows and columns.

use super::matrix::{Number, Shape, assembled, check, mixed, row};
use warpwright::{
    kernels::{ColumnReduction, Reduction, RowReduction},
    prelude::*,
    run::{Device, Simulator},
    sim::Arch,
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;

const FUNCTIONS: [Reduction; 5] =
    [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min, Reduction::Norm];

fn reference(function: Reduction, x: &[f64]) -> f64 {
    let chosen = |is_better: fn(f64, f64) -> bool| {
        let better = |a: f64, b: f64| if a.is_nan() || !b.is_nan() && is_better(a, b) { a } else { b };
        x.iter().copied().reduce(better).expect("elements")
    };
    match function {
        Reduction::Sum => x.iter().sum(),
        Reduction::Mean => x.iter().sum::<f64>() / x.len() as f64,
        Reduction::Max => chosen(|a, b| a > b),
        Reduction::Min => chosen(|a, b| a < b),
        Reduction::Norm => x.iter().map(|x| x * x).sum::<f64>().sqrt(),
    }
}

/// Numbers, with NaN and ±∞ in rows 1 and 2 and in columns 3 and 4.
fn element(row: usize, col: usize) -> f64 {
    match (row, col) {
        (1, 3) => f64::NAN,
        (2, 4) => f64::INFINITY,
        _ => mixed(row, col),
    }
}

/// The same, with all numbers of every third row negative, and of others positive.
fn shifted(row: usize, col: usize) -> f64 {
    element(row, col) + 10.0 * ((row % 3) as f64 - 1.0)
}

/// The number of rows, their length, and the distance between them.
const SHAPES: [[usize; 3]; 5] =
    [[40, 8, 8], [21, 100, 101], [9, 1024, 1032], [5, 3001, 3001], [3, 40_000, 40_000]];

#[test]
fn rows() {
    for (i, [m, n, ld]) in SHAPES.into_iter().enumerate() {
        for function in [FUNCTIONS[i], FUNCTIONS[(i + 2) % 5]] {
            let sizes = [n as u32, ld as u32];
            let kernel =
                assembled(RowReduction::for_rows(function, TARGET, 2, &sizes).kernel::<bf16>(TARGET));
            let shape = Shape { m, n, pitch: ld };
            let x = shape.filled::<bf16>(&shifted);
            check::<f32>(
                &format!("{}: {shape:?}", kernel.name()),
                Shape { m: 1, n: m, pitch: m },
                &|device, y| {
                    let x = device.upload(&x).expect("room");
                    let [m, n, ld] = shape.numbers();
                    let launched = device.launch(&kernel, (&x, ld, y, m, n));
                    launched.unwrap_or_else(|error| panic!("{error}"));
                },
                &|_| (0..m).map(|i| reference(function, &row::<bf16>(n, i, &shifted))).collect(),
                1e-6 * n as f64,
            );
        }
    }
}

/// Compares reductions of columns in parts with the reference. `element` returns the elements of the matrix.
fn columns_of<T>(
    function: Reduction,
    [m, n, ld]: [usize; 3],
    parts: usize,
    element: &dyn Fn(usize, usize) -> f64,
    absolute: f64,
) where
    T: Number + Convert<f32>,
{
    let kernels = ColumnReduction::for_rows(function, TARGET, T::SIZE, &[n as u32, ld as u32]);
    let kernel = assembled(kernels.kernel::<T>(TARGET));
    let shape = Shape { m, n, pitch: ld };
    let x = shape.filled::<T>(element);
    check::<f32>(
        &format!("{}: {shape:?}, {parts} parts", kernel.name()),
        Shape { m: parts, ..shape },
        &|device, y| {
            let x = device.upload(&x).expect("room");
            let [m, n, ld] = shape.numbers();
            let launched = device.launch(&kernel, (&x, ld, y, ld, parts as u32, m, n));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|part| {
            let rows: Vec<_> = (part..m).step_by(parts).map(|i| row::<T>(n, i, element)).collect();
            let column = |col: usize| rows.iter().map(|row| row[col]).collect::<Vec<_>>();
            (0..n).map(|col| reference(function, &column(col))).collect()
        },
        absolute,
    );
}

#[test]
fn columns() {
    for (i, size) in SHAPES.into_iter().enumerate() {
        for (function, parts) in [(FUNCTIONS[i], 1), (FUNCTIONS[(i + 1) % 5], 3)] {
            columns_of::<f32>(function, size, parts, &element, 1e-5);
        }
    }
}

/// Each set of threads of a block has several rows. The rows of a part begin at the same distance from an aligned element, or they do not.
#[test]
fn columns_of_tall_matrices() {
    for size in
        [[700, 37, 37], [700, 277, 279], [700, 64, 64], [300, 801, 803], [300, 801, 808], [300, 800, 803]]
    {
        for parts in [1, 3, 8] {
            columns_of::<f32>(Reduction::Sum, size, parts, &mixed, 2e-4);
            columns_of::<bf16>(Reduction::Sum, size, parts, &mixed, 2e-4);
        }
    }
}

/// Parts of parts are the whole.
#[test]
fn columns_of_parts() {
    let (m, n, parts) = (100, 33, 7);
    let kernels = ColumnReduction::for_rows(Reduction::Sum, TARGET, 4, &[n]);
    let kernel = assembled(kernels.kernel::<f32>(TARGET));
    let shape = Shape { m, n: n as usize, pitch: n as usize };
    let x = shape.filled::<f32>(&mixed);
    check::<f32>(
        kernel.name(),
        Shape { m: 1, ..shape },
        &|device, y| {
            let x = device.upload(&x).expect("room");
            let mut sums = device.output::<f32>(parts * n as usize).expect("room");
            let launched = device.launch(&kernel, (&x, n, &mut sums, n, parts as u32, m as u32, n));
            launched.unwrap_or_else(|error| panic!("{error}"));
            let launched = device.launch(&kernel, (&sums, n, y, n, 1, parts as u32, n));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|_| {
            let rows: Vec<_> = (0..m).map(|i| row::<f32>(n as usize, i, &mixed)).collect();
            (0..n as usize).map(|col| rows.iter().map(|row| row[col]).sum()).collect()
        },
        2e-5,
    );
}

/// Maxima and minima are NaN if an element is, also without the instructions for this.
#[test]
fn maxima_on_older_targets() {
    let shape = Shape { m: 21, n: 100, pitch: 101 };
    let x = shape.filled::<bf16>(&shifted);
    let device = Simulator::new().arch(Arch::Sm75);
    for function in [Reduction::Max, Reduction::Min] {
        let kernel =
            RowReduction::for_rows(function, Target::SM_75, 2, &[100, 101]).kernel::<bf16>(Target::SM_75);
        let kernel = assembled(kernel);
        let x_on = device.upload(&x).expect("room");
        let mut y = device.output::<f32>(21).expect("room");
        device.launch(&kernel, (&x_on, 101, &mut y, 21, 100)).expect("launched");
        for (found, row) in device.download(&y).expect("copied").into_iter().zip(x.chunks(101)) {
            let row: Vec<f64> = row[..100].iter().map(|x| x.to_f64()).collect();
            let expected = reference(function, &row);
            assert!(
                f64::from(found) == expected || found.is_nan() && expected.is_nan(),
                "{found}, {expected}"
            );
        }
    }
}
