//! Split-K matrix products: sums along k are divided among blocks.

use super::{
    distances::{Counts, Matrices, with_copies},
    gemm::{EpilogueOperands, GemmOperand, GemmShape, fused_gemm, gemm, gpu_of},
    operands::{Rows, RowsMut, product, refused},
};
use crate::{
    kernels::{Epilogue, Gemm, GemmResult, PartialGemmArgs, SplitKGemm, SplitKSumArgs},
    ptx::Target,
    run::{BufferMut, CallError, Called, KernelCache, Queue},
    tiles::Convert,
};

/// Computes D = f(A·B) with an [`Epilogue`], like [`fused_gemm`], but divides the sums over k among blocks if [`SplitKGemm::for_problem`]
/// expects this to be faster. This is usually the case if D consists of few tiles, for example because it has few rows. If the sums are
/// divided, a first kernel writes partial sums to `workspace`, and a second kernel adds them, always in the same order. If not, a single
/// kernel computes D, and `workspace` is not used. The returned [`Called`] describes the first launch.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// let (shape, operands) = (call::GemmShape::new(2, 64, 2048), call::EpilogueOperands::default());
/// let a = device.upload(&[bf16::ONE; 2 * 2048])?;
/// let b = device.upload(&[bf16::ONE; 2048 * 64])?;
/// let mut workspace = device.output(call::split_k_workspace::<bf16>(&kernels, &shape)?)?;
/// let mut d = device.output::<f32>(2 * 64)?;
/// call::split_k_gemm(&kernels, &shape, &operands, &a, &b, &mut d, &mut workspace)?;
/// assert_eq!(device.download(&d)?, [2048.0; 2 * 64]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the same errors as [`gemm`](super::gemm()). Also returns an error if `workspace` has fewer elements than [`split_k_workspace`]
/// returns. If the second launch fails, the contents of D are unspecified.
#[doc(alias = "split-K")]
pub fn split_k_gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    operands: &EpilogueOperands<'a, D>,
    a: impl Rows<'a, T>,
    b: impl Rows<'a, T>,
    d: impl RowsMut<'a, D>,
    workspace: impl Into<BufferMut<'a, T::Sum>>,
) -> Result<Called, CallError>
where
    T: GemmOperand<Sum: GemmResult + Convert<T::Sum> + Convert<D>>,
    D: GemmResult,
    f32: Convert<D>,
{
    const CALL: &str = "split_k_gemm";
    let queue = on.into();
    let epilogue = operands.epilogue();
    let Some(split) = plan::<T>(queue, shape) else {
        return if epilogue == Epilogue::default() {
            gemm(queue, shape, a, b, d)
        } else {
            fused_gemm(queue, shape, operands, a, b, d)
        };
    };
    let factors = (a.rows(), b.rows());
    let matrices = Matrices::of(CALL, queue, shape, shape.n, factors, d.rows_mut(), Counts::ONE)?;
    let Matrices { shape, a, b, d, ldd, any, .. } = matrices;
    let GemmShape { m, n, k, activation, .. } = shape;
    let (gemm, parts) = (Gemm { a: shape.a, b: shape.b, ..split.gemm }, split.parts);
    let Partials { ld, distance, .. } = Partials::of(CALL, &shape, parts)?;
    let gemm = if any.operands { gemm.with_any_size() } else { gemm };
    // Tensor copies clip rows of any length.
    let any_ldd = gemm.target != Target::SM_90A && !n.is_multiple_of(4);
    let gemm = Gemm { any_ldd, ..gemm };
    let mut workspace = workspace.into();
    let first = queue.launch::<_, _, PartialGemmArgs<T, T::Sum>>(
        CALL,
        (gemm, "partial"),
        |_| gemm,
        Gemm::partial_kernel::<T, T::Sum>,
        (a.buffer(), a.stride(), b.buffer(), b.stride(), workspace.reborrow(), ld, distance, m, n, k, parts),
    )?;
    let (alpha, beta, c, ldc, bias, row_scales, col_scales) = operands.arguments();
    let gemm = Gemm { activation, ..gemm };
    queue.launch::<_, _, SplitKSumArgs<T::Sum, D>>(
        CALL,
        (gemm, epilogue),
        |_| (gemm, epilogue),
        |(gemm, epilogue)| gemm.sum_kernel::<T::Sum, D>(*epilogue),
        (
            workspace.as_read(),
            ld,
            distance,
            parts,
            d,
            ldd,
            m,
            n,
            alpha,
            beta,
            c,
            ldc,
            bias,
            row_scales,
            col_scales,
        ),
    )?;
    Ok(with_copies(first, [&a, &b]))
}

/// Returns the required length, in elements, of the workspace of [`split_k_gemm`] on the device of `kernels`. The length is 0 if a single
/// kernel computes D.
///
/// # Errors
/// Returns `Refused` if the workspace would have 2³² elements or more.
pub fn split_k_workspace<T: GemmOperand>(
    kernels: &KernelCache<'_>,
    shape: &GemmShape,
) -> Result<usize, CallError> {
    let Some(SplitKGemm { parts, .. }) = plan::<T>(kernels.into(), shape) else { return Ok(0) };
    Ok(Partials::of("split_k_workspace", shape, parts)?.elements as usize)
}

fn plan<T: GemmOperand>(queue: Queue<'_>, shape: &GemmShape) -> Option<SplitKGemm> {
    let size = [shape.m, shape.n, shape.k];
    SplitKGemm::for_problem::<T>(shape.a, shape.b, size, &gpu_of(queue))
}

/// The matrices of partial sums.
struct Partials {
    /// The stride between rows.
    ld: u32,
    /// The distance between matrices.
    distance: u32,
    /// The total number of elements in all matrices.
    elements: u32,
}

impl Partials {
    /// Returns the matrices for `parts` parts, with strides that are multiples of 16 bytes.
    fn of(call: &'static str, shape: &GemmShape, parts: u32) -> Result<Self, CallError> {
        let rounded = shape.n.checked_next_multiple_of(4);
        let ld = rounded.ok_or_else(|| refused(call, "n below 2³² − 3", shape.n))?;
        let distance = product(call, &[shape.m, ld])?;
        Ok(Self { ld, distance, elements: product(call, &[distance, parts])? })
    }
}
