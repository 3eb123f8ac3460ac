//! Functions that choose a kernel for a problem, build it on first use, and launch it.
//!
//! The first argument of most functions is a `&KernelCache` or, to launch the kernel on a given stream, the result of `KernelCache::on`.
//! Sizes, inputs and results follow. An input is any value that converts into a [`BufferRef`](crate::run::BufferRef), such as a `&Buffer`
//! or a `&CudaSlice` of cudarc. A result is any value that converts into a [`BufferMut`](crate::run::BufferMut). A matrix ([`Rows`],
//! [`RowsMut`]) is either a buffer, in which the rows are contiguous, or a pair `(buffer, stride)`, where `stride` is the stride between
//! rows in elements.
//!
//! ```
//! use warpwright::{kernels::{MatrixOrder, call}, prelude::*, run::{Device, KernelCache, Simulator}};
//!
//! let device = Simulator::new(); // or `Gpu::new(0)?`, with buffers of cudarc
//! let kernels = KernelCache::new(&device);
//!
//! // D = A·Bᵀ, where A is 32×64 and B is 48×64, both row-major.
//! let shape = call::GemmShape { b: MatrixOrder::Col, ..call::GemmShape::new(32, 48, 64) };
//! let (a, b) = (device.upload(&[bf16::ONE; 32 * 64])?, device.upload(&[bf16::ONE; 48 * 64])?);
//! let mut d = device.output::<f32>(32 * 48)?;
//! let called = call::gemm(&kernels, &shape, &a, &b, &mut d)?;
//! assert!(called.kernel.name.starts_with("gemm_bf16_f32_row_col_"));
//! assert_eq!(device.download(&d)?, [64.0; 32 * 48]);
//!
//! // Rows of D must not overlap.
//! let error = call::gemm(&kernels, &shape, &a, &b, (&mut d, 47)).unwrap_err();
//! assert_eq!(error.to_string(), "gemm: expected rows of D that are at least 48 elements apart, found 47");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Errors
//!
//! Functions that launch kernels return [`CallError`](crate::run::CallError) if they fail. The variant is `Refused` if an argument is
//! invalid, or if no kernel supports the sizes. Other variants indicate that the kernel could not be built or launched, for example because
//! a buffer is too short, overlaps another buffer or belongs to another device, or because the device cannot run the kernel.

mod adamw;
mod attention;
mod batches;
mod convolution;
mod decode;
mod distances;
mod dropout;
mod embedding;
mod extras;
mod gemm;
mod gradients;
mod groups;
mod heads;
mod hedgehog;
mod linear;
mod norms;
mod operands;
mod packed;
mod pad_rows;
mod pages;
mod permute;
mod promoted;
mod promoted_fused;
mod quantize;
mod ragged;
mod reductions;
mod rows;
mod scaled;
mod scan;
mod selection;
mod simt;
mod softmax;
mod split_k;
mod state_space;
mod tables;

pub use adamw::{AdamWStep, adamw};
pub use attention::{AttentionGradients, AttentionShape, attention, attention_backward};
pub use batches::{GemmBatches, batched_gemm};
pub use convolution::fft_convolution;
pub use decode::{CacheScales, CacheShape, cached_attention, scaled_cached_attention};
pub use dropout::{DropoutMask, dropout, dropout_norm};
pub use embedding::{gather, scatter_add};
pub use extras::{ExtraOperands, attention_with_extras};
pub use gemm::{EpilogueOperands, GemmOperand, GemmShape, fused_gemm, gated_gemm, gemm};
pub use gradients::{
    cross_entropy_backward, gated_backward, norm_backward, norm_backward_workspace, pointwise_backward,
    softmax_backward,
};
pub use groups::{GemmGroups, grouped_gemm};
pub use heads::HeadOrder;
pub use hedgehog::{HedgehogOperands, hedgehog};
pub use linear::{LinearShape, decayed_attention, taylor_attention};
pub use norms::{biased_norm, norm, residual_biased_norm, residual_norm};
pub use operands::{Rows, RowsMut};
pub use packed::{PackedShape, packed_attention, packed_attention_backward};
pub use pad_rows::pad_rows;
pub use pages::{PagedCacheShape, paged_attention, scaled_paged_attention};
pub use permute::permute;
pub use promoted::{block_scaled_gemm, promoted_gemm};
pub use promoted_fused::fused_promoted_gemm;
pub use quantize::{gated_quantize, norm_quantize, quantize};
pub use ragged::{RaggedGroups, ragged_gemm};
pub use reductions::{column_workspace, reduce_columns, reduce_rows};
pub use rows::{RotaryTables, add, cross_entropy, gated, pointwise, rotary, rotary_backward};
pub use scaled::{AttentionScales, scaled_attention};
pub use scan::cumulative_sum;
pub use selection::{Sampling, sample, top_k};
pub use simt::{fused_matmul_simt, matmul_simt};
pub use softmax::{causal_softmax, lengths_softmax, softmax};
pub use split_k::{split_k_gemm, split_k_workspace};
pub use state_space::{StateSpaceOperands, StateSpaceShape, state_space};
