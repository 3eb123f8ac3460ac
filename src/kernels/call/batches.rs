//! Several matrix products of the same size.

use super::{
    distances::{Distances, MatrixDistances},
    gemm::{GemmOperand, GemmShape, gpu_of},
    operands::{Rows, RowsMut},
};
use crate::{
    kernels::{BatchedGemmArgs, Gemm, GemmResult},
    run::{CallError, Called, Queue},
    tiles::Convert,
};

/// The number of products that [`batched_gemm`] computes, and the distances between the first elements of consecutive matrices, in
/// elements. `None` means that a matrix begins immediately after the last row (or column, in column order) of the preceding one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmBatches {
    /// The number of products.
    pub count: u32,
    /// The distance between matrices A; 0 if all products share A.
    pub a_distance: Option<u32>,
    /// The distance between matrices B; 0 if all products share B.
    pub b_distance: Option<u32>,
    /// The distance between matrices D, which must not overlap.
    pub d_distance: Option<u32>,
}

impl GemmBatches {
    /// Returns `count` products of contiguous matrices.
    pub const fn new(count: u32) -> Self {
        Self { count, a_distance: None, b_distance: None, d_distance: None }
    }
}

/// Computes D = f(A·B) for each of several products of the same size, in one launch. [`Gemm::for_batches`] chooses the kernel. The
/// requirements for sizes and strides are those of [`gemm`](super::gemm()). On devices of compute capability 9.0, the distances between
/// matrices A and between matrices B must also be multiples of 16 bytes.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// // Two matrices A, which are 16×16, and one B for both products.
/// let (shape, batches) =
///     (call::GemmShape::new(16, 8, 16), call::GemmBatches { b_distance: Some(0), ..call::GemmBatches::new(2) });
/// let a = device.upload(&[[bf16::ONE; 16 * 16], [bf16::from_f32(2.0); 16 * 16]].concat())?;
/// let b = device.upload(&[bf16::ONE; 16 * 8])?;
/// let mut d = device.output::<f32>(2 * 16 * 8)?;
/// call::batched_gemm(&kernels, &shape, &batches, &a, &b, &mut d)?;
/// assert_eq!(device.download(&d)?, [[16.0; 16 * 8], [32.0; 16 * 8]].concat());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the errors of [`gemm`](super::gemm()), and `Refused` if matrices D overlap.
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
    let GemmBatches { count, a_distance, b_distance, d_distance } = *batches;
    let matrices = Distances::of(CALL, queue, shape, shape.n, (a.rows(), b.rows()), d.rows_mut())?;
    let apart = MatrixDistances::of(CALL, queue, shape, &matrices, [a_distance, b_distance, d_distance])?;
    let Distances { a: (a, lda), b: (b, ldb), d: (d, ldd), .. } = matrices;
    let GemmShape { m, n, k, .. } = *shape;
    queue.launch::<_, _, BatchedGemmArgs<T, D>>(
        CALL,
        (*shape, count, apart.any),
        |(shape, count, any)| {
            let gemm = Gemm::for_batches::<T>(shape.a, shape.b, [m, n, k], *count, &gpu_of(queue));
            shape.for_distances(gemm, *any)
        },
        Gemm::batched_kernel::<T, T::Sum, D>,
        (a, lda, apart.a, b, ldb, apart.b, d, ldd, apart.d, m, n, k, count),
    )
}
