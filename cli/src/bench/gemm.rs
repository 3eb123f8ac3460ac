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
///
/// D = A·B of bf16 with sums in f32: A m×k and B k×n in rows or columns, D m×n in rows. All contenders are launched in turn, in another
/// order each round, with buffers that exceed the level-2 cache; the table has the median, and the 10th and 90th percentiles. Results are
/// compared with those of cuBLASLt.
///
/// Exit codes: 0 if all results agree, 2 otherwise, or without a GPU or cuBLASLt.
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Sizes M,N,K, separated by semicolons
    #[arg(long, default_value = "4096,4096,4096;8192,8192,8192", value_delimiter = ';')]
    sizes: Vec<Size>,
    /// The orders of A and B: n for rows, t for columns
    #[arg(long, default_value = "nt")]
    layout: Layout,
    /// Samples of each contender
    #[arg(long, default_value_t = 30)]
    rounds: usize,
    /// Milliseconds of warm-up
    #[arg(long, default_value_t = 300.0)]
    warm_up_ms: f64,
    /// Algorithms of cuBLASLt
    #[arg(long, default_value_t = 4)]
    algorithms: usize,
    /// Also time all tiles, with several clusters and orders of tiles
    #[arg(long)]
    sweep: bool,
}

#[derive(Clone, Copy, Debug)]
struct Size([usize; 3]);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |n: &str| n.trim().parse::<u32>().map(|n| n as usize).map_err(|error| format!("{n}: {error}"));
        let numbers = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        let sizes = <[usize; 3]>::try_from(numbers);
        sizes.map(Self).map_err(|found| format!("expected M,N,K, found {} numbers", found.len()))
    }
}

#[derive(Clone, Copy, Debug)]
struct Layout([MatrixOrder; 2]);

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let order = |letter| match letter {
            'n' => Ok(MatrixOrder::Row),
            't' => Ok(MatrixOrder::Col),
            _ => Err(format!("expected two letters n or t, found `{text}`")),
        };
        let orders = text.chars().map(order).collect::<Result<Vec<_>, _>>()?;
        let orders = <[MatrixOrder; 2]>::try_from(orders);
        orders.map(Self).map_err(|_| format!("expected two letters n or t, found `{text}`"))
    }
}

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

impl Args {
    pub(in crate::bench) fn run(self) -> Result<ExitCode, Error> {
        self.tables().map_err(|error| Error(error.to_string()))?;
        Ok(ExitCode::SUCCESS)
    }

    fn tables(&self) -> Fallible<()> {
        let gpu = Gpu::new(0)?;
        println!("{}", gpu.properties());
        let normals = gpu.stream().clone_htod(&normals(1 << 24))?;
        for &Size(size) in &self.sizes {
            let mut problem = Problem::new(&gpu, &normals, size, self.layout.0, self.sweep)?;
            problem.verify()?;
            self.table(&problem.times(self)?, size);
        }
        Ok(())
    }

    fn table(&self, times: &[Times], [m, n, k]: [usize; 3]) {
        println!("{m}x{n}x{k}: {} samples", self.rounds);
        println!("    {:<44} {:>9} {:>9} {:>9}  10 % … 90 %", "", "µs", "TFLOP/s", "of best");
        let best =
            times.iter().filter(|times| times.is_rival).map(Times::median).fold(f64::INFINITY, f64::min);
        for times in times {
            let (median, [low, high]) = (times.median(), [0.1, 0.9].map(|part| times.quantile(part)));
            let rate = 2.0 * (m * n * k) as f64 / median / 1e6;
            println!(
                "    {:<44} {median:>9.1} {rate:>9.0} {:>9.3}  {low:.1} … {high:.1}",
                times.name,
                best / median
            );
        }
    }
}

/// The sorted times of a contender in microseconds.
struct Times {
    name: String,
    is_rival: bool,
    micros: Vec<f64>,
}

impl Times {
    fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    fn quantile(&self, part: f64) -> f64 {
        let last = self.micros.len().saturating_sub(1);
        self.micros.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
    }
}

/// A, B and D as bits.
type Buffers = (CudaSlice<u16>, CudaSlice<u16>, CudaSlice<u16>);

