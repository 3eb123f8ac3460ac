//! Functions that choose a kernel, build it if no earlier call had the same problem, and launch it.
//!
//! The first argument is a `&KernelCache`, or the result of `KernelCache::on` to queue the kernel on a stream. Sizes, inputs and results
//! follow. An input is anything that converts into a [`BufferRef`](crate::run::BufferRef): `&Buffer<T>`, `&CudaSlice<U>` or `&CudaView<U>`.
//! A result is anything that converts into a [`BufferMut`](crate::run::BufferMut). A matrix ([`Rows`], [`RowsMut`]) is a buffer without
//! gaps between its rows, or a pair of a buffer and the stride between its rows in elements.
//!
//! ```
//! use warpwright::{kernels::{MatrixOrder, call}, prelude::*, run::{Device, KernelCache, Simulator}};
//!
//! let device = Simulator::new(); // or `Gpu::new(0)?`, with buffers of cudarc
//! let kernels = KernelCache::new(&device);
//!
//! // D = A·Bᵀ: A 32×64, B 48×64, both in rows.
//! let shape = call::GemmShape { b: MatrixOrder::Col, ..call::GemmShape::new(32, 48, 64) };
//! let (a, b) = (device.upload(&[bf16::ONE; 32 * 64])?, device.upload(&[bf16::ONE; 48 * 64])?);
//! let mut d = device.output::<f32>(32 * 48)?;
//! let called = call::gemm(&kernels, &shape, &a, &b, &mut d)?;
//! assert!(called.kernel.name.starts_with("gemm_bf16_f32_row_col_"));
//! assert_eq!(device.download(&d)?, [64.0; 32 * 48]);
//!
//! // Rows of A must be a multiple of 16 bytes apart.
//! let error = call::gemm(&kernels, &call::GemmShape::new(32, 48, 63), &a, &b, &mut d).unwrap_err();
//! assert_eq!(error.to_string(), "gemm: expected rows of A that are a multiple of 8 elements apart, found 63: `pad_rows` copies others");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Errors
//!
//! All functions return [`CallError`](crate::run::CallError): `Refused` if no kernel supports the sizes, or an error of building or
//! launching the kernel ([`run`](crate::run)), for example because a buffer is too short, overlaps another one or belongs to another
//! device, or because the device cannot run the kernel.

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
mod groups;
mod heads;
mod hedgehog;
mod linear;
mod operands;
mod packed;
mod pages;
mod permute;
mod promoted;
mod quantize;
mod reductions;
mod rows;
mod scaled;
mod scan;
mod selection;
mod state_space;

pub use adamw::{AdamWStep, adamw};
pub use attention::{AttentionDerivatives, AttentionShape, attention, attention_backward};
pub use batches::{GemmBatches, batched_gemm};
pub use convolution::fft_convolution;
pub use decode::{CacheShape, cached_attention};
pub use dropout::{DropoutMask, dropout, dropout_norm};
pub use embedding::{gather, scatter_add};
pub use extras::{ExtraOperands, attention_with_extras};
pub use gemm::{FusedOperands, GemmOperand, GemmShape, fused_gemm, gated_gemm, gemm};
pub use groups::{GemmGroups, grouped_gemm};
pub use heads::HeadOrder;
pub use hedgehog::{HedgehogOperands, hedgehog};
pub use linear::{LinearShape, decayed_attention, taylor_attention};
pub use operands::{Rows, RowsMut};
pub use packed::{PackedShape, packed_attention, packed_attention_backward};
pub use pages::{PagedCacheShape, paged_attention};
pub use permute::permute;
pub use promoted::{block_scaled_gemm, promoted_gemm};
pub use quantize::quantize;
pub use reductions::{column_workspace, reduce_columns, reduce_rows};
pub use rows::{RotaryTables, cross_entropy, gated, norm, pointwise, residual_norm, rotary, softmax};
pub use scaled::{AttentionScales, scaled_attention};
pub use scan::cumulative_sum;
pub use selection::{Sampling, sample, top_k};
pub use state_space::{StateSpaceOperands, StateSpaceShape, state_space};
