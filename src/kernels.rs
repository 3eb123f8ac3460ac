//! Ready kernels, each a page of tile code with its tuning choices.
#![forbid(unsafe_code)]

mod matmul;

pub use matmul::{MatmulArgs, matmul, pitch_divisor};
