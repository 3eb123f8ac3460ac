//! Times work on a stream with events.

use super::error::{CallFailed, GpuError};
use super::probe::probe;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaEvent, CudaStream};

/// The times of repeated runs in microseconds.
///
/// The times are measured with events, which have a resolution of about 0.5 µs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timings {
    micros: Vec<f64>,
}

impl Timings {
    /// Creates timings from times in microseconds, given in the order of the runs.
    pub fn from_micros(micros: Vec<f64>) -> Self {
        Self { micros }
    }

    /// Returns the time of each run in microseconds, in order.
    pub fn micros(&self) -> &[f64] {
        &self.micros
    }

    /// Returns the median time in microseconds, or 0 if there are no runs.
    pub fn median(&self) -> f64 {
        let mut sorted = self.micros.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        match (sorted.len(), sorted.len() / 2) {
            (0, _) => 0.0,
            (n, half) if n % 2 == 1 => sorted[half],
            (_, half) => f64::midpoint(sorted[half - 1], sorted[half]),
        }
    }

    /// Returns the shortest time in microseconds, or 0 if there are no runs.
    pub fn min(&self) -> f64 {
        self.micros.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0)
    }

    /// Returns the longest time in microseconds, or 0 if there are no runs.
    pub fn max(&self) -> f64 {
        self.micros.iter().copied().max_by(f64::total_cmp).unwrap_or(0.0)
    }
}

/// Calls `work(i)` for `i` in `0..warmup + runs`, and times each of the last `runs` calls with two events.
///
/// The stream is synchronized only once, after all calls, so that the GPU stays busy; `work` should only queue work. Use `i` to cycle
/// through several buffers that together exceed the L2 cache, so that the data is not cached.
///
/// # Errors
/// Returns the first error that `work` or the driver returns.
#[doc(alias = "cuEventElapsedTime")]
pub fn time<E: From<GpuError>>(
    stream: &CudaStream,
    warmup: usize,
    runs: usize,
    mut work: impl FnMut(usize) -> Result<(), E>,
) -> Result<Timings, E> {
    for i in 0..warmup {
        work(i)?;
    }
    let pairs = (0..runs).map(|_| Ok((event(stream)?, event(stream)?)));
    let pairs: Vec<_> = pairs.collect::<Result<_, GpuError>>()?;
    for (i, (start, end)) in pairs.iter().enumerate() {
        record(start, stream)?;
        work(warmup + i)?;
        record(end, stream)?;
    }
    stream.synchronize().map_err(|error| GpuError::from(CallFailed::at("cuStreamSynchronize")(error)))?;
    let micros = pairs.iter().map(|(start, end)| elapsed_micros(start, end));
    Ok(Timings { micros: micros.collect::<Result<_, GpuError>>()? })
}

fn event(stream: &CudaStream) -> Result<CudaEvent, GpuError> {
    Ok(stream.context().new_event(Some(CU_EVENT_DEFAULT)).map_err(CallFailed::at("cuEventCreate"))?)
}

fn record(event: &CudaEvent, stream: &CudaStream) -> Result<(), GpuError> {
    Ok(event.record(stream).map_err(CallFailed::at("cuEventRecord"))?)
}

/// Returns the time between two events in microseconds. (If cudarc is built for CUDA 13, its `elapsed_ms` panics with drivers older than
/// CUDA 12.8; this function uses whichever symbol exists.)
fn elapsed_micros(start: &CudaEvent, end: &CudaEvent) -> Result<f64, GpuError> {
    let api = &probe()?.api;
    // SAFETY: both events are live and were created with timing enabled.
    let ms = unsafe { api.cuEventElapsedTime(start.cu_event().cast(), end.cu_event().cast()) }?;
    Ok(f64::from(ms) * 1e3)
}
