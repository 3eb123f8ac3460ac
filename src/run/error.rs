//! Errors of launches.

use std::fmt;

use crate::ptx::Target;
#[cfg(feature = "sim")]
use crate::sim;

#[cfg(feature = "cuda")]
use super::source_line::SourceLine;
#[cfg(feature = "cuda")]
use crate::gpu::{GpuError, JitMessage, LaunchError, LoadError, Unavailable};

/// An error that occurs when a device is opened, when a buffer is allocated or copied, or when a kernel is loaded, launched or run.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An integer argument violates an assumption of the kernel (`multiple_of`).
    #[error("kernel `{kernel}`: parameter `{parameter}`: expected a multiple of {expected}, found {found}")]
    Indivisible {
        /// The name of the kernel.
        kernel: String,
        /// The name of the parameter.
        parameter: String,
        /// The required divisor.
        expected: u32,
        /// The value of the argument.
        found: i128,
    },
    /// An integer argument exceeds a limit of the kernel (`at_most`).
    #[error("kernel `{kernel}`: parameter `{parameter}`: expected at most {max}, found {found}")]
    TooLarge {
        /// The name of the kernel.
        kernel: String,
        /// The name of the parameter.
        parameter: String,
        /// The maximum that the kernel allows.
        max: u32,
        /// The value of the argument.
        found: i128,
    },
    /// A buffer is not aligned to [`BUFFER_ALIGN`](crate::ptx::BUFFER_ALIGN) bytes.
    #[error(
        "kernel `{kernel}`: parameter `{parameter}`: expected an address that is a multiple of {expected}, found {found:#x}"
    )]
    Misaligned {
        /// The name of the kernel.
        kernel: String,
        /// The name of the parameter.
        parameter: String,
        /// The required alignment in bytes.
        expected: u32,
        /// The address.
        found: u64,
    },
    /// A buffer is too short for the kernel's views (`k.slice`, `k.global`, `k.tensor`) or for a [`TensorBox`](super::TensorBox).
    #[error(
        "kernel `{kernel}`: parameter `{parameter}`: expected a buffer of at least {expected} elements, found {found}"
    )]
    TooShort {
        /// The name of the kernel.
        kernel: String,
        /// The name of the parameter.
        parameter: String,
        /// The required number of elements.
        expected: u64,
        /// The number of elements in the buffer.
        found: u64,
    },
    /// The size in bytes of a kernel's view or of a [`TensorBox`](super::TensorBox) does not fit in 64 bits, or a size that the kernel
    /// computes in 32 bits overflows.
    #[error(
        "kernel `{kernel}`: parameter `{parameter}`: expected extents of less than 2⁶⁴ bytes, and sizes computed in 32 bits that are below \
         2³², found an overflow; `m.into_dim() * n` computes a size in 64 bits"
    )]
    ExtentOverflow {
        /// The name of the kernel.
        kernel: String,
        /// The name of the parameter.
        parameter: String,
    },
    /// A view has more coordinates along a mode than the kernel can represent.
    #[error(
        "kernel `{kernel}`: parameter `{parameter}`: expected at most {expected} coordinates along a mode, found {found}"
    )]
    TooManyCoordinates {
        /// The name of the kernel.
        kernel: String,
        /// The name of the parameter.
        parameter: String,
        /// The number of coordinates that the kernel can represent.
        expected: u64,
        /// The number of coordinates.
        found: u64,
    },
    /// The kernel or the device cannot use a tensor map.
    #[error("kernel `{kernel}`: parameter `{parameter}`: {why}")]
    TensorMap {
        /// The name of the kernel.
        kernel: String,
        /// The name of the parameter.
        parameter: String,
        /// The reason, such as the rule that the map violates.
        why: String,
    },
    /// A buffer that the kernel writes overlaps another buffer.
    #[error(
        "kernel `{kernel}`: parameters `{first}` and `{second}`: expected buffers that do not overlap, found shared bytes"
    )]
    Overlap {
        /// The name of the kernel.
        kernel: String,
        /// The name of the first of the two parameters.
        first: String,
        /// The name of the second of the two parameters.
        second: String,
    },
    /// A buffer is larger than any device can address or the host can represent.
    #[error("expected a buffer that fits in {device}, found {len} elements of {element_bytes} bytes")]
    BufferTooLarge {
        /// The number of elements.
        len: usize,
        /// The size of an element in bytes.
        element_bytes: u32,
        /// The name of the device.
        device: String,
    },
    /// A buffer does not belong to the device that runs the kernel.
    #[error(
        "kernel `{kernel}`: parameter `{parameter}`: expected a buffer on this device ({device}), found one on another device"
    )]
    OtherDevice {
        /// The name of the kernel.
        kernel: String,
        /// The name of the parameter.
        parameter: String,
        /// The name of the device that the kernel was launched on.
        device: String,
    },
    /// A buffer was passed to a device that it does not belong to.
    #[error("expected a buffer on this device ({device}), found one on another device")]
    OtherBuffer {
        /// The name of the device.
        device: String,
    },
    /// The kernel does not declare its block shape.
    #[error("kernel `{kernel}`: expected a block shape, found none; declare it with `k.block([…])`")]
    NoBlockShape {
        /// The name of the kernel.
        kernel: String,
    },
    /// Neither the kernel nor the launch specifies the grid.
    #[error(
        "kernel `{kernel}`: expected a grid rule, found none; declare it with `k.grid([…])` or use `launch_grid`"
    )]
    NoGridRule {
        /// The name of the kernel.
        kernel: String,
    },
    /// The grid has more blocks along one axis than any device supports.
    #[error("kernel `{kernel}`: expected at most {max} blocks along {axis}, found {found}")]
    GridTooLarge {
        /// The name of the kernel.
        kernel: String,
        /// `x`, `y` or `z`.
        axis: char,
        /// The number of blocks along this axis.
        found: u64,
        /// The maximum number of blocks along this axis.
        max: u64,
    },
    /// The result of the kernel's grid rule, which is also the upper bound of an explicit grid, does not fit in 64 bits.
    #[error("kernel `{kernel}`: expected a grid of at most 2⁶⁴ − 1 blocks per axis, found an overflow")]
    GridOverflow {
        /// The name of the kernel.
        kernel: String,
    },
    /// An explicit grid exceeds the result of the kernel's grid rule, which keeps unpredicated accesses in bounds.
    #[error("kernel `{kernel}`: expected a grid of at most {rule:?} blocks, found {grid:?}")]
    GridBeyondRule {
        /// The name of the kernel.
        kernel: String,
        /// The explicit grid: the number of blocks in x, y and z.
        grid: [u32; 3],
        /// The result of the grid rule: the number of blocks in x, y and z.
        rule: [u64; 3],
    },
    /// The grid is not a multiple of the kernel's cluster shape.
    #[error(
        "kernel `{kernel}`: expected a grid that is a multiple of the cluster {cluster:?}, found {grid:?}"
    )]
    PartialCluster {
        /// The name of the kernel.
        kernel: String,
        /// The grid: the number of blocks in x, y and z.
        grid: [u32; 3],
        /// The number of blocks per cluster in x, y and z.
        cluster: [u32; 3],
    },
    /// The device does not support the kernel's target.
    #[error("kernel `{kernel}`: expected a target that {device} (sm_{}{}) can run, found {target}", .capability.0, .capability.1)]
    WrongTarget {
        /// The name of the kernel.
        kernel: String,
        /// The target that the kernel was built for.
        target: Target,
        /// The name of the device.
        device: String,
        /// The device's compute capability.
        capability: (u32, u32),
    },
    /// The simulator rejected the kernel's PTX text.
    #[cfg(feature = "sim")]
    #[error("kernel `{kernel}`: {source}")]
    Parse {
        /// The name of the kernel.
        kernel: String,
        /// The error and its location.
        source: Box<sim::ParseError>,
    },
    /// The simulator stopped the kernel.
    #[cfg(feature = "sim")]
    #[error(transparent)]
    Simulation(Box<sim::SimError>),
    /// The kernel ran to completion in the simulator, but the simulator reported findings.
    #[cfg(feature = "sim")]
    #[error(transparent)]
    Findings(KernelFindings),
    /// An allocation of simulated memory, or a copy to or from it, failed.
    #[cfg(feature = "sim")]
    #[error(transparent)]
    Memory(#[from] sim::MemoryError),
    /// The crate was built without the `sim` feature.
    #[cfg(not(feature = "sim"))]
    #[error("expected a build with the `sim` feature to use the simulator, found one without it")]
    NoSimulator,
    /// The driver cannot be used, or it finds no device.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The crate was built without the `cuda` feature.
    #[cfg(not(feature = "cuda"))]
    #[error("using a GPU requires the `cuda` feature")]
    NoCuda,
    /// The driver rejected the kernel or compiled it to slow code.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Load(Box<JitError>),
    /// The checks of the `gpu` module rejected the launch.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A driver call failed, possibly because an earlier kernel faulted.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Gpu(GpuError),
    /// The kernel faulted, or the driver failed while the kernel ran.
    #[cfg(feature = "cuda")]
    #[error("kernel `{kernel}`: {source}")]
    Fault {
        /// The name of the kernel.
        kernel: String,
        /// The driver's error.
        source: GpuError,
    },
}