/// A kernel and its name in the table.
type Named = (String, Loaded<GemmArgs<bf16, bf16>>);

/// A product of one size, its contenders and its buffers.
struct Problem {
    stream: Arc<CudaStream>,
    size: [usize; 3],
    orders: [MatrixOrder; 2],
    /// Together larger than the level-2 cache.
    buffers: Vec<Buffers>,
    rival: CublasLtProduct,
    kernels: Vec<Named>,
}

#[derive(Clone, Copy)]
enum Contender {
    /// An algorithm of cuBLASLt.
    Rival(usize),
    /// A kernel.
    Ours(usize),
}

/// The rate at which the number of launches is estimated.
const FLOPS_PER_SECOND: f64 = 650e12;

impl Problem {
    fn new(
        gpu: &Gpu,
        normals: &CudaSlice<u16>,
        size: [usize; 3],
        orders: [MatrixOrder; 2],
        sweep: bool,
    ) -> Fallible<Self> {
        let (stream, [m, n, k]) = (gpu.stream(), size);
        let bytes = 2 * (m * k + n * k + m * n);
        let sets = ((120 << 20) / bytes.max(1)).clamp(1, 8);
        let set = |set| {
            let a = filled(&stream, normals, m * k, set)?;
            Ok((a, filled(&stream, normals, n * k, set + 17)?, stream.alloc_zeros(m * n)?))
        };
        let buffers = (0..sets).map(set).collect::<Fallible<_>>()?;
        let of_rival = orders.map(|order| match order {
            MatrixOrder::Row => Order::Normal,
            MatrixOrder::Col => Order::Transposed,
        });
        let rival = CublasLtProduct::new(&stream, size, of_rival)?;
        let kernels = kernels(gpu, orders, size, sweep)?;
        Ok(Self { stream, size, orders, buffers, rival, kernels })
    }

    /// Queues a contender's product on a set of buffers.
    fn launch(&mut self, contender: Contender, set: usize) -> Result<(), Failed> {
        let [m, n, k] = self.size;
        let set = set % self.buffers.len();
        let (a, b, d) = &mut self.buffers[set];
        match contender {
            Contender::Rival(algorithm) => self.rival.run(algorithm, a, b, d).map_err(Failed::of),
            Contender::Ours(kernel) => {
                let stride = |order, rows, cols| if order == MatrixOrder::Row { cols } else { rows };
                let (lda, ldb) = (stride(self.orders[0], m, k), stride(self.orders[1], k, n));
                let [lda, ldb, m, n, k] = [lda, ldb, m, n, k].map(|size| size as u32);
                let arguments = (&*a, lda, &*b, ldb, d, n, m, n, k);
                self.kernels[kernel].1.launch(&self.stream, arguments).map_err(Failed::of)
            }
        }
    }

    /// Compares the kernels' results with that of cuBLASLt: all are rounded sums of the same products.
    fn verify(&mut self) -> Fallible<()> {
        self.launch(Contender::Rival(0), 0)?;
        let expected = self.stream.clone_dtoh(&self.buffers[0].2)?;
        for kernel in 0..self.kernels.len() {
            self.stream.memset_zeros(&mut self.buffers[0].2)?;
            self.launch(Contender::Ours(kernel), 0)?;
            let found = self.stream.clone_dtoh(&self.buffers[0].2)?;
            for (i, (&expected, &found)) in expected.iter().zip(&found).enumerate() {
                let [expected, found] = [expected, found].map(|bits| bf16::from_bits(bits).to_f32());
                let error = (expected - found).abs();
                if error.is_nan() || error > 0.02 * expected.abs().max(4.0) {
                    let name = &self.kernels[kernel].0;
                    return Err(format!("{name}: element {i}: expected {expected}, found {found}").into());
                }
            }
        }
        Ok(())
    }

