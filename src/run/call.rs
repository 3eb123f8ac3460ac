//! Kernels that are chosen, built and loaded on first use.

use std::{
    any::{Any, TypeId},
    fmt,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

#[cfg(feature = "cuda")]
use std::sync::OnceLock;

#[cfg(feature = "cuda")]
use cudarc::driver::CudaStream;
use rustc_hash::FxHashMap;

#[cfg(feature = "sim")]
use super::simulator::Simulator;
use super::{
    argument::Arguments, buffer::Buffer, choice::AnyDevice, device::Device, error::RunError,
    launched::Launched,
};
#[cfg(feature = "cuda")]
use super::{buffer::Store, device::bytes_of, gpu_device::GpuDevice, loaded::Loaded};
#[cfg(feature = "cuda")]
use crate::gpu::{Gpu, allocated};
use crate::ptx::{BuildError, Element, Entry, Kernel, Params, Target};

/// The maximum number of problems of each type that a cache remembers, together with their kernels.
const MOST_KEPT: usize = 4096;

/// A cache of the kernels that were built and loaded for one device.
///
/// A call to a function of [`kernels::call`](crate::kernels::call) reuses the kernel of an earlier call with the same problem: no kernel is
/// chosen, built, compiled or loaded again. On a GPU, tensor maps of the same buffers are not encoded again. A cache that contains 4096
/// problems of one type discards them before it adds another problem of this type.
///
/// A cache is created from `&Simulator`, `&GpuDevice`, `&AnyDevice` or `&Gpu`. For the first three, calls accept [`Buffer`](super::Buffer)s
/// of the device and wait until the kernel has finished. For `&Gpu`, calls also accept cudarc buffers, and queue the kernel on the default
/// stream or on the stream passed to `KernelCache::on`.
///
/// ```
/// use warpwright::{kernels::{call, NormFunction}, prelude::*, run::{self, Device, KernelCache}};
///
/// let device = run::open_default();
/// let kernels = KernelCache::new(&device);
/// let (x, w) = (device.upload(&[bf16::ONE; 3 * 100])?, device.upload(&[bf16::ONE; 100])?);
/// let mut y = device.output::<bf16>(3 * 100)?;
/// let first = call::norm(&kernels, NormFunction::Rms, [3, 100], 1e-5, &x, &w, &mut y)?;
/// let second = call::norm(&kernels, NormFunction::Rms, [3, 100], 1e-5, &x, &w, &mut y)?;
/// println!("{}", first.kernel); // rmsnorm_bf16_121_by1 (sm_90), built in 2.1ms: y = rmsnorm(x)·w along rows: …
/// assert!(!first.reused && second.reused);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KernelCache<'d> {
    place: Place<'d>,
    /// For each combination of problem and parameter types, a map from problems to kernels.
    kept: Mutex<FxHashMap<TypeId, Box<dyn Any + Send>>>,
    /// The settings that affect the choice of kernels, by type.
    settings: FxHashMap<TypeId, Box<dyn Any + Send + Sync>>,
}

/// The device, or the GPU and stream, that kernels run on.
enum Place<'d> {
    #[cfg(feature = "sim")]
    Simulator(&'d Simulator),
    #[cfg(feature = "cuda")]
    Device(&'d GpuDevice),
    #[cfg(feature = "cuda")]
    Gpu { gpu: &'d Gpu, stream: Arc<CudaStream> },
}

/// The kernels of one problem type, by call and problem.
type Kept<P, A> = FxHashMap<(&'static str, P), Arc<Ready<A>>>;

/// A choice that determines a kernel. Wrapping choices in a separate type keeps lookups from confusing them with problems.
#[derive(PartialEq, Eq, Hash)]
struct Recipe<R>(R);

/// A kernel that is ready to be launched.
struct Ready<A> {
    picked: Arc<Picked>,
    kernel: Kernel<A>,
    /// Used only with a `Gpu`, because the other devices keep their loaded kernels themselves.
    #[cfg(feature = "cuda")]
    loaded: OnceLock<Loaded<A>>,
}

/// A kernel that a call has chosen and built.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Picked {
    /// The name of the kernel, such as `gemm_bf16_row_col_64x128`.
    pub name: String,
    /// A description of what the kernel computes.
    pub description: String,
    /// The target that the kernel was built for.
    pub target: Target,
    /// The time it took to build the kernel.
    pub build_time: Duration,
}

/// Prints text such as `gemm_bf16_row_col_64x128 (sm_90a), built in 1.5ms: D = A·B: …`.
impl fmt::Display for Picked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, description, target, build_time } = self;
        write!(f, "{name} ({target}), built in {build_time:.1?}: {description}")
    }
}

