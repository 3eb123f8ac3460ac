//! LayerNorm with weight and bias: a warp keeps 16 rows in registers, and the statistics of each row in a vector.
//!
//! ```text
//! cargo run --release --example layernorm
//! ```

#[path = "support/errors.rs"]
mod errors;

use std::{error::Error, process::ExitCode};

use warpwright::{
    prelude::*,
    run::{self, Device},
    tiles::vector,
};

type Args = (In<bf16>, In<bf16>, In<bf16>, Out<bf16>, u32, u32);

/// The number that is added to the variance.
const EPSILON: f32 = 1e-5;

/// y = (x − mean) / √(variance + ε) · w + b for each row: x and y are m×n of bf16, w and b have n elements, n ≤ 16 · W.
fn layernorm<const W: usize>(target: Target) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("layernorm(x, w, b, y, m, n)", target, |k, (x, w, b, y, m, n)| {
        k.block([128]);
        k.grid([m.tiles(64)]);
        let (x, y) = (k.global(x, row_major(m, n)), k.global(y, row_major(m, n)));
        let (w, b) = (k.global(w, vector(n)), k.global(b, vector(n)));
        let row = k.ctaid_x() * 4 + k.warp();
        let per_element = Val::from(1.0f32) / n.cast::<f32>();

        let mut t: Rt<f32, 1, W> = x.tile(row, 0).load();
        t -= &(t.row_sum() * per_element);
        // Elements past the edge were loaded as 0; now they are minus the mean.
        t = t.right_fill(n, 0.0);
        let variance = (&t * &t).row_sum() * per_element;
        t *= &(variance + EPSILON).rsqrt();
        t = t.mul_add(&w.row_vector(0), &b.row_vector(0));
        y.tile(row, 0).store(&t);
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
    let kernel = layernorm::<8>(Target::SM_80)?;
    for (m, n) in [(64, 128), (100, 77), (3, 16)] {
        let number = |i: usize, step: usize| bf16::from_f32((i * step % 113) as f32 / 40.0 - 1.4);
        let x: Vec<bf16> = (0..m * n).map(|i| number(i, 37)).collect();
        let [w, b] = [11, 29].map(|step| (0..n).map(|i| number(i, step)).collect::<Vec<_>>());
        let mut y = device.output::<bf16>(m * n)?;
        let inputs = (device.upload(&x)?, device.upload(&w)?, device.upload(&b)?);
        let launched =
            device.launch(&kernel, (&inputs.0, &inputs.1, &inputs.2, &mut y, m as u32, n as u32))?;
        let case = format!("{m:>4}×{n:<4} in {:.2?}", launched.time);
        // Half a unit in the last place of bf16 between 2 and 4.
        errors::check(&case, errors_of(&x, &w, &b, &device.download(&y)?), 1.0 / 120.0)?;
    }
    Ok(())
}

/// Returns the errors of the elements of `y`, compared with f64.
fn errors_of(x: &[bf16], w: &[bf16], b: &[bf16], y: &[bf16]) -> Vec<f64> {
    let n = w.len();
    let mut errors = Vec::with_capacity(y.len());
    for (x, y) in x.chunks(n).zip(y.chunks(n)) {
        let x: Vec<f64> = x.iter().map(|&x| x.into()).collect();
        let mean = x.iter().sum::<f64>() / n as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        let scale = 1.0 / (variance + f64::from(EPSILON)).sqrt();
        for (col, &found) in y.iter().enumerate() {
            let expected = (x[col] - mean) * scale * f64::from(w[col]) + f64::from(b[col]);
            errors.push(f64::from(found) - expected);
        }
    }
    errors
}
