//! Products of 8-bit floats with sums in f32 and additional operands.

use super::{
    distances::Distances,
    gemm::{FusedOperands, GemmOperand, GemmShape},
    operands::{Rows, RowsMut},
};
use crate::{
    kernels::{FusedGemmArgs, GemmResult},
    run::{BufferRef, CallError, Called, Queue},
    tiles::Convert,
};

/// Computes D = f(A·B) with promoted sums, as [`promoted_gemm`](super::promoted_gemm) does, and an [`Epilogue`](crate::kernels::Epilogue): scales,
/// the addition of another matrix, and a bias.
///
/// # Errors
/// Returns the errors of [`promoted_gemm`](super::promoted_gemm).
pub fn fused_promoted_gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    operands: &FusedOperands<'a, D>,
    a: impl Rows<'a, T>,
    b: impl Rows<'a, T>,
    d: impl RowsMut<'a, D>,
) -> Result<Called, CallError>
where
    T: GemmOperand<Sum = f32>,
    D: GemmResult,
    f32: Convert<D>,
{
    const CALL: &str = "fused_promoted_gemm";
    let queue = on.into();
    let distances = Distances::of(CALL, queue, shape, shape.n, (a.rows(), b.rows()), d.rows_mut())?;
    let Distances { a: (a, lda), b: (b, ldb), d: (d, ldd), any } = distances;
    let (epilogue, FusedOperands { alpha, row_scales, col_scales, c, bias }) =
        (operands.epilogue(), *operands);
    let (c, ldc, beta) = c.unwrap_or((BufferRef::empty(), 0, 0.0));
    let [row_scales, col_scales, bias] =
        [row_scales, col_scales, bias].map(|operand| operand.unwrap_or(BufferRef::empty()));
    let (alpha, GemmShape { m, n, k, .. }) = (alpha.unwrap_or(1.0), *shape);
    queue.launch::<_, _, FusedGemmArgs<T, D>>(
        CALL,
        (*shape, any.result, epilogue),
        |_| (shape.promoted::<T>(queue, any.result), epilogue),
        |(gemm, epilogue)| gemm.fused_promoted_kernel::<T, D>(*epilogue),
        (a, lda, b, ldb, d, ldd, m, n, k, alpha, beta, c, ldc, bias, row_scales, col_scales),
    )
}