/// A call whose kernel has finished or has been queued on a stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Called {
    /// The kernel.
    pub kernel: Arc<Picked>,
    /// Whether the kernel was built by an earlier call.
    pub reused: bool,
    /// The result of the launch, or `None` if the kernel was only queued on a stream.
    pub launched: Option<Launched>,
    /// The kernels launched before [`kernel`](Self::kernel) to copy operands that it cannot read in place. Most calls require none.
    pub copies: Vec<Arc<Picked>>,
}

/// An error returned by the functions of [`kernels::call`](crate::kernels::call) and the methods of [`Queue`].
///
/// Either no kernel was launched, or a launch failed. In a function that performs several launches, earlier launches may have written
/// results.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// An argument is not valid, no kernel supports the sizes, or the cache does not support calls on a stream.
    #[error("{call}: expected {expected}, found {found}")]
    Refused {
        /// The name of the function.
        call: &'static str,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// The kernel for the problem cannot be built.
    #[error("{call}: {source}")]
    Build {
        /// The name of the function.
        call: &'static str,
        /// The error that occurred when the kernel was built.
        source: Box<BuildError>,
    },
    /// The kernel could not be loaded, a workspace could not be allocated, or the launch was refused or failed.
    #[error("{call}: {source}")]
    Run {
        /// The name of the function.
        call: &'static str,
        /// The error that occurred when the kernel was loaded or launched, or when the workspace was allocated.
        source: Box<RunError>,
    },
}

/// Prints the same message as `Display`, because `main` prints a returned error with `Debug`.
impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'d> KernelCache<'d> {
    /// Creates an empty cache for a device.
    pub fn new(device: impl Into<Self>) -> Self {
        device.into()
    }

    /// Returns a [`Queue`] that uses this cache and `stream`.
    ///
    /// Calls that use the queue launch their kernels on `stream`. They return [`CallError::Refused`] unless the cache was created from
    /// `&Gpu`.
    #[cfg(feature = "cuda")]
    pub fn on<'q>(&'q self, stream: &'q Arc<CudaStream>) -> Queue<'q> {
        Queue { cache: self, stream: Some(stream) }
    }

    /// Returns the name of the device, such as `NVIDIA H200` or `simulator`.
    pub fn name(&self) -> String {
        match &self.place {
            #[cfg(feature = "sim")]
            Place::Simulator(device) => device.name(),
            #[cfg(feature = "cuda")]
            Place::Device(device) => device.name(),
            #[cfg(feature = "cuda")]
            Place::Gpu { gpu, .. } => gpu.properties().name.clone(),
        }
    }

    /// Returns the compute capability (major, minor) of the device.
    pub fn capability(&self) -> (u32, u32) {
        match &self.place {
            #[cfg(feature = "sim")]
            Place::Simulator(device) => device.capability(),
            #[cfg(feature = "cuda")]
            Place::Device(device) => device.capability(),
            #[cfg(feature = "cuda")]
            Place::Gpu { gpu, .. } => gpu.properties().capability,
        }
    }

    /// Returns the number of multiprocessors of the device.
    pub fn multiprocessors(&self) -> u32 {
        match &self.place {
            #[cfg(feature = "sim")]
            Place::Simulator(device) => device.multiprocessors(),
            #[cfg(feature = "cuda")]
            Place::Device(device) => device.multiprocessors(),
            #[cfg(feature = "cuda")]
            Place::Gpu { gpu, .. } => gpu.properties().multiprocessors,
        }
    }

    /// Returns the number of clusters of `size` blocks that can run simultaneously with at most one block per multiprocessor.
    ///
    /// See [`Gpu::resident_clusters`](crate::gpu::Gpu::resident_clusters). In the simulator, on devices without clusters, or if the driver
    /// returns an error, the result is the number of multiprocessors divided by `size`.
    pub fn resident_clusters(&self, size: u32) -> u32 {
        let clusters = match &self.place {
            #[cfg(feature = "sim")]
            Place::Simulator(_) => None,
            #[cfg(feature = "cuda")]
            Place::Device(device) => device.gpu().resident_clusters(size).ok(),
            #[cfg(feature = "cuda")]
            Place::Gpu { gpu, .. } => gpu.resident_clusters(size).ok(),
        };
        clusters.filter(|&clusters| clusters > 0).unwrap_or(self.multiprocessors() / size.max(1))
    }

    fn of(place: Place<'d>) -> Self {
        Self { place, kept: Mutex::default(), settings: FxHashMap::default() }
    }

    /// Returns a setting that affects the choice of kernels, if it was set.
    pub(crate) fn setting<S: Any>(&self) -> Option<&S> {
        self.settings.get(&TypeId::of::<S>())?.downcast_ref()
    }

    /// Returns a mutable reference to a setting that affects the choice of kernels. The kernels of earlier calls are discarded.
    pub(crate) fn setting_mut<S: Any + Default + Send + Sync>(&mut self) -> &mut S {
        self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        let setting = self.settings.entry(TypeId::of::<S>()).or_insert_with(|| Box::new(S::default()));
        setting.downcast_mut().expect("the value has the type of its key")
    }

    /// Returns the kernel of an earlier call with the same problem.
    fn find<P, A>(&self, key: &(&'static str, P)) -> Option<Arc<Ready<A>>>
    where
        P: Eq + Hash + Send + 'static,
        A: Params,
    {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let of_type = kept.get(&TypeId::of::<Kept<P, A>>())?.downcast_ref::<Kept<P, A>>()?;
        of_type.get(key).map(Arc::clone)
    }

    /// Stores a kernel for a problem unless another thread has already done so. Returns the stored kernel.
    fn keep<P, A>(&self, key: (&'static str, P), ready: Arc<Ready<A>>) -> Arc<Ready<A>>
    where
        P: Eq + Hash + Send + 'static,
        A: Params,
    {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let of_type =
            kept.entry(TypeId::of::<Kept<P, A>>()).or_insert_with(|| Box::new(Kept::<P, A>::default()));
        let Some(of_type) = of_type.downcast_mut::<Kept<P, A>>() else { return ready };
        let full = of_type.len() == MOST_KEPT;
        let forgotten = full.then(|| std::mem::take(of_type));
        let winner = Arc::clone(of_type.entry(key).or_insert(ready));
        // Release the lock before modules are unloaded, so that other threads can use the cache in the meantime.
        drop(kept);
        drop(forgotten);
        winner
    }
}

impl fmt::Debug for KernelCache<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelCache").field("capability", &self.capability()).finish_non_exhaustive()
    }
}

#[cfg(feature = "sim")]
impl<'d> From<&'d Simulator> for KernelCache<'d> {
    fn from(simulator: &'d Simulator) -> Self {
        Self::of(Place::Simulator(simulator))
    }
}

#[cfg(feature = "cuda")]
impl<'d> From<&'d GpuDevice> for KernelCache<'d> {
    fn from(device: &'d GpuDevice) -> Self {
        Self::of(Place::Device(device))
    }
}

