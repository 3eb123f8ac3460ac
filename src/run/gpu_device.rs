//! A GPU as a [`Device`], with its own stream and buffers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use cudarc::driver::CudaStream;

use crate::{
    gpu::{Args, CallFailed, Gpu, GpuError, filled, time},
    ptx::Entry,
};

#[cfg(feature = "sim")]
use super::device::other_device;
use super::{
    argument::{Kind, Value},
    buffer::Store,
    cuda_slice::address,
    device::{Backend, Device, Request},
    error::RunError,
    launched::{Details, Launched},
    loaded::{Code, WITH_LINES, config},
};

/// An NVIDIA GPU as a [`Device`]. Kernels stay loaded for later launches.
#[derive(Debug)]
pub struct GpuDevice {
    gpu: Gpu,
    stream: Arc<CudaStream>,
    /// Loaded modules, by their text.
    loaded: Mutex<HashMap<String, Arc<Code>>>,
}

impl GpuDevice {
    /// Opens the GPU with the 0-based ordinal `ordinal`.
    ///
    /// # Errors
    /// Returns an error if no driver is usable or if no GPU has this ordinal.
    pub fn new(ordinal: usize) -> Result<Self, RunError> {
        Ok(Self::from(Gpu::new(ordinal)?))
    }

    /// Returns the underlying GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Returns the kernel and the time it took to load, which is zero if the kernel was already loaded.
    fn code(&self, entry: &Entry, text: String) -> Result<(Arc<Code>, Duration), RunError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = loaded.get(&text) {
            return Ok((Arc::clone(code), Duration::ZERO));
        }
        let start = Instant::now();
        let code = Arc::new(Code::load(&self.gpu, entry, &text, &WITH_LINES)?);
        loaded.insert(text, Arc::clone(&code));
        Ok((code, start.elapsed()))
    }
}

/// Creates a device that uses the GPU's default stream.
impl From<Gpu> for GpuDevice {
    fn from(gpu: Gpu) -> Self {
        let stream = gpu.stream();
        Self { gpu, stream, loaded: Mutex::default() }
    }
}

impl Device for GpuDevice {
    fn name(&self) -> String {
        self.gpu.properties().name.clone()
    }

    fn describe(&self) -> String {
        self.gpu.properties().to_string()
    }

    fn capability(&self) -> (u32, u32) {
        self.gpu.properties().capability
    }

    fn multiprocessors(&self) -> u32 {
        self.gpu.properties().multiprocessors
    }
}

impl Backend for GpuDevice {
    fn allocate(&self, bytes: &[u8]) -> Result<Store, RunError> {
        // The driver does not allocate zero bytes.
        let bytes = if bytes.is_empty() { &[0] } else { bytes };
        let slice =
            self.stream.clone_htod(bytes).map_err(|e| GpuError::from(CallFailed::at("clone_htod")(e)))?;
        Ok(Store::Cuda(slice))
    }

    fn allocate_filled(&self, bytes: usize, byte: u8) -> Result<Store, RunError> {
        Ok(Store::Cuda(filled(&self.stream, bytes.max(1), byte)?))
    }

    fn read(&self, store: &Store, bytes: usize) -> Result<Vec<u8>, RunError> {
        #[allow(clippy::infallible_destructuring_match, reason = "with the simulator there are two kinds")]
        let slice = match store {
            Store::Cuda(slice) => slice,
            #[cfg(feature = "sim")]
            Store::Simulated(_) => return Err(RunError::OtherBuffer { device: self.name() }),
        };
        let mut all =
            self.stream.clone_dtoh(slice).map_err(|e| GpuError::from(CallFailed::at("clone_dtoh")(e)))?;
        all.truncate(bytes);
        Ok(all)
    }

    fn address(&self, store: &Store) -> Option<u64> {
        match store {
            Store::Cuda(slice) if slice.context() == self.gpu.context() => Some(address(slice, &self.stream)),
            _ => None,
        }
    }

    fn run<'a>(&'a self, request: Request<'_, 'a>) -> Result<Launched, RunError> {
        let Request { entry, text, plan, args } = request;
        let (code, load_time) = self.code(entry, text)?;
        let mut passed = Args::new(&self.stream);
        for (i, arg) in args.into_iter().enumerate() {
            pass(&mut passed, &self.gpu, entry, i, arg)?;
        }
        code.pass_maps(&mut passed, entry, &plan)?;
        let mut passed = Some(passed);
        let timings = time(&self.stream, 0, 1, |_| match passed.take() {
            Some(args) => Ok(code.function.launch_matched(&config(&plan), args)?),
            None => Ok::<(), RunError>(()),
        });
        let timings = timings.map_err(|error| match error {
            RunError::Gpu(source) => RunError::Fault { kernel: entry.name.clone(), source },
            other => other,
        })?;
        Ok(Launched {
            grid: plan.grid,
            time: Duration::from_secs_f64(timings.median() * 1e-6),
            load_time,
            details: Details::Compiled(*code.function.attributes()),
        })
    }
}

/// Adds an argument: a scalar, or a buffer whose context the launch checks.
pub(super) fn pass<'a>(
    args: &mut Args<'a>,
    gpu: &Gpu,
    entry: &Entry,
    index: usize,
    arg: Value<'a>,
) -> Result<(), RunError> {
    match arg.0 {
        Kind::Number(number) => {
            args.bytes(&number.bytes()[..number.bytes]);
        }
        Kind::Empty => {
            args.value(0u64);
        }
        Kind::Read(Store::Cuda(slice), _) => {
            args.read(slice);
        }
        Kind::Write(Store::Cuda(slice), _) => {
            args.write(slice);
        }
        Kind::Mapped(buffer, tensor) => {
            pass(args, gpu, entry, index, Value(*buffer))?;
            args.as_map(|address| tensor.encoded(gpu, entry, index, address))?;
        }
        Kind::UncheckedMap(map) => {
            args.bytes(map.as_bytes());
        }
        Kind::ReadSlice(slice, _) => slice.read(args),
        Kind::WriteSlice(slice, _) => slice.write(args),
        #[cfg(feature = "sim")]
        Kind::Read(Store::Simulated(_), _) | Kind::Write(Store::Simulated(_), _) => {
            return Err(other_device(entry, index, gpu.properties().name.clone()));
        }
    }
    Ok(())
}