/// Prints the same message as `Display`, because `main` prints a returned error with `Debug`.
impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The simulator's findings for a kernel that ran to completion.
#[cfg(feature = "sim")]
#[derive(Clone, Debug, thiserror::Error)]
#[error("kernel `{kernel}` has findings:{}", .report.findings.iter().map(|f| format!("\n{f}")).collect::<String>())]
pub struct KernelFindings {
    /// The name of the kernel.
    pub kernel: String,
    /// The report with findings and counts.
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

/// The error for a kernel that the driver rejected or compiled to slow code ([`LoadError::Advisories`]).
///
/// Each of the compiler's messages includes the Rust line, if known.
#[cfg(feature = "cuda")]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`: {}", summary(.messages, .source))]
pub struct JitError {
    /// The name of the kernel.
    pub kernel: String,
    /// The compiler's messages, in order.
    pub messages: Vec<LoadMessage>,
    /// The error that the `gpu` module returned.
    pub source: LoadError,
}

/// A message from the driver's compiler about a kernel.
#[cfg(feature = "cuda")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadMessage {
    /// The message, with the line number in the PTX text.
    pub message: JitMessage,
    /// The PTX line, or `None` if the message has no line number.
    pub ptx: Option<String>,
    /// The Rust line that emitted the PTX line, if known.
    pub rust: Option<SourceLine>,
}

#[cfg(feature = "cuda")]
impl JitError {
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

/// Prints text such as `src/kernel.rs:12:7: error: Unknown symbol '%r9' in PTX line 40: add.s32 %r1, %r9, 1;`.
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
    let head = match source {
        LoadError::Rejected { code, .. } if !messages.is_empty() => {
            format!("the driver rejected the PTX: {code}")
        }
        LoadError::Advisories { .. } => {
            "expected `wgmma` and `setmaxnreg` to be compiled as written, found".to_owned()
        }
        other => return other.to_string(),
    };
    messages.iter().fold(head, |text, message| format!("{text}\n  {message}"))
}
