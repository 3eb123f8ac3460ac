//! A kernel of a loaded module: its attributes, parameters and occupancy.

use super::error::{CallFailed, GpuError};
use super::launch::LaunchConfig;
use super::module::Loaded;
use super::symbols::{Handle, function_attribute as attribute};
use std::ffi::c_int;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What the compiler made of a kernel. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionAttributes {
    /// Registers per thread.
    pub registers: u32,
    /// Local memory per thread: spills, and arrays that are indexed at run time.
    pub local_bytes: u32,
    /// Static shared memory per block.
    pub shared_bytes: u32,
    /// Constant memory of the user's own.
    pub constant_bytes: u32,
    /// Threads a block can have, from registers and `.maxntid`.
    pub max_threads: u32,
    /// The architecture of the PTX as `10·major + minor`: 80 for `.target sm_80`.
    pub ptx_version: u32,
    /// The architecture of the machine code, likewise.
    pub binary_version: u32,
    /// The cluster shape of `.reqnctapercluster`, if the kernel has one.
    pub required_cluster: Option<[u32; 3]>,
}

/// A kernel parameter as the driver laid it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Offset in the parameter space, in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

/// What a launch had to raise on the function so far; values only grow.
#[derive(Debug)]
struct Raised {
    dynamic_shared_bytes: u32,
    large_clusters: bool,
}

/// A kernel, ready to launch. It keeps its module loaded.
pub struct Function {
    pub(crate) module: Arc<Loaded>,
    pub(crate) raw: Handle,
    name: String,
    attributes: FunctionAttributes,
    parameters: Option<Vec<Parameter>>,
    raised: Mutex<Raised>,
}

// SAFETY: a `CUfunction` may be used from any thread on which its context is current, and every use binds it.
unsafe impl Send for Function {}
// SAFETY: as above; the driver locks internally, and attributes are changed under the mutex.
unsafe impl Sync for Function {}

impl Function {
    pub(crate) fn new(module: Arc<Loaded>, raw: Handle, name: &str) -> Result<Self, GpuError> {
        let api = &module.gpu.driver().api;
        let get = |attribute: c_int| {
            let mut value = 0;
            // SAFETY: the function is live and `value` is valid for the call.
            unsafe { api.cuFuncGetAttribute(&mut value, attribute, raw) }?;
            Ok::<u32, CallFailed>(value.unsigned_abs())
        };
        let cluster = [
            get(attribute::REQUIRED_CLUSTER_WIDTH)?,
            get(attribute::REQUIRED_CLUSTER_HEIGHT)?,
            get(attribute::REQUIRED_CLUSTER_DEPTH)?,
        ];
        let attributes = FunctionAttributes {
            registers: get(attribute::NUM_REGS)?,
            local_bytes: get(attribute::LOCAL_SIZE_BYTES)?,
            shared_bytes: get(attribute::SHARED_SIZE_BYTES)?,
            constant_bytes: get(attribute::CONST_SIZE_BYTES)?,
            max_threads: get(attribute::MAX_THREADS_PER_BLOCK)?,
            ptx_version: get(attribute::PTX_VERSION)?,
            binary_version: get(attribute::BINARY_VERSION)?,
            required_cluster: (cluster != [0; 3]).then_some(cluster),
        };
        let no_opt_in = module.gpu.facts().shared_bytes_per_block.saturating_sub(attributes.shared_bytes);
        let raised = Raised { dynamic_shared_bytes: no_opt_in, large_clusters: false };
        let mut parameters = Some(Vec::new());
        while let Some(list) = &mut parameters {
            // SAFETY: the function is live.
            match unsafe { api.cuFuncGetParamInfo(raw, list.len()) } {
                None => parameters = None,
                Some(None) => break,
                Some(Some((offset, size))) => list.push(Parameter { offset, size }),
            }
        }
        let name = name.to_owned();
        Ok(Self { raw, name, attributes, parameters, raised: Mutex::new(raised), module })
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the compiler made of it.
    #[doc(alias = "cuFuncGetAttribute")]
    pub fn attributes(&self) -> &FunctionAttributes {
        &self.attributes
    }

    /// Its parameters, or `None` if the driver is older than CUDA 12.4 and cannot tell.
    #[doc(alias = "cuFuncGetParamInfo")]
    pub fn parameters(&self) -> Option<&[Parameter]> {
        self.parameters.as_deref()
    }

    /// How many blocks of so many threads and dynamic shared bytes fit on one multiprocessor.
    #[doc(alias = "cuOccupancyMaxActiveBlocksPerMultiprocessor")]
    pub fn blocks_per_multiprocessor(
        &self,
        threads: u32,
        dynamic_shared_bytes: u32,
    ) -> Result<u32, GpuError> {
        self.module.gpu.bind()?;
        self.allow_dynamic_shared(dynamic_shared_bytes)?;
        let mut blocks = 0;
        // SAFETY: the context is current, the function is live, `blocks` is valid for the call.
        unsafe {
            self.module.gpu.driver().api.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.raw,
                c_int::try_from(threads).unwrap_or(c_int::MAX),
                dynamic_shared_bytes as usize,
            )
        }?;
        Ok(blocks.unsigned_abs())
    }

    /// How many clusters of this launch can run on the device at once.
    #[doc(alias = "cuOccupancyMaxActiveClusters")]
    pub fn active_clusters(&self, config: &LaunchConfig) -> Result<u32, GpuError> {
        self.module.gpu.bind()?;
        self.allow_dynamic_shared(config.dynamic_shared_bytes)?;
        self.allow_large_clusters(config)?;
        let mut attributes = config.attributes();
        let raw = config.raw(std::ptr::null_mut(), &mut attributes);
        let mut clusters = 0;
        // SAFETY: the context is current, the function is live, the attribute list outlives the call.
        unsafe { self.module.gpu.driver().api.cuOccupancyMaxActiveClusters(&mut clusters, self.raw, &raw) }?;
        Ok(clusters.unsigned_abs())
    }

    /// Raises the kernel's limit of dynamic shared memory, which starts at what needs no opting in.
    pub(crate) fn allow_dynamic_shared(&self, bytes: u32) -> Result<(), CallFailed> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > raised.dynamic_shared_bytes {
            self.set(attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)?;
            raised.dynamic_shared_bytes = bytes;
        }
        Ok(())
    }

    /// Allows clusters of more than the 8 blocks that every device of compute capability 9.0 takes.
    pub(crate) fn allow_large_clusters(&self, config: &LaunchConfig) -> Result<(), CallFailed> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        if config.blocks_per_cluster() > 8 && !raised.large_clusters {
            self.set(attribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
            raised.large_clusters = true;
        }
        Ok(())
    }

    fn set(&self, attribute: c_int, value: u32) -> Result<(), CallFailed> {
        let value = c_int::try_from(value).unwrap_or(c_int::MAX);
        // SAFETY: the function is live, and every caller made its context current.
        unsafe { self.module.gpu.driver().api.cuFuncSetAttribute(self.raw, attribute, value) }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name)
            .field("attributes", &self.attributes)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}
