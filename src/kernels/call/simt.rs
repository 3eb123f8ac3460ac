//! Matrix products in f32 without tensor cores.

use super::{
    distances::stride_of_result,
    gemm::{EpilogueOperands, GemmShape},
    operands::{Rows, RowsMut, portable_target},
};
use crate::{
    kernels::{FusedGemmArgs, GemmArgs, MatmulSimt},
    ptx::Target,
    run::{BufferMut, BufferRef, CallError, Called, Queue},
};

/// Computes D = f(A·B) in f32 with fused multiply-adds. Tensor cores, which would round operands to tf32, are not used.
/// [`MatmulSimt::for_strides`] chooses the kernel. Strides may have any value, but rows of D must not overlap. Copies are 16 bytes wide
/// only if the strides and lengths of rows (or columns, if column-major) are multiples of 16 bytes. Addresses must be multiples of 16
/// bytes.
///
/// ```
/// use warpwright::{kernels::call::{self, GemmShape}, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// let (a, b) = (device.upload(&[1.0f32, 2.0, 3.0])?, device.upload(&[0.1f32, 0.2, 0.3])?);
/// let mut d = device.output::<f32>(1)?;
/// call::matmul_simt(&kernels, &GemmShape::new(1, 1, 3), &a, &b, &mut d)?;
/// assert_eq!(device.download(&d)?, [0.3f32.mul_add(3.0, 0.2f32.mul_add(2.0, 0.1))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example if the compute capability of the device is lower than 8.0, or if rows of D overlap.
#[doc(alias = "sgemm")]
#[doc(alias = "simt_gemm")]
#[doc(alias = "matmul_f32")]
pub fn matmul_simt<'a>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    a: impl Rows<'a, f32>,
    b: impl Rows<'a, f32>,
    d: impl RowsMut<'a, f32>,
) -> Result<Called, CallError> {
    let product = Product::new("matmul_simt", on.into(), shape, (a, b, d))?;
    let simt = product.kernel()?;
    let Product { call, queue, shape, a, b, d, strides: [lda, ldb, ldd] } = product;
    queue.launch::<_, _, GemmArgs<f32, f32>>(
        call,
        simt,
        |simt| *simt,
        |(simt, target)| simt.kernel(*target),
        (a, lda, b, ldb, d, ldd, shape.m, shape.n, shape.k),
    )
}

/// Computes D = f(A·B) in f32, like [`matmul_simt`], with an [`Epilogue`](crate::kernels::Epilogue), which can scale the product and add
/// another matrix and a bias.
///
/// # Errors
/// Returns the same errors as [`matmul_simt`].
pub fn fused_matmul_simt<'a>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    operands: &EpilogueOperands<'a, f32>,
    a: impl Rows<'a, f32>,
    b: impl Rows<'a, f32>,
    d: impl RowsMut<'a, f32>,
) -> Result<Called, CallError> {
    let product = Product::new("fused_matmul_simt", on.into(), shape, (a, b, d))?;
    let (alpha, beta, c, ldc, bias, row_scales, col_scales) = operands.arguments();
    let simt = product.kernel()?;
    let Product { call, queue, shape: GemmShape { m, n, k, .. }, a, b, d, strides: [lda, ldb, ldd] } =
        product;
    queue.launch::<_, _, FusedGemmArgs<f32, f32>>(
        call,
        (simt, operands.epilogue()),
        |problem| *problem,
        |((simt, target), epilogue)| simt.fused_kernel(*target, *epilogue),
        (a, lda, b, ldb, d, ldd, m, n, k, alpha, beta, c, ldc, bias, row_scales, col_scales),
    )
}

/// The matrices of a product and their leading dimensions.
struct Product<'a> {
    call: &'static str,
    queue: Queue<'a>,
    shape: GemmShape,
    a: BufferRef<'a, f32>,
    b: BufferRef<'a, f32>,
    d: BufferMut<'a, f32>,
    strides: [u32; 3],
}

impl<'a> Product<'a> {
    fn new(
        call: &'static str,
        queue: Queue<'a>,
        shape: &GemmShape,
        (a, b, d): (impl Rows<'a, f32>, impl Rows<'a, f32>, impl RowsMut<'a, f32>),
    ) -> Result<Self, CallError> {
        let GemmShape { m, n, k, .. } = *shape;
        let ((a, lda), (b, ldb), (d, ldd)) = (a.rows(), b.rows(), d.rows_mut());
        let lda = lda.unwrap_or(shape.a.leading_dimension(m, k));
        let ldb = ldb.unwrap_or(shape.b.leading_dimension(k, n));
        let strides = [lda, ldb, stride_of_result(call, [m, n], ldd)?];
        Ok(Self { call, queue, shape: *shape, a, b, d, strides })
    }

    /// Returns the kernel and its target.
    fn kernel(&self) -> Result<(MatmulSimt, Target), CallError> {
        let Self { call, queue, shape, strides, .. } = self;
        let target = portable_target(call, *queue)?;
        let simt = MatmulSimt::for_strides(
            target,
            shape.a,
            shape.b,
            [shape.m, shape.n, shape.k],
            *strides,
            queue.cache().multiprocessors(),
        );
        Ok((MatmulSimt { activation: shape.activation, ..simt }, target))
    }
}
