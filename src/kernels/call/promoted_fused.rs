//! Matrix products of 8-bit floats with promoted sums and an epilogue.

use super::{
    distances::{AnyDistance, Counts, Matrices},
    gemm::{EpilogueOperands, GemmOperand, GemmShape, launch_fused},
    operands::{Rows, RowsMut},
};
use crate::{
    kernels::{Gemm, GemmResult},
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
    let pick = |shape: &GemmShape, any: AnyDistance| shape.promoted::<T>(queue, any.result);
    launch_fused(CALL, queue, operands, matrices, pick, Gemm::fused_promoted_kernel::<T, D>)
}
