//! Ready-to-use kernels, written with this crate's tile API. Most kernel types have a constructor, such as [`Gemm::for_problem`], that
//! chooses the tile sizes for a problem.
#![forbid(unsafe_code)]

mod attention;
mod base;
#[cfg(any(feature = "cuda", feature = "sim"))]
pub mod call;
mod convolution;
mod copy;
mod gemm;
mod linear;
mod loads;
mod matmul;
mod matmul_simt;
mod pad_rows;
mod permute;
mod rows;
mod table;
mod transpose;

pub use attention::{
    Attention, AttentionArgs, AttentionBackward, AttentionEntry, AttentionExtras, AttentionExtrasArgs,
    AttentionFinishArgs, AttentionKeysArgs, AttentionMask, AttentionOverlap, AttentionProblem,
    AttentionQueriesArgs, AttentionRowsArgs, AttentionTable, AttentionTile, AttentionValuesArgs,
    CachedAttention, CachedAttentionArgs, CachedAttentionProblem, PackedAttentionArgs,
    PackedAttentionFinishArgs, PackedAttentionKeysArgs, PackedAttentionQueriesArgs, PackedAttentionRowsArgs,
    PagedAttentionArgs, ProductOrder, ScaledAttention, ScaledAttentionArgs, ScaledCachedAttentionArgs,
    ScaledPagedAttentionArgs,
};
pub use convolution::{FftConvolution, FftConvolutionArgs};
pub use copy::{CopyArgs, copy_elements};
pub use gemm::{
    Activation, BatchedGemmArgs, BlockScaledGemmArgs, Epilogue, FusedGemmArgs, Gemm, GemmArgs, GemmEntry,
    GemmResult, GemmSum, GemmTable, GemmTile, GpuKind, GroupedGemmArgs, MatrixOrder, PartialGemmArgs,
    RaggedGemmArgs, SplitKGemm, SplitKSumArgs,
};
pub use linear::*;
pub use matmul::{MatmulArgs, matmul, pitch_divisor};
pub use matmul_simt::{MatmulSimt, SimtTile};
pub use pad_rows::{PadRowsArgs, pad_rows};
pub use permute::{Permute, PermuteArgs, PermuteError};
pub use rows::*;
pub use table::TableError;
pub use transpose::{TransposeArgs, transpose};
