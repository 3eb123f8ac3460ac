//! A device with its context and properties.

use super::clusters::ResidentClusters;
use super::error::{CallFailed, GpuError};
use super::probe::{CudaVersion, Driver, probe};
use super::symbols::{Handle, device_attribute as attribute};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr};
use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The properties and limits of a device. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// The 0-based device ordinal.
    pub ordinal: usize,
    /// The device name, such as `NVIDIA H200`.
    pub name: String,
    /// The compute capability, such as `(9, 0)`.
    pub capability: (u32, u32),
    /// The latest CUDA version that the driver supports.
    pub driver: CudaVersion,
    /// The number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// The total device memory.
    pub memory_bytes: usize,
    /// The size of the L2 cache.
    pub l2_bytes: u32,
    /// The maximum clock rate of the multiprocessors in kHz.
    pub clock_khz: u32,
    /// The shared memory per multiprocessor.
    pub shared_bytes_per_multiprocessor: u32,
    /// The maximum shared memory per block, static and dynamic together, if the kernel does not opt in to more.
    pub shared_bytes_per_block: u32,
    /// The maximum shared memory per block if the kernel opts in to more (a [`Function`](super::Function) does so automatically).
    pub shared_bytes_per_block_opt_in: u32,
    /// The number of 32-bit registers per multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// The maximum number of threads per block.
    pub max_threads_per_block: u32,
    /// The maximum block extents in x, y and z.
    pub max_block: [u32; 3],
    /// The maximum grid extents in x, y and z.
    pub max_grid: [u32; 3],
}

impl DeviceProperties {
    fn read(driver: &Driver, ordinal: usize, device: c_int) -> Result<Self, CallFailed> {
        let api = &driver.api;
        let get = |attribute: c_int| {
            let mut value = 0;
            // SAFETY: `value` is valid for the call, and `device` came from a live context.
            unsafe { api.cuDeviceGetAttribute(&mut value, attribute, device) }?;
            Ok::<u32, CallFailed>(value.unsigned_abs())
        };
        let xyz = |first: c_int| Ok::<_, CallFailed>([get(first)?, get(first + 1)?, get(first + 2)?]);

        let mut name: [c_char; 256] = [0; 256];
        // SAFETY: the length passed to the call does not exceed the buffer's.
        unsafe { api.cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int - 1, device) }?;
        let mut memory_bytes = 0;
        // SAFETY: `memory_bytes` is valid for the call.
        unsafe { api.cuDeviceTotalMem_v2(&mut memory_bytes, device) }?;

        Ok(Self {
            ordinal,
            // SAFETY: the driver writes at most 255 of the 256 zeroed bytes, so a NUL follows.
            name: unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned(),
            capability: (
                get(attribute::COMPUTE_CAPABILITY_MAJOR)?,
                get(attribute::COMPUTE_CAPABILITY_MINOR)?,
            ),
            driver: driver.version(),
            multiprocessors: get(attribute::MULTIPROCESSOR_COUNT)?,
            memory_bytes,
            l2_bytes: get(attribute::L2_CACHE_SIZE)?,
            clock_khz: get(attribute::CLOCK_RATE)?,
            shared_bytes_per_multiprocessor: get(attribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            shared_bytes_per_block: get(attribute::MAX_SHARED_MEMORY_PER_BLOCK)?,
            shared_bytes_per_block_opt_in: get(attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            registers_per_multiprocessor: get(attribute::MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            max_threads_per_block: get(attribute::MAX_THREADS_PER_BLOCK)?,
            max_block: xyz(attribute::MAX_BLOCK_DIM_X)?,
            max_grid: xyz(attribute::MAX_GRID_DIM_X)?,
        })
    }
}

/// Prints text such as `NVIDIA H200 (sm_90, 132 SMs, 139.8 GiB, driver for CUDA 13.0)`.
impl fmt::Display for DeviceProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (sm_{}{}, {} SMs, {:.1} GiB, driver for CUDA {})",
            self.name,
            self.capability.0,
            self.capability.1,
            self.multiprocessors,
            self.memory_bytes as f64 / f64::from(1 << 30),
            self.driver,
        )
    }
}

/// A device with a cudarc context. Clones share the context.
#[derive(Clone, Debug)]
pub struct Gpu {
    driver: &'static Driver,
    context: Arc<CudaContext>,
    properties: Arc<DeviceProperties>,
    /// See [`Gpu::zeros`].
    zeros: Arc<OnceLock<CudaSlice<u8>>>,
    /// See [`Gpu::allow_captures`].
    captures_allowed: Arc<AtomicBool>,
    pub(super) clusters: Arc<ResidentClusters>,
}

