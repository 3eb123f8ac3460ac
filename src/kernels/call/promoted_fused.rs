//! Matrix products of 8-bit floats with promoted sums and an epilogue.

use super::{
    distances::{Counts, Matrices, with_copies},
    gemm::{EpilogueOperands, GemmOperand, GemmShape},
    operands::{Rows, RowsMut},
};
use crate::{
    kernels::{FusedGemmArgs, GemmResult},
    run::{CallError, Called, Queue},
    tiles::Convert,
};

/// Computes D = f(A·B) with promoted sums, like [`promoted_gemm`](super::promoted_gemm), and with an
/// [`Epilogue`](crate::kernels::Epilogue), which can scale the product and add another matrix and a bias.
///
/// # Errors
/// Returns the same errors as [`promoted_gemm`](super::promoted_gemm).
pub fn fused_promoted_gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    operands: &EpilogueOperands<'a, D>,
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
    let factors = (a.rows(), b.rows());
    let matrices = Matrices::of(CALL, queue, shape, shape.n, factors, d.rows_mut(), Counts::ONE)?;
    let Matrices { shape, a, b, d, ldd, any, .. } = matrices;
    let epilogue = operands.epilogue();
    let (alpha, beta, c, ldc, bias, row_scales, col_scales) = operands.arguments();
    let GemmShape { m, n, k, .. } = shape;
    let (of_a, of_b) = (a.buffer(), b.buffer());
    let called = queue.launch::<_, _, FusedGemmArgs<T, D>>(
        CALL,
        (shape, any.result, epilogue),
        |_| (shape.promoted::<T>(queue, any.result), epilogue),
        |(gemm, epilogue)| gemm.fused_promoted_kernel::<T, D>(*epilogue),
        (
            of_a,
            a.stride(),
            of_b,
            b.stride(),
            d,
            ldd,
            m,
            n,
            k,
            alpha,
            beta,
            c,
            ldc,
            bias,
            row_scales,
            col_scales,
        ),
    )?;
    Ok(with_copies(called, [&a, &b]))
}
