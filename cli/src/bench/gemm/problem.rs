//! A product of one size, with its buffers, contenders and times.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaSlice, CudaStream};
use warpwright::gpu::Gpu;

use super::{
    contender::{Buffers, Contender, Kind, Refusal, Unit},
    epilogue::Epilogue,
    precision::Precision,
    shapes::{Layout, Size},
};
use crate::bench::{
    Fallible,
    normals::{filled, normals},
    samples::{Samples, Sampling},
};

/// Contenders of a product.
pub(super) type Contenders<'c, P> = Vec<&'c mut (dyn Contender<P> + 'static)>;

/// A product, computed by contenders in turn.
pub(super) struct Problem<P: Precision> {
    stream: Arc<CudaStream>,
    size: Size,
    layout: Layout,
    epilogue: Epilogue,
    /// Sets of buffers that together are larger than the L2 cache.
    buffers: Vec<Buffers<P>>,
}

/// The times of a contender.
pub(super) struct Timed {
    pub(super) kind: Kind,
    pub(super) unit: Unit,
    pub(super) name: String,
    pub(super) samples: Samples,
    /// The number of operations per launch.
    pub(super) flops: f64,
    /// The clock of a multiprocessor during the last launch in MHz, if it was measured.
    pub(super) clock_mhz: Option<f64>,
}

impl Timed {
    /// Returns the rate in TFLOP/s.
    pub(super) fn rate(&self) -> f64 {
        self.flops / self.samples.median() / 1e6
    }
}

/// The number of different elements of C.
const ADDENDS: usize = 1 << 20;

/// The maximum number of sets of buffers.
const SETS: usize = 256;

/// The number of batches of launches that are timed on the host, and the number of launches per batch, which
/// the stream queues without waiting.
const HOST_SAMPLES: usize = 3;
const QUEUED: u32 = 16;

/// The number of elements of a result that are checked against sums in f64.
const CHECKED: usize = 100;

impl<P: Precision> Problem<P> {
    /// Allocates buffers of random normal numbers; `factors` are those of A and B.
    pub(super) fn new(
        gpu: &Gpu,
        factors: &CudaSlice<P::StoredFactor>,
        size: Size,
        layout: Layout,
        epilogue: Epilogue,
    ) -> Fallible<Self> {
        let (stream, [m, n, k]) = (gpu.stream(), epilogue.product(size).0);
        let addends = if epilogue.has_c() {
            Some(stream.clone_htod(&normals(ADDENDS).map(P::rounded).collect::<Vec<_>>())?)
        } else {
            None
        };
        let results = if addends.is_some() { 2 } else { 1 };
        let bytes =
            size_of::<P::StoredFactor>() * (m * k + n * k) + size_of::<P::StoredResult>() * results * m * n;
        let sets = (2 * gpu.properties().l2_bytes as usize).div_ceil(bytes).clamp(1, SETS);
        let set = |set| {
            Ok(Buffers {
                a: filled(&stream, factors, m * k, set)?,
                b: filled(&stream, factors, n * k, set + 17)?,
                c: match &addends {
                    Some(addends) => filled(&stream, addends, m * n, set + 31)?,
                    None => stream.alloc_zeros(1)?,
                },
                d: stream.alloc_zeros(m * n)?,
            })
        };
        let buffers = (0..sets).map(set).collect::<Fallible<_>>()?;
        Ok(Self { stream, size, layout, epilogue, buffers })
    }

    /// Launches each contender once and checks the results: some elements of the first result against f64 sums, and all elements of the
    /// others against the first result. Results without the epilogue are compared in the same way, with each other. Returns the contenders
    /// that compute the product, and the reasons that others do not.
    ///
    /// # Errors
    /// Returns an error if a result is wrong.
    pub(super) fn verify<'c>(
        &mut self,
        contenders: Contenders<'c, P>,
    ) -> Fallible<(Contenders<'c, P>, Vec<Refusal>)> {
        let (mut verified, mut refused) = (Vec::new(), Vec::new());
        // The first result, and the first result without the epilogue.
        let mut expected: [Option<Vec<f32>>; 2] = [None, None];
        for contender in contenders {
            let buffers = &mut self.buffers[0];
            self.stream.memset_zeros(&mut buffers.d)?;
            if let Err(why) = contender.launch(&self.stream, buffers) {
                refused.push(Refusal { name: contender.name(), why: why.to_string() });
                continue;
            }
            self.stream.synchronize()?;
            if let Some(found) = contender.result(&self.stream, &self.buffers[0])? {
                let is_plain = contender.kind() == Kind::Plain;
                let epilogue = if is_plain { Epilogue::None } else { self.epilogue };
                let expected = &mut expected[usize::from(is_plain)];
                let checked = match expected {
                    Some(expected) => self.check(epilogue, expected, &found),
                    None => self.check_some(epilogue, &found),
                };
                checked.map_err(|error| format!("{}: {error}", contender.name()))?;
                expected.get_or_insert(found);
            }
            verified.push(contender);
        }
        Ok((verified, refused))
    }

    /// Launches a contender once, and waits for it.
    pub(super) fn run(&mut self, contender: &mut dyn Contender<P>) -> Fallible<()> {
        contender.launch(&self.stream, &mut self.buffers[0])?;
        Ok(self.stream.synchronize()?)
    }

    /// Returns the time in microseconds that the host takes to queue a launch.
    pub(super) fn host_micros(&mut self, contender: &mut dyn Contender<P>) -> Fallible<f64> {
        let mut least = Duration::MAX;
        for _ in 0..HOST_SAMPLES {
            self.stream.synchronize()?;
            let start = Instant::now();
            (0..QUEUED).try_for_each(|_| contender.launch(&self.stream, &mut self.buffers[0]))?;
            least = least.min(start.elapsed());
        }
        self.stream.synchronize()?;
        Ok(least.as_secs_f64() * 1e6 / f64::from(QUEUED))
    }

    /// Returns the number of columns of a result with the epilogue of the problem, or without an epilogue.
    fn columns(&self, epilogue: Epilogue) -> usize {
        let size = if epilogue == self.epilogue { self.size } else { self.epilogue.product(self.size) };
        size.0[1]
    }

    /// Compares all elements of a result.
    fn check(&self, epilogue: Epilogue, expected: &[f32], found: &[f32]) -> Fallible<()> {
        let mut pairs = expected.iter().zip(found).enumerate();
        pairs.try_for_each(|(at, (&expected, &found))| self.check_element(epilogue, at, expected, found))
    }

    /// Compares some elements of a result with sums in f64.
    fn check_some(&self, epilogue: Epilogue, found: &[f32]) -> Fallible<()> {
        let ([m, _, k], n) = (self.size.0, self.columns(epilogue));
        let cols = self.columns(Epilogue::None);
        let number = |matrix: &[P::StoredFactor], order, [row, col]: [usize; 2], [rows, cols]: [usize; 2]| {
            use warpwright::kernels::MatrixOrder::Row;
            P::number(matrix[if order == Row { row * cols + col } else { col * rows + row }])
        };
        let Buffers { a, b, c, .. } = &self.buffers[0];
        let (a, b, c) = (self.stream.clone_dtoh(a)?, self.stream.clone_dtoh(b)?, self.stream.clone_dtoh(c)?);
        let [of_a, of_b] = self.layout.0;
        // The last element, and others at distances that are unrelated to tile sizes.
        (0..CHECKED).map(|i| m * n - 1 - i * 1_000_003 % (m * n)).try_for_each(|at| {
            let (row, col) = (at / n, at % n);
            let term = |i, col| number(&a, of_a, [row, i], [m, k]) * number(&b, of_b, [i, col], [k, cols]);
            let sum = |col| (0..k).map(|i| term(i, col)).sum::<f64>();
            let addend = if epilogue.has_c() { P::result(c[at]).into() } else { 0.0 };
            self.check_element(epilogue, at, epilogue.element(sum, [col, n], addend) as f32, found[at])
        })
    }

    fn check_element(&self, epilogue: Epilogue, at: usize, expected: f32, found: f32) -> Fallible<()> {
        let error = (expected - found).abs();
        let magnitude = epilogue.magnitude(self.size.0[2], self.epilogue.deviation());
        if error.is_nan() || error > P::TOLERANCE * expected.abs().max(magnitude) {
            let n = self.columns(epilogue);
            let (row, col) = (at / n, at % n);
            return Err(format!("row {row}, column {col}: expected {expected}, found {found}").into());
        }
        Ok(())
    }

    /// Times all contenders.
    pub(super) fn times(
        &mut self,
        mut contenders: Contenders<'_, P>,
        sampling: Sampling,
    ) -> Fallible<Vec<Timed>> {
        let Self { stream, size, epilogue, buffers, .. } = self;
        let samples = sampling.take(stream, contenders.len(), |contender, i| {
            let set = i % buffers.len();
            contenders[contender].launch(stream, &mut buffers[set])
        })?;
        let flops = 2.0 * epilogue.product(*size).0.iter().map(|&size| size as f64).product::<f64>();
        let timed = contenders.iter().zip(samples).map(|(contender, samples)| {
            Ok(Timed {
                kind: contender.kind(),
                unit: contender.unit(),
                name: contender.name(),
                samples,
                flops: contender.flops().unwrap_or(flops),
                clock_mhz: contender.clock_mhz(stream)?,
            })
        });
        timed.collect()
    }
}
