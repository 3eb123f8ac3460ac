//! Matrix products of 8-bit floats with sums that are promoted to f32.

use super::{
    distances::{Counts, Matrices, with_copies},
    gemm::{GemmOperand, GemmShape, gpu_of},
    operands::{Rows, RowsMut},
};
use crate::{
    kernels::{BlockScaledGemmArgs, Gemm, GemmArgs, GemmResult},
    run::{BufferRef, CallError, Called, Queue},
    tiles::Convert,
};

/// Computes D = f(A·B) for 8-bit floats with promoted sums: after every 128 elements along k, the partial sums are added to f32
/// accumulators. Without promotion, tensor cores accumulate the products of 8-bit floats with a precision of only about 14 bits.
/// [`Gemm::for_promoted`] chooses the kernel. Requires a device of compute capability 9.0. As described in [`gemm`](super::gemm()), a
/// column-major A, a row-major B, and operands with a stride that is not a multiple of 16 bytes are copied first.
///
/// # Errors
/// Returns the same errors as [`gemm`](super::gemm()). Also returns an error if `T` is not an 8-bit float or the compute capability is not
/// 9.0.
pub fn promoted_gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    a: impl Rows<'a, T>,
    b: impl Rows<'a, T>,
    d: impl RowsMut<'a, D>,
) -> Result<Called, CallError>
where
    T: GemmOperand<Sum = f32>,
    D: GemmResult,
    f32: Convert<D>,
{
    const CALL: &str = "promoted_gemm";
    let queue = on.into();
    let factors = (a.rows(), b.rows());
    let matrices = Matrices::of(CALL, queue, shape, shape.n, factors, d.rows_mut(), Counts::ONE)?;
    let Matrices { shape, a, b, d, ldd, any, .. } = matrices;
    let called = queue.launch::<_, _, GemmArgs<T, D>>(
        CALL,
        (shape, any.result),
        |(shape, any_ldd)| shape.promoted::<T>(queue, *any_ldd),
        Gemm::promoted_kernel::<T, D>,
        (a.buffer(), a.stride(), b.buffer(), b.stride(), d, ldd, shape.m, shape.n, shape.k),
    )?;
    Ok(with_copies(called, [&a, &b]))
}

/// Computes D = f(A·B) for 8-bit floats that are scaled in blocks of 128 elements along k, as in DeepSeek-V3: Dᵢⱼ = f(Σₛ rᵢₛ · cⱼₛ ·
/// (Aₛ·Bₛ)ᵢⱼ). The sum is over the blocks s, from 0 to ⌈k/128⌉ − 1; Aₛ consists of the columns of A in block s, and Bₛ of the rows of B in
/// block s.
///
/// `a_scales[s·m + i]` is rᵢₛ, the scale of row i of Aₛ. ([`quantize`](super::quantize()) writes such scales in the transposed layout,
/// `[i][s]`.) `b_scales[⌊j/128⌋·⌈k/128⌉ + s]` is cⱼₛ, which is shared by a 128×128 block of B. The requirements are the same as for
/// [`promoted_gemm`].
///
/// # Errors
/// Returns the same errors as [`promoted_gemm`].
#[doc(alias = "DeepGEMM")]
pub fn block_scaled_gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    (a, a_scales): (impl Rows<'a, T>, impl Into<BufferRef<'a, f32>>),
    (b, b_scales): (impl Rows<'a, T>, impl Into<BufferRef<'a, f32>>),
    d: impl RowsMut<'a, D>,
) -> Result<Called, CallError>
where
    T: GemmOperand<Sum = f32>,
    D: GemmResult,
    f32: Convert<D>,
{
    const CALL: &str = "block_scaled_gemm";
    let queue = on.into();
    let factors = (a.rows(), b.rows());
    let matrices = Matrices::of(CALL, queue, shape, shape.n, factors, d.rows_mut(), Counts::ONE)?;
    let Matrices { shape, a, b, d, ldd, any, .. } = matrices;
    let (a_scales, b_scales) = (a_scales.into(), b_scales.into());
    let (of_a, of_b) = (a.buffer(), b.buffer());
    let called = queue.launch::<_, _, BlockScaledGemmArgs<T, D>>(
        CALL,
        (shape, any.result),
        |(shape, any_ldd)| shape.promoted::<T>(queue, *any_ldd),
        Gemm::block_scaled_kernel::<T, D>,
        (of_a, a.stride(), a_scales, of_b, b.stride(), b_scales, d, ldd, shape.m, shape.n, shape.k),
    )?;
    Ok(with_copies(called, [&a, &b]))
}

impl GemmShape {
    /// Returns the kernel with promoted sums for this shape. Building it fails for unsupported orders.
    pub(super) fn promoted<T: GemmOperand>(&self, queue: Queue<'_>, any_ldd: bool) -> Gemm {
        let gpu = gpu_of(queue);
        let gemm = Gemm::for_promoted::<T>([self.m, self.n, self.k], &gpu);
        let target = Gemm::target_of(gpu.capability);
        Gemm { target, a: self.a, b: self.b, any_ldd, activation: self.activation, ..gemm }
    }
}
