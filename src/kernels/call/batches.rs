//! Several matrix products of the same size.

use super::{
    distances::{Counts, Matrices, with_copies},
    gemm::{GemmOperand, GemmShape, gpu_of},
    operands::{Rows, RowsMut},
};
use crate::{
    kernels::{BatchedGemmArgs, Gemm, GemmResult},
    run::{CallError, Called, Queue},
    tiles::Convert,
};

/// The number of products that [`batched_gemm`] computes, and the batch strides: the distances between the first elements of consecutive
/// matrices, in elements. A batch stride of `None` means that the matrices are stored one after another: the batch stride is then the
/// number of rows of a matrix times its row pitch (for column-major matrices, the number of columns times the column pitch).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmBatches {
    /// The number of products.
    pub count: u32,
    /// The distance between consecutive A matrices; 0 if all products share A.
    pub a_batch_stride: Option<u32>,
    /// The distance between consecutive B matrices; 0 if all products share B.
    pub b_batch_stride: Option<u32>,
    /// The distance between consecutive D matrices, which must not overlap. Their rows may be interleaved: row i of each of the other
    /// matrices may be stored between rows i and i + 1 of the first matrix.
    pub d_batch_stride: Option<u32>,
}

impl GemmBatches {
    /// Returns the parameters for `count` products. The A matrices are stored directly after one another, as are the B matrices and the D
    /// matrices.
    pub const fn new(count: u32) -> Self {
        Self { count, a_batch_stride: None, b_batch_stride: None, d_batch_stride: None }
    }
}

/// Computes several products D = f(A·B) of the same size in one launch. [`Gemm::for_batches`] chooses the kernel. Sizes and strides must
/// meet the requirements of [`gemm`](super::gemm()). As in `gemm`, operands that the kernel cannot read in place are copied first. The
/// requirements for strides also apply to batch strides.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// // Two 16×16 A matrices, and one B that both products share.
/// let (shape, batches) =
///     (call::GemmShape::new(16, 8, 16), call::GemmBatches { b_batch_stride: Some(0), ..call::GemmBatches::new(2) });
/// let a = device.upload(&[[bf16::ONE; 16 * 16], [bf16::from_f32(2.0); 16 * 16]].concat())?;
/// let b = device.upload(&[bf16::ONE; 16 * 8])?;
/// let mut d = device.output::<f32>(2 * 16 * 8)?;
/// call::batched_gemm(&kernels, &shape, &batches, &a, &b, &mut d)?;
/// assert_eq!(device.download(&d)?, [[16.0; 16 * 8], [32.0; 16 * 8]].concat());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the same errors as [`gemm`](super::gemm()). Also returns `Refused` if D matrices overlap.
#[doc(alias = "bmm")]
pub fn batched_gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    batches: &GemmBatches,
    a: impl Rows<'a, T>,
    b: impl Rows<'a, T>,
    d: impl RowsMut<'a, D>,
) -> Result<Called, CallError>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    const CALL: &str = "batched_gemm";
    let queue = on.into();
    let GemmBatches { count, a_batch_stride, b_batch_stride, d_batch_stride } = *batches;
    let (a_count, b_count, d_count) =
        ((count, a_batch_stride), (count, b_batch_stride), (count, d_batch_stride));
    let counts = Counts { a: a_count, b: b_count, d: d_count, ..Counts::ONE };
    let factors = (a.rows(), b.rows());
    let matrices = Matrices::of(CALL, queue, shape, shape.n, factors, d.rows_mut(), counts)?;
    let Matrices { shape, a, b, d, ldd, d_batch_stride, any } = matrices;
    let GemmShape { m, n, k, .. } = shape;
    let (of_a, of_b) = (a.buffer(), b.buffer());
    let called = queue.launch::<_, _, BatchedGemmArgs<T, D>>(
        CALL,
        (shape, count, any),
        |(shape, count, any)| {
            let gemm = Gemm::for_batches::<T>(shape.a, shape.b, [m, n, k], *count, &gpu_of(queue));
            shape.for_distances(gemm, *any)
        },
        Gemm::batched_kernel::<T, T::Sum, D>,
        (of_a, a.stride(), a.distance, of_b, b.stride(), b.distance, d, ldd, d_batch_stride, m, n, k, count),
    )?;
    Ok(with_copies(called, [&a, &b]))
}
