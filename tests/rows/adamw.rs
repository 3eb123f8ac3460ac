//! AdamW.

use super::matrix::{Number, Shape, assembled, check, check_with, mixed, row};
use warpwright::{kernels::AdamW, prelude::*, run::Device, tiles::Convert};

const TARGET: Target = Target::SM_90A;
const RATE: f64 = 0.1;
const BETA1: f64 = 0.9;
const BETA2: f64 = 0.99;
const EPSILON: f64 = 1e-6;
const DECAY: f64 = 0.05;
/// The number of the step.
const STEP: i32 = 3;

fn gradient(row: usize, col: usize) -> f64 {
    mixed(row + 20, col)
}

fn mean(row: usize, col: usize) -> f64 {
    mixed(row + 40, col)
}

fn square(row: usize, col: usize) -> f64 {
    mixed(row + 60, col).abs()
}

fn step<P: Number + Convert<f32>, G: Number + Convert<f32>>([m, n, ld]: [usize; 3])
where
    f32: Convert<P>,
{
    let shape = Shape { m, n, pitch: ld };
    let kernel = assembled(AdamW::for_rows(TARGET, &[n as u32, ld as u32]).kernel::<P, G>(TARGET));
    let what = format!("{}: {shape:?}", kernel.name());
    let (ps, gs) = (shape.filled::<P>(&mixed), shape.filled::<G>(&gradient));
    let (means, squares) = (shape.filled::<f32>(&mean), shape.filled::<f32>(&square));
    let [rows, cols, ld] = shape.numbers();
    let numbers = [RATE, BETA1, BETA2, EPSILON, DECAY, 1.0 - BETA1.powi(STEP), 1.0 - BETA2.powi(STEP)];
    let [rate, beta1, beta2, epsilon, decay, c1, c2] = numbers.map(|number| number as f32);
    let expected = |i: usize| -> [Vec<f64>; 3] {
        let (p, g) = (row::<P>(n, i, &mixed), row::<G>(n, i, &gradient));
        let (mean, square) = (row::<f32>(n, i, &mean), row::<f32>(n, i, &square));
        let means: Vec<f64> = mean.iter().zip(&g).map(|(m, g)| BETA1 * m + (1.0 - BETA1) * g).collect();
        let squares: Vec<f64> =
            square.iter().zip(&g).map(|(v, g)| BETA2 * v + (1.0 - BETA2) * g * g).collect();
        let change = |j: usize| {
            let root = (squares[j] / (1.0 - BETA2.powi(STEP))).sqrt();
            RATE * means[j] / (1.0 - BETA1.powi(STEP)) / (root + EPSILON)
        };
        let ps = (0..n).map(|j| p[j] - RATE * DECAY * p[j] - change(j)).collect();
        [ps, means, squares]
    };
    check::<P>(
        &what,
        shape,
        &|device, p| {
            *p = device.upload(&ps).expect("room");
            let g = device.upload(&gs).expect("room");
            let mut mean = device.upload(&means).expect("room");
            let mut square = device.upload(&squares).expect("room");
            let averages = (&mut mean, &mut square);
            let arguments =
                (p, &g, averages.0, averages.1, ld, rows, cols, rate, beta1, beta2, epsilon, decay, c1, c2);
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{what}: {error}"));
        },
        &|i| expected(i)[0].clone(),
        4e-6,
    );
    check_with::<f32, f32>(
        &what,
        (shape, shape),
        &|device, mean, square| {
            *mean = device.upload(&means).expect("room");
            *square = device.upload(&squares).expect("room");
            let mut p = device.upload(&ps).expect("room");
            let g = device.upload(&gs).expect("room");
            let arguments =
                (&mut p, &g, mean, square, ld, rows, cols, rate, beta1, beta2, epsilon, decay, c1, c2);
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{what}: {error}"));
        },
        &|i| {
            let [_, means, squares] = expected(i);
            (means, squares)
        },
        1e-6,
    );
}

#[test]
fn steps() {
    step::<f32, f32>([5, 1024, 1028]);
    step::<bf16, bf16>([3, 1001, 1003]);
    step::<f32, bf16>([1, 5003, 5003]);
    step::<f32, f16>([21, 12, 16]);
}
