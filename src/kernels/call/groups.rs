//! Matrix products of groups of rows, with a separate B matrix for each group.

use super::{
    distances::{Counts, Matrices, with_copies},
    gemm::{GemmOperand, GemmShape, gpu_of},
    operands::{Rows, RowsMut, refused},
};
use crate::{
    kernels::{Gemm, GemmResult, GroupedGemmArgs},
    run::{BufferRef, CallError, Called, Queue},
    tiles::Convert,
};

/// The groups of rows and the B matrices of [`grouped_gemm`].
#[derive(Clone, Copy, Debug)]
pub struct GemmGroups<'a> {
    /// The number of rows per tile. All rows of a tile are multiplied by the same B, so groups must be padded to a multiple of `rows` rows.
    /// `rows` must be 64 or 128; on devices of compute capability 9.0, it may also be 192, 256 or, if A is row-major, 16.
    pub rows: u32,
    /// The index of the B matrix for each tile of `rows` rows of A: ⌈m / `rows`⌉ elements, each less than `count`.
    pub groups: BufferRef<'a, u32>,
    /// The number of B matrices.
    pub count: u32,
    /// The distance between the first elements of consecutive B matrices, in elements. `None` means that there are no gaps between the
    /// matrices.
    pub b_batch_stride: Option<u32>,
}

/// Computes D = f(A·B) with a separate B for each group of rows of A and D, as in a mixture of experts. [`Gemm::for_groups`] chooses the
/// kernel. Sizes and strides must meet the requirements of [`batched_gemm`](super::batched_gemm).
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// // 192 rows: the first 64 are multiplied by the second of two B matrices, and the others by the first.
/// let (shape, on_groups) = (call::GemmShape::new(192, 8, 16), device.upload(&[1u32, 0, 0])?);
/// let groups = call::GemmGroups { rows: 64, groups: (&on_groups).into(), count: 2, b_batch_stride: None };
/// let a = device.upload(&[bf16::ONE; 192 * 16])?;
/// let b = device.upload(&[[bf16::ONE; 16 * 8], [bf16::from_f32(2.0); 16 * 8]].concat())?;
/// let mut d = device.output::<f32>(192 * 8)?;
/// call::grouped_gemm(&kernels, &shape, &groups, &a, &b, &mut d)?;
/// let d = device.download(&d)?;
/// assert_eq!((d[63 * 8], d[64 * 8]), (32.0, 16.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the same errors as [`gemm`](super::gemm()). Also returns `Refused` if no kernel for the device and the order of A has tiles of
/// `rows` rows.
#[doc(alias = "MoE")]
pub fn grouped_gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    groups: &GemmGroups<'_>,
    a: impl Rows<'a, T>,
    b: impl Rows<'a, T>,
    d: impl RowsMut<'a, D>,
) -> Result<Called, CallError>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    const CALL: &str = "grouped_gemm";
    let queue = on.into();
    let GemmGroups { rows, groups, count, b_batch_stride } = *groups;
    let gpu = gpu_of(queue);
    let pick = |shape: &GemmShape, rows| {
        Gemm::for_groups::<T>(shape.a, shape.b, [shape.m, shape.n, shape.k], rows, &gpu)
    };
    let heights = [16, 64, 128, 192, 256].into_iter().filter(|&rows| pick(shape, rows).is_some());
    let no_tile = || {
        let heights: Vec<_> = heights.map(|rows| rows.to_string()).collect();
        refused(CALL, format!("one of {} rows per tile", heights.join(", ")), rows)
    };
    if pick(shape, rows).is_none() {
        return Err(no_tile());
    }
    // There is one A and one D.
    let counts = Counts { b: (count, b_batch_stride), ..Counts::ONE };
    let factors = (a.rows(), b.rows());
    let matrices = Matrices::of(CALL, queue, shape, shape.n, factors, d.rows_mut(), counts)?;
    let Matrices { shape, a, b, d, ldd, any, .. } = matrices;
    let gemm = pick(&shape, rows).ok_or_else(no_tile)?;
    let GemmShape { m, n, k, .. } = shape;
    let (of_a, of_b) = (a.buffer(), b.buffer());
    let called = queue.launch::<_, _, GroupedGemmArgs<T, D>>(
        CALL,
        (shape, rows, any),
        |_| shape.for_distances(gemm, any),
        Gemm::grouped_kernel::<T, T::Sum, D>,
        (of_a, a.stride(), of_b, b.stride(), b.distance, d, ldd, groups, m, n, k, count),
    )?;
    Ok(with_copies(called, [&a, &b]))
}
