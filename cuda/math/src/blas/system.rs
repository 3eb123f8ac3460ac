//! Triangular systems of equations and their launches.

use crate::Address;
use crate::blas::kernel::{Kernel, THREADS, Type};
use crate::blas::product::Matrix;
use crate::blas::{Fallible, Status, handle};

/// `T · X = alpha · B` for each pair of matrices of a batch, where T is triangular. The solution X replaces B.
#[derive(Clone, Copy, Debug)]
pub(super) struct System {
    /// The type of all elements: f32 or f64.
    pub(super) ty: Type,
    /// The number of rows and columns of B.
    pub(super) size: [i32; 2],
    pub(super) t: Matrix,
    pub(super) b: Matrix,
    /// Whether T is lower triangular; otherwise, it is upper triangular.
    pub(super) lower: bool,
    /// Whether the diagonal elements of T are assumed to be 1 and are not read.
    pub(super) unit: bool,
    pub(super) alpha: Address,
    pub(super) count: i32,
    /// Whether the addresses point to arrays of matrix addresses.
    pub(super) arrays: bool,
}

impl System {
    /// Launches the kernel in the stream of the handle.
    pub(super) fn launch(&self, handle: Address) -> Fallible {
        let [rows, columns] = self.size.map(|size| u32::try_from(size).map_err(|_| Status::INVALID_VALUE));
        let (rows, columns) = (rows?, columns?);
        let count = u32::try_from(self.count).map_err(|_| Status::INVALID_VALUE)?;
        handle::with(handle, |handle| {
            if rows == 0 || columns == 0 || count == 0 {
                return Ok(());
            }
            let Self { ty, t, b, .. } = self;
            let [alpha_at, alpha] = handle.scalar(self.alpha, *ty)?;
            // In reverse order of rows and columns, an upper triangular matrix is lower triangular.
            let (first, direction) = if self.lower { (0, 1) } else { (i64::from(rows) - 1, -1) };
            let distances = [
                first * (t.row + t.column),
                first * b.row,
                direction * t.row,
                direction * t.column,
                direction * b.row,
                b.column,
            ];
            let mut arguments = vec![t.address as u64, b.address as u64, self.arrays.into()];
            arguments.extend(distances.map(|distance| (distance * ty.bytes()).cast_unsigned()));
            arguments.extend([alpha_at, alpha, rows.into(), columns.into(), (!self.unit).into()]);
            let blocks = u64::from(columns.div_ceil(THREADS)) * u64::from(count);
            handle.launch(Kernel::System(*ty), blocks, &arguments)
        })
    }
}
