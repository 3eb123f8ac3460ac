//! Errors of the GPU layer.

use super::code::CudaCode;
use super::jit::JitMessage;
use super::probe::Unavailable;
use cudarc::driver::DriverError;
use std::fmt::Write as _;

/// A driver call that did not return `CUDA_SUCCESS`.
///
/// Kernels run asynchronously, so the code may be due to an earlier launch rather than to the call named here, for example if a kernel
/// accessed an illegal address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} returned {code}")]
pub struct CallFailed {
    /// The driver function, or the cudarc function that called it.
    pub call: &'static str,
    /// The code that the function returned.
    pub code: CudaCode,
}

impl CallFailed {
    /// Returns a function that converts the error of the cudarc function `call`.
    ///
    /// For example: `stream.synchronize().map_err(CallFailed::at("synchronize"))`.
    pub fn at(call: &'static str) -> impl Fn(DriverError) -> Self {
        move |error| Self { call, code: error.into() }
    }
}

impl From<DriverError> for CallFailed {
    fn from(error: DriverError) -> Self {
        Self { call: "a cudarc call", code: error.into() }
    }
}

impl CudaCode {
    pub(crate) fn check(self, call: &'static str) -> Result<(), CallFailed> {
        if self == Self::SUCCESS { Ok(()) } else { Err(CallFailed { call, code: self }) }
    }
}

/// An error that occurs when a device is opened or queried, its memory is accessed, a module's symbols are looked up, or work is timed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No driver or device is usable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The device ordinal is too large.
    #[error("expected a device ordinal below {count}, found {ordinal}")]
    NoSuchDevice {
        /// The requested ordinal.
        ordinal: usize,
        /// The number of devices.
        count: usize,
    },
    /// The module has no `.visible .entry` with this name.
    #[error("the module has no kernel named `{name}`")]
    NoSuchFunction {
        /// The requested name.
        name: String,
    },
    /// The module has no `.visible .global` or `.const` variable with this name.
    #[error("the module has no global named `{name}`")]
    NoSuchGlobal {
        /// The requested name.
        name: String,
    },
    /// The driver could not load one of this crate's own kernels.
    #[error(transparent)]
    Load(Box<LoadError>),
    /// A driver call failed.
    #[error(transparent)]
    Call(#[from] CallFailed),
}

impl From<LoadError> for GpuError {
    fn from(error: LoadError) -> Self {
        Self::Load(Box::new(error))
    }
}

impl From<DriverError> for GpuError {
    fn from(error: DriverError) -> Self {
        Self::Call(error.into())
    }
}

/// An error that occurs when PTX text is loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text contains a NUL byte, at which the driver would stop reading.
    #[error("PTX line {line}: expected text without NUL bytes, found one at byte {offset} of the text")]
    Nul {
        /// The 1-based line of the byte.
        line: u32,
        /// The 0-based offset of the byte.
        offset: usize,
    },
    /// The driver rejected the module.
    #[error("the driver rejected the PTX: {code}{}", display_log(.messages, .log))]
    Rejected {
        /// The code that `cuModuleLoadDataEx` returned.
        code: CudaCode,
        /// The compiler's messages, in order.
        messages: Vec<JitMessage>,
        /// The compiler's log, verbatim.
        log: String,
    },
    /// The compiler accepted the module, but serialized `wgmma` instructions, inserted waits for them, or ignored `setmaxnreg`.
    ///
    /// The kernel would be correct, but slow. Set [`LoadOptions::allow_advisories`](super::LoadOptions::allow_advisories) to load such
    /// modules.
    #[error(
        "{}: expected `wgmma` and `setmaxnreg` to be compiled as written, found{}",
        display_names(.kernels),
        display_log(.messages, .log)
    )]
    Advisories {
        /// The kernels that the compiler's log mentions.
        kernels: Vec<String>,
        /// The advisory notes `(C75nn)`, in order.
        messages: Vec<JitMessage>,
        /// The compiler's log, verbatim.
        log: String,
    },
    /// The context could not be made current.
    #[error(transparent)]
    Call(#[from] CallFailed),
}

impl LoadError {
    /// Returns the compiler's messages (for [`Advisories`](Self::Advisories), only the advisory notes). The result is empty if the error
    /// occurred before compilation.
    pub fn messages(&self) -> &[JitMessage] {
        match self {
            Self::Rejected { messages, .. } | Self::Advisories { messages, .. } => messages,
            Self::Nul { .. } | Self::Call(_) => &[],
        }
    }
}

impl From<DriverError> for LoadError {
    fn from(error: DriverError) -> Self {
        Self::Call(error.into())
    }
}

fn display_log(messages: &[JitMessage], log: &str) -> String {
    let mut text = String::new();
    for message in messages {
        let _ = write!(text, "\n  {message}");
    }
    if messages.is_empty() {
        for line in log.lines().filter(|line| !line.trim().is_empty()) {
            let _ = write!(text, "\n  {line}");
        }
    }
    text
}

