//! Runs PTX text on the CPU, bit for bit, and finds what is wrong with it.
//!
//! The text may come from this crate, nvcc, clang or Triton. [`Module::parse`] reads, validates and decodes it;
//! [`Sim::launch`] runs one kernel of it on a grid, with global memory in [`Memory`]:
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
//! The first mistake of a kernel ends its run with a [`SimError::Fault`] that names kernel, block, thread, the line of
//! PTX and, where the text has `.loc`, the line of the source; [`Sim::keep_going`] collects mistakes in
//! [`Report::findings`] instead. [`FindingKind`] lists what is found, [`Counts`] what is counted, `docs/simulator.md` both
//! with what was measured.
//!
//! Blocks run on all cores unless the kernel can communicate between blocks (atomics, fences of the device, or
//! volatile, relaxed, acquire or release accesses in global or generic space): such blocks take turns in a fixed order. Either way a launch
//! gives the same result on every machine, unless blocks race.
#![forbid(unsafe_code)]

pub mod arith;
pub mod ast;
mod barrier;
mod check;
mod code;
mod decode;
mod error;
mod exec;
mod fault;
mod grid;
mod launch;
mod lexer;
mod machine;
mod mbarrier;
mod memory;
mod module;
mod parser;
mod print;
mod random;
mod report;
mod run;
mod spin;
mod tensor_map;
mod trace;
mod types;
mod unit;
mod validate;
mod warp;

pub use error::{ParseError, SimError};
pub use launch::{Arch, Arg, Checks, Launch, Sim};
pub use memory::{Memory, MemoryError};
pub use module::{Entry, Module, Param};
pub use report::{
    Bytes, Counts, Finding, FindingKind, InstructionClass, LineCounts, Report, Site, SourceLocation,
};
pub use tensor_map::{TensorMap, TensorMapError, TensorSwizzle, TensorType};
pub use trace::{Register, Step, Trace};
pub use validate::validate;
