//! Triangular systems of equations, and their launch.

use crate::Address;
use crate::blas::kernel::{Kernel, THREADS, Type};
use crate::blas::product::Matrix;
use crate::blas::{Fallible, Status, handle};

/// `T · X = alpha · B` for each pair of matrices of a batch, with a triangular matrix T. The solution X replaces B.
#[derive(Clone, Copy, Debug)]
pub(super) struct System {
    /// The type of all elements: f32 or f64.
    pub(super) ty: Type,
    /// The rows of B, and its columns.
    pub(super) size: [i32; 2],
    pub(super) t: Matrix,
    pub(super) b: Matrix,
    /// Whether the elements of T above its diagonal are 0; otherwise, those below it are.
    pub(super) lower: bool,
    /// Whether the elements of T on its diagonal are 1, and are not read.
    pub(super) unit: bool,
    pub(super) alpha: Address,
    pub(super) count: i32,
    /// Whether the addresses are those of arrays of addresses.
    pub(super) arrays: bool,
}

impl System {
    /// Launches the kernel on the stream of a handle.
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
            // From the last row to the first, an upper triangle is a lower one.
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
