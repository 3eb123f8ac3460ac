//! Grouped matrix products with any number of rows per group and a separate B matrix for each group.

use super::{
    distances::{Counts, Matrices, with_copies},
    gemm::{GemmOperand, GemmShape, gpu_of},
    operands::{Rows, RowsMut, refused},
};
use crate::{
    kernels::{Gemm, GemmResult, MatrixOrder, RaggedGemmArgs},
    run::{BufferRef, CallError, Called, Queue},
    tiles::Convert,
};

/// The groups of rows and the B matrices of [`ragged_gemm`].
#[derive(Clone, Copy, Debug)]
pub struct RaggedGroups<'a> {
    /// The index of the first row of each group in A and D, followed by the end of the last group: `count` + 1 elements in ascending order.
    /// Groups may be empty.
    pub offsets: BufferRef<'a, u32>,
    /// The number of groups, which is also the number of B matrices.
    pub count: u32,
    /// The distance between the first elements of consecutive B matrices, in elements. `None` means that there are no gaps between the
    /// matrices.
    pub b_batch_stride: Option<u32>,
}

/// Computes D = f(A·B) with a separate B for each group of rows of A and D, as in a mixture of experts. Groups may have any number of rows,
/// without padding. The kernel reads the group boundaries from device memory, so the host need not know them. Rows of D outside all groups
/// are not written. [`Gemm::for_ragged_groups`] chooses the kernel. A must be row-major. In addition, sizes and strides must meet the
/// requirements of [`batched_gemm`](super::batched_gemm).
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// // 70 rows: the first is multiplied by the first of three B matrices, none by the second, and the others by the third.
/// let (shape, on_offsets) = (call::GemmShape::new(70, 8, 16), device.upload(&[0u32, 1, 1, 70])?);
/// let groups = call::RaggedGroups { offsets: (&on_offsets).into(), count: 3, b_batch_stride: None };
/// let a = device.upload(&[bf16::ONE; 70 * 16])?;
/// let b: Vec<_> = [1.0, 2.0, 3.0].into_iter().flat_map(|x| [bf16::from_f32(x); 16 * 8]).collect();
/// let (b, mut d) = (device.upload(&b)?, device.output::<f32>(70 * 8)?);
/// call::ragged_gemm(&kernels, &shape, &groups, &a, &b, &mut d)?;
/// let d = device.download(&d)?;
/// assert_eq!((d[0], d[8], d[69 * 8]), (16.0, 48.0, 48.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the same errors as [`gemm`](super::gemm()). Also returns `Refused` if A is column-major.
#[doc(alias = "MoE")]
pub fn ragged_gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    groups: &RaggedGroups<'_>,
    a: impl Rows<'a, T>,
    b: impl Rows<'a, T>,
    d: impl RowsMut<'a, D>,
) -> Result<Called, CallError>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    const CALL: &str = "ragged_gemm";
    let queue = on.into();
    if shape.a == MatrixOrder::Col {
        return Err(refused(CALL, "row-major A", "column-major A"));
    }
    let RaggedGroups { offsets, count, b_batch_stride } = *groups;
    // There is one A and one D.
    let counts = Counts { b: (count, b_batch_stride), ..Counts::ONE };
    let factors = (a.rows(), b.rows());
    let matrices = Matrices::of(CALL, queue, shape, shape.n, factors, d.rows_mut(), counts)?;
    let Matrices { shape, a, b, d, ldd, any, .. } = matrices;
    let GemmShape { m, n, k, .. } = shape;
    let (of_a, of_b) = (a.buffer(), b.buffer());
    let called = queue.launch::<_, _, RaggedGemmArgs<T, D>>(
        CALL,
        (shape, count, any),
        |_| {
            let gemm = Gemm::for_ragged_groups::<T>(shape.b, [m, n, k], count, &gpu_of(queue));
            shape.for_distances(gemm, any)
        },
        Gemm::ragged_kernel::<T, T::Sum, D>,
        (of_a, a.stride(), of_b, b.stride(), b.distance, d, ldd, offsets, count, m, n, k),
    )?;
    Ok(with_copies(called, [&a, &b]))
}