impl Gpu {
    /// Opens the device with the given 0-based ordinal, using its primary context.
    ///
    /// # Errors
    /// Returns [`GpuError::Unavailable`] if no driver or device is available, [`GpuError::NoSuchDevice`] if the ordinal is too large, or
    /// the driver's error.
    pub fn new(ordinal: usize) -> Result<Self, GpuError> {
        let driver = probe()?;
        let count = driver.device_count();
        if ordinal >= count {
            return Err(GpuError::NoSuchDevice { ordinal, count });
        }
        let context = CudaContext::new(ordinal).map_err(CallFailed::at("cuDevicePrimaryCtxRetain"))?;
        Self::from_context(context)
    }

    /// Creates a `Gpu` that uses the caller's existing context.
    ///
    /// # Errors
    /// Returns [`GpuError::Unavailable`] if [`probe`] fails, or the driver's error.
    pub fn from_context(context: Arc<CudaContext>) -> Result<Self, GpuError> {
        let driver = probe()?;
        let properties = DeviceProperties::read(driver, context.ordinal(), context.cu_device())?;
        Ok(Self {
            driver,
            context,
            properties: Arc::new(properties),
            zeros: Arc::default(),
            captures_allowed: Arc::default(),
            clusters: Arc::default(),
        })
    }

    /// Returns the context.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Returns the context's default stream.
    pub fn stream(&self) -> Arc<CudaStream> {
        self.context.default_stream()
    }

    /// Returns the properties of the device.
    pub fn properties(&self) -> &DeviceProperties {
        &self.properties
    }

    /// Returns the driver that provides the device.
    pub fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// Allows typed launches on streams that are being captured into a graph, through this device and its clones.
    ///
    /// Otherwise, such launches are rejected, because a graph repeats them later without borrowing their buffers. While a stream is being
    /// captured, also disable cudarc's event tracking (`CudaContext::disable_event_tracking`), because a capturing stream cannot wait for
    /// an event that was recorded outside the capture.
    ///
    /// # Safety
    /// Until a graph has been launched for the last time and has finished, the buffers of all captured launches must stay allocated, and
    /// nothing else may access the buffers that these launches write while the graph executes.
    #[doc(alias = "cuStreamBeginCapture")]
    pub unsafe fn allow_captures(&self) {
        self.captures_allowed.store(true, Ordering::Relaxed);
    }

    /// Returns whether the stream is being captured although captures are not allowed. The stream must belong to this context.
    pub(super) fn refuses_capture(&self, stream: &CudaStream) -> Result<bool, CallFailed> {
        if self.captures_allowed.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let mut status = 0;
        // SAFETY: the stream is live, and `status` is a valid place for the result.
        unsafe { self.driver.api.cuStreamIsCapturing(stream.cu_stream().cast(), &mut status) }?;
        Ok(status != 0)
    }

    /// Returns the free and the total memory in bytes.
    ///
    /// # Errors
    /// Returns the driver's error.
    #[doc(alias = "cuMemGetInfo")]
    pub fn memory(&self) -> Result<(usize, usize), GpuError> {
        Ok(self.context.mem_get_info().map_err(CallFailed::at("cuMemGetInfo"))?)
    }

    /// Waits until all work in the context has finished.
    ///
    /// # Errors
    /// Returns the driver's error, for example if an earlier kernel faulted.
    #[doc(alias = "cuCtxSynchronize")]
    pub fn synchronize(&self) -> Result<(), GpuError> {
        Ok(self.context.synchronize().map_err(CallFailed::at("cuCtxSynchronize"))?)
    }

    /// Returns the address of `N` bytes of device memory that are initially zero and stay allocated as long as this device or a clone of it
    /// exists.
    pub(crate) fn zeros<const N: usize>(&self) -> Result<u64, GpuError> {
        let stream = self.stream();
        if self.zeros.get().is_none() {
            let zeros = stream.alloc_zeros::<u8>(N).map_err(CallFailed::at("alloc_zeros"))?;
            stream.synchronize().map_err(CallFailed::at("cuStreamSynchronize"))?;
            // If another thread was first, its memory is used instead.
            let _ = self.zeros.set(zeros);
        }
        Ok(self.zeros.get().map_or(0, |zeros| zeros.device_ptr(&stream).0))
    }

    /// Makes the context current on this thread, as cudarc does before each of its calls.
    pub(crate) fn bind(&self) -> Result<(), CallFailed> {
        self.context.bind_to_thread().map_err(CallFailed::at("cuCtxSetCurrent"))
    }

    /// Runs `body` with the context current, then restores the thread's previous context. Unlike [`Gpu::bind`], it keeps
    /// the errors that cudarc stored for its next fallible call, so it is suitable for `Drop`.
    pub(crate) fn within(&self, body: impl FnOnce()) {
        let context: Handle = self.context.cu_ctx().cast();
        // SAFETY: the context lives as long as `self`; the pop undoes this push and nothing else.
        unsafe {
            if self.driver.api.cuCtxPushCurrent_v2(context).is_ok() {
                body();
                let mut popped: Handle = std::ptr::null_mut();
                let _ = self.driver.api.cuCtxPopCurrent_v2(&mut popped);
            }
        }
    }
}