impl<'d> From<&'d AnyDevice> for KernelCache<'d> {
    fn from(device: &'d AnyDevice) -> Self {
        match device {
            #[cfg(feature = "sim")]
            AnyDevice::Sim(simulator) => simulator.into(),
            #[cfg(feature = "cuda")]
            AnyDevice::Gpu(device) => device.into(),
        }
    }
}

#[cfg(feature = "cuda")]
impl<'d> From<&'d Gpu> for KernelCache<'d> {
    fn from(gpu: &'d Gpu) -> Self {
        Self::of(Place::Gpu { gpu, stream: gpu.stream() })
    }
}

/// A [`KernelCache`] and the stream on which the functions in [`kernels::call`](crate::kernels::call) queue their kernels.
///
/// `From<&KernelCache>` creates a queue with the default stream; `KernelCache::on` creates a queue with another stream.
#[derive(Clone, Copy, Debug)]
pub struct Queue<'q> {
    cache: &'q KernelCache<'q>,
    #[cfg(feature = "cuda")]
    stream: Option<&'q Arc<CudaStream>>,
}

impl<'q> From<&'q KernelCache<'_>> for Queue<'q> {
    fn from(cache: &'q KernelCache<'_>) -> Self {
        Self {
            cache,
            #[cfg(feature = "cuda")]
            stream: None,
        }
    }
}

