//! Functions of single elements, also as gates, and their derivatives.

use super::matrix::{Number, Shape, assembled, check, check_with, mixed, row};
use warpwright::{
    kernels::{Pointwise, PointwiseFunction},
    prelude::*,
    run::Device,
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;

/// Φ(x).
fn distribution(x: f64) -> f64 {
    (1.0 + libm::erf(x / 2f64.sqrt())) / 2.0
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn value(function: PointwiseFunction, x: f64) -> f64 {
    match function {
        PointwiseFunction::Identity => x,
        PointwiseFunction::Relu => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        PointwiseFunction::Silu => x * sigmoid(x),
        PointwiseFunction::Gelu => x * distribution(x),
        PointwiseFunction::GeluTanh => {
            x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }
    }
}

/// The difference quotient.
fn derivative(function: PointwiseFunction, x: f64) -> f64 {
    match function {
        PointwiseFunction::Relu => f64::from(u8::from(x > 0.0)),
        _ => (value(function, x + 1e-5) - value(function, x - 1e-5)) / 2e-5,
    }
}

const FUNCTIONS: [PointwiseFunction; 5] = [
    PointwiseFunction::Identity,
    PointwiseFunction::Relu,
    PointwiseFunction::Silu,
    PointwiseFunction::Gelu,
    PointwiseFunction::GeluTanh,
];

/// The number of rows, their length, and the distances between those of the results and the inputs.
const SHAPES: [[usize; 4]; 9] = [
    [9, 16, 16, 24],
    // Without gaps: long rows are parts of one vector, whose words contain elements of two rows.
    [37, 9, 9, 9],
    [9, 1001, 1001, 1001],
    [5, 2053, 2053, 2053],
    // With gaps in the inputs alone.
    [3, 1001, 1001, 1003],
    [7, 100, 101, 100],
    [3, 1024, 1024, 1024],
    [2, 9001, 9003, 9001],
    [2, 8192, 8200, 8192],
];

fn u(row: usize, col: usize) -> f64 {
    mixed(row + 50, col)
}

fn dy(row: usize, col: usize) -> f64 {
    mixed(row + 90, col)
}

/// All kernels of a function.
fn all<X: Number + Convert<f32>, Y: Number>(function: PointwiseFunction, [m, n, out, ld]: [usize; 4])
where
    f32: Convert<X> + Convert<Y>,
{
    let sizes = [n, out, ld].map(|size| size as u32);
    let kernels = Pointwise::for_rows(function, TARGET, X::SIZE.max(Y::SIZE), &sizes);
    let shape = Shape { m, n, pitch: out };
    let input = Shape { pitch: ld, ..shape };
    let (x, us, dys) = (input.filled::<X>(&mixed), input.filled::<X>(&u), input.filled::<X>(&dy));
    let [rows, cols, out] = shape.numbers();
    let ld = ld as u32;
    let of = |i: usize, f: &dyn Fn(f64, f64, f64) -> f64| -> Vec<f64> {
        let (x, u, dy) = (row::<X>(n, i, &mixed), row::<X>(n, i, &u), row::<X>(n, i, &dy));
        x.iter().zip(&u).zip(&dy).map(|((x, u), dy)| f(*x, *u, *dy)).collect()
    };

    let kernel = assembled(kernels.kernel::<X, Y>(TARGET));
    check::<Y>(
        &format!("{}: {shape:?}", kernel.name()),
        shape,
        &|device, y| {
            let x = device.upload(&x).expect("room");
            let launched = device.launch(&kernel, (&x, ld, y, out, rows, cols));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| of(i, &|x, _, _| value(function, x)),
        4e-6,
    );
    type Of<'a> = &'a dyn Fn(f64, f64) -> f64;
    let (gated, added) = (kernels.gated_kernel::<X, Y>(TARGET), kernels.added_kernel::<X, Y>(TARGET));
    let both: [(_, Of<'_>, _); 2] = [(gated, &|f, u| f * u, 1e-5), (added, &|f, u| f + u, 4e-6)];
    for (kernel, combined, absolute) in both {
        let kernel = assembled(kernel);
        check::<Y>(
            &format!("{}: {shape:?}", kernel.name()),
            shape,
            &|device, y| {
                let (x, u) = (device.upload(&x).expect("room"), device.upload(&us).expect("room"));
                let launched = device.launch(&kernel, (&x, ld, &u, ld, y, out, rows, cols));
                launched.unwrap_or_else(|error| panic!("{error}"));
            },
            &|i| of(i, &|x, u, _| combined(value(function, x), u)),
            absolute,
        );
    }
    let kernel = assembled(kernels.backward_kernel::<X>(TARGET));
    check::<X>(
        &format!("{}: {shape:?}", kernel.name()),
        shape,
        &|device, dx| {
            let (x, dy) = (device.upload(&x).expect("room"), device.upload(&dys).expect("room"));
            let launched = device.launch(&kernel, (&x, ld, &dy, ld, dx, out, rows, cols));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| of(i, &|x, _, dy| derivative(function, x) * dy),
        2e-5,
    );
    let kernel = assembled(kernels.gated_backward_kernel::<X>(TARGET));
    check_with::<X, X>(
        &format!("{}: {shape:?}", kernel.name()),
        (shape, Shape { pitch: ld as usize, ..shape }),
        &|device, dx, du| {
            let [x, u, dy] = [&x, &us, &dys].map(|x| device.upload(x).expect("room"));
            let arguments = (&x, ld, &u, ld, &dy, ld, dx, out, du, ld, rows, cols);
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| {
            (of(i, &|x, u, dy| derivative(function, x) * u * dy), of(i, &|x, _, dy| value(function, x) * dy))
        },
        4e-5,
    );
}

#[test]
fn functions_of_bf16() {
    for (function, sizes) in FUNCTIONS.into_iter().cycle().zip(SHAPES) {
        all::<bf16, bf16>(function, sizes);
    }
}

#[test]
fn functions_of_f32_in_f16() {
    for (function, sizes) in FUNCTIONS.into_iter().rev().cycle().zip(SHAPES) {
        all::<f32, f16>(function, sizes);
    }
}

/// Results do not become NaN where the functions have limits.
#[test]
fn extreme_numbers() {
    let inputs = [0.0, -0.0, 30.0, -30.0, 1e4, -1e4, f32::INFINITY, f32::NAN];
    for function in FUNCTIONS {
        let n = inputs.len();
        let kernel =
            assembled(Pointwise::for_rows(function, TARGET, 4, &[n as u32]).kernel::<f32, f32>(TARGET));
        check::<f32>(
            kernel.name(),
            Shape { m: 1, n, pitch: n },
            &|device, y| {
                let x = device.upload(&inputs).expect("room");
                let launched = device.launch(&kernel, (&x, n as u32, y, n as u32, 1, n as u32));
                launched.unwrap_or_else(|error| panic!("{error}"));
            },
            &|_| {
                let limit = |x: f64| if x > 1e3 { x } else { 0.0 };
                let of = |x: f64| if x.abs() > 1e3 { limit(x) } else { value(function, x) };
                let identity = function == PointwiseFunction::Identity;
                inputs.iter().map(|&x| if identity { x.into() } else { of(x.into()) }).collect()
            },
            1e-6,
        );
        let finite = &inputs[..6];
        let kernel = assembled(Pointwise::for_rows(function, TARGET, 4, &[6]).backward_kernel::<f32>(TARGET));
        check::<f32>(
            kernel.name(),
            Shape { m: 1, n: 6, pitch: 6 },
            &|device, dx| {
                let (x, dy) = (device.upload(finite).expect("room"), device.upload(&[1.0; 6]).expect("room"));
                let launched = device.launch(&kernel, (&x, 6, &dy, 6, dx, 6, 1, 6));
                launched.unwrap_or_else(|error| panic!("{error}"));
            },
            &|_| {
                let of = |x: f64| {
                    if x.abs() > 20.0 { f64::from(u8::from(x > 0.0)) } else { derivative(function, x) }
                };
                let identity = function == PointwiseFunction::Identity;
                finite.iter().map(|&x| if identity { 1.0 } else { of(x.into()) }).collect()
            },
            2e-6,
        );
    }
}

/// Matrices without gaps are one row, if it is not too long.
#[test]
fn matrices_without_gaps_are_one_row() {
    for (size, pitches, expected) in [
        ([3, 5], &[5][..], [1, 15]),
        ([3, 5], &[5, 5, 5], [1, 15]),
        ([3, 5], &[5, 6], [3, 5]),
        ([1, 5], &[5], [1, 5]),
        ([0, 5], &[5], [0, 5]),
        ([3, 0], &[0], [3, 0]),
        ([1 << 20, 1 << 10], &[1 << 10], [1, 1 << 30]),
        ([(1 << 20) + 1, 1 << 10], &[1 << 10], [(1 << 20) + 1, 1 << 10]),
        ([1 << 22, 1 << 10], &[1 << 10], [1 << 22, 1 << 10]),
    ] {
        assert_eq!(Pointwise::as_one_row(size, pitches), expected, "{size:?}, {pitches:?}");
    }
}
