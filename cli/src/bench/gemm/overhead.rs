//! The costs of a kernel before it runs: building it, compiling it with the driver, and launching it.

use std::time::Instant;

use serde::Serialize;
use warpwright::{
    gpu::{Gpu, LoadOptions, Module},
    kernels::{Gemm, GemmTile},
    run::Loaded,
};

use super::{
    precision::{Dtype, Precision},
    shapes::Layout,
};
use crate::bench::{Fallible, provenance::Provenance, samples::Samples};

/// The times of the steps before a kernel runs.
pub(super) struct Overhead {
    dtype: Dtype,
    layout: Layout,
    name: String,
    steps: Vec<Step>,
}

/// A step and its times in microseconds.
struct Step {
    name: &'static str,
    samples: Samples,
}

/// A step as a JSON object.
#[derive(Serialize)]
struct Row<'r> {
    dtype: String,
    layout: String,
    kernel: &'r str,
    step: &'r str,
    median_us: f64,
    p10_us: f64,
    p90_us: f64,
    #[serde(flatten)]
    provenance: &'r Provenance,
}

/// The value of m, n and k in the launched product, which is so small that the GPU is not slower than the
/// launches.
const SIDE: u32 = 64;

/// The number of launches per sample, which is less than the number that the driver queues without waiting.
const LAUNCHES: u32 = 200;

impl Overhead {
    /// Times the largest kernel for a type and layout. The kernel is built and compiled for each sample.
    pub(super) fn of<P: Precision>(gpu: &Gpu, layout: Layout, rounds: usize) -> Fallible<Self> {
        let gemm = layout.of(Gemm::new(GemmTile::T128x192));
        let kernel = P::kernel(gemm)?;
        let build = samples(rounds, |_| {
            let kernel = P::kernel(gemm)?;
            std::hint::black_box(kernel.ptx_with_lines());
            Ok(())
        })?;
        let text = kernel.ptx_with_lines();
        let options = LoadOptions { line_info: true, ..LoadOptions::default() };
        let jit = samples(rounds.min(10), |round| {
            // The driver caches kernels by their text, so the name is changed.
            let text =
                text.replace(kernel.name(), &format!("{}_{}_{round}", kernel.name(), std::process::id()));
            drop(Module::load_with(gpu, &text, &options)?);
            Ok(())
        })?;
        let [typed, bare] = launches::<P>(gpu, &gpu.load(&kernel)?, rounds)?;
        let steps = [
            ("build, with the text", build),
            ("compile and load", jit),
            ("launch with checks and tensor maps", typed),
            ("launch prepared beforehand: cuLaunchKernelEx", bare),
        ];
        let steps = steps.map(|(name, samples)| Step { name, samples }).into();
        Ok(Self { dtype: P::DTYPE, layout, name: kernel.name().to_string(), steps })
    }

    fn rows<'r>(&'r self, provenance: &'r Provenance) -> impl Iterator<Item = Row<'r>> {
        self.steps.iter().map(move |Step { name, samples }| Row {
            dtype: self.dtype.to_string(),
            layout: self.layout.to_string(),
            kernel: &self.name,
            step: name,
            median_us: samples.median(),
            p10_us: samples.quantile(0.1),
            p90_us: samples.quantile(0.9),
            provenance,
        })
    }

    pub(super) fn print_json(&self, provenance: &Provenance) -> serde_json::Result<()> {
        for row in self.rows(provenance) {
            println!("{}", serde_json::to_string(&row)?);
        }
        Ok(())
    }

    pub(super) fn print_table(&self, provenance: &Provenance) {
        println!("\n{:<50} {:>11}  10 % … 90 %", self.name, "µs");
        for row in self.rows(provenance) {
            println!("  {:<48} {:>11.2}  {:.2} … {:.2}", row.step, row.median_us, row.p10_us, row.p90_us);
        }
    }
}

/// Times `work` for several rounds, after one execution that is not timed.
fn samples(rounds: usize, mut work: impl FnMut(usize) -> Fallible<()>) -> Fallible<Samples> {
    work(rounds)?;
    let sample = |round| {
        let start = Instant::now();
        work(round)?;
        Ok(micros(start))
    };
    Ok(Samples::new((0..rounds).map(sample).collect::<Fallible<_>>()?))
}

fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

/// Times the host's part of a launch, alternating between a launch with all checks and a prepared launch.
fn launches<P: Precision>(
    gpu: &Gpu,
    kernel: &Loaded<warpwright::kernels::GemmArgs<P::Factor, P::Result>>,
    rounds: usize,
) -> Fallible<[Samples; 2]> {
    let (stream, length) = (gpu.stream(), (SIDE * SIDE) as usize);
    let a = stream.alloc_zeros::<P::StoredFactor>(length)?;
    let b = stream.alloc_zeros::<P::StoredFactor>(length)?;
    let mut d = stream.alloc_zeros::<P::StoredResult>(length)?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..=rounds {
        stream.synchronize()?;
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            kernel.launch(&stream, (&a, SIDE, &b, SIDE, &mut d, SIDE, SIDE, SIDE, SIDE))?;
        }
        times[0].push(micros(start) / f64::from(LAUNCHES));
        let args = (&a, SIDE, &b, SIDE, &mut d, SIDE, SIDE, SIDE, SIDE);
        let time = kernel.prepare(&stream, args, |prepared| -> Fallible<f64> {
            stream.synchronize()?;
            let start = Instant::now();
            for _ in 0..LAUNCHES {
                prepared.launch()?;
            }
            Ok(micros(start) / f64::from(LAUNCHES))
        })?;
        times[1].push(time?);
    }
    // The first round warms up.
    Ok(times.map(|times| Samples::new(times[1..].to_vec())))
}
