//! What goes wrong between a kernel, its arguments and a device.

#[cfg(feature = "cuda")]
use std::fmt;

use crate::ptx::Target;
#[cfg(feature = "sim")]
use crate::sim;

#[cfg(feature = "cuda")]
use super::source_line::SourceLine;
#[cfg(feature = "cuda")]
use crate::gpu::{GpuError, JitMessage, LaunchError, LoadError, Unavailable};

/// Why a kernel was not run, or what stopped it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A number is not a multiple of what the kernel was built for (`multiple_of`).
    #[error("kernel `{kernel}`: parameter `{parameter}` must be a multiple of {wanted}, found {found}")]
    Indivisible {
        /// The kernel.
        kernel: String,
        /// Name of the parameter.
        parameter: String,
        /// What must divide it.
        wanted: u32,
        /// The argument.
        found: i128,
    },
    /// A buffer does not begin at a multiple of [`BUFFER_ALIGN`](crate::ptx::BUFFER_ALIGN) bytes.
    #[error(
        "kernel `{kernel}`: the buffer for parameter `{parameter}` must begin at a multiple of {wanted} bytes, found address \
         {found:#x}"
    )]
    Misaligned {
        /// The kernel.
        kernel: String,
        /// Name of the parameter.
        parameter: String,
        /// What must divide the address.
        wanted: u32,
        /// The address.
        found: u64,
    },
    /// A buffer is shorter than what the kernel's views (`k.slice`, `k.global`, `k.tensor`) may access.
    #[error(
        "kernel `{kernel}`: the buffer for parameter `{parameter}` must hold {wanted} elements, found {found}"
    )]
    TooShort {
        /// The kernel.
        kernel: String,
        /// Name of the parameter.
        parameter: String,
        /// Elements that the kernel may access.
        wanted: u64,
        /// Elements of the buffer.
        found: u64,
    },
    /// What the kernel's views may access of a buffer has more than 2^64 bytes, or a size computed in 32 bits does not fit there.
    #[error("kernel `{kernel}`: the extents of parameter `{parameter}` overflow")]
    ExtentOverflow {
        /// The kernel.
        kernel: String,
        /// Name of the parameter.
        parameter: String,
    },
    /// A buffer that the kernel writes shares bytes with another.
    #[error(
        "kernel `{kernel}`: the buffers for parameters `{first}` and `{second}` overlap, and the kernel writes one of them"
    )]
    Overlap {
        /// The kernel.
        kernel: String,
        /// Name of a parameter.
        first: String,
        /// Name of the other.
        second: String,
    },
    /// A buffer of more bytes than a device can address or the host can represent.
    #[error("a buffer of {len} elements of {element_bytes} bytes is too large for {device}")]
    BufferTooLarge {
        /// Elements.
        len: usize,
        /// Bytes of an element.
        element_bytes: u32,
        /// The device.
        device: String,
    },
    /// A buffer lies in the memory of another device than the one that should run the kernel.
    #[error(
        "kernel `{kernel}`: the buffer for parameter `{parameter}` belongs to another device than {device}"
    )]
    OtherDevice {
        /// The kernel.
        kernel: String,
        /// Name of the parameter.
        parameter: String,
        /// The device that should run it.
        device: String,
    },
    /// A buffer was handed to another device than the one that it belongs to.
    #[error("the buffer belongs to another device than {device}")]
    OtherBuffer {
        /// The device.
        device: String,
    },
    /// The kernel does not say how many threads a block has.
    #[error("kernel `{kernel}` has no block shape: give it one with `k.block([…])`")]
    NoBlockShape {
        /// The kernel.
        kernel: String,
    },
    /// The kernel does not say how many blocks it needs, and the launch does not either.
    #[error(
        "kernel `{kernel}` has no grid rule: give it one with `k.grid([…])`, or launch it with `launch_grid`"
    )]
    NoGridRule {
        /// The kernel.
        kernel: String,
    },
    /// More blocks along one axis than any device takes.
    #[error("kernel `{kernel}`: the grid has {found} blocks along {axis}, at most {most} are possible")]
    GridTooLarge {
        /// The kernel.
        kernel: String,
        /// `x`, `y` or `z`.
        axis: char,
        /// Blocks.
        found: u64,
        /// The most there may be.
        most: u64,
    },
    /// The grid is no multiple of the kernel's cluster.
    #[error("kernel `{kernel}`: a grid of {grid:?} blocks does not divide into its clusters of {cluster:?}")]
    PartialCluster {
        /// The kernel.
        kernel: String,
        /// Blocks in x, y, z.
        grid: [u32; 3],
        /// Blocks of a cluster in x, y, z.
        cluster: [u32; 3],
    },
    /// The kernel was built for a target that the device cannot run.
    #[error("kernel `{kernel}` was built for {target}, which {device} (sm_{}{}) cannot run", .capability.0, .capability.1)]
    WrongTarget {
        /// The kernel.
        kernel: String,
        /// What it was built for.
        target: Target,
        /// The device.
        device: String,
        /// The device's compute capability.
        capability: (u32, u32),
    },
    /// The simulator does not take the kernel's text.
    #[cfg(feature = "sim")]
    #[error("kernel `{kernel}`: {source}")]
    Parse {
        /// The kernel.
        kernel: String,
        /// What is wrong, and where.
        source: Box<sim::ParseError>,
    },
    /// The simulator stopped the kernel.
    #[cfg(feature = "sim")]
    #[error(transparent)]
    Simulation(Box<sim::SimError>),
    /// The kernel ran to its end in the simulator, but not cleanly.
    #[cfg(feature = "sim")]
    #[error(transparent)]
    Unclean(Unclean),
    /// A copy to or from simulated memory failed.
    #[cfg(feature = "sim")]
    #[error(transparent)]
    Memory(#[from] sim::MemoryError),
    /// The crate was built without the feature `sim`.
    #[cfg(not(feature = "sim"))]
    #[error("no simulator: warpwright was built without its feature `sim`")]
    NoSimulator,
    /// No GPU can be used.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The crate was built without the feature `cuda`.
    #[cfg(not(feature = "cuda"))]
    #[error("no GPU: warpwright was built without its feature `cuda`")]
    NoCuda,
    /// The driver did not load the kernel.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Load(Box<JitRefusal>),
    /// The GPU layer refused the launch.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A driver call failed; after a launch, this is how a kernel's own fault shows.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Gpu(GpuError),
    /// The kernel faulted, or the driver failed while it ran.
    #[cfg(feature = "cuda")]
    #[error("kernel `{kernel}`: {source}")]
    Fault {
        /// The kernel.
        kernel: String,
        /// What the driver returned.
        source: GpuError,
    },
}

