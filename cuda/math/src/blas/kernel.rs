//! The kernels of the library, and the types of their elements.

use crate::blas::product_kernel::Kind;
use crate::blas::system_kernel;

/// The type of the elements of a matrix or of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    F16,
    Bf16,
    F32,
    F64,
    S8,
    S32,
}

impl Type {
    /// Returns the size of an element in bytes.
    pub(super) fn bytes(self) -> i64 {
        match self {
            Self::S8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 | Self::S32 => 4,
            Self::F64 => 8,
        }
    }

    /// Returns the PTX name and the PTX zero literal of a type used for computation.
    pub(super) fn in_ptx(self) -> (&'static str, &'static str) {
        match self {
            Self::F64 => ("f64", "0d0000000000000000"),
            Self::S32 => ("s32", "0"),
            _ => ("f32", "0f00000000"),
        }
    }
}

/// The number of threads per block.
pub(super) const THREADS: u32 = 128;

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kernel {
    /// A matrix product.
    Product(Kind),
    /// Triangular systems of equations, in f32 or f64.
    System(Type),
}

impl Kernel {
    /// Returns the NUL-terminated name of the kernel.
    pub(super) fn name(self) -> &'static [u8] {
        match self {
            Self::Product(_) => b"gemm\0",
            Self::System(_) => b"trsm\0",
        }
    }

    /// Returns the NUL-terminated PTX module that contains the kernel.
    pub(super) fn text(self) -> Vec<u8> {
        let text = match self {
            Self::Product(kind) => kind.text(),
            Self::System(ty) => system_kernel::text(ty),
        };
        text.into_bytes().into_iter().chain([0]).collect()
    }
}
