//! cuBLAS: matrix products, matrix-vector products, and triangular systems of equations.

mod absent;
mod gemm;
mod handle;
mod kernel;
mod product;
mod product_kernel;
mod system;
mod system_kernel;
mod transfer;
mod trsm;

use warpwright_cuda_calls::report_unsupported;

/// A `cublasStatus_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Status(u32);

impl Status {
    pub(crate) const SUCCESS: Self = Self(0);
    const NOT_INITIALIZED: Self = Self(1);
    const ALLOC_FAILED: Self = Self(3);
    const INVALID_VALUE: Self = Self(7);
    const ARCH_MISMATCH: Self = Self(8);
    const EXECUTION_FAILED: Self = Self(13);
    pub(crate) const INTERNAL_ERROR: Self = Self(14);
    const NOT_SUPPORTED: Self = Self(15);

    /// Reports a function that the library does not support, and returns its status.
    pub(crate) fn unsupported(function: &str) -> Self {
        report_unsupported(function, "CUBLAS_STATUS_NOT_SUPPORTED");
        Self::NOT_SUPPORTED
    }
}

/// The result of a function. An error is never [`Status::SUCCESS`].
type Fallible<T = ()> = Result<T, Status>;

impl From<crate::driver::Error> for Status {
    fn from(error: crate::driver::Error) -> Self {
        match error {
            crate::driver::Error::INVALID_PTX => Self::ARCH_MISMATCH,
            crate::driver::Error::OUT_OF_MEMORY => Self::ALLOC_FAILED,
            _ => Self::EXECUTION_FAILED,
        }
    }
}
