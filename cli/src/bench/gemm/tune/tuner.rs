//! The kernels for a type on the GPU.

use std::{collections::HashMap, rc::Rc, time::Duration};

use cudarc::driver::CudaSlice;
use warpwright::{
    gpu::Gpu,
    kernels::{Gemm, GemmTile},
};

use super::{
    super::{
        contender::{Boxed, Kind},
        described,
        epilogue::Epilogue,
        gpu_kind,
        kernels::{Shared, candidates, for_contiguous, of_kernel},
        precision::Precision,
        problem::{Contenders, Problem},
        rivals::rivals,
        shapes::{Layout, Size},
    },
    search::{Failure, Launches, Outcome, fastest},
};
use crate::bench::{Fallible, normals::normals, samples::Sampling};

const WARM_UP: Duration = Duration::from_millis(10);

/// The kernels for a type. Each is compiled once for all sizes.
pub(super) struct Tuner<'g, P: Precision> {
    gpu: &'g Gpu,
    numbers: CudaSlice<P::StoredFactor>,
    kernels: HashMap<Gemm, Shared<P>>,
}

impl<'g, P: Precision> Tuner<'g, P> {
    pub(super) fn new(gpu: &'g Gpu) -> Fallible<Self> {
        let numbers: Vec<_> = normals(1 << 24).map(P::factor).collect();
        Ok(Self { gpu, numbers: gpu.stream().clone_htod(&numbers)?, kernels: HashMap::new() })
    }

    /// Searches for the fastest kernel for a problem.
    pub(super) fn fastest(&mut self, layout: Layout, size: Size) -> Outcome {
        let problem = match Problem::new(self.gpu, &self.numbers, size, layout, Epilogue::None) {
            Ok(problem) => problem,
            Err(why) => return Outcome { fastest: Err(why.to_string()), failures: Vec::new() },
        };
        let ([a, b], sizes @ [rows, ..]) = (layout.0, size.0.map(|size| size as u32));
        let estimated = Gemm::for_problem::<P::Factor, P::Result>(a, b, sizes, &gpu_kind(self.gpu));
        let candidates = candidates::<P>(estimated.target, layout, size);
        // The tile that every target supports.
        let simplest = Gemm { target: estimated.target, a, b, ..Gemm::new(GemmTile::T64x64) };
        fastest(&mut OnGpu { tuner: self, problem, layout, size, simplest }, &candidates, rows)
    }

    fn contender(&mut self, gemm: Gemm, size: Size) -> Fallible<Boxed<P>> {
        let name = described(&gemm);
        let gemm = for_contiguous::<P>(gemm, size);
        let kernel = match self.kernels.get(&gemm) {
            Some(kernel) => Rc::clone(kernel),
            None => {
                let kernel = Rc::new(self.gpu.load(&P::kernel(gemm)?)?);
                self.kernels.insert(gemm, Rc::clone(&kernel));
                kernel
            }
        };
        of_kernel(self.gpu, name, Kind::Variant, gemm, kernel, size)
    }
}

/// A problem with its buffers.
struct OnGpu<'t, 'g, P: Precision> {
    tuner: &'t mut Tuner<'g, P>,
    problem: Problem<P>,
    layout: Layout,
    size: Size,
    simplest: Gemm,
}

impl<P: Precision> OnGpu<'_, '_, P> {
    /// Returns the contender for a kernel after running it once.
    fn running(&mut self, gemm: Gemm) -> Fallible<Boxed<P>> {
        let mut contender = self.tuner.contender(gemm, self.size)?;
        self.problem.run(&mut *contender)?;
        Ok(contender)
    }

    /// Returns a cuBLASLt algorithm or, if cuBLASLt does not compute the product, the simplest kernel.
    fn reference(&mut self) -> Fallible<Boxed<P>> {
        for &rival in P::RIVALS {
            let stream = self.tuner.gpu.stream();
            let algorithms = rivals(&stream, rival, self.size, self.layout, Epilogue::None, 1);
            for mut algorithm in algorithms.into_iter().flatten() {
                if self.problem.run(&mut *algorithm).is_ok() {
                    return Ok(algorithm);
                }
            }
        }
        self.running(self.simplest)
    }

    fn verified(&mut self, gemm: Gemm) -> Fallible<()> {
        let (mut reference, mut contender) = (self.reference()?, self.running(gemm)?);
        let (_, refused) = self.problem.verify(vec![&mut *reference, &mut *contender])?;
        refused.first().map_or(Ok(()), |refusal| Err(format!("{}: {}", refusal.name, refusal.why).into()))
    }
}

impl<P: Precision> Launches for OnGpu<'_, '_, P> {
    fn times(&mut self, kernels: &[Gemm], rounds: usize) -> Vec<Result<f64, Failure>> {
        let mut contenders: Vec<_> = kernels.iter().map(|&gemm| self.running(gemm).map_err(text)).collect();
        let running: Contenders<'_, P> = contenders.iter_mut().flatten().map(|each| &mut **each).collect();
        let sampling = Sampling { rounds, warm_up: WARM_UP };
        let timed = if running.is_empty() { Ok(Vec::new()) } else { self.problem.times(running, sampling) };
        let mut medians = match timed {
            Ok(timed) => timed.into_iter().map(|timed| timed.samples.median()),
            Err(why) => return vec![Err(why.to_string()); kernels.len()],
        };
        let mut median = || medians.next().ok_or_else(|| "it was not timed".to_owned());
        contenders.into_iter().map(|contender| contender.and_then(|_| median())).collect()
    }

    fn verify(&mut self, kernel: Gemm) -> Result<(), Failure> {
        self.verified(kernel).map_err(text)
    }

    fn host_micros(&mut self, kernel: Gemm) -> Result<f64, Failure> {
        let mut contender = self.running(kernel).map_err(text)?;
        self.problem.host_micros(&mut *contender).map_err(text)
    }
}

fn text(error: impl ToString) -> Failure {
    error.to_string()
}
