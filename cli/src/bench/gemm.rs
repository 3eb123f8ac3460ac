//! `warpwright bench gemm`.

use std::{process::ExitCode, str::FromStr, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream};
use half::bf16;
use warpwright::{
    gpu::{CublasLtProduct, Gpu, GpuError, Order, time},
    kernels::{Gemm, GemmArgs, GemmTile, MatrixOrder},
    run::Loaded,
    tiles::Schedule,
};

use crate::Error;

/// Times products of matrices of random normal numbers, next to cuBLASLt
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Sizes M,N,K, separated by semicolons
    #[arg(long, default_value = "4096,4096,4096;8192,8192,8192", value_delimiter = ';')]
    sizes: Vec<Size>,
    /// Samples of each contender
    #[arg(long, default_value_t = 30)]
    rounds: usize,
    /// Milliseconds of warm-up
    #[arg(long, default_value_t = 300.0)]
    warm_up_ms: f64,
    /// Algorithms of cuBLASLt
    #[arg(long, default_value_t = 4)]
    algorithms: usize,
    /// The orders of A and B: n for rows, t for columns
    #[arg(long, default_value = "nt")]
    layout: String,
    /// Also time all tiles, clusters and orders of tiles
    #[arg(long)]
    sweep: bool,
}

#[derive(Clone, Copy, Debug)]
struct Size([usize; 3]);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Vec<usize> = text
            .split(',')
            .map(|n| n.trim().parse())
            .collect::<Result<_, _>>()
            .map_err(|e| format!("{e}"))?;
        <[usize; 3]>::try_from(numbers)
            .map(Size)
            .map_err(|found| format!("expected M,N,K, found {} numbers", found.len()))
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
        let order = |letter: char| match letter.to_ascii_lowercase() {
            'n' => Ok(MatrixOrder::Row),
            't' => Ok(MatrixOrder::Col),
            found => Err(format!("expected n (rows) or t (columns) for A and B, found {found}")),
        };
        let orders: Vec<MatrixOrder> = self.layout.chars().map(order).collect::<Result<_, _>>()?;
        let orders =
            <[MatrixOrder; 2]>::try_from(orders).map_err(|_| "expected two letters, of A and of B")?;
        let normals = normals(1 << 24);
        let source = stream.clone_htod(&normals)?;
        for &Size([m, n, k]) in &self.sizes {
            let kernels = variants(&gpu, orders, [m, n, k], self.sweep)?;
            let sets = ((120usize << 20) / (2 * (m * k + n * k + m * n))).clamp(1, 8);
            let mut buffers = (0..sets)
                .map(|set| {
                    Ok((
                        filled(&stream, &source, m * k, set)?,
                        filled(&stream, &source, n * k, set + 17)?,
                        stream.alloc_zeros::<u16>(m * n)?,
                    ))
                })
                .collect::<Fallible<Vec<_>>>()?;
            let mut rival = CublasLtProduct::new(
                &stream,
                [m, n, k],
                orders.map(|order| if order == MatrixOrder::Row { Order::Normal } else { Order::Transposed }),
            )?;
            let offered = rival.algorithms();
            let flops = 2.0 * (m * n * k) as f64;
            // Small products are timed in batches, since the clock of events is coarse.
            let batch = ((300e-6 * 650e12 / flops) as usize).clamp(1, 20);
            let mut run = |which: Contender, start: usize, buffers: &mut Vec<_>| -> Result<(), Failed> {
                for i in start..start + batch {
                    let (a, b, d): &mut (CudaSlice<u16>, CudaSlice<u16>, CudaSlice<u16>) =
                        &mut buffers[i % sets];
                    let failed = |e: &dyn std::fmt::Display| Failed(e.to_string());
                    match which {
                        Contender::Rival(algorithm) => {
                            rival.run(algorithm, a, b, d).map_err(|e| failed(&e))?
                        }
                        Contender::Ours(at) => {
                            let stride = |order, rows, cols| if order == MatrixOrder::Row { cols } else { rows } as u32;
                            let (lda, ldb) = (stride(orders[0], m, k), stride(orders[1], k, n));
                            let args = (&*a, lda, &*b, ldb, d, n as u32, m as u32, n as u32, k as u32);
                            kernels[at].1.launch(&stream, args).map_err(|e| failed(&e))?
                        }
                    }
                }
                Ok(())
            };
            let mut contenders: Vec<Contender> =
                (0..self.algorithms.min(offered)).map(Contender::Rival).collect();
            contenders.extend((0..kernels.len()).map(Contender::Ours));
            let mut expected = Vec::new();
            for &contender in &contenders {
                time(&stream, 1, 1, |_| run(contender, 0, &mut buffers))?;
                let found = stream.clone_dtoh(&buffers[0].2)?;
                match contender {
                    Contender::Rival(_) => expected = found,
                    Contender::Ours(at) => check(&kernels[at].0, &expected, &found)?,
                }
            }
            // Launches of all contenders alternate, in another order each round, so that all have the same clock and temperature.
            let count = contenders.len();
            let order: Vec<usize> = (0..self.rounds)
                .flat_map(|round| {
                    let step = if round % 2 == 0 { 1 } else { count - 1 };
                    (0..count).map(move |i| (i * step + round * 3) % count)
                })
                .collect();
            let warm_up = (self.warm_up_ms * 1e-3 / (batch as f64 * flops / 650e12)) as usize / count * count;
            let times = time(&stream, warm_up, order.len(), |i| {
                let at = if i < warm_up { i % count } else { order[i - warm_up] };
                run(contenders[at], i, &mut buffers)
            })?;
            let mut columns = vec![Vec::new(); count];
            for (at, micros) in order.iter().zip(times.micros()) {
                columns[*at].push(micros / batch as f64);
            }
            let medians: Vec<f64> = columns
                .iter_mut()
                .map(|times| {
                    times.sort_by(f64::total_cmp);
                    times[times.len() / 2]
                })
                .collect();
            let rival = medians[..self.algorithms.min(offered)].iter().copied().fold(f64::INFINITY, f64::min);
            println!("{m}x{n}x{k}: {} samples of {batch} launches", self.rounds);
            for ((contender, micros), times) in contenders.iter().zip(&medians).zip(&columns) {
                let name = match contender {
                    Contender::Rival(algorithm) => format!("cuBLASLt algorithm {algorithm}"),
                    Contender::Ours(at) => kernels[*at].0.clone(),
                };
                println!(
                    "    {name:<44} {micros:>9.1} us {:>7.0} TFLOP/s {:>7.3}  {:.1}..{:.1}",
                    flops / micros / 1e6,
                    rival / micros,
                    times[times.len() / 10],
                    times[times.len() * 9 / 10]
                );
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

#[derive(Clone, Copy)]
enum Contender {
    Rival(usize),
    Ours(usize),
}

/// A kernel, and what it is called in the table.
type Variant = (String, Loaded<GemmArgs<bf16, bf16>>);

/// Loads the kernel that the heuristic chooses for a size, or all tiles with several clusters and orders of tiles.
fn variants(
    gpu: &Gpu,
    [a, b]: [MatrixOrder; 2],
    [m, n, _]: [usize; 3],
    sweep: bool,
) -> Fallible<Vec<Variant>> {
    let load = |name: String, gemm: Gemm| -> Fallible<Variant> {
        Ok((name, gpu.load(&gemm.kernel::<bf16, f32, bf16>()?)?))
    };
    let chosen = GemmTile::for_result(m as u32, n as u32, gpu.properties().multiprocessors);
    let mut all = vec![load(format!("warpwright {chosen}"), Gemm { a, b, ..Gemm::new(chosen) })?];
    for tile in GemmTile::ALL.into_iter().filter(|_| sweep) {
        for (cluster, group) in [([1, 1], 8), ([1, 1], 16), ([2, 1], 8), ([2, 1], 4)] {
            let gemm = Gemm { a, b, cluster, schedule: Schedule::grouped(group), ..Gemm::new(tile) };
            let [rows, cols] = cluster;
            all.push(load(format!("{tile}, cluster {rows}x{cols}, groups of {group}"), gemm)?);
        }
    }
    Ok(all)
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
    let normal = |_| {
        bf16::from_f32((-2.0 * uniform().ln()).sqrt() * (std::f32::consts::TAU * uniform()).cos()).to_bits()
    };
    (0..count).map(normal).collect()
}

fn filled(
    stream: &Arc<CudaStream>,
    source: &CudaSlice<u16>,
    length: usize,
    seed: usize,
) -> Fallible<CudaSlice<u16>> {
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
