//! Runs PTX on NVIDIA GPUs through cudarc.
//!
//! The layer is thin and speaks cudarc's own types: the caller's [`CudaContext`], [`CudaStream`] and
//! [`CudaSlice`] go in as they are. What cudarc's safe interface lacks is added here: a probe that fails
//! cleanly, JIT loading with the compiler's log, launches through `cuLaunchKernelEx` (clusters), kernel
//! attributes, timing that works on every driver, and checked tensor maps.
//!
//! # No driver is an error, not a panic
//!
//! cudarc opens the driver library on first use and panics when the library, or one symbol in it, is
//! missing; even printing its error type calls into the library. So [`probe`] opens the library itself and
//! looks up every symbol that this module *and* the cudarc calls behind it need, and [`Gpu`] values exist
//! only after it succeeded. Code that must also run without a GPU calls [`probe`] (or [`Gpu::new`]) before
//! it touches cudarc.
//!
//! ```
//! match warpwright::gpu::Gpu::new(0) {
//!     Ok(gpu) => println!("{}", gpu.facts()),
//!     Err(why) => println!("no GPU: {why}"),
//! }
//! ```
//!
//! # What it does not do
//!
//! Apart from [`filled`], it allocates and copies nothing: use `stream.clone_htod`, `stream.alloc_zeros`, `stream.clone_dtoh`.
//! It checks a launch's shape, shared memory and parameter sizes, not what a kernel does with its pointers.
//!
//! [`CudaContext`]: cudarc::driver::CudaContext
//! [`CudaStream`]: cudarc::driver::CudaStream
//! [`CudaSlice`]: cudarc::driver::CudaSlice
#![allow(unsafe_code, reason = "the one room that calls the driver")]
#![warn(clippy::undocumented_unsafe_blocks)]

mod args;
mod code;
mod device;
mod error;
mod fill;
mod function;
mod jit;
mod launch;
mod module;
mod probe;
mod symbols;
mod tensor_map;
mod timing;

pub use args::Args;
pub use code::CudaCode;
pub use device::{DeviceFacts, Gpu};
pub use error::{CallFailed, GpuError, LaunchError, LoadError};
pub use fill::filled;
pub use function::{Function, FunctionAttributes, Parameter};
pub use jit::{JitInfo, JitKernel, JitMessage, Severity};
pub use launch::LaunchConfig;
pub use module::{LoadOptions, Module};
pub use probe::{CudaVersion, Driver, Unavailable, probe};
pub use tensor_map::{
    ElementType, L2Promotion, OutOfBounds, Swizzle, TensorMap, TensorMapError, TiledTensor,
};
pub use timing::{Timings, time};
