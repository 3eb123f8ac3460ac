//! Computes a transformer block as in Llama (RMSNorm, projections, rotary embeddings, causal attention with grouped heads, residual sums,
//! and a SwiGLU MLP) with one call for each step, which chooses and launches a kernel, and compares the result with f64.
//!
//! ```text
//! cargo run --release --example transformer_block
//! ```
//!
//! Runs on the first GPU if its compute capability is 9.0, otherwise in the simulator.

use std::{error::Error, iter, process::ExitCode};

use warpwright::{
    kernels::{
        Activation, AttentionMask, MatrixOrder, NormFunction, RotaryPairs,
        call::{self, AttentionShape, EpilogueOperands, GemmShape, RotaryTables},
    },
    prelude::*,
    run::{self, Buffer, BufferRef, Called, Device, KernelCache, Simulator},
};

type Fallible<T> = Result<T, Box<dyn Error>>;

const SEQUENCES: usize = 2;
const POSITIONS: usize = 50;
const TOKENS: usize = SEQUENCES * POSITIONS;
/// The number of elements of a token.
const WIDTH: usize = 256;
/// The number of heads of queries, and of keys and values.
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
/// The number of elements of a head.
const HEAD: usize = 64;
/// The number of elements of a token within the MLP.
const HIDDEN: usize = 384;
const EPSILON: f32 = 1e-5;

fn main() -> ExitCode {
    match demonstrate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn demonstrate() -> Fallible<()> {
    let first = run::open_default();
    // Kernels for sm_90a run only on compute capability 9.0.
    if first.capability() == (9, 0) {
        run_block(&first, KernelCache::new(&first))
    } else {
        let simulator = Simulator::new();
        run_block(&simulator, KernelCache::new(&simulator))
    }
}

fn run_block(device: &impl Device, kernels: KernelCache<'_>) -> Fallible<()> {
    println!("device   {}", device.describe());
    let weights = Weights::new();
    let x = numbers(TOKENS * WIDTH, 1, 1.0);
    let block = Block::new(device, kernels, &weights)?;
    let y = block.forward(&device.upload(&x)?)?;
    let error = relative_error(&weights.forward(&x), &device.download(&y)?);
    println!("error    {error:.5} of the root mean square");
    // NaN fails this comparison too.
    if error < 0.01 { Ok(()) } else { Err("the error exceeds the roundings of bf16".into()) }
}

/// A transformer block on a device.
struct Block<'d, D: Device> {
    device: &'d D,
    kernels: KernelCache<'d>,
    attention_norm: Buffer<bf16>,
    q: Buffer<bf16>,
    k: Buffer<bf16>,
    v: Buffer<bf16>,
    out: Buffer<bf16>,
    mlp_norm: Buffer<bf16>,
    gate_and_up: Buffer<bf16>,
    down: Buffer<bf16>,
    /// The cosines and sines of the angles of each position.
    angles: [Buffer<f32>; 2],
    /// The position of each token.
    positions: Buffer<i32>,
}

