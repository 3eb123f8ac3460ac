//! Tensor-core arithmetic: what one element of `D = A · B + C` comes out as.
//!
//! A floating-point `mma` is not a chain of roundings but one *fused dot-add*: exact products, aligned to the
//! largest exponent, truncated to a fixed number of bits, summed exactly and rounded once (Xie et al., "MMA-Sim",
//! arXiv 2511.10909, 2025; the Hopper rules agree with an H200 bit for bit).
//!
//! [`TensorOp`] holds what an instruction says about that; [`TensorOp::dot`] states the rule for one element,
//! [`TensorOp::rows`] computes all elements with the same bits, faster. Matrices are raw element bits, A row by
//! row, B column by column, so that the k of both run along. Fragment maps are the caller's business.
//!
//! Other kinds of `mma`: [`integer`], [`dot_f64`], [`dot_quad_pair`] (the `m8n8k4` of Volta).

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
