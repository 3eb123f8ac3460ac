//! Matrix products and their launches.

use crate::Address;
use crate::blas::handle;
use crate::blas::kernel::Kernel;
use crate::blas::product_kernel::{COLUMNS, Kind, ROWS};
use crate::blas::{Fallible, Status};

/// A matrix, or the matrices of a batch. Strides are in elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix {
    /// The address of the first matrix, or of an array of addresses.
    pub(super) address: Address,
    /// The strides between consecutive elements of a column and of a row.
    pub(super) row: i64,
    pub(super) column: i64,
    /// The stride between consecutive matrices of the batch.
    pub(super) batch: i64,
}

impl Matrix {
    /// Returns a column-major matrix with `rows` rows and `columns` columns, transposed unless `operation` is `CUBLAS_OP_N`.
    pub(super) fn stored(
        address: Address,
        operation: u32,
        [rows, columns]: [i32; 2],
        leading: i32,
        batch: i64,
    ) -> Fallible<Self> {
        let (stored_rows, [row, column]) = match operation {
            0 => (rows, [1, leading]),
            // The conjugate of a real matrix is the matrix itself.
            1 | 2 => (columns, [leading, 1]),
            _ => return Err(Status::INVALID_VALUE),
        };
        if leading < stored_rows.max(1) {
            return Err(Status::INVALID_VALUE);
        }
        Ok(Self { address, row: row.into(), column: column.into(), batch })
    }
}

/// `C = alpha · A · B + beta · C` for each matrix of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    pub(super) kind: Kind,
    /// The number of rows of A, columns of B, and columns of A.
    pub(super) size: [i32; 3],
    pub(super) a: Matrix,
    pub(super) b: Matrix,
    pub(super) c: Matrix,
    pub(super) alpha: Address,
    pub(super) beta: Address,
    pub(super) count: i32,
    /// Whether the addresses point to arrays of matrix addresses.
    pub(super) arrays: bool,
}

impl Product {
    /// Launches the kernel in the stream of the handle.
    pub(super) fn launch(&self, handle: Address) -> Fallible {
        let [rows, columns, depth] =
            self.size.map(u32::try_from).map(|size| size.map_err(|_| Status::INVALID_VALUE));
        let (rows, columns, depth) = (rows?, columns?, depth?);
        let count = u32::try_from(self.count).map_err(|_| Status::INVALID_VALUE)?;
        handle::with(handle, |handle| {
            if rows == 0 || columns == 0 || count == 0 {
                return Ok(());
            }
            let [alpha, beta] = [self.alpha, self.beta].map(|scalar| handle.scalar(scalar, self.kind.scalar));
            let ([alpha_at, alpha], [beta_at, beta]) = (alpha?, beta?);
            let tiles =
                u64::from(rows.div_ceil(ROWS)) * u64::from(columns.div_ceil(COLUMNS)) * u64::from(count);

            let (operand, result) = (self.kind.operand.bytes(), self.kind.result.bytes());
            let Self { a, b, c, .. } = self;
            let [a_batch, b_batch, c_batch] = match self.arrays {
                true => [size_of::<u64>() as i64; 3],
                false => [a.batch * operand, b.batch * operand, c.batch * result],
            };
            let address = |matrix: &Matrix| matrix.address as u64;
            let distances = [
                a_batch,
                b_batch,
                c_batch,
                a.row * operand,
                a.column * operand,
                b.row * operand,
                b.column * operand,
                c.row * result,
                c.column * result,
            ];
            let mut arguments = vec![address(a), address(b), address(c), self.arrays.into()];
            arguments.extend(distances.map(i64::cast_unsigned));
            arguments.extend([alpha_at, beta_at, alpha, beta]);
            arguments.extend([rows, columns, depth].map(u64::from));
            handle.launch(Kernel::Product(self.kind), tiles, &arguments)
        })
    }
}
