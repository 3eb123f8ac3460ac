//! A kernel of a loaded module: its attributes, parameters and occupancy.

use super::error::{CallFailed, GpuError};
use super::launch::LaunchConfig;
use super::module::Loaded;
use super::symbols::{Handle, function_attribute as attribute};
use std::ffi::c_int;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The attributes of a compiled kernel. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionAttributes {
    /// The number of registers per thread.
    pub registers: u32,
    /// The local memory per thread, for spills and dynamically indexed arrays.
    pub local_bytes: u32,
    /// The static shared memory per block.
    pub shared_bytes: u32,
    /// The user-allocated constant memory.
    pub constant_bytes: u32,
    /// The maximum number of threads per block, as limited by the kernel's registers and `.maxntid`.
    pub max_threads: u32,
    /// The architecture of the PTX as `10·major + minor`, such as 80 for `.target sm_80`.
    pub ptx_version: u32,
    /// The architecture of the machine code as `10·major + minor`.
    pub binary_version: u32,
    /// The cluster shape of `.reqnctapercluster`, if the kernel has one.
    pub required_cluster: Option<[u32; 3]>,
}

/// A kernel parameter as laid out by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The offset in the parameter space, in bytes.
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
}

/// The function's limits as raised by launches so far; they are never lowered.
#[derive(Debug)]
struct Raised {
    dynamic_shared_bytes: u32,
    large_clusters: bool,
}

/// A kernel that is ready to launch.
///
/// The module of the kernel stays loaded until the function is dropped.
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
        let no_opt_in =
            module.gpu.properties().shared_bytes_per_block.saturating_sub(attributes.shared_bytes);
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

    /// Returns the kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the attributes of the compiled kernel.
    #[doc(alias = "cuFuncGetAttribute")]
    pub fn attributes(&self) -> &FunctionAttributes {
        &self.attributes
    }

    /// Returns the parameters, or `None` if the driver is older than CUDA 12.4 and cannot report them.
    #[doc(alias = "cuFuncGetParamInfo")]
    pub fn parameters(&self) -> Option<&[Parameter]> {
        self.parameters.as_deref()
    }

    /// Returns the number of blocks that can be resident on one multiprocessor simultaneously.
    ///
    /// Each block has `threads` threads and `dynamic_shared_bytes` bytes of dynamic shared memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    #[doc(alias = "cuOccupancyMaxActiveBlocksPerMultiprocessor")]
    pub fn blocks_per_multiprocessor(
        &self,
        threads: u32,
        dynamic_shared_bytes: u32,
    ) -> Result<u32, GpuError> {
        self.module.gpu.bind()?;
        self.allow_dynamic_shared(dynamic_shared_bytes)?;
        let mut blocks = 0;
        // SAFETY: the context is current, the function is live, and `blocks` is valid for the call.
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

    /// Returns the number of clusters that can be resident on the device simultaneously if the kernel is launched with `config`.
    ///
    /// # Errors
    /// Returns the driver's error.
    #[doc(alias = "cuOccupancyMaxActiveClusters")]
    pub fn active_clusters(&self, config: &LaunchConfig) -> Result<u32, GpuError> {
        self.module.gpu.bind()?;
        self.allow_dynamic_shared(config.dynamic_shared_bytes)?;
        self.allow_large_clusters(config)?;
        let mut attributes = config.attributes();
        let raw = config.raw(std::ptr::null_mut(), &mut attributes);
        let mut clusters = 0;
        // SAFETY: the context is current, the function is live, and the attribute list outlives the call.
        unsafe { self.module.gpu.driver().api.cuOccupancyMaxActiveClusters(&mut clusters, self.raw, &raw) }?;
        Ok(clusters.unsigned_abs())
    }

    /// Raises the kernel's limit on dynamic shared memory, which initially excludes the opt-in range.
    pub(crate) fn allow_dynamic_shared(&self, bytes: u32) -> Result<(), CallFailed> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > raised.dynamic_shared_bytes {
            self.set(attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)?;
            raised.dynamic_shared_bytes = bytes;
        }
        Ok(())
    }

    /// Allows clusters of more than 8 blocks. Every device that supports clusters supports 8 blocks per cluster; larger clusters require
    /// this opt-in.
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
