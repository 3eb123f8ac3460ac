//! Cumulative sums.

use super::matrix::{Number, Shape, assembled, check, mixed, row};
use warpwright::{kernels::CumulativeSum, prelude::*, run::Device, tiles::Convert};

const TARGET: Target = Target::SM_90A;

/// Numbers, with NaN and ∞ after finite ones.
fn element(row: usize, col: usize) -> f64 {
    match (row, col) {
        (1, 6) => f64::NAN,
        (2, 3) => f64::INFINITY,
        _ => mixed(row, col),
    }
}

fn sums<X: Number + Convert<f32>, Y: Number>(inclusive: bool, [m, n, ld, out]: [usize; 4])
where
    f32: Convert<Y>,
{
    let sizes = [n, ld, out].map(|size| size as u32);
    let kernels = CumulativeSum::for_rows(inclusive, TARGET, X::SIZE.max(Y::SIZE), &sizes);
    let kernel = assembled(kernels.kernel::<X, Y>(TARGET));
    let shape = Shape { m, n, pitch: out };
    let x = Shape { pitch: ld, ..shape }.filled::<X>(&element);
    check::<Y>(
        &format!("{}: {shape:?}", kernel.name()),
        shape,
        &|device, y| {
            let x = device.upload(&x).expect("room");
            let [_, ld, out] = sizes;
            let launched = device.launch(&kernel, (&x, ld, y, out, m as u32, n as u32));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| {
            let mut sum = 0.0;
            let of = |x: &f64| {
                let before = sum;
                sum += x;
                if inclusive { sum } else { before }
            };
            row::<X>(n, i, &element).iter().map(of).collect()
        },
        3e-7 * n as f64,
    );
}

#[test]
fn along_rows() {
    for inclusive in [true, false] {
        sums::<f32, f32>(inclusive, [37, 40, 44, 48]);
        sums::<bf16, f32>(inclusive, [19, 300, 301, 303]);
        sums::<f32, f32>(inclusive, [3, 9000, 9000, 9004]);
        sums::<bf16, bf16>(inclusive, [4, 5001, 5001, 5003]);
    }
}
