//! Copies of matrices with a different stride between rows.

use super::{
    operands::{Rows, RowsMut, portable_target},
    rows::{input, output},
};
use crate::{
    kernels::{self, PadRowsArgs},
    run::{CallError, Called, Queue},
    tensor::TensorElement,
};

/// Copies an m×n matrix from x to y. The strides between the rows of x and y may differ. Elements between the rows of y are not written.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// let (x, mut y) = (device.upload(&[1.0f32, 2.0, 3.0, 4.0])?, device.zeros::<f32>(6)?);
/// call::pad_rows(&kernels, [2, 2], &x, (&mut y, 4))?;
/// assert_eq!(device.download(&y)?, [1.0, 2.0, 0.0, 0.0, 3.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example if rows of y overlap.
#[doc(alias = "cuMemcpy2D")]
pub fn pad_rows<'a, T: TensorElement>(
    on: impl Into<Queue<'a>>,
    [m, n]: [u32; 2],
    x: impl Rows<'a, T>,
    y: impl RowsMut<'a, T>,
) -> Result<Called, CallError> {
    const CALL: &str = "pad_rows";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, PadRowsArgs<T>>(
        CALL,
        (),
        |()| target,
        |target| kernels::pad_rows(*target),
        (x, ldx, y, ldy, m, n),
    )
}
