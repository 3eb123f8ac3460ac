//! Products of f32 without tensor cores.

use super::operands::portable_target;
use crate::{
    kernels::{MatmulArgs, MatmulSimt},
    run::{BufferMut, BufferRef, CallError, Called, Queue},
};

/// Computes D = A·B in f32 with fused multiply-adds, without rounding the operands to tf32 as tensor cores do: A is m×k, B is k×n and D is
/// m×n, all row-major and contiguous. [`MatmulSimt::for_problem`] chooses the kernel.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// let (a, b) = (device.upload(&[1.0f32, 2.0, 3.0])?, device.upload(&[0.1f32, 0.2, 0.3])?);
/// let mut d = device.output::<f32>(1)?;
/// call::matmul_simt(&kernels, [1, 1, 3], &a, &b, &mut d)?;
/// assert_eq!(device.download(&d)?, [0.3f32.mul_add(3.0, 0.2f32.mul_add(2.0, 0.1))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example on devices of compute capability less than 8.0.
#[doc(alias = "sgemm")]
#[doc(alias = "simt_gemm")]
#[doc(alias = "matmul_f32")]
pub fn matmul_simt<'a>(
    on: impl Into<Queue<'a>>,
    [m, n, k]: [u32; 3],
    a: impl Into<BufferRef<'a, f32>>,
    b: impl Into<BufferRef<'a, f32>>,
    d: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError> {
    const CALL: &str = "matmul_simt";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let multiprocessors = queue.cache().multiprocessors();
    queue.launch::<_, _, MatmulArgs<f32>>(
        CALL,
        [m, n, k],
        |size| MatmulSimt::for_problem(target, *size, multiprocessors),
        |simt| simt.kernel(target),
        (a.into(), b.into(), d.into(), m, n, k),
    )
}
