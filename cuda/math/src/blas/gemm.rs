//! The functions that compute matrix products.

use crate::blas::kernel::Type;
use crate::blas::product::{Matrix, Product};
use crate::blas::product_kernel::Kind;
use crate::blas::{Fallible, Status};
use crate::{Address, entries};

/// A matrix argument: the address of the matrix or of an array of addresses, the leading dimension, and the stride between the matrices of
/// a batch.
type Argument = (Address, i32, i64);

/// Launches `C = alpha · op(A) · op(B) + beta · C`.
fn gemm(
    handle: Address,
    kind: Kind,
    operations: [u32; 2],
    size: [i32; 3],
    [alpha, beta]: [Address; 2],
    [a, b, c]: [Argument; 3],
    count: i32,
    arrays: bool,
) -> Fallible {
    let [m, n, k] = size;
    let matrix = |(address, leading, batch): Argument, operation, size| {
        Matrix::stored(address, operation, size, leading, batch)
    };
    let a = matrix(a, operations[0], [m, k])?;
    let b = matrix(b, operations[1], [k, n])?;
    let c = matrix(c, 0, [m, n])?;
    Product { kind, size, a, b, c, alpha, beta, count, arrays }.launch(handle)
}

/// Launches `y = alpha · op(A) · x + beta · y` as a product with a matrix of one column.
fn gemv(
    handle: Address,
    ty: Type,
    operation: u32,
    [rows, columns]: [i32; 2],
    [alpha, beta]: [Address; 2],
    (a, leading): (Address, i32),
    [x, y]: [(Address, i32); 2],
) -> Fallible {
    let (m, k) = if operation == 0 { (rows, columns) } else { (columns, rows) };
    let kind = Kind { operand: ty, result: ty, scalar: ty };
    let vector = |(address, step): (Address, i32), length: i32| {
        if step == 0 || rows < 0 || columns < 0 {
            return Err(Status::INVALID_VALUE);
        }
        let row = i64::from(step);
        // With a negative stride, the vector begins at its last element.
        let skipped = (row * (1 - i64::from(length))).max(0) * ty.bytes();
        Ok(Matrix { address: address.wrapping_add_signed(skipped as isize), row, column: 0, batch: 0 })
    };
    let a = Matrix::stored(a, operation, [m, k], leading, 0)?;
    let (b, c) = (vector(x, k)?, vector(y, m)?);
    Product { kind, size: [m, 1, k], a, b, c, alpha, beta, count: 1, arrays: false }.launch(handle)
}

/// Returns the type that a `cudaDataType_t` represents.
fn data_type(ty: u32) -> Option<Type> {
    Some(match ty {
        0 => Type::F32,
        1 => Type::F64,
        2 => Type::F16,
        3 => Type::S8,
        10 => Type::S32,
        14 => Type::Bf16,
        _ => return None,
    })
}

/// Returns the types of a product for a `cublasComputeType_t`, if cuBLAS supports the combination for real matrices. Faster or emulated
/// variants of a compute type are treated as the type itself.
fn kind_of([a, b, c]: [u32; 3], compute: u32) -> Option<Kind> {
    use Type::{Bf16, F16, F32, F64, S8, S32};
    let (operand, result) = (data_type(a)?, data_type(c)?);
    let scalar = match compute {
        64 | 65 => F16,
        68 | 69 | 74 | 75 | 77 | 78 => F32,
        70 | 71 | 79 => F64,
        72 | 73 => S32,
        _ => return None,
    };
    let valid = match scalar {
        F16 => operand == F16 && result == F16,
        F64 => operand == F64 && result == F64,
        S32 => operand == S8 && result == S32,
        _ => match operand {
            F16 | Bf16 => result == operand || result == F32,
            F32 | S8 => result == F32,
            _ => false,
        },
    };
    (a == b && valid).then_some(Kind { operand, result, scalar })
}

/// Returns the types of a product, or reports that the function does not support them.
fn kind(function: &str, types: [u32; 3], compute: u32) -> Fallible<Kind> {
    kind_of(types, compute).ok_or_else(|| {
        let [a, b, c] = types;
        Status::unsupported(&format!(
            "{function} of the cudaDataType_t {a}, {b} and {c} with the cublasComputeType_t {compute}"
        ))
    })
}

/// The `cublasComputeType_t` for f32.
const COMPUTE_32F: u32 = 68;

