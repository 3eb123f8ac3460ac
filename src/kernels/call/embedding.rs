//! Lookup of table rows by index, and addition to table rows.

use super::{
    operands::{Rows, RowsMut, portable_target},
    rows::{input, output},
};
use crate::{
    kernels::{Embedding, GatherArgs, ScatterAddArgs},
    run::{BufferRef, CallError, Called, Queue},
    tiles::Convert,
};

/// Computes y = table\[indices\]: row i of the m×n matrix y is row `indices[i]` of the `rows`×n table, or zero if the table has no such
/// row.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// let table = device.upload(&[1.0f32, 2.0, 3.0, 4.0])?;
/// let indices = device.upload(&[1, -1, 0])?;
/// let mut y = device.output::<f32>(3 * 2)?;
/// call::gather(&kernels, [3, 2], 2, &table, &indices, &mut y)?;
/// assert_eq!(device.download(&y)?, [3.0, 4.0, 0.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
#[doc(alias = "embedding")]
#[doc(alias = "index_select")]
pub fn gather<'a, X>(
    on: impl Into<Queue<'a>>,
    [m, n]: [u32; 2],
    rows: u32,
    table: impl Rows<'a, X>,
    indices: impl Into<BufferRef<'a, i32>>,
    y: impl RowsMut<'a, X>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    f32: Convert<X>,
{
    const CALL: &str = "gather";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((table, ldt), (y, ldy)) = (input(table, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, GatherArgs<X>>(
        CALL,
        [n, ldt, ldy],
        |sizes| Embedding::for_rows(target, X::SIZE, sizes),
        |embedding| embedding.kernel(target),
        (table, ldt, indices.into(), y, ldy, rows, m, n),
    )
}

/// Computes table\[indices\] += x: adds row i of the m×n matrix x to row `indices[i]` of the `rows`×n table. Row i of x is ignored if the
/// table has no row `indices[i]`. If x is the gradient with respect to the result of [`gather`], this accumulates the gradient with respect
/// to the table. If an index occurs more than once, the last bits of the sums in the corresponding row of the table may differ from run to
/// run.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if rows of the table overlap.
#[doc(alias = "index_add")]
pub fn scatter_add<'a, X>(
    on: impl Into<Queue<'a>>,
    [m, n]: [u32; 2],
    rows: u32,
    x: impl Rows<'a, X>,
    indices: impl Into<BufferRef<'a, i32>>,
    table: impl RowsMut<'a, f32>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
{
    const CALL: &str = "scatter_add";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (table, ldt)) = (input(x, n), output(CALL, table, [rows, n])?);
    queue.launch::<_, _, ScatterAddArgs<X>>(
        CALL,
        [n, ldx, ldt],
        |sizes| Embedding::for_added_rows(target, X::SIZE, sizes),
        |embedding| embedding.add_kernel(target),
        (x, ldx, indices.into(), table, ldt, rows, m, n),
    )
}
