//! The softmax of each row of a bf16 matrix, computed in f32: a warp keeps 16 rows in registers.
//!
//! ```text
//! cargo run --release --example softmax
//! ```

#[path = "support/errors.rs"]
mod errors;

use std::{error::Error, f32::consts::LOG2_E, process::ExitCode};

use warpwright::{
    prelude::*,
    run::{self, Device},
};

pub(crate) type Args = (In<bf16>, Out<bf16>, u32, u32);

/// y = softmax(x) for each row: x and y are m×n of bf16, n ≤ 16 · W.
pub(crate) fn softmax<const W: usize>(target: Target) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("softmax(x, y, m, n)", target, |k, (x, y, m, n)| {
        k.block([128]);
        k.grid([m.tiles(64)]);
        let (x, y) = (k.global(x, row_major(m, n)), k.global(y, row_major(m, n)));
        let row = k.ctaid_x() * 4 + k.warp();

        let mut t: Rt<f32, 1, W> = x.tile(row, 0).load_or(f32::NEG_INFINITY);
        t -= &t.row_max();
        t = (t * LOG2_E).exp2();
        t *= &t.row_sum().recip();
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
    let kernel = softmax::<16>(Target::SM_80)?;
    for (m, n) in [(64, 256), (100, 256), (33, 77)] {
        let x: Vec<bf16> = (0..m * n).map(|i| bf16::from_f32((i * 37 % 101) as f32 / 12.0 - 4.0)).collect();
        let (x_device, mut y) = (device.upload(&x)?, device.output::<bf16>(m * n)?);
        let launched = device.launch(&kernel, (&x_device, &mut y, m as u32, n as u32))?;
        let case = format!("{m:>4}×{n:<4} in {:.2?}", launched.time);
        // Half a unit in the last place of bf16, and the approximation of 2^x.
        errors::check(&case, relative_errors(&x, &device.download(&y)?, n), 1.02 / 256.0)?;
    }
    Ok(())
}

/// Returns the relative errors of the elements of `y`, compared with f64.
fn relative_errors(x: &[bf16], y: &[bf16], n: usize) -> Vec<f64> {
    let rows = x.chunks(n).zip(y.chunks(n)).flat_map(|(x, y)| {
        let exponentials: Vec<f64> = x.iter().map(|&x| f64::from(x).exp()).collect();
        let sum: f64 = exponentials.iter().sum();
        exponentials.into_iter().zip(y).map(move |(e, &y)| f64::from(y) * sum / e - 1.0)
    });
    rows.collect()
}
