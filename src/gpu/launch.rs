//! The shape of a launch, checked against the device and the kernel, and the launch itself.

use super::args::Args;
use super::device::DeviceProperties;
use super::error::LaunchError;
use super::function::{Function, FunctionAttributes};
use super::symbols::{Handle, LaunchAttribute, RawLaunchConfig};
use arrayvec::ArrayVec;
use cudarc::driver::CudaStream;
use std::{ffi::c_void, ptr};

/// The maximum number of blocks per cluster on hardware of compute capability 9.0 and later.
const LARGEST_CLUSTER: u32 = 16;

/// The shape of a launch. Extents are in the order x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// The number of blocks.
    pub grid: [u32; 3],
    /// The number of threads per block.
    pub block: [u32; 3],
    /// The number of blocks per cluster. If `None`, the shape of the kernel's `.reqnctapercluster` is used; a kernel without one is
    /// launched without clusters.
    pub cluster: Option<[u32; 3]>,
    /// The dynamic shared memory per block in bytes, in addition to the memory that the kernel declares. If both together exceed 48 KiB,
    /// the launch opts in automatically.
    pub dynamic_shared_bytes: u32,
    /// Whether all blocks must be resident simultaneously, so that they may wait for each other.
    pub cooperative: bool,
    /// Whether the launch may start before the preceding kernel in the stream has ended. If so, the kernel must execute
    /// `griddepcontrol.wait` before it accesses memory that the preceding kernel accesses.
    pub programmatic: bool,
}

impl LaunchConfig {
    /// Creates a configuration with the given grid and block, the kernel's own cluster shape, and no dynamic shared memory.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, cluster: None, dynamic_shared_bytes: 0, cooperative: false, programmatic: false }
    }

    /// Sets the cluster shape.
    #[must_use]
    #[doc(alias = "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION")]
    pub const fn cluster(self, cluster: [u32; 3]) -> Self {
        Self { cluster: Some(cluster), ..self }
    }

    /// Sets the dynamic shared memory per block.
    #[must_use]
    pub const fn dynamic_shared(self, bytes: u32) -> Self {
        Self { dynamic_shared_bytes: bytes, ..self }
    }

    /// Makes the launch cooperative: all blocks are resident simultaneously.
    #[must_use]
    #[doc(alias = "CU_LAUNCH_ATTRIBUTE_COOPERATIVE")]
    pub const fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// Sets whether the launch may start before the preceding kernel in the stream has ended.
    #[must_use]
    #[doc(alias = "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION")]
    pub const fn programmatic(self, programmatic: bool) -> Self {
        Self { programmatic, ..self }
    }

    /// Returns the number of threads per block.
    pub fn threads(&self) -> u64 {
        volume(self.block)
    }

    pub(crate) fn blocks_per_cluster(&self) -> u64 {
        self.cluster.map_or(1, volume)
    }

    /// Checks the shape against the limits of a kernel (`attributes`) and of a device (`device`).
    ///
    /// `kernel` is the kernel's name, for error messages.
    ///
    /// # Errors
    /// Returns an error for the first limit or requirement that is violated. The CUDA C++ Programming Guide, *Compute Capabilities*, lists
    /// the limits of devices.
    pub fn check(
        &self,
        kernel: &str,
        attributes: &FunctionAttributes,
        device: &DeviceProperties,
    ) -> Result<(), LaunchError> {
        let shapes = [("grid", self.grid, device.max_grid), ("block", self.block, device.max_block)];
        for (what, found, limit) in shapes {
            check_extents(what, found, limit)?;
        }
        let limit = attributes.max_threads.min(device.max_threads_per_block);
        if self.threads() > u64::from(limit) {
            return Err(LaunchError::TooManyThreads {
                kernel: kernel.to_owned(),
                found: self.threads(),
                limit,
            });
        }
        self.check_cluster(kernel, attributes, device)?;
        let (static_bytes, dynamic_bytes) = (attributes.shared_bytes, self.dynamic_shared_bytes);
        let limit = device.shared_bytes_per_block_opt_in;
        if u64::from(static_bytes) + u64::from(dynamic_bytes) > u64::from(limit) {
            let kernel = kernel.to_owned();
            return Err(LaunchError::SharedMemory { kernel, static_bytes, dynamic_bytes, limit });
        }
        Ok(())
    }

    fn check_cluster(
        &self,
        kernel: &str,
        attributes: &FunctionAttributes,
        device: &DeviceProperties,
    ) -> Result<(), LaunchError> {
        if let (Some(found), Some(expected)) = (self.cluster, attributes.required_cluster)
            && found != expected
        {
            return Err(LaunchError::WrongCluster { kernel: kernel.to_owned(), expected, found });
        }
        let Some(cluster) = self.cluster.or(attributes.required_cluster) else { return Ok(()) };
        if device.capability < (9, 0) {
            return Err(LaunchError::NoClusters { cluster, capability: device.capability });
        }
        check_extents("cluster", cluster, [u32::MAX; 3])?;
        if volume(cluster) > u64::from(LARGEST_CLUSTER) {
            let found = volume(cluster);
            return Err(LaunchError::ClusterTooLarge { cluster, found, limit: LARGEST_CLUSTER });
        }
        if (0..3).any(|axis| !self.grid[axis].is_multiple_of(cluster[axis])) {
            return Err(LaunchError::PartialCluster { grid: self.grid, cluster });
        }
        Ok(())
    }

    pub(crate) fn attributes(&self) -> ArrayVec<LaunchAttribute, 3> {
        let mut list = ArrayVec::new();
        list.extend(self.cluster.map(LaunchAttribute::cluster));
        if self.cooperative {
            list.push(LaunchAttribute::cooperative());
        }
        if self.programmatic {
            list.push(LaunchAttribute::programmatic());
        }
        list
    }

    /// Builds the driver's launch configuration; `attributes` must outlive the driver call that uses it.
    pub(crate) fn raw(&self, stream: Handle, attributes: &mut [LaunchAttribute]) -> RawLaunchConfig {
        RawLaunchConfig {
            grid: self.grid,
            block: self.block,
            dynamic_shared_bytes: self.dynamic_shared_bytes,
            stream,
            attributes: attributes.as_mut_ptr(),
            attribute_count: attributes.len() as u32,
        }
    }
}

