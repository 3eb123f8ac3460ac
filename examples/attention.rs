//! Computes attention on Hopper, with 4 heads of queries, 2 heads of keys and values, and a causal mask, and compares the result with f64.
//!
//! ```text
//! cargo run --release --example attention
//! ```
//!
//! Runs on the first GPU if its compute capability is 9.0, otherwise in the simulator.

#[path = "support/errors.rs"]
mod errors;

use std::{error::Error, process::ExitCode};

use warpwright::{
    kernels::{Attention, AttentionMask, AttentionProblem},
    prelude::*,
    run::{self, Device, Simulator},
};

const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const LENGTH: usize = 300;
const SIZE: usize = 64;

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
    let first = run::open_default();
    // Kernels for sm_90a run only on compute capability 9.0.
    if first.capability() == (9, 0) { attend(&first) } else { attend(&Simulator::new()) }
}

fn attend(device: &impl Device) -> Result<(), Box<dyn Error>> {
    println!("device   {}", device.describe());
    let [heads, kv_heads, length, size] = [HEADS, KV_HEADS, LENGTH, SIZE].map(|n| n as u32);
    let attention = Attention::for_problem(&AttentionProblem {
        target: Target::SM_90A,
        head_size: size,
        value_size: size,
        mask: AttentionMask::Causal,
        heads,
        kv_heads,
        queries: length,
        keys: length,
        multiprocessors: device.multiprocessors(),
    });
    let kernel = attention.kernel::<bf16>()?;

    // The rows of all heads of a position are adjacent, as projections store them.
    let [q, k, v] = [(1, HEADS), (2, KV_HEADS), (3, KV_HEADS)].map(|(seed, heads)| numbers(seed, heads));
    let strides = |heads: u32| [length * heads * size, size, heads * size];
    let (of_queries, of_keys) = (strides(heads), strides(kv_heads));
    let scale = 1.0 / (SIZE as f32).sqrt();
    let (on_q, on_k, on_v) = (device.upload(&q)?, device.upload(&k)?, device.upload(&v)?);
    let mut o = device.output::<bf16>(q.len())?;
    let mut lse = device.output::<f32>(HEADS * LENGTH)?;
    let sizes = [1, kv_heads, heads / kv_heads, length, length];
    let strides = [of_queries, of_keys, of_keys, of_queries];
    let launched = device.launch(&kernel, (&on_q, &on_k, &on_v, &mut o, &mut lse, sizes, strides, scale))?;

    let case = format!("kernel   {} in {:.2?}", kernel.name(), launched.time);
    // The roundings of bf16.
    errors::check(&case, relative_errors([&q, &k, &v], &device.download(&o)?), 1.0 / 128.0)?;
    Ok(())
}

/// Returns pseudo-random numbers from −2 to 2 for the rows of all heads.
fn numbers(seed: u32, heads: usize) -> Vec<bf16> {
    let mut state = seed;
    let number = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bf16::from_f32((state >> 16) as f32 / 16_384.0 - 2.0)
    };
    (0..LENGTH * heads * SIZE).map(number).collect()
}

/// Returns the errors compared with f64, relative to the sum of the magnitudes of the weighted values.
fn relative_errors([q, k, v]: [&[bf16]; 3], found: &[bf16]) -> Vec<f64> {
    let mut errors = Vec::with_capacity(found.len());
    for (head, query) in (0..HEADS).flat_map(|head| (0..LENGTH).map(move |query| (head, query))) {
        let kv_head = head / (HEADS / KV_HEADS);
        let number = |matrix: &[bf16], heads: usize, head: usize, row: usize, col: usize| {
            matrix[(row * heads + head) * SIZE + col].to_f64()
        };
        let score = |key| {
            let products = (0..SIZE)
                .map(|col| number(q, HEADS, head, query, col) * number(k, KV_HEADS, kv_head, key, col));
            products.sum::<f64>() / (SIZE as f64).sqrt()
        };
        let weights: Vec<f64> = (0..=query).map(|key| f64::exp(score(key))).collect();
        let total: f64 = weights.iter().sum();
        for col in 0..SIZE {
            let terms = weights
                .iter()
                .enumerate()
                .map(|(key, weight)| weight / total * number(v, KV_HEADS, kv_head, key, col));
            let (sum, magnitude) =
                terms.fold((0.0, 0.0), |(sum, magnitude), term| (sum + term, magnitude + term.abs()));
            errors.push((number(found, HEADS, head, query, col) - sum) / magnitude);
        }
    }
    errors
}