fn display_names(kernels: &[String]) -> String {
    match kernels {
        [] => "module".to_owned(),
        [name] => format!("kernel `{name}`"),
        names => format!("kernels `{}`", names.join("`, `")),
    }
}

/// An error that occurs when a kernel is launched. All variants except `Call` are detected before the driver is called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// An extent of the grid, block or cluster is zero.
    #[error("{what}: expected extents of at least 1, found {found:?}")]
    ZeroExtent {
        /// `grid`, `block` or `cluster`.
        what: &'static str,
        /// The extents in x, y and z.
        found: [u32; 3],
    },
    /// An extent of the grid or block exceeds the device's limit for that axis.
    #[error("{what}: expected extents of at most {limit:?}, found {found:?}")]
    ExtentTooLarge {
        /// `grid` or `block`.
        what: &'static str,
        /// The extents in x, y and z.
        found: [u32; 3],
        /// The device's limits in x, y and z.
        limit: [u32; 3],
    },
    /// The block has more threads than the device, the kernel's register usage or its `.maxntid` allows.
    #[error("kernel `{kernel}`: expected at most {limit} threads per block, found {found}")]
    TooManyThreads {
        /// The kernel name.
        kernel: String,
        /// The requested number of threads.
        found: u64,
        /// The maximum number of threads.
        limit: u32,
    },
    /// The device does not support clusters, which require compute capability 9.0.
    #[error("cluster {cluster:?}: expected a device of compute capability 9.0 or later, found {}.{}", .capability.0, .capability.1)]
    NoClusters {
        /// The requested cluster shape.
        cluster: [u32; 3],
        /// The device's compute capability.
        capability: (u32, u32),
    },
    /// The cluster has more blocks than the hardware supports.
    #[error("cluster {cluster:?}: expected at most {limit} blocks, found {found}")]
    ClusterTooLarge {
        /// The requested cluster shape.
        cluster: [u32; 3],
        /// The number of blocks in the cluster.
        found: u64,
        /// The maximum number of blocks.
        limit: u32,
    },
    /// The grid is not a multiple of the cluster.
    #[error("expected a grid that is a multiple of the cluster {cluster:?}, found {grid:?}")]
    PartialCluster {
        /// The grid.
        grid: [u32; 3],
        /// The cluster.
        cluster: [u32; 3],
    },
    /// The kernel was compiled for a different cluster shape (`.reqnctapercluster`).
    #[error("kernel `{kernel}`: expected clusters of {expected:?}, found {found:?}")]
    WrongCluster {
        /// The kernel name.
        kernel: String,
        /// The shape that `.reqnctapercluster` requires.
        expected: [u32; 3],
        /// The shape that the launch requests.
        found: [u32; 3],
    },
    /// The launch requires more shared memory than a block can have.
    #[error(
        "kernel `{kernel}`: expected at most {limit} bytes of shared memory, found {static_bytes} static + {dynamic_bytes} dynamic"
    )]
    SharedMemory {
        /// The kernel name.
        kernel: String,
        /// The bytes declared in the kernel.
        static_bytes: u32,
        /// The bytes requested by the launch.
        dynamic_bytes: u32,
        /// The device's opt-in limit per block.
        limit: u32,
    },
    /// The number of arguments differs from the number of parameters.
    #[error("kernel `{kernel}`: expected {expected} arguments, found {found}")]
    ParameterCount {
        /// The kernel name.
        kernel: String,
        /// The number of parameters that the kernel declares.
        expected: usize,
        /// The number of arguments.
        found: usize,
    },
    /// The size of an argument differs from the size of the kernel's parameter.
    #[error("kernel `{kernel}`, argument {index}: expected {expected} bytes, found {found}")]
    ParameterSize {
        /// The kernel name.
        kernel: String,
        /// The 0-based index of the argument.
        index: usize,
        /// The size of the parameter in bytes.
        expected: usize,
        /// The size of the argument in bytes.
        found: usize,
    },
    /// The stream belongs to a context other than the module's.
    #[error(
        "kernel `{kernel}`: expected a stream of the CUDA context that the kernel was loaded into, found another context"
    )]
    WrongContext {
        /// The kernel name.
        kernel: String,
    },
    /// The stream is being captured into a graph, which would repeat the launch after the buffers' borrows have ended.
    #[error(
        "kernel `{kernel}`: expected a stream that is not being captured, found one that is captured into a graph, which does not keep the buffers: see `Gpu::allow_captures`"
    )]
    Captured {
        /// The kernel name.
        kernel: String,
    },
    /// A buffer belongs to a context other than the stream's.
    #[error(
        "kernel `{kernel}`, argument {index}: expected a buffer of the stream's CUDA context, found another context"
    )]
    WrongBuffer {
        /// The kernel name.
        kernel: String,
        /// The 0-based index of the argument.
        index: usize,
    },
    /// A driver call failed.
    #[error(transparent)]
    Call(#[from] CallFailed),
}

impl From<DriverError> for LaunchError {
    fn from(error: DriverError) -> Self {
        Self::Call(error.into())
    }
}
