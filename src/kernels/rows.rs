//! Kernels on the rows of matrices: each row is read once into the registers of the threads that process it, or, if it does not fit,
//! in parts.

mod norm;
mod softmax;
mod team;
mod tiling;

pub use norm::{BiasedNormArgs, Norm, NormArgs, NormFunction, ResidualBiasedNormArgs, ResidualNormArgs};
pub use softmax::{CausalSoftmaxArgs, LengthsSoftmaxArgs, Softmax, SoftmaxArgs};
pub use tiling::RowTiling;
