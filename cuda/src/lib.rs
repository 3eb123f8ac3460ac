//! A CUDA driver without a GPU: the C interface of `libcuda.so.1` on the simulator `warpwright-sim`.
//!
//! A program that finds this library under the name `libcuda.so.1` runs unchanged: its kernels, as PTX text or in fat binaries, are
//! executed and checked on the CPU. `docs/cuda.md` in the repository explains how to run a program, and lists the environment variables and
//! the unsupported features.
//!
//! The crate has two layers. `driver` is safe code: devices, contexts, streams, memory, modules and launches. `c` defines the C functions,
//! with one module per section of the manual; they convert arguments and results. Only `c` and `host` access raw host memory.
#![deny(unsafe_op_in_unsafe_fn)]

mod c;
mod code;
mod config;
mod driver;
mod fatbin;
mod host;
mod report;
