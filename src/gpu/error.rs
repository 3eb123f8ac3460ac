//! The errors of this room.

use super::code::CudaCode;
use super::jit::JitMessage;
use super::probe::Unavailable;
use cudarc::driver::DriverError;
use std::fmt::Write as _;

/// A driver call that returned something else than `CUDA_SUCCESS`.
///
/// Kernels run asynchronously, so the code may stem from an earlier launch (an illegal address, for
/// example), whatever the call named here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} returned {code}")]
pub struct CallFailed {
    /// The driver function, or the cudarc function that called it.
    pub call: &'static str,
    /// What it returned.
    pub code: CudaCode,
}

impl CallFailed {
    /// For `map_err` after a cudarc call: `stream.synchronize().map_err(CallFailed::at("synchronize"))`.
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

/// What goes wrong around devices, modules' symbols and timing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// There is no usable driver or device.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The device number is too high.
    #[error("device {ordinal} does not exist: {count} found, numbered from 0")]
    NoSuchDevice {
        /// The device asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The module has no `.visible .entry` of this name.
    #[error("the module has no kernel named `{name}`")]
    NoSuchFunction {
        /// The name asked for.
        name: String,
    },
    /// The module has no `.visible .global` or `.const` of this name.
    #[error("the module has no global named `{name}`")]
    NoSuchGlobal {
        /// The name asked for.
        name: String,
    },
    /// A driver call failed.
    #[error(transparent)]
    Call(#[from] CallFailed),
}

impl From<DriverError> for GpuError {
    fn from(error: DriverError) -> Self {
        Self::Call(error.into())
    }
}

/// Why a PTX text was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text holds a NUL byte, where the driver would stop reading.
    #[error("line {line} of the PTX text holds a NUL byte (byte {offset} of the text)")]
    Nul {
        /// 1-based line of the byte.
        line: u32,
        /// 0-based offset of the byte.
        offset: usize,
    },
    /// The driver refused the module.
    #[error("the driver did not load the PTX: {code}{}", display_log(.messages, .log))]
    Rejected {
        /// What `cuModuleLoadDataEx` returned.
        code: CudaCode,
        /// The compiler's messages, in order; `line` counts the lines of the PTX text from 1.
        messages: Vec<JitMessage>,
        /// The compiler's log as it came.
        log: String,
    },
    /// The context could not be made current.
    #[error(transparent)]
    Call(#[from] CallFailed),
}

impl LoadError {
    /// The compiler's messages; empty for the other kinds of error.
    pub fn messages(&self) -> &[JitMessage] {
        match self {
            Self::Rejected { messages, .. } => messages,
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

/// Why a launch was refused; all but `Call` are found before the driver is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// An extent of the grid, block or cluster is zero.
    #[error("the {what} is {found:?}: every extent must be at least 1")]
    ZeroExtent {
        /// `grid`, `block` or `cluster`.
        what: &'static str,
        /// The extents in x, y, z.
        found: [u32; 3],
    },
    /// An extent of the grid or block is beyond the device's limit for that axis.
    #[error("the {what} is {found:?}: the device allows at most {limit:?}")]
    ExtentTooLarge {
        /// `grid` or `block`.
        what: &'static str,
        /// The extents in x, y, z.
        found: [u32; 3],
        /// The device's limits in x, y, z.
        limit: [u32; 3],
    },
    /// More threads in a block than the device or this kernel's registers and `.maxntid` allow.
    #[error("{found} threads per block: `{kernel}` can run with at most {limit}")]
    TooManyThreads {
        /// The kernel.
        kernel: String,
        /// Threads asked for.
        found: u64,
        /// The most that can run.
        limit: u32,
    },
    /// Clusters need compute capability 9.0.
    #[error("a cluster of {cluster:?} needs compute capability 9.0 or higher, the device has {}.{}", .capability.0, .capability.1)]
    NoClusters {
        /// The cluster asked for.
        cluster: [u32; 3],
        /// The device's compute capability.
        capability: (u32, u32),
    },
    /// More blocks in a cluster than hardware takes.
    #[error("a cluster of {cluster:?} has {found} blocks: at most {limit} are possible")]
    ClusterTooLarge {
        /// The cluster asked for.
        cluster: [u32; 3],
        /// Its blocks.
        found: u64,
        /// The most possible.
        limit: u32,
    },
    /// The grid is no multiple of the cluster.
    #[error("a grid of {grid:?} blocks does not divide into clusters of {cluster:?}")]
    PartialCluster {
        /// The grid.
        grid: [u32; 3],
        /// The cluster.
        cluster: [u32; 3],
    },
    /// The kernel was compiled for another cluster shape (`.reqnctapercluster`).
    #[error("`{kernel}` requires clusters of {wanted:?}, the launch asks for {found:?}")]
    OtherCluster {
        /// The kernel.
        kernel: String,
        /// What its `.reqnctapercluster` says.
        wanted: [u32; 3],
        /// What the launch says.
        found: [u32; 3],
    },
    /// More shared memory than a block can have.
    #[error(
        "`{kernel}` needs {static_bytes} static + {dynamic_bytes} dynamic bytes of shared memory: a block can have {limit}"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Bytes declared in the kernel.
        static_bytes: u32,
        /// Bytes asked for by the launch.
        dynamic_bytes: u32,
        /// The device's opt-in limit per block.
        limit: u32,
    },
    /// Too many or too few arguments.
    #[error("`{kernel}` takes {wanted} parameters, {found} were passed")]
    ParameterCount {
        /// The kernel.
        kernel: String,
        /// Parameters it declares.
        wanted: usize,
        /// Arguments passed.
        found: usize,
    },
    /// An argument of another size than the kernel's parameter.
    #[error("parameter {index} of `{kernel}` has {wanted} bytes, the argument has {found}")]
    ParameterSize {
        /// The kernel.
        kernel: String,
        /// 0-based position.
        index: usize,
        /// Bytes the kernel declares.
        wanted: usize,
        /// Bytes passed.
        found: usize,
    },
    /// The stream belongs to another context than the module.
    #[error("`{kernel}` was loaded into another CUDA context than the stream's")]
    OtherContext {
        /// The kernel.
        kernel: String,
    },
    /// A buffer belongs to another context than the stream.
    #[error("argument {index} of `{kernel}` lives in another CUDA context than the stream")]
    OtherBuffer {
        /// The kernel.
        kernel: String,
        /// 0-based position.
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