/// Defines the functions for matrices and scalars of one type.
macro_rules! of_one_type {
    ($($ty:ident: $gemm:ident $strided:ident $batched:ident;)*) => {
        entries! { $(
            fn $gemm(
                handle: Address, ta: u32, tb: u32, m: i32, n: i32, k: i32, alpha: Address, a: Address, lda: i32,
                b: Address, ldb: i32, beta: Address, c: Address, ldc: i32,
            ) -> Status {
                let kind = Kind { operand: Type::$ty, result: Type::$ty, scalar: Type::$ty };
                gemm(handle, kind, [ta, tb], [m, n, k], [alpha, beta], [(a, lda, 0), (b, ldb, 0), (c, ldc, 0)], 1, false)
            }

            fn $strided(
                handle: Address, ta: u32, tb: u32, m: i32, n: i32, k: i32, alpha: Address, a: Address, lda: i32,
                stride_a: i64, b: Address, ldb: i32, stride_b: i64, beta: Address, c: Address, ldc: i32, stride_c: i64,
                count: i32,
            ) -> Status {
                let kind = Kind { operand: Type::$ty, result: Type::$ty, scalar: Type::$ty };
                let matrices = [(a, lda, stride_a), (b, ldb, stride_b), (c, ldc, stride_c)];
                gemm(handle, kind, [ta, tb], [m, n, k], [alpha, beta], matrices, count, false)
            }

            fn $batched(
                handle: Address, ta: u32, tb: u32, m: i32, n: i32, k: i32, alpha: Address, a: Address, lda: i32,
                b: Address, ldb: i32, beta: Address, c: Address, ldc: i32, count: i32,
            ) -> Status {
                let kind = Kind { operand: Type::$ty, result: Type::$ty, scalar: Type::$ty };
                gemm(handle, kind, [ta, tb], [m, n, k], [alpha, beta], [(a, lda, 0), (b, ldb, 0), (c, ldc, 0)], count, true)
            }
        )* }
    };
}

of_one_type! {
    F16: cublasHgemm cublasHgemmStridedBatched cublasHgemmBatched;
    F32: cublasSgemm_v2 cublasSgemmStridedBatched cublasSgemmBatched;
    F64: cublasDgemm_v2 cublasDgemmStridedBatched cublasDgemmBatched;
}

entries! {
    fn cublasSgemmEx(
        handle: Address, ta: u32, tb: u32, m: i32, n: i32, k: i32, alpha: Address, a: Address, a_type: u32, lda: i32,
        b: Address, b_type: u32, ldb: i32, beta: Address, c: Address, c_type: u32, ldc: i32,
    ) -> Status {
        let kind = kind("cublasSgemmEx", [a_type, b_type, c_type], COMPUTE_32F)?;
        gemm(handle, kind, [ta, tb], [m, n, k], [alpha, beta], [(a, lda, 0), (b, ldb, 0), (c, ldc, 0)], 1, false)
    }

    fn cublasGemmEx(
        handle: Address, ta: u32, tb: u32, m: i32, n: i32, k: i32, alpha: Address, a: Address, a_type: u32, lda: i32,
        b: Address, b_type: u32, ldb: i32, beta: Address, c: Address, c_type: u32, ldc: i32, compute: u32,
        _algorithm: i32,
    ) -> Status {
        let kind = kind("cublasGemmEx", [a_type, b_type, c_type], compute)?;
        gemm(handle, kind, [ta, tb], [m, n, k], [alpha, beta], [(a, lda, 0), (b, ldb, 0), (c, ldc, 0)], 1, false)
    }

    fn cublasGemmStridedBatchedEx(
        handle: Address, ta: u32, tb: u32, m: i32, n: i32, k: i32, alpha: Address, a: Address, a_type: u32, lda: i32,
        stride_a: i64, b: Address, b_type: u32, ldb: i32, stride_b: i64, beta: Address, c: Address, c_type: u32,
        ldc: i32, stride_c: i64, count: i32, compute: u32, _algorithm: i32,
    ) -> Status {
        let kind = kind("cublasGemmStridedBatchedEx", [a_type, b_type, c_type], compute)?;
        let matrices = [(a, lda, stride_a), (b, ldb, stride_b), (c, ldc, stride_c)];
        gemm(handle, kind, [ta, tb], [m, n, k], [alpha, beta], matrices, count, false)
    }

    fn cublasGemmBatchedEx(
        handle: Address, ta: u32, tb: u32, m: i32, n: i32, k: i32, alpha: Address, a: Address, a_type: u32, lda: i32,
        b: Address, b_type: u32, ldb: i32, beta: Address, c: Address, c_type: u32, ldc: i32, count: i32, compute: u32,
        _algorithm: i32,
    ) -> Status {
        let kind = kind("cublasGemmBatchedEx", [a_type, b_type, c_type], compute)?;
        gemm(handle, kind, [ta, tb], [m, n, k], [alpha, beta], [(a, lda, 0), (b, ldb, 0), (c, ldc, 0)], count, true)
    }

    fn cublasSgemv_v2(
        handle: Address, operation: u32, m: i32, n: i32, alpha: Address, a: Address, lda: i32, x: Address, x_step: i32,
        beta: Address, y: Address, y_step: i32,
    ) -> Status {
        gemv(handle, Type::F32, operation, [m, n], [alpha, beta], (a, lda), [(x, x_step), (y, y_step)])
    }

    fn cublasDgemv_v2(
        handle: Address, operation: u32, m: i32, n: i32, alpha: Address, a: Address, lda: i32, x: Address, x_step: i32,
        beta: Address, y: Address, y_step: i32,
    ) -> Status {
        gemv(handle, Type::F64, operation, [m, n], [alpha, beta], (a, lda), [(x, x_step), (y, y_step)])
    }
}
