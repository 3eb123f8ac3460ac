//! The product of two complex matrices of bf16 on tensor cores. The real and imaginary parts are separate matrices.
//!
//! ```text
//! cargo run --release --example complex_matmul
//! ```

#[path = "support/errors.rs"]
mod errors;
#[path = "support/numbers.rs"]
mod numbers;

use std::{error::Error, process::ExitCode};

use warpwright::{
    prelude::*,
    run::{self, Device},
    tiles::{Cgl, Crt, Cst},
};

/// `(a_re, a_im, b_re, b_im, d_re, d_im, m, n, k)`.
type Args = (In<bf16>, In<bf16>, In<bf16>, In<bf16>, Out<f32>, Out<f32>, u32, u32, u32);

/// D = A·B with A m×k, B k×n, D m×n, complex and row-major; n and k are multiples of 8. A block of 2×2 warps computes 64×64 elements of D.
fn complex_matmul(target: Target) -> Result<Kernel<Args>, BuildError> {
    let signature = "complex_matmul(a_re, a_im, b_re, b_im, d_re, d_im, m, n, k)";
    Kernel::<Args>::build(signature, target, |k, (a_re, a_im, b_re, b_im, d_re, d_im, m, n, depth)| {
        k.block([128]);
        k.grid([n.tiles(64), m.tiles(64)]);
        let (n, depth) = (n.multiple_of(8), depth.multiple_of(8));
        let (of_a, of_b, of_d) = (row_major(m, depth), row_major(depth, n), row_major(m, n));
        let a = Cgl { re: k.global(a_re, of_a), im: k.global(a_im, of_a) };
        let b = Cgl { re: k.global(b_re, of_b), im: k.global(b_im, of_b) };
        let d = Cgl { re: k.global(d_re, of_d), im: k.global(d_im, of_d) };
        let (row, col) = (k.ctaid_y(), k.ctaid_x());
        let (warp_row, warp_col) = k.warp_grid(2, 2);

        let stages = k.pipeline::<(Cst<bf16, 4, 2>, Cst<bf16, 2, 4>), 3>();
        let sum = stages.run(
            depth.ceil_div(32),
            Crt::<f32, 2, 2>::zeros(k),
            |i, stage| stage.fill((a.tile(row, i), b.tile(i, col))),
            |sum, (a, b)| {
                let a: Crt<bf16, 2, 2> = a.subtile(warp_row * 2, 0).load();
                sum.mma_ab(&a, &b.subtile(0, warp_col * 2).load())
            },
        );
        d.tile(row * 2 + warp_row, col * 2 + warp_col).store(&sum);
    })
}

fn main() -> ExitCode {
    match demonstrate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn demonstrate() -> Result<(), Box<dyn Error>> {
    let device = run::open_default();
    println!("device   {}", device.describe());
    let kernel = complex_matmul(Target::SM_80)?;
    for (m, n, k) in [(64, 64, 64), (100, 72, 136), (17, 136, 40)] {
        let (a, b) = (
            [1, 2].map(|seed| numbers::uniform(m * k, seed)),
            [3, 4].map(|seed| numbers::uniform(k * n, seed)),
        );
        let inputs =
            (device.upload(&a[0])?, device.upload(&a[1])?, device.upload(&b[0])?, device.upload(&b[1])?);
        let (mut re, mut im) = (device.output::<f32>(m * n)?, device.output::<f32>(m * n)?);
        let sizes = (m as u32, n as u32, k as u32);
        let arguments =
            (&inputs.0, &inputs.1, &inputs.2, &inputs.3, &mut re, &mut im, sizes.0, sizes.1, sizes.2);
        let launched = device.launch(&kernel, arguments)?;
        let case = format!("{m:>4}×{n:<3} by {k:>3} in {:.2?}", launched.time);
        // The roundings of f32 in sums of 2k products of at most 1.
        let allowed = 2.0 * k as f64 * f64::from(f32::EPSILON);
        errors::check(&case, errors_of(&a, &b, &[device.download(&re)?, device.download(&im)?], n), allowed)?;
    }
    Ok(())
}

/// Returns the errors of the real and imaginary parts of D, compared with f64.
fn errors_of(a: &[Vec<bf16>; 2], b: &[Vec<bf16>; 2], d: &[Vec<f32>; 2], n: usize) -> Vec<f64> {
    let (m, depth) = (d[0].len() / n, b[0].len() / n);
    let number = |parts: &[Vec<bf16>; 2], at: usize| [f64::from(parts[0][at]), f64::from(parts[1][at])];
    let mut errors = Vec::with_capacity(2 * d[0].len());
    for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
        let mut expected = [0.0; 2];
        for k in 0..depth {
            let ([a, b], [c, d]) = (number(a, row * depth + k), number(b, k * n + col));
            expected = [expected[0] + a * c - b * d, expected[1] + a * d + b * c];
        }
        for (expected, found) in expected.iter().zip(d) {
            errors.push(f64::from(found[row * n + col]) - expected);
        }
    }
    errors
}
