//! Executes PTX text on the CPU and reports bugs. With a few exceptions, results match those of an H200 bit for bit.
//!
//! The text may come from nvcc, clang, Triton or any other compiler. [`Module::parse`] reads, validates and decodes it;
//! [`Sim::launch`] runs one of its kernels on a grid, with global memory in [`Memory`]:
//!
//! ```
//! use warpwright_sim::{Launch, Memory, Module, Sim};
//!
//! let module = Module::parse(
//!     ".version 7.0
//!      .target sm_80
//!      .address_size 64
//!      .visible .entry twice(.param .u64 x) {
//!          .reg .b32 %r<3>;
//!          .reg .b64 %rd<4>;
//!          ld.param.u64 %rd1, [x];
//!          mov.u32 %r1, %tid.x;
//!          mul.wide.u32 %rd2, %r1, 4;
//!          add.s64 %rd3, %rd1, %rd2;
//!          ld.global.u32 %r2, [%rd3];
//!          add.u32 %r2, %r2, %r2;
//!          st.global.u32 [%rd3], %r2;
//!          ret;
//!      }",
//! )?;
//! let mut memory = Memory::new();
//! let x = memory.alloc(4 * 4);
//! memory.write(x, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0])?;
//! let launch = Launch { block: [4, 1, 1], ..Launch::default() };
//! Sim::new().launch(&module, "twice", &launch, &[x.into()], &mut memory)?;
//! let mut out = [0; 16];
//! memory.read(x, &mut out)?;
//! assert_eq!(out[12], 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The first finding stops the kernel with a [`SimError::Fault`] that names the kernel, block, thread, PTX line and, if the text contains
//! `.loc`, the source line. [`Sim::keep_going`] collects findings in [`Report::findings`] instead. [`FindingKind`] lists the kinds of
//! findings, and [`Counts`] lists the counters. `docs/simulator.md` in the repository explains them, and lists the results that differ from
//! those of an H200.
//!
//! Blocks run in parallel on all cores unless they can communicate (through atomics, `malloc`, fences with device scope, or volatile,
//! relaxed, acquire or release accesses in global or generic space); blocks that can communicate take turns in a fixed order. In both
//! cases, the results are the same on every machine unless blocks race.
#![forbid(unsafe_code)]

mod alu;
// Public for the tests that compare it with recordings of the hardware; not part of the interface.
#[doc(hidden)]
pub mod arith;
mod check;
mod exec;
mod lanes;
mod machine;
mod program;
mod report;
mod schedule;
mod shadow;
mod text;
mod validate;

pub use machine::im2col::Im2colMap;
pub use machine::memory::{Memory, MemoryError};
pub use machine::options::{Arch, Arg, Contract, UnknownArch};
pub use machine::reserved::Mapping;
pub use machine::tensor_map::{TensorMap, TensorMapError, TensorSwizzle};
pub use machine::texture::{AddressMode, Image, Sampler, TexelType, Texture};
pub use machine::trace::{Register, Step, Trace};
pub use program::code::TensorType;
pub use program::module::{Entry, Module, Param};
pub use program::outline::{Outline, OutlineError};
pub use report::{
    Bytes, Checks, Contraction, Counts, Finding, FindingKind, Footprint, InstructionClass, Leak, LineCounts,
    Report, Selection, Site, SourceLocation, UnknownCheck, UnknownKind,
};
pub use schedule::error::SimError;
pub use schedule::launch::{Launch, Sim};
pub use text::error::ParseError;
pub use validate::validate;