impl<D: Device> Block<'_, D> {
    fn forward(&self, x: &Buffer<bf16>) -> Fallible<Buffer<bf16>> {
        let h = self.norm(x, &self.attention_norm)?;
        let q = self.rotary(&self.linear(&h, &self.q, [HEADS * HEAD, WIDTH])?, HEADS)?;
        let k = self.rotary(&self.linear(&h, &self.k, [KV_HEADS * HEAD, WIDTH])?, KV_HEADS)?;
        let v = self.linear(&h, &self.v, [KV_HEADS * HEAD, WIDTH])?;
        let o = self.attention(&q, &k, &v)?;
        let o = self.linear(&o, &self.out, [WIDTH, HEADS * HEAD])?;
        let (x, h) = self.residual_norm(x, &o, &self.mlp_norm)?;
        let h = self.swiglu(&h, &self.gate_and_up)?;
        self.linear_and_add(&h, &self.down, [WIDTH, HIDDEN], &x)
    }

    /// Returns norm(x) · w.
    fn norm(&self, x: &Buffer<bf16>, w: &Buffer<bf16>) -> Fallible<Buffer<bf16>> {
        let mut y = self.device.output(TOKENS * WIDTH)?;
        let size = [TOKENS, WIDTH].map(|n| n as u32);
        report(&call::norm(&self.kernels, NormFunction::Rms, size, EPSILON, x, w, &mut y)?);
        Ok(y)
    }

    /// Returns x + r and norm(x + r) · w.
    fn residual_norm(
        &self,
        x: &Buffer<bf16>,
        r: &Buffer<bf16>,
        w: &Buffer<bf16>,
    ) -> Fallible<(Buffer<bf16>, Buffer<bf16>)> {
        let (mut h, mut y) = (self.device.output(TOKENS * WIDTH)?, self.device.output(TOKENS * WIDTH)?);
        let (function, size) = (NormFunction::Rms, [TOKENS, WIDTH].map(|n| n as u32));
        report(&call::residual_norm(&self.kernels, function, size, EPSILON, (x, r), w, (&mut h, &mut y))?);
        Ok((h, y))
    }

    /// Returns x·wᵀ, for weights with a row for each output.
    fn linear(&self, x: &Buffer<bf16>, w: &Buffer<bf16>, size: [usize; 2]) -> Fallible<Buffer<bf16>> {
        let mut y = self.device.output(TOKENS * size[0])?;
        report(&call::gemm(&self.kernels, &projection(size), x, w, &mut y)?);
        Ok(y)
    }

    /// Returns x·wᵀ + r.
    fn linear_and_add(
        &self,
        x: &Buffer<bf16>,
        w: &Buffer<bf16>,
        size: [usize; 2],
        r: &Buffer<bf16>,
    ) -> Fallible<Buffer<bf16>> {
        let mut y = self.device.output(TOKENS * size[0])?;
        let added = EpilogueOperands {
            c: Some((BufferRef::from(r), size[0] as u32, 1.0)),
            ..EpilogueOperands::default()
        };
        report(&call::fused_gemm(&self.kernels, &projection(size), &added, x, w, &mut y)?);
        Ok(y)
    }

    /// Returns silu(x·gateᵀ) ∘ (x·upᵀ).
    fn swiglu(&self, x: &Buffer<bf16>, gate_and_up: &Buffer<bf16>) -> Fallible<Buffer<bf16>> {
        let mut y = self.device.output(TOKENS * HIDDEN)?;
        let shape = GemmShape { activation: Some(Activation::Silu), ..projection([HIDDEN, WIDTH]) };
        report(&call::gated_gemm(&self.kernels, &shape, x, gate_and_up, &mut y)?);
        Ok(y)
    }

    fn rotary(&self, x: &Buffer<bf16>, heads: usize) -> Fallible<Buffer<bf16>> {
        let mut y = self.device.output(x.len())?;
        let tables = RotaryTables {
            cos: BufferRef::from(&self.angles[0]),
            sin: BufferRef::from(&self.angles[1]),
            rows: POSITIONS as u32,
            half: HEAD as u32 / 2,
            positions: BufferRef::from(&self.positions),
        };
        let size = [TOKENS, heads, HEAD].map(|n| n as u32);
        report(&call::rotary(&self.kernels, RotaryPairs::Halves, size, &tables, x, &mut y)?);
        Ok(y)
    }

    fn attention(&self, q: &Buffer<bf16>, k: &Buffer<bf16>, v: &Buffer<bf16>) -> Fallible<Buffer<bf16>> {
        let mut o = self.device.output(q.len())?;
        let mut lse = self.device.output(TOKENS * HEADS)?;
        let [sequences, heads, positions, head] = [SEQUENCES, HEADS, POSITIONS, HEAD].map(|n| n as u32);
        let shape = AttentionShape {
            kv_heads: KV_HEADS as u32,
            mask: AttentionMask::Causal,
            ..AttentionShape::new(sequences, heads, positions, head)
        };
        report(&call::attention(&self.kernels, &shape, q, k, v, &mut o, &mut lse)?);
        Ok(o)
    }
}

/// Returns the shape of x·wᵀ for weights with this number of rows and columns.
fn projection([outputs, inputs]: [usize; 2]) -> GemmShape {
    let [m, n, k] = [TOKENS, outputs, inputs].map(|n| n as u32);
    GemmShape { b: MatrixOrder::Col, ..GemmShape::new(m, n, k) }
}

fn report(called: &Called) {
    let how = if called.reused { "again" } else { "built" };
    let time = called.launched.as_ref().map(|launched| launched.time).unwrap_or_default();
    println!("{how}    {} in {time:.1?}", called.kernel.name);
}

/// The weights, and the block in f64.
struct Weights {
    attention_norm: Vec<bf16>,
    q: Vec<bf16>,
    k: Vec<bf16>,
    v: Vec<bf16>,
    out: Vec<bf16>,
    mlp_norm: Vec<bf16>,
    gate_and_up: Vec<bf16>,
    down: Vec<bf16>,
}

impl<'d, D: Device> Block<'d, D> {
    fn new(device: &'d D, kernels: KernelCache<'d>, weights: &Weights) -> Fallible<Self> {
        let upload = |weights: &[bf16]| device.upload(weights);
        let table = |of: fn(f64) -> f64| -> Vec<f32> {
            let all = (0..POSITIONS).flat_map(|at| (0..HEAD / 2).map(move |pair| angle(at, pair)));
            all.map(|angle| of(angle) as f32).collect()
        };
        let positions: Vec<i32> = (0..TOKENS).map(|token| (token % POSITIONS) as i32).collect();
        Ok(Self {
            device,
            kernels,
            attention_norm: upload(&weights.attention_norm)?,
            q: upload(&weights.q)?,
            k: upload(&weights.k)?,
            v: upload(&weights.v)?,
            out: upload(&weights.out)?,
            mlp_norm: upload(&weights.mlp_norm)?,
            gate_and_up: upload(&weights.gate_and_up)?,
            down: upload(&weights.down)?,
            angles: [device.upload(&table(f64::cos))?, device.upload(&table(f64::sin))?],
            positions: device.upload(&positions)?,
        })
    }
}

