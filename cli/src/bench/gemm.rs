//! `warpwright bench gemm`.

use std::{process::ExitCode, str::FromStr, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream};
use half::bf16;
use warpwright::{
    gpu::{Gpu, GpuError, time},
    kernels::{GemmArgs, gemm},
    ptx::{BuildError, Kernel},
    run::{Loaded, RunError},
    tiles::Schedule,
};

use super::cublaslt::{Order, Product};
use crate::Error;

/// Times products of matrices of random normal numbers, next to cuBLASLt
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Sizes M,N,K, separated by semicolons
    #[arg(long, default_value = "4096,4096,4096;8192,8192,8192", value_delimiter = ';')]
    sizes: Vec<Size>,
    /// Rounds of interleaved runs
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Runs per round
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

#[derive(Clone, Copy, Debug)]
struct Size([usize; 3]);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Vec<usize> = text.split(',').map(|n| n.trim().parse()).collect::<Result<_, _>>().map_err(|e| format!("{e}"))?;
        <[usize; 3]>::try_from(numbers).map(Size).map_err(|found| format!("expected M,N,K, found {} numbers", found.len()))
    }
}

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

impl Args {
    pub(in crate::bench) fn run(self) -> Result<ExitCode, Error> {
        self.table().map_err(|error| Error(error.to_string()))?;
        Ok(ExitCode::SUCCESS)
    }

    fn table(&self) -> Fallible<()> {
        let gpu = Gpu::new(0)?;
        println!("{}", gpu.properties());
        let stream = gpu.stream();
        let kernels: Vec<(String, Loaded<GemmArgs>)> = variants()
            .into_iter()
            .map(|(name, kernel)| Ok((name, gpu.load(&kernel?)?)))
            .collect::<Fallible<_>>()?;
        let normals = normals(1 << 24);
        let source = stream.clone_htod(&normals)?;
        for &Size([m, n, k]) in &self.sizes {
            let sets = ((120usize << 20) / (2 * (m * k + n * k + m * n))).clamp(1, 8);
            let mut buffers = (0..sets)
                .map(|set| Ok((filled(&stream, &source, m * k, set)?, filled(&stream, &source, n * k, set + 17)?, stream.alloc_zeros::<u16>(m * n)?)))
                .collect::<Fallible<Vec<_>>>()?;
            let mut rival = Product::new(&stream, [m, n, k], [Order::Normal, Order::Transposed])?;
            let flops = 2.0 * (m * n * k) as f64;
            // The best algorithm, from a first pass.
            let mut first: Vec<(f64, usize)> = Vec::new();
            for algorithm in 0..rival.algorithms() {
                let times = time(&stream, 1, 4, |i| {
                    let (a, b, d) = &mut buffers[i % sets];
                    rival.run(algorithm, a, b, d).map_err(|e| Failed(e.to_string()))
                })?;
                first.push((times.median(), algorithm));
            }
            first.sort_by(|a, b| a.0.total_cmp(&b.0));
            let best = first[0].1;
            let mut expected = vec![];
            let mut columns: Vec<Vec<f64>> = vec![Vec::new(); 2 + kernels.len()];
            for round in 0..self.rounds {
                for (column, algorithm) in [0, best].into_iter().enumerate() {
                    let times = time(&stream, 1, self.runs, |i| {
                        let (a, b, d) = &mut buffers[i % sets];
                        rival.run(algorithm, a, b, d).map_err(|e| Failed(e.to_string()))
                    })?;
                    columns[column].push(times.median());
                }
                if round == 0 {
                    expected = stream.clone_dtoh(&buffers[0].2)?;
                }
                for (at, (name, kernel)) in kernels.iter().enumerate() {
                    let times = time(&stream, 1, self.runs, |i| -> Result<(), RunError> {
                        let (a, b, d) = &mut buffers[i % sets];
                        kernel.launch(&stream, (&*a, &*b, d, m as u32, n as u32, k as u32))
                    })?;
                    columns[2 + at].push(times.median());
                    if round == 0 {
                        check(name, &expected, &stream.clone_dtoh(&buffers[0].2)?)?;
                    }
                }
            }
            let medians: Vec<f64> = columns.iter_mut().map(|times| { times.sort_by(f64::total_cmp); times[times.len() / 2] }).collect();
            let rival = medians[0].min(medians[1]);
            println!("{m}x{n}x{k}: cuBLASLt default {:.0}, best {:.0} TFLOP/s (algorithm {best} of {})", flops / medians[0] / 1e6, flops / medians[1] / 1e6, first.len());
            for ((name, _), micros) in kernels.iter().zip(&medians[2..]) {
                println!("    {name:<40} {micros:>9.1} us {:>7.0} TFLOP/s {:>7.3}", flops / micros / 1e6, rival / micros);
            }
        }
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(String);

impl From<GpuError> for Failed {
    fn from(error: GpuError) -> Self {
        Self(error.to_string())
    }
}

fn variants() -> Vec<(String, Result<Kernel<GemmArgs>, BuildError>)> {
    let mut all = Vec::new();
    for cluster in [1, 2] {
        for group in [4, 8, 16] {
            let schedule = Schedule::grouped(group);
            all.push((format!("128x256 4 stages W8 cluster {cluster} group {group}"), gemm::<8, 16, 4, 2, 8>(cluster, schedule)));
            all.push((format!("128x256 3 stages W16 cluster {cluster} group {group}"), gemm::<8, 16, 3, 2, 16>(cluster, schedule)));
            all.push((format!("128x256 4 stages W4 cluster {cluster} group {group}"), gemm::<8, 16, 4, 2, 4>(cluster, schedule)));
        }
    }
    all
}

/// Returns the bits of random normal numbers (Box-Muller).
fn normals(count: usize) -> Vec<u16> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 40) as f32 + 0.5) / (1 << 24) as f32
    };
    let normal = |_| bf16::from_f32((-2.0 * uniform().ln()).sqrt() * (std::f32::consts::TAU * uniform()).cos()).to_bits();
    (0..count).map(normal).collect()
}

fn filled(stream: &Arc<CudaStream>, source: &CudaSlice<u16>, length: usize, seed: usize) -> Fallible<CudaSlice<u16>> {
    let mut to = stream.alloc_zeros::<u16>(length)?;
    let mut at = 0;
    let mut from = seed * 1_000_003 % (source.len() / 2);
    while at < length {
        let count = (source.len() - from).min(length - at);
        stream.memcpy_dtod(&source.slice(from..from + count), &mut to.slice_mut(at..at + count))?;
        at += count;
        from = (from + 7_919) % (source.len() / 2);
    }
    Ok(to)
}

/// Compares with the rival's result: both are rounded sums of the same products.
fn check(name: &str, expected: &[u16], found: &[u16]) -> Fallible<()> {
    for (i, (&expected, &found)) in expected.iter().zip(found).enumerate() {
        let (e, f) = (bf16::from_bits(expected).to_f32(), bf16::from_bits(found).to_f32());
        if (e - f).abs() > 0.02 * e.abs().max(4.0) || f.is_nan() {
            return Err(format!("{name}: element {i}: expected {e}, found {f}").into());
        }
    }
    Ok(())
}
