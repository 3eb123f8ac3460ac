//! Compose GPU kernels from typed warp tiles in stable Rust, emit readable PTX, and run it with or without a GPU.
//!
//! A kernel is Rust code that operates on typed values and tiles; its calls to a builder emit PTX instructions. The NVIDIA driver compiles
//! the PTX text for a GPU, or a simulator executes it on the CPU. The CUDA toolkit is not required.
//!
//! ```
//! use warpwright::{prelude::*, run::{self, Device}};
//!
//! // y = 2 x; one thread per element, 128 threads per block.
//! let double = Kernel::<(In<f32>, Out<f32>, u32)>::build("double(x, y, n)", Target::SM_80, |k, (x, y, n)| {
//!     k.block([128]);
//!     k.grid([n.tiles(128)]);
//!     let (x, y) = (k.slice(x, n), k.slice(y, n));
//!     let i = k.ctaid_x() * 128 + k.tid_x();
//!     y.at(i).store(x.at(i).load() * 2.0);
//! })?;
//! println!("{}", double.ptx());
//!
//! let device = run::open_default(); // a GPU if available, otherwise the simulator
//! let x = device.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut y = device.output::<f32>(3)?;
//! device.launch(&double, (&x, &mut y, 3))?;
//! assert_eq!(device.download(&y)?, [2.0, 4.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! | task                                                                | module                                  |
//! | ---                                                                 | ---                                     |
//! | scalars, pointers, instructions, control flow, kernels              | [`ptx`]                                 |
//! | tiles in registers, shared and global memory; pipelines             | [`tiles`]                               |
//! | tensors with layouts: tiled copies, tiled MMAs, predicates          | [`tensor`]                              |
//! | ready-to-use kernels                                                | [`kernels`]                             |
//! | launches with typed arguments, in the simulator or on a GPU         | `run` (feature `sim` or `cuda`)         |
//! | executing and checking PTX from any source on the CPU               | `sim` (feature `sim`, on by default)    |
//! | an application's own cudarc context, streams and buffers            | `gpu` (feature `cuda`, on by default)   |
//! | PTX files with a header for C and C++                               | `export` (on by default)                |
//! | the thread that owns each element of an instruction's operands      | [`atoms`]                               |
//! | pictures of layouts, instructions and bank conflicts                | `draw` (feature `draw`)                 |
//! | shapes, strides, swizzles and their algebra                         | [`layout`]                              |
//! | the supported instruction forms with their versions and targets     | [`ptx::table`]                          |
//!
//! # How kernels are built
//!
//! - A value ([`ptx::Val`]) is a constant known to the host or a register of one kernel. Arithmetic on constants is evaluated on the host;
//!   other operations emit instructions. A register of one kernel cannot be used in another.
//! - Rust's own `if` and `for` run while the kernel is built. [`Builder::if_`](ptx::Builder::if_),
//!   [`Builder::for_`](ptx::Builder::for_) and [`Builder::fold`](ptx::Builder::fold) emit branches and loops.
//! - Builder calls do not return a `Result`. The first error is recorded with the Rust line that caused it, and
//!   [`Kernel::build`](ptx::Kernel::build) returns it.
//! - Tiles and pipeline stages own their registers and memory: they are not `Copy`, and a tile with data in flight cannot be read.
//!
//! # Limitations
//!
//! The crate folds constants and does not repeat an instruction whose result is already in a register. All other optimizations, register
//! allocation and instruction scheduling are left to ptxas. The crate does not compile Rust code to PTX. Races and uninitialized reads are
//! detected only in the simulator.
//!
//! # Features
//!
//! - `cuda` (default): launches on NVIDIA GPUs through cudarc. With this feature, the crate still builds and runs on machines without CUDA.
//! - `sim` (default): launches in the simulator (the `warpwright-sim` crate).
//! - `export` (default): PTX files with a header for C and C++.
//! - `draw`: pictures of layouts, instructions and bank conflicts as SVG, Typst and text.
//! - `record`: launches recorded as cases that `warpwright sim` runs.
//! - `cublaslt`: cuBLASLt GEMMs, for comparison. Implies `cuda`.
//!
//! The `run` module is available with `cuda` or `sim`. The `warpwright-proptest` crate contains generators for property tests, and
//! `warpwright-cli` contains the `warpwright` command.

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

/// The items that most kernels need, for `use warpwright::prelude::*`.
pub mod prelude {
    pub use crate::{
        ptx::{
            Block, BuildError, Builder, CheckedPtr, Cluster, Global, In, InOut, IntoDim, Kernel, Lane, Out,
            Ptr, Scope, Shared, Slice, Steps, Target, Val, Var, Warp, WarpGroup, Warps, numbers::*,
        },
        tiles::{
            Col, ColVec, Gl, GlTile, Row, RowVec, Rt, Rv, St, Sv, col_major, contiguous, row_major, vector,
        },
    };
}

#[cfg(all(doctest, feature = "sim"))]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(all(doctest, feature = "sim"))]
#[doc = include_str!("../docs/kernels.md")]
mod kernels_on_rows {}

#[cfg(doctest)]
#[doc = include_str!("../docs/layouts.md")]
mod layouts {}

#[cfg(doctest)]
#[doc = include_str!("../docs/tiles.md")]
mod tile_guide {}

#[cfg(all(doctest, feature = "sim"))]
#[doc = include_str!("../docs/simulator.md")]
mod simulator {}