fn check_extents(what: &'static str, found: [u32; 3], limit: [u32; 3]) -> Result<(), LaunchError> {
    if found.contains(&0) {
        return Err(LaunchError::ZeroExtent { what, found });
    }
    if (0..3).any(|axis| found[axis] > limit[axis]) {
        return Err(LaunchError::ExtentTooLarge { what, found, limit });
    }
    Ok(())
}

/// Returns the product, saturating on overflow.
fn volume(extents: [u32; 3]) -> u64 {
    extents.into_iter().map(u64::from).fold(1, u64::saturating_mul)
}

/// A checked launch with its arguments, which can be queued any number of times.
///
/// Buffers that were passed with [`Args::read`] or [`Args::write`] stay borrowed.
#[derive(Debug)]
pub struct PreparedLaunch<'a> {
    function: &'a Function,
    config: LaunchConfig,
    args: Args<'a>,
    /// Pointers to the arguments, which no longer change.
    pointers: Vec<*mut c_void>,
}

impl PreparedLaunch<'_> {
    /// Queues the kernel on the arguments' stream and returns immediately.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The requirements of [`Function::launch`] apply to every launch.
    #[doc(alias = "cuLaunchKernelEx")]
    pub unsafe fn launch(&mut self) -> Result<(), LaunchError> {
        self.function.module.gpu.bind()?;
        // SAFETY: forwarded to the caller; the context is current.
        unsafe { self.queue() }
    }

    /// Queues the kernel.
    ///
    /// # Safety
    /// The context must be current, and the requirements of [`Function::launch`] apply.
    unsafe fn queue(&mut self) -> Result<(), LaunchError> {
        let gpu = &self.function.module.gpu;
        let mut attributes = self.config.attributes();
        let raw = self.config.raw(self.args.stream().cu_stream().cast(), &mut attributes);
        let (function, pointers) = (self.function.raw, self.pointers.as_mut_ptr());
        // SAFETY: the context is current; function and stream are live and belong to that context; the attributes, the pointers and the
        // arguments that they point to outlive the call, which copies them. The caller guarantees the rest.
        unsafe { gpu.driver().api.cuLaunchKernelEx(&raw, function, pointers, ptr::null_mut()) }?;
        Ok(())
    }

    /// Calls [`launch`](Self::launch) for typed kernels, whose arguments rustc has checked against the declaration.
    pub(crate) fn launch_matched(&mut self) -> Result<(), LaunchError> {
        self.function.module.gpu.bind()?;
        self.function.check_capture(self.args.stream())?;
        // SAFETY: the context is current. The number, types and mutability of the arguments are those that the kernel declares, and every buffer was passed through
        // `Args::read` or `Args::write`, which order its uses and its release. The buffers stay borrowed, all launches are on the same
        // stream, and no graph repeats them, unless the caller of `Gpu::allow_captures` guarantees the rest.
        unsafe { self.queue() }
    }
}

