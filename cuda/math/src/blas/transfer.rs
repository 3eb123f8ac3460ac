//! Copies of vectors and matrices between the host and the device.

use crate::blas::{Fallible, Status};
use crate::driver::{context, driver};
use crate::{Address, entries};

/// Copies `columns` columns of `rows` elements of `bytes` bytes each. Leading dimensions are in elements.
fn copy(
    [rows, columns, bytes]: [i32; 3],
    (from, from_leading): (Address, i32),
    (to, to_leading): (Address, i32),
) -> Fallible {
    let sizes = [rows, columns, bytes, from_leading, to_leading].map(|size| usize::try_from(size).ok());
    let [Some(rows), Some(columns), Some(bytes), Some(from_leading), Some(to_leading)] = sizes else {
        return Err(Status::INVALID_VALUE);
    };
    if bytes == 0 || from_leading == 0 || to_leading == 0 {
        return Err(Status::INVALID_VALUE);
    }
    context()?;
    let driver = driver()?;
    if from_leading == rows && to_leading == rows {
        return Ok(driver.cuMemcpy(to, from, rows * columns * bytes)?);
    }
    (0..columns).try_for_each(|column| {
        let at = |address: Address, leading: usize| address + column * leading * bytes;
        Ok(driver.cuMemcpy(at(to, to_leading), at(from, from_leading), rows * bytes)?)
    })
}

entries! {
    fn cublasSetVector(n: i32, bytes: i32, x: Address, x_step: i32, y: Address, y_step: i32) -> Status {
        copy([1, n, bytes], (x, x_step), (y, y_step))
    }

    fn cublasGetVector(n: i32, bytes: i32, x: Address, x_step: i32, y: Address, y_step: i32) -> Status {
        copy([1, n, bytes], (x, x_step), (y, y_step))
    }

    fn cublasSetMatrix(rows: i32, columns: i32, bytes: i32, a: Address, lda: i32, b: Address, ldb: i32) -> Status {
        copy([rows, columns, bytes], (a, lda), (b, ldb))
    }

    fn cublasGetMatrix(rows: i32, columns: i32, bytes: i32, a: Address, lda: i32, b: Address, ldb: i32) -> Status {
        copy([rows, columns, bytes], (a, lda), (b, ldb))
    }
}
