//! Tensor-core arithmetic: the elements of `D = A · B + C`.
//!
//! A floating-point `mma` is not a chain of rounded operations but a single *fused dot-add*: exact products are aligned to the largest
//! exponent, truncated to a fixed number of bits, summed exactly and rounded once (Xie et al., "MMA-Sim", arXiv 2511.10909, 2025; the
//! Hopper rules match an H200 bit for bit).
//!
//! [`TensorOp`] contains the properties of an instruction that determine its results. [`TensorOp::dot`] computes one element;
//! [`TensorOp::rows`] computes all elements, faster and with the same bits. Matrices are passed as raw element bits, A row-major and B
//! column-major, so that k is contiguous in both. Callers convert between matrices and fragments.
//!
//! Other kinds of `mma`: [`integer`], [`dot_f64`] and [`dot_quad_pair`] (Volta's `m8n8k4`).

mod arch;
mod f64;
mod fp8;
mod fused;
pub mod integer;
mod op;
mod quad_pair;
mod scaled;
mod tile;

pub use arch::{Accumulator, TensorArch};
pub use f64::dot_f64;
pub use op::{Instruction, Shape, TensorOp, dot, mma_rows, mma_tile};
pub use quad_pair::dot_quad_pair;
pub use scaled::{Scales, SmallOp};