impl Queue<'_> {
    /// Returns the cache, which provides the properties of the device.
    pub fn cache(&self) -> &KernelCache<'_> {
        self.cache
    }

    /// Launches the kernel for a problem, and builds it first if the cache does not contain it.
    ///
    /// `pick` chooses the kernel, unless an earlier launch with the same `call` had the same problem. `build` then builds the kernel,
    /// unless an earlier launch with the same `call` led to the same choice. `call` is the name of the calling function; errors
    /// include it.
    ///
    /// # Errors
    /// Returns a [`CallError`] if building, loading or launching the kernel fails, or if the queue has a stream but its cache was not
    /// created from `&Gpu`.
    pub fn launch<P, R, A>(
        self,
        call: &'static str,
        problem: P,
        pick: impl FnOnce(&P) -> R,
        build: impl FnOnce(&R) -> Result<Kernel<A>, BuildError>,
        arguments: impl Arguments<A>,
    ) -> Result<Called, CallError>
    where
        P: Eq + Hash + Send + 'static,
        R: Eq + Hash + Send + 'static,
        A: Params,
    {
        let run = |source| CallError::Run { call, source: Box::new(source) };
        let unbuilt = |source| CallError::Build { call, source: Box::new(source) };
        #[cfg(feature = "cuda")]
        if self.stream.is_some() && !matches!(self.cache.place, Place::Gpu { .. }) {
            let (expected, found) = ("a cache of `&Gpu` for calls on a stream", "one of a device");
            return Err(CallError::Refused { call, expected: expected.into(), found: found.into() });
        }
        let key = (call, problem);
        let mut reused = true;
        let ready = match self.cache.find(&key) {
            Some(ready) => ready,
            None => {
                let recipe = (call, Recipe(pick(&key.1)));
                let ready = match self.cache.find(&recipe) {
                    Some(ready) => ready,
                    None => {
                        reused = false;
                        let start = Instant::now();
                        let kernel = build(&recipe.1.0).map_err(unbuilt)?;
                        self.cache.keep(recipe, Arc::new(Ready::new(kernel, start)))
                    }
                };
                self.cache.keep(key, ready)
            }
        };
        let launched = self.start(&ready, arguments).map_err(run)?;
        Ok(Called { kernel: Arc::clone(&ready.picked), reused, launched, copies: Vec::new() })
    }

    /// Allocates a buffer of `len` elements with unspecified contents, for intermediate results that only kernels read.
    ///
    /// `call` is the name of the calling function; errors include it.
    ///
    /// If the cache was created from `&Gpu`, the memory is allocated and freed in stream order. The buffer may then be dropped as soon as
    /// the last launch that uses it has been queued.
    ///
    /// # Errors
    /// Returns [`CallError::Run`] if the buffer does not fit in the device's free memory.
    #[doc(alias = "cuMemAllocAsync")]
    pub fn workspace<T: Element>(self, call: &'static str, len: usize) -> Result<Buffer<T>, CallError> {
        let run = |source| CallError::Run { call, source: Box::new(source) };
        match &self.cache.place {
            #[cfg(feature = "sim")]
            Place::Simulator(device) => device.output(len),
            #[cfg(feature = "cuda")]
            Place::Device(device) => device.output(len),
            #[cfg(feature = "cuda")]
            Place::Gpu { gpu, stream } => bytes_of::<T>(len, || gpu.properties().name.clone())
                .and_then(|bytes| Ok(allocated(self.stream.unwrap_or(stream), bytes.max(1))?))
                .map(|slice| Buffer::new(Store::Cuda(slice), len)),
        }
        .map_err(run)
    }

    fn start<A: Params>(
        self,
        ready: &Ready<A>,
        arguments: impl Arguments<A>,
    ) -> Result<Option<Launched>, RunError> {
        match &self.cache.place {
            #[cfg(feature = "sim")]
            Place::Simulator(device) => device.launch(&ready.kernel, arguments).map(Some),
            #[cfg(feature = "cuda")]
            Place::Device(device) => device.launch(&ready.kernel, arguments).map(Some),
            #[cfg(feature = "cuda")]
            Place::Gpu { gpu, stream } => {
                let loaded = match ready.loaded.get() {
                    Some(loaded) => loaded,
                    None => {
                        let loaded = gpu.load(&ready.kernel)?;
                        ready.loaded.get_or_init(|| loaded)
                    }
                };
                loaded.launch_erased(self.stream.unwrap_or(stream), arguments).map(|()| None)
            }
        }
    }
}

impl<A: Params> Ready<A> {
    /// Wraps a kernel whose build began at `start`.
    fn new(kernel: Kernel<A>, start: Instant) -> Self {
        let Entry { name, description, target, .. } = kernel.entry().clone();
        let picked = Arc::new(Picked { name, description, target, build_time: start.elapsed() });
        Self {
            picked,
            kernel,
            #[cfg(feature = "cuda")]
            loaded: OnceLock::new(),
        }
    }
}
