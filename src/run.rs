//! Runs kernels: typed launches in the simulator and on NVIDIA GPUs.
//!
//! A [`Device`] is either a simulator or a GPU, and the same code runs on both. A launch passes only arguments: the kernel determines its
//! block and cluster shape, its shared memory, its grid and the assumptions about its arguments. rustc checks the number and types of the
//! arguments, and the launch checks the assumptions before the kernel runs.
//!
//! ```
//! use warpwright::{prelude::*, run::{Device, Simulator}};
//!
//! let double = Kernel::<(In<f32>, Out<f32>, u32)>::build("double(x, y, n)", Target::SM_80, |k, (x, y, n)| {
//!     k.block([128]);
//!     k.grid([n.tiles(128)]);
//!     let (x, y) = (k.slice(x, n), k.slice(y, n));
//!     let i = k.ctaid_x() * 128 + k.tid_x();
//!     y.at(i).store(x.at(i).load() * 2.0);
//! })?;
//!
//! let device = Simulator::new();
//! let x = device.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut y = device.output::<f32>(3)?;
//! device.launch(&double, (&x, &mut y, 3))?;
//! assert_eq!(device.download(&y)?, [2.0, 4.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the `cuda` feature, an application that has its own cudarc buffers and streams can load a kernel with `Gpu::load` and launch the
//! `Loaded` kernel on them. A [`KernelCache`] builds kernels when they are first called and accepts both the buffers of this module and
//! cudarc buffers. The functions of [`kernels::call`](crate::kernels::call) use such a cache.
//!
//! # What a launch checks
//!
//! The views of a kernel (`k.slice`, `k.global`, `k.tensor`) access only elements within their extents. A launch checks that:
//!
//! - each buffer is aligned and long enough for its views;
//! - each integer argument is a multiple of the divisor that the kernel assumes, and does not exceed the kernel's limit;
//! - no buffer that the kernel writes overlaps another buffer.
//!
//! Launching a kernel is therefore safe, even on a GPU. If [`Entry::unsafe_accesses`](crate::ptx::Entry::unsafe_accesses) is not 0, safety
//! also depends on the kernel's `unsafe` code.
//!
//! Races, uninitialized reads of shared memory and out-of-bounds accesses to shared memory affect only the kernel's own results; the
//! simulator reports them. Run a new kernel in the simulator first.
#![forbid(unsafe_code)]

mod argument;
mod buffer;
mod buffer_ref;
mod bytes;
mod call;
mod choice;
mod device;
mod error;
mod launched;
mod plan;
#[cfg(feature = "record")]
mod record;
mod tensor_map;

#[cfg(feature = "sim")]
mod simulator;

#[cfg(feature = "cuda")]
mod cuda_argument;
#[cfg(feature = "cuda")]
mod cuda_slice;
#[cfg(feature = "cuda")]
mod encoded_maps;
#[cfg(feature = "cuda")]
mod gpu_device;
#[cfg(feature = "cuda")]
mod loaded;
#[cfg(feature = "cuda")]
mod source_line;

pub use argument::{Argument, Arguments, Value};
pub use buffer::Buffer;
pub use buffer_ref::{BufferMut, BufferRef};
pub use call::{CallError, Called, KernelCache, Picked, Queue};
#[cfg(feature = "sim")]
pub use choice::open_default;
pub use choice::{AnyDevice, DeviceChoice, UnknownDevice, open};
pub use device::Device;
#[cfg(feature = "sim")]
pub use error::KernelFindings;
pub use error::RunError;
pub use launched::{Details, Launched};
#[cfg(feature = "record")]
pub use record::RecordError;
#[cfg(feature = "sim")]
pub use simulator::Simulator;
pub use tensor_map::{Mapped, PixelColumn, TensorBox};

#[cfg(feature = "cuda")]
pub use cuda_argument::{CudaArgument, CudaArguments, CudaLaunchArgs, StorageFor};
#[cfg(feature = "cuda")]
pub use error::{JitError, LoadMessage};
#[cfg(feature = "cuda")]
pub use gpu_device::GpuDevice;
#[cfg(feature = "cuda")]
pub use loaded::{Loaded, Prepared};
#[cfg(feature = "cuda")]
pub use source_line::SourceLine;
