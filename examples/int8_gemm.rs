//! A quantized linear layer: the product of two matrices of 8-bit integers, scaled per row and per column, with a result of bf16.
//!
//! ```text
//! cargo run --release --example int8_gemm
//! ```

#[path = "support/errors.rs"]
mod errors;

use std::{error::Error, process::ExitCode};

use warpwright::{
    prelude::*,
    run::{self, Device},
    tiles::vector,
};

/// `(a, b, s, t, d, m, n, k)`.
type Args = (In<i8>, In<i8>, In<f32>, In<f32>, Out<bf16>, u32, u32, u32);

/// dᵢⱼ = sᵢ · tⱼ · Σₖ aᵢₖ bⱼₖ with A m×k and B n×k of i8, m scales s and n scales t of f32, and D m×n of bf16, all row-major; k is a
/// multiple of 16. The i32 sums are exact. A block of 2×2 warps computes 64×64 elements of D.
fn int8_gemm(target: Target) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("int8_gemm(a, b, s, t, d, m, n, k)", target, |k, (a, b, s, t, d, m, n, depth)| {
        k.block([128]);
        k.grid([n.tiles(64), m.tiles(64)]);
        let depth = depth.multiple_of(16);
        let (a, b) = (k.global(a, row_major(m, depth)), k.global(b, row_major(n, depth)));
        let (s, t) = (k.global(s, vector(m)), k.global(t, vector(n)));
        let d = k.global(d, row_major(m, n));
        let (block_row, block_col) = (k.ctaid_y(), k.ctaid_x());
        let (warp_row, warp_col) = k.warp_grid(2, 2);
        let (row, col) = (block_row * 2 + warp_row, block_col * 2 + warp_col);

        let stages = k.pipeline::<(St<i8, 4, 2>, St<i8, 4, 2>), 3>();
        let sum = stages.run(
            depth.ceil_div(64),
            k.zeros::<Rt<i32, 2, 2>>(),
            |i, stage| stage.fill((a.tile(block_row, i), b.tile(block_col, i))),
            |sum, (a, b)| {
                let a: Rt<i8, 2, 2> = a.subtile(warp_row * 2, 0).load();
                let b: Rt<i8, 2, 2> = b.subtile(warp_col * 2, 0).load();
                sum.mma_abt(&a, &b)
            },
        );
        let mut scaled = sum.convert::<f32>();
        scaled *= &s.col_vector(row);
        scaled *= &t.row_vector(col);
        d.tile(row, col).store(&scaled);
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
    let kernel = int8_gemm(Target::SM_80)?;
    for (m, n, k) in [(64, 64, 128), (100, 77, 208), (17, 130, 64)] {
        let (a, b) = (integers(m * k, 1), integers(n * k, 2));
        let (s, t) = (scales(m, 29), scales(n, 31));
        let mut d = device.output::<bf16>(m * n)?;
        let inputs = (device.upload(&a)?, device.upload(&b)?, device.upload(&s)?, device.upload(&t)?);
        let sizes = (m as u32, n as u32, k as u32);
        let arguments = (&inputs.0, &inputs.1, &inputs.2, &inputs.3, &mut d, sizes.0, sizes.1, sizes.2);
        let launched = device.launch(&kernel, arguments)?;
        let case = format!("{m:>4}×{n:<3} by {k:>3} in {:.2?}", launched.time);
        // Half a unit in the last place of bf16, and the roundings of f32.
        errors::check(&case, relative_errors(&a, &b, &s, &t, &device.download(&d)?), 1.001 / 256.0)?;
    }
    Ok(())
}

/// Returns pseudo-random integers from −128 to 127.
fn integers(count: usize, seed: u32) -> Vec<i8> {
    let mut state = seed;
    let number = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 as i8
    };
    (0..count).map(number).collect()
}

/// Returns scales from 1/128 to 2/128.
fn scales(count: usize, step: usize) -> Vec<f32> {
    (0..count).map(|i| (1.0 + (i * step % 101) as f32 / 101.0) / 128.0).collect()
}

/// Returns the relative errors of the elements of `d`, compared with integer sums and f64 scales.
fn relative_errors(a: &[i8], b: &[i8], s: &[f32], t: &[f32], d: &[bf16]) -> Vec<f64> {
    let depth = a.len() / s.len();
    let mut errors = Vec::with_capacity(d.len());
    for ((a, s), d) in a.chunks(depth).zip(s).zip(d.chunks(t.len())) {
        for ((b, t), &found) in b.chunks(depth).zip(t).zip(d) {
            let sum: i32 = a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
            let expected = f64::from(sum) * f64::from(*s) * f64::from(*t);
            let difference = f64::from(found) - expected;
            errors.push(if sum == 0 { difference } else { difference / expected });
        }
    }
    errors
}
