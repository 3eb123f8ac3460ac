//! One head of attention, softmax(Q·Kᵀ / √d)·V in bf16, with the online softmax: the matrix of scores is never stored.
//!
//! ```text
//! cargo run --release --example attention_one_head
//! ```

#[path = "support/errors.rs"]
mod errors;
#[path = "support/numbers.rs"]
mod numbers;

use std::{error::Error, f32::consts::LOG2_E, process::ExitCode};

use warpwright::{
    prelude::*,
    run::{self, Device},
};

type Args = (In<bf16>, In<bf16>, In<bf16>, Out<bf16>, u32, u32);

/// The length of a row of Q, K and V.
const D: usize = 64;

/// O = softmax(Q·Kᵀ / √d)·V with Q and O m×d, K and V n×d, all of bf16 and row-major. Each warp computes 16 rows of O; the block copies 64
/// keys and values at a time to shared memory.
fn attention(target: Target) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("attention(q, k, v, o, m, n)", target, |k, (q, keys, values, o, m, n)| {
        k.block([128]);
        k.grid([m.tiles(64)]);
        let d = D as u32;
        let (q, o) = (k.global(q, row_major(m, d)), k.global(o, row_major(m, d)));
        let (keys, values) = (k.global(keys, row_major(n, d)), k.global(values, row_major(n, d)));
        let row = k.ctaid_x() * 4 + k.warp();
        let q: Rt<bf16, 1, 4> = q.tile(row, 0).load();

        // The weighted sum of values so far, the sum of weights, and the maximum of the scores, in units of log₂.
        let start = (
            k.zeros::<Rt<f32, 1, 4>>(),
            k.zeros::<ColVec<f32, 1>>(),
            k.filled::<ColVec<f32, 1>>(f32::NEG_INFINITY),
        );
        let stages = k.pipeline::<(St<bf16, 4, 4>, St<bf16, 4, 4>), 2>();
        let (mut sum, weight, _) = stages.run_indexed(
            n.ceil_div(64),
            start,
            |j, stage| stage.fill((keys.tile(j, 0), values.tile(j, 0))),
            |j, (mut sum, mut weight, max), (keys, values)| {
                let scores = k.zeros::<Rt<f32, 1, 4>>().mma_abt(&q, &keys.load::<Row>());
                let mut scores =
                    (scores * (LOG2_E / (D as f32).sqrt())).right_fill(n - j * 64, f32::NEG_INFINITY);
                let new_max = scores.row_max().max(&max);
                let scale = (max - &new_max).exp2();
                scores = (scores - &new_max).exp2();
                weight = weight * &scale + &scores.row_sum();
                sum *= &scale;
                (sum.mma_ab(&scores.convert::<bf16>(), &values.load()), weight, new_max)
            },
        );
        sum *= &weight.recip();
        o.tile(row, 0).store(&sum);
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
    let kernel = attention(Target::SM_80)?;
    for (m, n) in [(64, 128), (100, 77), (17, 300)] {
        let [q, keys, values] = [(m, 1), (n, 2), (n, 3)].map(|(rows, seed)| numbers::uniform(rows * D, seed));
        let mut o = device.output::<bf16>(m * D)?;
        let arguments = (
            &device.upload(&q)?,
            &device.upload(&keys)?,
            &device.upload(&values)?,
            &mut o,
            m as u32,
            n as u32,
        );
        let launched = device.launch(&kernel, arguments)?;
        let case = format!("{m:>4} queries, {n:>4} keys in {:.2?}", launched.time);
        // Weights and results are rounded to bf16; values are at most 1.
        errors::check(&case, errors_of(&q, &keys, &values, &device.download(&o)?), 2.0 / 256.0)?;
    }
    Ok(())
}

/// Returns the errors of the elements of `o`, compared with f64.
fn errors_of(q: &[bf16], keys: &[bf16], values: &[bf16], o: &[bf16]) -> Vec<f64> {
    let dot =
        |a: &[bf16], b: &[bf16]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
    let mut errors = Vec::with_capacity(o.len());
    for (q, o) in q.chunks(D).zip(o.chunks(D)) {
        let weights: Vec<f64> = keys.chunks(D).map(|key| (dot(q, key) / (D as f64).sqrt()).exp()).collect();
        let total: f64 = weights.iter().sum();
        for (col, &found) in o.iter().enumerate() {
            let column = values.iter().skip(col).step_by(D);
            let expected = weights.iter().zip(column).map(|(w, &v)| w * f64::from(v)).sum::<f64>() / total;
            errors.push(f64::from(found) - expected);
        }
    }
    errors
}
