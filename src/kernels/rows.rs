//! Kernels that process the rows of matrices, such as softmax. The threads that process a row read it once into their registers; in some
//! kernels, the row passes through shared memory. Rows that do not fit in registers are read in parts.

mod adamw;
mod ahead;
mod candidates;
mod columns;
mod cross_entropy;
mod dropout;
mod embedding;
mod exchange;
mod exponent;
mod extremum;
mod norm;
mod norm_backward;
mod permuted;
mod pointwise;
mod quantize;
mod reduction;
mod rotary;
mod sample;
mod scan;
mod softmax;
mod softmax_backward;
mod staged;
mod team;
mod tiling;
mod top_k;

pub use adamw::{AdamW, AdamWArgs};
pub use columns::{ColumnReduction, ColumnReductionArgs};
pub use cross_entropy::{CrossEntropy, CrossEntropyArgs, CrossEntropyBackwardArgs};
pub use dropout::{Dropout, DropoutArgs};
pub use embedding::{Embedding, GatherArgs, ScatterAddArgs};
pub use norm::{
    BiasedNormArgs, DropoutNormArgs, Norm, NormArgs, NormFunction, ResidualBiasedNormArgs, ResidualNormArgs,
};
pub use norm_backward::{NormBackward, NormBackwardArgs};
pub(super) use permuted::copy_rows;
pub use pointwise::{GatedArgs, GatedBackwardArgs, Pointwise, PointwiseArgs, PointwiseFunction};
pub use quantize::{GatedQuantizeArgs, NormQuantizeArgs, Quantize, QuantizeArgs, Quantized, ScaleGroup};
pub use reduction::{Reduction, RowReduction, RowReductionArgs};
pub use rotary::{Rotary, RotaryArgs, RotaryPairs};
pub use sample::{Sample, SampleArgs};
pub use scan::CumulativeSum;
pub use softmax::{CausalSoftmaxArgs, LengthsSoftmaxArgs, Softmax, SoftmaxArgs};
pub use softmax_backward::{SoftmaxBackward, SoftmaxBackwardArgs};
pub use tiling::RowTiling;
pub use top_k::{TopK, TopKArgs};
