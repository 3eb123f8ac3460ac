//! Kernels loaded on a GPU and launched on an application's own streams and buffers.

use std::{fmt, marker::PhantomData};

use cudarc::driver::CudaStream;

use crate::{
    gpu::{Args, Function, FunctionAttributes, Gpu, LaunchConfig, LoadOptions, Module, PreparedLaunch},
    ptx::{Entry, Kernel, Params},
};

use super::{
    argument::Arguments,
    cuda_argument::{CudaArguments, CudaLaunchArgs},
    device::{check_target, other_device},
    encoded_maps::EncodedMaps,
    error::{JitError, RunError},
    gpu_device::pass,
    plan::{Plan, plan},
    tensor_map::STAND_IN_BYTES,
};

/// A kernel with parameters `A`, compiled by the driver and loaded on one GPU.
///
/// ```no_run
/// use warpwright::{gpu::Gpu, prelude::*};
///
/// # fn run(kernel: &Kernel<(In<f32>, Out<f32>, u32)>) -> Result<(), Box<dyn std::error::Error>> {
/// let gpu = Gpu::new(0)?;
/// let double = gpu.load(kernel)?;
/// let stream = gpu.stream();
/// let x = stream.clone_htod(&[1.0f32, 2.0, 3.0])?;
/// let mut y = stream.alloc_zeros::<f32>(3)?;
/// double.launch(&stream, (&x, &mut y, 3))?;
/// # Ok(())
/// # }
/// ```
pub struct Loaded<A> {
    entry: Entry,
    code: Code,
    parameters: PhantomData<fn(A)>,
}

impl<A> fmt::Debug for Loaded<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("function", &self.code.function).finish_non_exhaustive()
    }
}

impl Gpu {
    /// Compiles a kernel with the driver's compiler and loads it.
    ///
    /// Nsight Compute and compute-sanitizer then show the Rust lines that emitted the instructions.
    ///
    /// # Errors
    /// Returns an error if the device does not support the kernel's target. Returns [`RunError::Load`] if the driver rejects the kernel or
    /// compiles it to slow code ([`LoadError::Advisories`](crate::gpu::LoadError::Advisories)); the error contains the compiler's messages
    /// with their PTX lines and, if known, Rust lines.
    pub fn load<A: Params>(&self, kernel: &Kernel<A>) -> Result<Loaded<A>, RunError> {
        self.load_with(kernel, &WITH_LINES)
    }

    /// Compiles and loads a kernel with the given options.
    ///
    /// [`load`](Gpu::load) sets only [`line_info`](LoadOptions::line_info), which keeps Rust lines for profilers.
    ///
    /// # Errors
    /// Returns the same errors as [`load`](Gpu::load).
    pub fn load_with<A: Params>(
        &self,
        kernel: &Kernel<A>,
        options: &LoadOptions,
    ) -> Result<Loaded<A>, RunError> {
        let code = Code::load(self, kernel.entry(), &kernel.ptx_with_lines(), options)?;
        Ok(Loaded { entry: kernel.entry().clone(), code, parameters: PhantomData })
    }
}

impl<A: Params> Loaded<A> {
    /// Queues the kernel on `stream` and returns immediately.
    ///
    /// The kernel's grid rule determines the grid. If the grid is empty, no kernel is queued.
    ///
    /// See [`run`](crate::run) for the checks that a launch performs.
    ///
    /// # Errors
    /// Returns an error if a check fails (for example, if an argument violates an assumption of the kernel or if a buffer is too short), if
    /// the kernel has no grid rule or block shape, or if the buffers, the stream and the kernel belong to different contexts. If the kernel
    /// faults, a later call on the context reports it.
    pub fn launch(&self, stream: &CudaStream, args: impl CudaArguments<A>) -> Result<(), RunError> {
        self.start(stream, None, args)
    }

    /// Queues the kernel like [`launch`](Loaded::launch), but with an explicit grid: the number of blocks in x, y and z.
    ///
    /// # Errors
    /// Returns the same errors as [`launch`](Loaded::launch), except that a grid rule is not required. Returns [`RunError::GridBeyondRule`]
    /// if `grid` exceeds the result of the kernel's grid rule.
    pub fn launch_grid(
        &self,
        stream: &CudaStream,
        grid: [u32; 3],
        args: impl CudaArguments<A>,
    ) -> Result<(), RunError> {
        self.start(stream, Some(grid), args)
    }