/// A kernel that ran to its end in the simulator, and what was wrong with it.
#[cfg(feature = "sim")]
#[derive(Clone, Debug, thiserror::Error)]
#[error("kernel `{kernel}` is not clean:{}", .report.findings.iter().map(|f| format!("\n{f}")).collect::<String>())]
pub struct Unclean {
    /// The kernel.
    pub kernel: String,
    /// What the simulator found, counted and printed.
    pub report: Box<sim::Report>,
}

#[cfg(feature = "cuda")]
impl From<GpuError> for RunError {
    fn from(error: GpuError) -> Self {
        match error {
            GpuError::Unavailable(why) => Self::Unavailable(why),
            other => Self::Gpu(other),
        }
    }
}

/// A kernel that the driver did not load, with the Rust lines behind the compiler's messages.
#[cfg(feature = "cuda")]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`: the driver did not load it: {}", summary(.messages, .source))]
pub struct JitRefusal {
    /// The kernel.
    pub kernel: String,
    /// The compiler's messages, in order.
    pub messages: Vec<LoadMessage>,
    /// What the GPU layer reported.
    pub source: LoadError,
}

/// A message of the driver's compiler about one line of a kernel.
#[cfg(feature = "cuda")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadMessage {
    /// The message, with the line of the PTX text.
    pub message: JitMessage,
    /// That line.
    pub ptx: Option<String>,
    /// The Rust line that wrote it.
    pub rust: Option<SourceLine>,
}

#[cfg(feature = "cuda")]
impl JitRefusal {
    pub(super) fn new(kernel: &str, text: &str, source: LoadError) -> Self {
        let messages =
            source.messages().iter().map(|message| LoadMessage::new(message.clone(), text)).collect();
        Self { kernel: kernel.to_string(), messages, source }
    }
}

#[cfg(feature = "cuda")]
impl LoadMessage {
    fn new(message: JitMessage, text: &str) -> Self {
        let ptx = message.line.and_then(|n| text.lines().nth(n.checked_sub(1)? as usize));
        let rust = message.line.and_then(|n| SourceLine::of(text, n));
        Self { ptx: ptx.map(|line| line.trim().to_string()), rust, message }
    }
}

/// `src/kernel.rs:12:7: error: Unknown symbol '%r9' in PTX line 40: add.s32 %r1, %r9, 1;`.
#[cfg(feature = "cuda")]
impl fmt::Display for LoadMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rust) = &self.rust {
            write!(f, "{rust}: ")?;
        }
        write!(f, "{}: {}", self.message.severity, self.message.text)?;
        if let (Some(line), Some(ptx)) = (self.message.line, &self.ptx) {
            write!(f, " in PTX line {line}: {ptx}")?;
        }
        Ok(())
    }
}

#[cfg(feature = "cuda")]
fn summary(messages: &[LoadMessage], source: &LoadError) -> String {
    match source {
        LoadError::Rejected { code, .. } if !messages.is_empty() => {
            messages.iter().fold(code.to_string(), |text, message| format!("{text}\n  {message}"))
        }
        other => other.to_string(),
    }
}
