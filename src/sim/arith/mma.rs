//! Tensor-core arithmetic: what one element of `D = A · B + C` comes out as.
//!
//! A floating-point `mma` is not a chain of roundings but one *fused dot-add*: exact products, aligned to the
//! largest exponent, truncated to a fixed number of bits, summed exactly and rounded once (Xie et al., "MMA-Sim",
//! arXiv 2511.10909, 2025; the Hopper rules agree with an H200 bit for bit). [`dot`] states the rule for one element,
//! [`mma_tile`] computes a whole instruction with the same bits, faster.

mod arch;
mod fused;
mod tile;

pub use arch::{Accumulator, TensorArch};
pub use fused::dot;
pub use tile::{Shape, mma_rows, mma_tile};
