//! Compose GPU kernels from typed warp tiles in stable Rust; get readable PTX text; run and check it with or without a GPU.
//!
//! A kernel is Rust code over typed values and tiles. Each call writes a line of PTX, which the NVIDIA driver compiles; the
//! same text runs in a simulator on the CPU. Nothing of the CUDA toolkit is needed.
//!
//! ```
//! use warpwright::{prelude::*, run::{self, Device}};
//!
//! // y = 2 x; one thread an element, 128 threads a block.
//! let double = Kernel::<(In<f32>, Out<f32>, u32)>::build("double(x, y, n)", Target::SM_80, |k, (x, y, n)| {
//!     k.block([128]);
//!     k.grid([n.tiles(128)]);
//!     let (x, y) = (k.slice(x, n), k.slice(y, n));
//!     let i = k.ctaid_x() * 128 + k.tid_x();
//!     y.at(i).store(x.at(i).load() * 2.0);
//! })?;
//! println!("{}", double.ptx());
//!
//! let device = run::first(); // a GPU, or else the simulator
//! let x = device.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut y = device.output::<f32>(3)?;
//! device.launch(&double, (&x, &mut y, 3))?;
//! assert_eq!(device.download(&y)?, [2.0, 4.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! | for                                                                 | look in                                 |
//! | ---                                                                 | ---                                     |
//! | scalars, pointers, instructions, control flow, kernels              | [`ptx`]                                 |
//! | tiles in registers, shared and global memory; pipelines             | [`tiles`]                               |
//! | tensors by layouts: tiled copies, tiled products, predicates         | [`tensor`]                              |
//! | ready kernels                                                       | [`kernels`]                             |
//! | launches with typed arguments on the simulator or a GPU             | `run` (feature `sim` or `cuda`)         |
//! | running PTX text of any origin on the CPU, and finding its mistakes | `sim` (feature `sim`, on by default)    |
//! | an application's own cudarc context, streams and buffers            | `gpu` (feature `cuda`, on by default)   |
//! | PTX files with a header for C and C++                               | `export` (on by default)                |
//! | which lane holds which element                                      | [`atoms`]                               |
//! | pictures of layouts, instructions and bank conflicts                | `draw` (feature `draw`)                 |
//! | shapes, strides, swizzles and their algebra                         | [`layout`]                              |
//! | every instruction form with what it needs                           | [`ptx::table`]                          |
//!
//! # How kernels are built
//!
//! - A value ([`ptx::Val`]) is a constant that the host knows or a register of one kernel. Arithmetic on constants happens
//!   on the host; anything else writes one instruction. A register of one kernel does not fit into another.
//! - Rust's own `if` and `for` run while the kernel is built. [`Builder::if_`](ptx::Builder::if_), [`Builder::for_`](ptx::Builder::for_) and
//!   [`Builder::fold`](ptx::Builder::fold) write branches and loops.
//! - Builder calls return no `Result`. The first mistake is kept with the Rust line that made it, and
//!   [`Kernel::build`](ptx::Kernel::build) returns it.
//! - Tiles and pipeline stages own their registers and memory: they are not `Copy`, and one whose data are still under way
//!   cannot be read.
//!
//! # What it does not do
//!
//! It does not optimise, allocate registers or schedule: ptxas does. It does not compile Rust code to PTX. It finds
//! races and uninitialized reads in the simulator, not on a GPU.
//!
//! # Features
//!
//! - `cuda` (default): running on NVIDIA GPUs through cudarc. Compiles and runs without CUDA on the machine.
//! - `sim` (default): running in the simulator, the crate `warpwright-sim`.
//! - `export` (default): PTX files with a header for C and C++.
//! - `draw`: pictures of layouts, instructions and bank conflicts.
//!
//! The module `run` is available with `cuda` or `sim`. The crate `warpwright-proptest` has generators for property tests,
//! `warpwright-cli` the command `warpwright`.

pub mod atoms;
pub mod kernels;
pub mod layout;
pub mod ptx;
pub mod tensor;
pub mod tiles;

#[cfg(feature = "draw")]
pub mod draw;

#[cfg(feature = "export")]
pub mod export;

#[cfg(feature = "cuda")]
pub mod gpu;

#[cfg(any(feature = "cuda", feature = "sim"))]
pub mod run;

#[cfg(feature = "sim")]
#[doc(inline)]
pub use warpwright_sim as sim;

/// Everything that a kernel needs, for `use warpwright::prelude::*`.
pub mod prelude {
    pub use crate::{
        ptx::{
            Block, BuildError, Builder, CheckedPtr, Cluster, Global, In, InOut, IntoDim, Kernel, Lane, Out,
            Ptr, Scope, Shared, Slice, Steps, Target, Val, Var, Warp, WarpGroup, Warps, bf16, bf16x2, f16,
            f16x2,
        },
        tiles::{Col, Gl, GlTile, Row, Rt, St, col_major, row_major},
    };
}

#[cfg(all(doctest, feature = "sim"))]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../docs/layouts.md")]
mod layouts {}

#[cfg(all(doctest, feature = "sim"))]
#[doc = include_str!("../docs/simulator.md")]
mod simulator {}