    /// Times all contenders, in turn and in another order each round, so that all see the same clock and temperature.
    fn times(&mut self, args: &Args) -> Fallible<Vec<Times>> {
        let rivals = args.algorithms.min(self.rival.algorithms());
        let contenders: Vec<Contender> =
            (0..rivals).map(Contender::Rival).chain((0..self.kernels.len()).map(Contender::Ours)).collect();
        let (count, seconds) =
            (contenders.len(), self.size.iter().product::<usize>() as f64 * 2.0 / FLOPS_PER_SECOND);
        // Small products are timed in batches, since the clock of events is coarse.
        let batch = ((300e-6 / seconds) as usize).clamp(1, 20);
        let order: Vec<usize> = (0..args.rounds)
            .flat_map(|round| {
                let step = if round % 2 == 0 { 1 } else { count - 1 };
                (0..count).map(move |i| (i * step + round * 3) % count)
            })
            .collect();
        let rounds = (args.warm_up_ms * 1e-3 / (batch as f64 * seconds * count as f64)) as usize;
        let warm_up = rounds.clamp(1, 1000) * count;
        let stream = Arc::clone(&self.stream);
        let timings = time(&stream, warm_up, order.len(), |i| {
            let at = i.checked_sub(warm_up).map_or(i % count, |i| order[i]);
            (i..i + batch).try_for_each(|set| self.launch(contenders[at], set))
        })?;
        let mut micros = vec![Vec::new(); count];
        for (&at, time) in order.iter().zip(timings.micros()) {
            micros[at].push(time / batch as f64);
        }
        let times = contenders.iter().zip(micros).map(|(&contender, mut micros)| {
            micros.sort_by(f64::total_cmp);
            let (name, is_rival) = match contender {
                Contender::Rival(algorithm) => (format!("cuBLASLt, algorithm {algorithm}"), true),
                Contender::Ours(kernel) => (self.kernels[kernel].0.clone(), false),
            };
            Times { name, is_rival, micros }
        });
        Ok(times.collect())
    }
}

/// A launch that failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(String);

impl Failed {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl From<GpuError> for Failed {
    fn from(error: GpuError) -> Self {
        Self::of(error)
    }
}

/// Loads the kernel that is chosen for a size, and, in a sweep, those of all tiles.
fn kernels(gpu: &Gpu, [a, b]: [MatrixOrder; 2], [m, n, _]: [usize; 3], sweep: bool) -> Fallible<Vec<Named>> {
    let chosen = GemmTile::for_result(m as u32, n as u32, gpu.properties().multiprocessors);
    let mut variants = vec![(format!("warpwright {chosen}"), Gemm { a, b, ..Gemm::new(chosen) })];
    for tile in GemmTile::ALL.into_iter().filter(|_| sweep) {
        for (cluster, group) in [([1, 1], 8), ([1, 1], 16), ([2, 1], 8), ([2, 1], 4)] {
            let [rows, cols] = cluster;
            let name = format!("{tile}, cluster {rows}x{cols}, groups of {group}");
            variants
                .push((name, Gemm { a, b, cluster, schedule: Schedule::grouped(group), ..Gemm::new(tile) }));
        }
    }
    let load = |(name, gemm): (_, Gemm)| Ok((name, gpu.load(&gemm.kernel::<bf16, f32, bf16>()?)?));
    variants.into_iter().map(load).collect()
}

/// Returns the bits of random normal numbers (Box-Muller).
fn normals(count: usize) -> Vec<u16> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut uniform = || {
        // Xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 40) as f32 + 0.5) / (1 << 24) as f32
    };
    let normal = |_| {
        let radius = (-2.0 * uniform().ln()).sqrt();
        bf16::from_f32(radius * (std::f32::consts::TAU * uniform()).cos()).to_bits()
    };
    (0..count).map(normal).collect()
}

/// Returns a buffer of `length` elements, filled with runs of `source` that start at different offsets.
fn filled(
    stream: &Arc<CudaStream>,
    source: &CudaSlice<u16>,
    length: usize,
    seed: usize,
) -> Fallible<CudaSlice<u16>> {
    let mut to = stream.alloc_zeros::<u16>(length)?;
    let (mut at, mut from) = (0, seed * 1_000_003 % (source.len() / 2));
    while at < length {
        let count = (source.len() - from).min(length - at);
        stream.memcpy_dtod(&source.slice(from..from + count), &mut to.slice_mut(at..at + count))?;
        at += count;
        from = (from + 7_919) % (source.len() / 2);
    }
    Ok(to)
}
