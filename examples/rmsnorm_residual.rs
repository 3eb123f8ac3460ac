//! A residual sum and RMSNorm of rows of any length: a block processes one row, and each of its warps processes 512 elements at a time.
//!
//! ```text
//! cargo run --release --example rmsnorm_residual
//! ```

#[path = "support/errors.rs"]
mod errors;
#[path = "support/numbers.rs"]
mod numbers;

use std::{error::Error, process::ExitCode};

use warpwright::{
    prelude::*,
    run::{self, Device},
    tiles::{Naive, vector},
};

type Args = (In<bf16>, In<bf16>, In<bf16>, Out<bf16>, Out<bf16>, u32, u32);

/// The number that is added to the mean square.
const EPSILON: f32 = 1e-5;
/// The number of warps per block.
const WARPS: u32 = 8;
/// The elements that a warp processes at a time: 16 per lane, in f32.
type Part<'k> = Rv<'k, f32, 32, Naive>;

/// h = x + r and y = h / √(mean(h²) + ε) · w for each row: x, r, h and y are m×n of bf16, w has n elements, and n is a multiple of
/// `divisor`. If 8 divides `divisor`, 8 elements are loaded in one access.
fn rmsnorm(divisor: u32, target: Target) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("rmsnorm(x, r, w, h, y, m, n)", target, |k, (x, r, w, h, y, m, n)| {
        let block = k.block([32 * WARPS]);
        k.grid([m]);
        let n = n.multiple_of(divisor);
        let matrix = row_major(m, n);
        let (x, r) = (k.global(x, matrix).row(k.ctaid_x()), k.global(r, matrix).row(k.ctaid_x()));
        let (h, y) = (k.global(h, matrix).row(k.ctaid_x()), k.global(y, matrix).row(k.ctaid_x()));
        let w = k.global(w, vector(n));
        let steps = n.ceil_div(WARPS * Part::LENGTH);

        let squares = k.fold(steps, k.zeros::<Part>(), |step, squares| {
            let sum: Part = x.tile(part(k, step)).load() + r.tile(part(k, step)).load();
            h.tile(part(k, step)).store(&sum);
            squares + &sum * &sum
        });
        let mean = squares.sum_over(block) / n.cast::<f32>();
        let scale = k.rsqrt(mean + EPSILON);
        k.for_(steps, |step| {
            // The rounded values that are stored in h, so that y depends only on h.
            let sum: Part = (x.tile(part(k, step)).load::<f32, 32, Naive>() + r.tile(part(k, step)).load())
                .convert::<bf16>()
                .convert();
            let weight: Part = w.tile(part(k, step)).load();
            y.tile(part(k, step)).store(&(sum * scale * weight));
        });
    })
}

/// Returns the index of the part that this warp processes in a step.
fn part<'k>(k: Builder<'k>, step: Val<'k, u32>) -> Val<'k, u32> {
    step * WARPS + k.warp()
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
    for (m, n) in [(4, 4096), (7, 8), (3, 5000), (2, 1001)] {
        let kernel = rmsnorm(if n % 8 == 0 { 8 } else { 1 }, Target::SM_80)?;
        let [x, r, w] = [(m * n, 1), (m * n, 2), (n, 3)].map(|(count, seed)| numbers::uniform(count, seed));
        let (mut h, mut y) = (device.output::<bf16>(m * n)?, device.output::<bf16>(m * n)?);
        let inputs = (device.upload(&x)?, device.upload(&r)?, device.upload(&w)?);
        let arguments = (&inputs.0, &inputs.1, &inputs.2, &mut h, &mut y, m as u32, n as u32);
        let launched = device.launch(&kernel, arguments)?;
        let (h, y) = (device.download(&h)?, device.download(&y)?);
        let case = format!("{m:>4}×{n:<5} in {:.2?}", launched.time);
        // Half a unit in the last place of bf16, and the roundings of f32.
        errors::check(&case, relative_errors(&x, &r, &w, &h, &y)?, 1.0 / 250.0)?;
    }
    Ok(())
}

/// Compares h with the rounded sums, and returns the relative errors of the elements of y, compared with f64.
fn relative_errors(x: &[bf16], r: &[bf16], w: &[bf16], h: &[bf16], y: &[bf16]) -> Result<Vec<f64>, String> {
    let n = w.len();
    let mut errors = Vec::with_capacity(y.len());
    let sums: Vec<f64> = x.iter().zip(r).map(|(&x, &r)| f64::from(x) + f64::from(r)).collect();
    for (row, sums) in sums.chunks(n).enumerate() {
        let mean = sums.iter().map(|sum| sum * sum).sum::<f64>() / n as f64;
        let scale = 1.0 / (mean + f64::from(EPSILON)).sqrt();
        for (col, sum) in sums.iter().enumerate() {
            let at = row * n + col;
            let rounded = bf16::from_f64(*sum);
            let expected = f64::from(rounded) * scale * f64::from(w[col]);
            if h[at] != rounded {
                return Err(format!("row {row}, column {col} of h: expected {rounded}, found {}", h[at]));
            }
            let difference = f64::from(y[at]) - expected;
            errors.push(if expected == 0.0 { difference } else { difference / expected });
        }
    }
    Ok(errors)
}
