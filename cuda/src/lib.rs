//! A CUDA driver without a GPU: the C interface of `libcuda.so.1` on the simulator `warpwright-sim`.
//!
//! A program that finds this library under the name `libcuda.so.1` runs unchanged: its kernels, as PTX text or in fat binaries,
//! are executed and checked on the CPU. `docs/cuda.md` in the repository explains how to run a program, the environment
//! variables, and what is not supported.
//!
//! The crate has two layers. `driver` is safe code: devices, contexts, streams, memory, modules and launches. The C functions are
//! defined in `c`, one module per section of the manual; they convert arguments and results. Raw memory of the host is accessed
//! only in `c` and `host`.
#![deny(unsafe_op_in_unsafe_fn)]

mod c;
mod code;
mod config;
mod driver;
mod fatbin;
mod host;
mod report;
