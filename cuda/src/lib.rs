//! A CUDA driver that does not require a GPU: the C interface of `libcuda.so.1`, implemented with the simulator `warpwright-sim`.
//!
//! A program that finds this library under the name `libcuda.so.1` runs unchanged. Its kernels, whether passed as PTX text or in fat
//! binaries, are executed and checked on the CPU. `docs/cuda.md` in the repository explains how to run a program, and lists the environment
//! variables and the unsupported features.
//!
//! The crate has two layers. `driver` implements devices, contexts, streams, memory, modules and launches in safe code. `c` defines the C
//! functions, which convert arguments and results, with one module per section of the manual. Only `c` and `host` access raw host memory.
#![deny(unsafe_op_in_unsafe_fn)]

mod c;
mod code;
mod config;
mod driver;
mod fatbin;
mod host;
mod report;