impl Function {
    /// Queues the kernel on the arguments' stream and returns immediately.
    ///
    /// The launch first checks the shape ([`LaunchConfig::check`]). If the driver reports the kernel's parameters
    /// ([`Function::parameters`]), it then checks the number and sizes of the arguments. It opts in automatically to dynamic shared memory
    /// beyond 48 KiB and to clusters of more than 8 blocks.
    ///
    /// # Errors
    /// Returns a [`LaunchError`] if a check fails or the driver rejects the launch. If the kernel faults, a later call reports it, for
    /// example [`Gpu::synchronize`](super::Gpu::synchronize).
    ///
    /// # Safety
    /// The arguments must match the kernel's parameters in order and type. Every address that the kernel computes from them must be in
    /// memory that stays allocated until the kernel has finished. The kernel must not write through an argument added with [`Args::read`].
    /// If work on other streams accesses the same memory, the caller must order these accesses, unless the memory was passed with
    /// [`Args::read`] or [`Args::write`].
    #[doc(alias = "cuLaunchKernelEx")]
    pub unsafe fn launch(&self, config: &LaunchConfig, args: Args<'_>) -> Result<(), LaunchError> {
        // SAFETY: forwarded to the caller. The arguments are dropped after the launch is queued: their guards record it in the buffers'
        // events.
        unsafe { self.prepare(config, args)?.launch() }
    }

    /// Performs the checks of [`launch`](Self::launch) and returns the prepared launch instead of queueing the kernel.
    ///
    /// # Errors
    /// Returns the same errors as [`launch`](Self::launch).
    pub fn prepare<'a>(
        &'a self,
        config: &LaunchConfig,
        mut args: Args<'a>,
    ) -> Result<PreparedLaunch<'a>, LaunchError> {
        let gpu = &self.module.gpu;
        config.check(self.name(), self.attributes(), gpu.properties())?;
        self.check_args(&args)?;
        gpu.bind()?;
        self.allow_dynamic_shared(config.dynamic_shared_bytes)?;
        self.allow_large_clusters(config)?;
        let pointers = args.pointers();
        Ok(PreparedLaunch { function: self, config: *config, args, pointers })
    }

    /// Calls [`Function::launch`] for typed kernels, whose arguments rustc has checked against the declaration.
    ///
    /// The kernel's builder is responsible for keeping the kernel's accesses within the buffers.
    pub(crate) fn launch_matched(&self, config: &LaunchConfig, args: Args<'_>) -> Result<(), LaunchError> {
        self.prepare(config, args)?.launch_matched()
    }

    /// Rejects a stream that is being captured, unless [`Gpu::allow_captures`](super::Gpu::allow_captures) was called. The context must be
    /// current.
    fn check_capture(&self, stream: &CudaStream) -> Result<(), LaunchError> {
        if self.module.gpu.refuses_capture(stream)? {
            return Err(LaunchError::Captured { kernel: self.name().to_owned() });
        }
        Ok(())
    }

    fn check_args(&self, args: &Args<'_>) -> Result<(), LaunchError> {
        let kernel = || self.name().to_owned();
        if args.stream().context() != self.module.gpu.context() {
            return Err(LaunchError::WrongContext { kernel: kernel() });
        }
        if let Some(index) = args.foreign() {
            return Err(LaunchError::WrongBuffer { kernel: kernel(), index });
        }
        let Some(parameters) = self.parameters() else { return Ok(()) };
        let (expected, found) = (parameters.len(), args.len());
        if expected != found {
            return Err(LaunchError::ParameterCount { kernel: kernel(), expected, found });
        }
        for (index, (parameter, found)) in parameters.iter().zip(args.sizes()).enumerate() {
            let expected = parameter.size;
            if expected != found {
                return Err(LaunchError::ParameterSize { kernel: kernel(), index, expected, found });
            }
        }
        Ok(())
    }
}
