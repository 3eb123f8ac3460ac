//! Ready-to-use kernels, each a page of tile code with its tuning choices.
#![forbid(unsafe_code)]

mod attention;
mod copy;
mod gemm;
mod matmul;
mod transpose;

pub use attention::{Attention, AttentionArgs, AttentionMask, AttentionTile};
pub use copy::{CopyArgs, copy_elements};
pub use gemm::{Activation, Gemm, GemmArgs, GemmSum, GemmTile, MatrixOrder};
pub use matmul::{MatmulArgs, matmul, pitch_divisor};
pub use transpose::{TransposeArgs, transpose};