    /// Checks a launch, creates its tensor maps, and passes the prepared launch to `work` without queueing the kernel.
    ///
    /// Returns the result of `work`. Use this method to repeat a launch with the same arguments. The kernel's grid rule determines the
    /// grid. The buffers stay borrowed until `work` returns.
    ///
    /// ```no_run
    /// use warpwright::{gpu::Gpu, prelude::*};
    ///
    /// # fn run(kernel: &Kernel<(InOut<f32>, u32)>) -> Result<(), Box<dyn std::error::Error>> {
    /// let gpu = Gpu::new(0)?;
    /// let smooth = gpu.load(kernel)?;
    /// let stream = gpu.stream();
    /// let mut x = stream.alloc_zeros::<f32>(1000)?;
    /// smooth.prepare(&stream, (&mut x, 1000), |step| (0..100).try_for_each(|_| step.launch()))??;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`launch`](Loaded::launch).
    pub fn prepare<R>(
        &self,
        stream: &CudaStream,
        args: impl CudaArguments<A>,
        work: impl FnOnce(&mut Prepared<'_>) -> R,
    ) -> Result<R, RunError> {
        let prepared = match self.planned(stream, None, args)? {
            Some((config, args)) => Some(self.code.function.prepare(&config, args)?),
            None => None,
        };
        // The launch is lent, not returned: an owner could leak it, and with it the events that buffers wait for before they are freed.
        Ok(work(&mut Prepared(prepared)))
    }

    /// Queues the kernel like [`launch`](Self::launch), but with type-erased arguments.
    pub(super) fn launch_erased(
        &self,
        stream: &CudaStream,
        arguments: impl Arguments<A>,
    ) -> Result<(), RunError> {
        let values = arguments.values();
        let gpu = self.code.module.gpu();
        let mut args = Args::with_capacity(stream, values.len() + self.entry.maps.len());
        let mut seen = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let found = value.0.seen();
            value.0.check_map(&self.entry, index)?;
            pass(&mut args, gpu, &self.entry, index, value)?;
            seen.push(found.at(args.last_address().unwrap_or_default()));
        }
        if let Some(index) = args.foreign() {
            return Err(other_device(&self.entry, index, gpu.properties().name.clone()));
        }
        let plan = plan(&self.entry, &seen, None, self.code.resident)?;
        if plan.is_empty() {
            return Ok(());
        }
        self.code.pass_maps(&mut args, &self.entry, &plan)?;
        Ok(self.code.function.launch_matched(&config(&plan), args)?)
    }

    fn start(
        &self,
        stream: &CudaStream,
        grid: Option<[u32; 3]>,
        args: impl CudaArguments<A>,
    ) -> Result<(), RunError> {
        let Some((config, args)) = self.planned(stream, grid, args)? else { return Ok(()) };
        Ok(self.code.function.launch_matched(&config, args)?)
    }

    /// Returns the configuration of a launch and its arguments, including the tensor maps, or `None` if the grid is empty.
    fn planned<'a>(
        &'a self,
        stream: &'a CudaStream,
        grid: Option<[u32; 3]>,
        args: impl CudaArguments<A> + 'a,
    ) -> Result<Option<(LaunchConfig, Args<'a>)>, RunError> {
        let count = self.entry.params.len();
        let all = Args::with_capacity(stream, count + self.entry.maps.len());
        let seen = Vec::with_capacity(count);
        let (entry, gpu) = (&self.entry, self.code.module.gpu());
        let mut passed = CudaLaunchArgs { args: all, seen, entry, gpu, error: None };
        args.pass(&mut passed);
        if let Some(error) = passed.error {
            return Err(error);
        }
        // The address of a buffer in another context is not known.
        if let Some(index) = passed.args.foreign() {
            return Err(other_device(&self.entry, index, gpu.properties().name.clone()));
        }
        let plan = plan(&self.entry, &passed.seen, grid, self.code.resident)?;
        if plan.is_empty() {
            return Ok(None);
        }
        self.code.pass_maps(&mut passed.args, &self.entry, &plan)?;
        Ok(Some((config(&plan), passed.args)))
    }
}

