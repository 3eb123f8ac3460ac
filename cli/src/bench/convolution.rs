//! `warpwright bench convolution`.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use half::bf16;
use warpwright::{
    gpu::{Gpu, time},
    kernels::{FftConvolution, FftConvolutionArgs},
    ptx::{self, Target},
    run::Loaded,
};

use super::{
    Failed, Fallible,
    normals::{filled, normals},
    positive,
    race::Rounds,
    rival::Rival,
};

/// Times convolutions with Fourier transforms on random normal numbers, alongside other implementations
///
/// All contenders are timed in turn, in a different order each round; the table shows the median, the bytes of sequences and results per
/// second, and the 10th and 90th percentiles. Some elements of the result are compared with results in f64.
///
/// Exit codes: 0 if all results agree, 2 otherwise or if no GPU is available.
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Lengths of sequences and transforms, separated by commas
    #[arg(long, default_value = "1024,4096,8192,16384", value_delimiter = ',', value_parser = positive())]
    lengths: Vec<usize>,
    /// Number of sequences per channel
    #[arg(long, default_value_t = 16, value_parser = positive())]
    batches: usize,
    /// Number of channels, each of which has a filter
    #[arg(long, default_value_t = 1024, value_parser = positive())]
    channels: usize,
    #[command(flatten)]
    rounds: Rounds,
    /// A command that times other implementations, such as "python3 benches/convolution.py"
    #[arg(long)]
    rival: Option<String>,
}

impl Args {
    pub(in crate::bench) fn tables(&self) -> Fallible<()> {
        let Self { batches, channels, .. } = *self;
        let gpu = Gpu::new(0)?;
        println!("{}", gpu.properties());
        let mut rival = self.rival.as_deref().map(Rival::start).transpose()?;
        for &length in &self.lengths {
            println!(
                "{batches} sequences of {channels} channels, length {length}: {} samples",
                self.rounds.rounds
            );
            let mut problem = Problem::new(&gpu, [batches, channels, length])?;
            let request = format!("begin {batches} {channels} {length}");
            let rival = rival.as_mut().map(|rival| (rival, request.as_str()));
            let rate = ("TB/s", (batches * channels * length * 4) as f64 / 1e6);
            self.rounds.table(&["warpwright".into()], |_| problem.time(), rival, rate)?;
        }
        Ok(())
    }
}

/// The kernel, with its buffers.
struct Problem {
    stream: Arc<CudaStream>,
    sizes: [usize; 3],
    kernel: Loaded<FftConvolutionArgs<ptx::bf16>>,
    u: CudaSlice<u16>,
    /// The real and the imaginary parts of the transforms of filters.
    filters: [CudaSlice<f32>; 2],
    y: CudaSlice<u16>,
}

/// The number of leading elements of a filter that may be nonzero; the others are 0.
const TAPS: usize = 32;

impl Problem {
    fn new(gpu: &Gpu, sizes @ [batches, channels, length]: [usize; 3]) -> Fallible<Self> {
        let stream = gpu.stream();
        let bits: Vec<u16> = normals(1 << 22).map(|x| bf16::from_f32(x).to_bits()).collect();
        let source = stream.clone_htod(&bits)?;
        let count = batches * channels * length;
        // All channels have the filter that `verify` uses.
        let taps = Self::taps();
        let number = |k: usize| {
            taps.iter().enumerate().fold([0.0; 2], |[re, im], (t, tap)| {
                let (sin, cos) = (-std::f64::consts::TAU * (k * t) as f64 / length as f64).sin_cos();
                [re + tap * cos, im + tap * sin]
            })
        };
        let spectrum: Vec<[f64; 2]> = (0..length).map(number).collect();
        let part = |which: usize| {
            let part: Vec<f32> = spectrum.iter().map(|number| number[which] as f32).collect();
            stream.clone_htod(&part.repeat(channels))
        };
        let kernel = FftConvolution { size: length as u32 }.kernel(Target::SM_90A)?;
        let mut problem = Self {
            sizes,
            kernel: gpu.load(&kernel)?,
            u: filled(&stream, &source, count, 1)?,
            filters: [part(0)?, part(1)?],
            y: stream.alloc_zeros(count)?,
            stream,
        };
        problem.verify()?;
        Ok(problem)
    }

    fn taps() -> Vec<f64> {
        normals(TAPS).map(f64::from).collect()
    }

    /// Queues a launch.
    fn launch(&mut self) -> Result<(), Failed> {
        let sizes @ [_, channels, length] = self.sizes.map(|size| size as u32);
        let ([re, im], strides) = (&self.filters, [[channels * length, length]; 2]);
        let launched = self.kernel.launch(&self.stream, (&self.u, re, im, &mut self.y, sizes, strides));
        launched.map_err(Failed::of)
    }

    /// Returns the time of a launch in microseconds.
    fn time(&mut self) -> Fallible<f64> {
        let stream = Arc::clone(&self.stream);
        Ok(time(&stream, 1, 1, |_| self.launch())?.median())
    }

    /// Compares some sequences of the result with f64.
    fn verify(&mut self) -> Fallible<()> {
        self.launch()?;
        let [batches, channels, length] = self.sizes;
        let taps = Self::taps();
        let norm = taps.iter().map(|tap| tap * tap).sum::<f64>().sqrt();
        for sequence in [0, batches * channels / 2, batches * channels - 1] {
            let range = sequence * length..(sequence + 1) * length;
            let [u, y] = [&self.u, &self.y].map(|bits| self.stream.clone_dtoh(&bits.slice(range.clone())));
            let (u, y) = (u?, y?);
            for (i, &found) in y.iter().enumerate() {
                let terms =
                    taps.iter().enumerate().map(|(t, tap)| tap * number(u[(i + length - t) % length]));
                let (found, expected) = (number(found), terms.sum::<f64>());
                if (found - expected).abs() > norm / 16.0 || found.is_nan() {
                    return Err(format!(
                        "sequence {sequence}, number {i}: expected {expected}, found {found}"
                    )
                    .into());
                }
            }
        }
        Ok(())
    }
}

fn number(bits: u16) -> f64 {
    bf16::from_bits(bits).to_f64()
}
