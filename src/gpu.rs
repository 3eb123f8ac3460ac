//! Runs PTX on NVIDIA GPUs through cudarc.
//!
//! The layer is thin and uses cudarc's own types: it accepts the caller's [`CudaContext`], [`CudaStream`] and [`CudaSlice`]. It adds what
//! cudarc's safe interface lacks: a probe that never panics, JIT loading with the compiler's log, launches through `cuLaunchKernelEx`
//! (clusters), kernel attributes, timing that works with every supported driver, and checked tensor maps.
//!
//! # A missing driver is an error, not a panic
//!
//! cudarc opens the driver library on first use and panics if the library or one of its symbols is missing; even formatting its error type
//! calls into the library. [`probe`] therefore opens the library itself and looks up every symbol that this module *and* the underlying
//! cudarc calls need. A [`Gpu`] can be created only after [`probe`] has succeeded. Code that must also run without a GPU calls [`probe`]
//! (or [`Gpu::new`]) before it uses cudarc.
//!
//! ```
//! match warpwright::gpu::Gpu::new(0) {
//!     Ok(gpu) => println!("{}", gpu.properties()),
//!     Err(why) => println!("no GPU: {why}"),
//! }
//! ```
//!
//! # What this module does not do
//!
//! Apart from [`filled`], this module has no functions that allocate or copy memory: use `stream.clone_htod`, `stream.alloc_zeros` and
//! `stream.clone_dtoh`. The module checks a launch's shape, shared memory and parameter sizes, but not which memory a kernel accesses.
//!
//! [`CudaContext`]: cudarc::driver::CudaContext
//! [`CudaStream`]: cudarc::driver::CudaStream
//! [`CudaSlice`]: cudarc::driver::CudaSlice
#![allow(unsafe_code, reason = "the only module that calls the driver")]
#![warn(clippy::undocumented_unsafe_blocks)]

mod args;
mod clusters;
mod code;
#[cfg(feature = "cublaslt")]
mod cublaslt;
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
#[cfg(feature = "cublaslt")]
#[doc(hidden)]
pub use cublaslt::{CublasLtElement, CublasLtEpilogue, CublasLtError, CublasLtProduct, CublasLtTypes, Order};
pub use device::{DeviceProperties, Gpu};
pub use error::{CallFailed, GpuError, LaunchError, LoadError};
pub(crate) use fill::allocated;
pub use fill::filled;
pub use function::{Function, FunctionAttributes, Parameter};
pub use jit::{JitInfo, JitKernel, JitMessage, Severity};
pub use launch::{LaunchConfig, PreparedLaunch};
pub use module::{LoadOptions, Module};
pub use probe::{CudaVersion, Driver, Unavailable, probe};
pub use tensor_map::{
    ElementType, Im2colTensor, L2Promotion, OutOfBounds, Swizzle, TensorMap, TensorMapError, TiledTensor,
    UncheckedMap,
};
pub use timing::{Timings, time};