impl<A> Loaded<A> {
    /// Returns the attributes of the compiled kernel.
    pub fn attributes(&self) -> &FunctionAttributes {
        self.code.function.attributes()
    }

    /// Returns the module that contains the kernel, with the compiler's log.
    pub fn module(&self) -> &Module {
        &self.code.module
    }
}

/// A checked launch with its arguments and tensor maps, lent by [`Loaded::prepare`].
#[derive(Debug)]
pub struct Prepared<'a>(Option<PreparedLaunch<'a>>);

impl Prepared<'_> {
    /// Queues the kernel and returns immediately.
    ///
    /// If the grid is empty, no kernel is queued.
    ///
    /// # Errors
    /// Returns the driver's error if the kernel cannot be queued. If the kernel faults, a later call on the context reports it.
    pub fn launch(&mut self) -> Result<(), RunError> {
        self.0.as_mut().map_or(Ok(()), |launch| Ok(launch.launch_matched()?))
    }
}

/// The default options for typed kernels.
pub(super) const WITH_LINES: LoadOptions =
    LoadOptions { line_info: true, max_registers: None, optimization: None, allow_advisories: false };

/// A kernel loaded by the driver.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) module: Module,
    pub(super) function: Function,
    maps: EncodedMaps,
    /// The number of blocks that are resident at the same time, at most one per multiprocessor.
    resident: u32,
}

impl Code {
    /// Loads the only kernel of `text`.
    pub(super) fn load(
        gpu: &Gpu,
        entry: &Entry,
        text: &str,
        options: &LoadOptions,
    ) -> Result<Self, RunError> {
        check_target(entry, &gpu.properties().name, gpu.properties().capability)?;
        let refusal = |source| RunError::Load(Box::new(JitError::new(&entry.name, text, source)));
        let module = Module::load_with(gpu, text, options).map_err(refusal)?;
        let function = module.function(&entry.name)?;
        let resident = resident(gpu, entry, &function)?;
        Ok(Self { module, function, maps: EncodedMaps::default(), resident })
    }

    /// Adds the tensor maps that the launch creates; their buffers have already been passed.
    pub(super) fn pass_maps(&self, args: &mut Args<'_>, entry: &Entry, plan: &Plan) -> Result<(), RunError> {
        let gpu = self.module.gpu();
        let needs_stand_in = plan.maps.iter().any(|map| map.is_empty);
        let stand_in = if needs_stand_in { gpu.zeros::<STAND_IN_BYTES>()? } else { 0 };
        for map in &plan.maps {
            let address = map.address(entry, stand_in);
            let encode = || map.tensor().encoded(gpu, entry, map.parameter(entry), address);
            args.value(self.maps.get(map, encode)?);
        }
        Ok(())
    }
}

/// Returns the number of multiprocessors that run blocks of the kernel at the same time, one block each. All blocks of a cluster run in one
/// group of multiprocessors, whose size need not be a multiple of the cluster size: clusters of 4 leave some multiprocessors of an H200
/// idle. Additional clusters would have to wait for the first ones, which would double the run time.
fn resident(gpu: &Gpu, entry: &Entry, function: &Function) -> Result<u32, RunError> {
    let all = gpu.properties().multiprocessors;
    let (Some(cluster), Some(block)) = (entry.cluster, entry.block) else { return Ok(all) };
    let blocks: u32 = cluster.iter().product();
    if blocks <= 1 {
        return Ok(all);
    }
    let config = LaunchConfig::new(cluster, block).dynamic_shared(entry.dynamic_shared_bytes);
    let clusters = function.active_clusters(&config)?;
    Ok(if clusters == 0 { all } else { clusters.saturating_mul(blocks).min(all) })
}

/// Returns the launch configuration. The cluster shape is omitted, because the kernel's `.reqnctapercluster` determines it.
pub(super) fn config(plan: &Plan) -> LaunchConfig {
    LaunchConfig::new(plan.grid, plan.block)
        .dynamic_shared(plan.dynamic_shared_bytes)
        .programmatic(plan.programmatic)
}