impl Weights {
    fn new() -> Self {
        // With this scale, projections preserve the magnitude of the numbers.
        let matrix = |outputs: usize, inputs: usize, seed| {
            numbers(outputs * inputs, seed, (3.0 / inputs as f32).sqrt())
        };
        let (of_queries, of_keys) = (HEADS * HEAD, KV_HEADS * HEAD);
        Self {
            attention_norm: numbers(WIDTH, 2, 1.0),
            q: matrix(of_queries, WIDTH, 3),
            k: matrix(of_keys, WIDTH, 4),
            v: matrix(of_keys, WIDTH, 5),
            out: matrix(WIDTH, of_queries, 6),
            mlp_norm: numbers(WIDTH, 7, 1.0),
            gate_and_up: matrix(2 * HIDDEN, WIDTH, 8),
            down: matrix(WIDTH, HIDDEN, 9),
        }
    }

    fn forward(&self, x: &[bf16]) -> Vec<f64> {
        let x: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
        let h = norm(&x, &self.attention_norm);
        let q = rotated(&linear(&h, &self.q, WIDTH), HEADS);
        let k = rotated(&linear(&h, &self.k, WIDTH), KV_HEADS);
        let v = linear(&h, &self.v, WIDTH);
        let o = linear(&attended(&q, &k, &v), &self.out, HEADS * HEAD);
        let x = sum(&x, &o);
        let h = norm(&x, &self.mlp_norm);
        let (gate, up) = self.gate_and_up.split_at(HIDDEN * WIDTH);
        let gated = iter::zip(linear(&h, gate, WIDTH), linear(&h, up, WIDTH));
        let h: Vec<f64> = gated.map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up).collect();
        sum(&x, &linear(&h, &self.down, HIDDEN))
    }
}

fn norm(x: &[f64], w: &[bf16]) -> Vec<f64> {
    let rows = x.chunks(WIDTH).flat_map(|row| {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / WIDTH as f64;
        let scale = 1.0 / (mean + f64::from(EPSILON)).sqrt();
        iter::zip(row, w).map(move |(x, w)| x * scale * w.to_f64())
    });
    rows.collect()
}

fn linear(x: &[f64], w: &[bf16], inputs: usize) -> Vec<f64> {
    let product = |x: &[f64], w: &[bf16]| iter::zip(x, w).map(|(x, w)| x * w.to_f64()).sum();
    x.chunks(inputs).flat_map(|x| w.chunks(inputs).map(move |w| product(x, w))).collect()
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    iter::zip(a, b).map(|(a, b)| a + b).collect()
}

/// Returns the angle by which a pair of elements is rotated at a position.
fn angle(position: usize, pair: usize) -> f64 {
    position as f64 * 10_000.0f64.powf(-2.0 * pair as f64 / HEAD as f64)
}

fn rotated(x: &[f64], heads: usize) -> Vec<f64> {
    let mut y = x.to_vec();
    for (row, y) in y.chunks_mut(HEAD).enumerate() {
        for pair in 0..HEAD / 2 {
            let (sin, cos) = angle(row / heads % POSITIONS, pair).sin_cos();
            let (a, b) = (y[pair], y[pair + HEAD / 2]);
            (y[pair], y[pair + HEAD / 2]) = (a * cos - b * sin, b * cos + a * sin);
        }
    }
    y
}

fn attended(q: &[f64], k: &[f64], v: &[f64]) -> Vec<f64> {
    let mut o = vec![0.0; q.len()];
    for (row, (q, o)) in iter::zip(q.chunks(HEAD), o.chunks_mut(HEAD)).enumerate() {
        let (token, head) = (row / HEADS, row % HEADS);
        let first = token / POSITIONS * POSITIONS;
        let of_key = |key: usize| (key * KV_HEADS + head / (HEADS / KV_HEADS)) * HEAD;
        let weight = |key: usize| {
            let product: f64 = iter::zip(q, &k[of_key(key)..]).map(|(q, k)| q * k).sum();
            (product / (HEAD as f64).sqrt()).exp()
        };
        let weights: Vec<f64> = (first..=token).map(weight).collect();
        let total: f64 = weights.iter().sum();
        for (key, weight) in (first..).zip(weights) {
            iter::zip(&mut *o, &v[of_key(key)..]).for_each(|(o, v)| *o += weight / total * v);
        }
    }
    o
}

/// Returns pseudo-random numbers from −`size` to `size`.
fn numbers(count: usize, seed: u32, size: f32) -> Vec<bf16> {
    let mut state = seed;
    let number = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bf16::from_f32(((state >> 16) as f32 / 32_768.0 - 1.0) * size)
    };
    (0..count).map(number).collect()
}

/// Returns the root mean square of the errors, relative to that of the results.
fn relative_error(expected: &[f64], found: &[bf16]) -> f64 {
    let errors = iter::zip(expected, found).map(|(expected, found)| (found.to_f64() - expected).powi(2));
    let (errors, results) = (errors.sum::<f64>(), expected.iter().map(|x| x * x).sum::<f64>());
    (errors / results).sqrt()
}
