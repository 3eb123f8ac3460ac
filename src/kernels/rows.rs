//! Kernels on the rows of matrices: each row is read once into the registers of the threads that process it, or, if it does not fit,
//! in parts.

mod columns;
mod cross_entropy;
mod exponent;
mod norm;
mod norm_backward;
mod pointwise;
mod reduction;
mod softmax;
mod softmax_backward;
mod team;
mod tiling;

pub use columns::{ColumnReduction, ColumnReductionArgs};
pub use cross_entropy::{CrossEntropy, CrossEntropyArgs, CrossEntropyBackwardArgs};
pub use norm::{BiasedNormArgs, Norm, NormArgs, NormFunction, ResidualBiasedNormArgs, ResidualNormArgs};
pub use norm_backward::{NormBackward, NormBackwardArgs};
pub use pointwise::{GatedArgs, GatedBackwardArgs, Pointwise, PointwiseArgs, PointwiseFunction};
pub use reduction::{Reduction, RowReduction, RowReductionArgs};
pub use softmax::{CausalSoftmaxArgs, LengthsSoftmaxArgs, Softmax, SoftmaxArgs};
pub use softmax_backward::{SoftmaxBackward, SoftmaxBackwardArgs};
pub use tiling::RowTiling;
