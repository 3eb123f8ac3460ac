//! The functions that solve triangular systems of equations.

use crate::blas::kernel::Type;
use crate::blas::product::Matrix;
use crate::blas::system::System;
use crate::blas::{Fallible, Status};
use crate::{Address, entries};

/// Launches `op(A) · X = alpha · B`, or `X · op(A) = alpha · B` if A is on the right. A matrix argument is the address of a matrix or of an
/// array of addresses, with the leading dimension.
fn trsm(
    handle: Address,
    ty: Type,
    [side, fill, operation, diagonal]: [u32; 4],
    [m, n]: [i32; 2],
    alpha: Address,
    [(a, lda), (b, ldb)]: [(Address, i32); 2],
    count: i32,
    arrays: bool,
) -> Fallible {
    if side > 1 || fill > 1 || operation > 2 || diagonal > 1 {
        return Err(Status::INVALID_VALUE);
    }
    // If A is on the right, the transposed equation has it on the left: op(A)ᵀ · Xᵀ = alpha · Bᵀ.
    let on_right = side == 1;
    let size @ [order, _] = if on_right { [n, m] } else { [m, n] };
    let transposed = (operation != 0) != on_right;
    let t = Matrix::stored(a, transposed.into(), [order, order], lda, 0)?;
    let b = Matrix::stored(b, on_right.into(), size, ldb, 0)?;
    let lower = (fill == 0) != transposed;
    System { ty, size, t, b, lower, unit: diagonal == 1, alpha, count, arrays }.launch(handle)
}

/// Defines the functions for matrices of one type.
macro_rules! of_one_type {
    ($($ty:ident: $single:ident $batched:ident;)*) => {
        entries! { $(
            fn $single(
                handle: Address, side: u32, fill: u32, operation: u32, diagonal: u32, m: i32, n: i32, alpha: Address,
                a: Address, lda: i32, b: Address, ldb: i32,
            ) -> Status {
                trsm(handle, Type::$ty, [side, fill, operation, diagonal], [m, n], alpha, [(a, lda), (b, ldb)], 1, false)
            }

            fn $batched(
                handle: Address, side: u32, fill: u32, operation: u32, diagonal: u32, m: i32, n: i32, alpha: Address,
                a: Address, lda: i32, b: Address, ldb: i32, count: i32,
            ) -> Status {
                trsm(handle, Type::$ty, [side, fill, operation, diagonal], [m, n], alpha, [(a, lda), (b, ldb)], count, true)
            }
        )* }
    };
}

of_one_type! {
    F32: cublasStrsm_v2 cublasStrsmBatched;
    F64: cublasDtrsm_v2 cublasDtrsmBatched;
}
