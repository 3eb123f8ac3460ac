//! Reductions of the rows or columns of a matrix.

use super::{
    operands::{Rows, portable_target},
    rows::input,
};
use crate::{
    kernels::{ColumnReduction, ColumnReductionArgs, Reduction, RowReduction, RowReductionArgs},
    ptx::Target,
    run::{BufferMut, BufferRef, CallError, Called, KernelCache, Queue},
    tensor::TensorElement,
    tiles::Convert,
};

/// Computes the sum, mean, maximum, minimum or 2-norm, as selected by `function`, of each of m rows of n elements. Arithmetic is performed
/// in f32. y has m elements.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
pub fn reduce_rows<'a, X: Convert<f32>>(
    on: impl Into<Queue<'a>>,
    function: Reduction,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    y: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError> {
    const CALL: &str = "reduce_rows";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let (x, ldx) = input(x, n);
    queue.launch::<_, _, RowReductionArgs<X>>(
        CALL,
        (function, [n, ldx]),
        |(function, sizes)| RowReduction::for_rows(*function, target, X::SIZE, sizes),
        |reduction| reduction.kernel(target),
        (x, ldx, y.into(), m, n),
    )
}

/// Computes the sum, mean, maximum, minimum or 2-norm, as selected by `function`, of each of the n columns of an m×n matrix. Arithmetic is
/// performed in f32. y has n elements. Matrices with many rows are reduced in two launches: the first reduces parts of each column and
/// writes the results to `workspace`, and the second combines these results. The returned [`Called`] describes the first launch.
///
/// ```
/// use warpwright::{kernels::{Reduction, call}, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// let (size, x) = ([1000, 3], device.upload(&[[0.5f32, 1.0, 2.0]; 1000].concat())?);
/// let mut workspace = device.output(call::column_workspace::<f32>(&kernels, Reduction::Sum, size))?;
/// let mut y = device.output(3)?;
/// call::reduce_columns(&kernels, Reduction::Sum, size, &x, &mut y, &mut workspace)?;
/// assert_eq!(device.download(&y)?, [500.0, 1000.0, 2000.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example if `workspace` has fewer elements than [`column_workspace`] returns. If the second launch fails, the
/// contents of y are unspecified.
pub fn reduce_columns<'a, X: Convert<f32>>(
    on: impl Into<Queue<'a>>,
    function: Reduction,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    y: impl Into<BufferMut<'a, f32>>,
    workspace: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError> {
    const CALL: &str = "reduce_columns";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let (x, y) = (input(x, n), y.into());
    let parts = column_parts::<X>(queue.cache(), target, function, [m, n]);
    if parts == 1 {
        return reduce_parts(CALL, queue, target, function, [m, n, 1], x, y);
    }
    let mut workspace = workspace.into();
    let first = reduce_parts(CALL, queue, target, function, [m, n, parts], x, workspace.reborrow())?;
    reduce_parts(CALL, queue, target, function, [parts, n, 1], (workspace.as_read(), n), y)?;
    Ok(first)
}

/// Returns the required length, in elements, of the workspace of [`reduce_columns`] for an m×n matrix with elements of type `X` on the
/// device of `kernels`. The length is 0 if a single launch reduces the matrix.
#[must_use]
pub fn column_workspace<X: TensorElement>(
    kernels: &KernelCache<'_>,
    function: Reduction,
    [m, n]: [u32; 2],
) -> usize {
    let (major, minor) = kernels.capability();
    let Some(target) = Target::newest_portable(major, minor) else { return 0 };
    match column_parts::<X>(kernels, target, function, [m, n]) {
        1 => 0,
        parts => parts as usize * n as usize,
    }
}

/// Returns the number of parts of each column in the first launch.
fn column_parts<X: TensorElement>(
    kernels: &KernelCache<'_>,
    target: Target,
    function: Reduction,
    size @ [_, n]: [u32; 2],
) -> u32 {
    ColumnReduction::for_rows(function, target, X::SIZE, &[n]).parts(kernels.multiprocessors(), size)
}

/// Launches the reduction of the columns of an m×n matrix in `parts` parts; the results of each part form a row of y.
pub(super) fn reduce_parts<X: Convert<f32>>(
    call: &'static str,
    queue: Queue<'_>,
    target: Target,
    function: Reduction,
    [m, n, parts]: [u32; 3],
    (x, ldx): (BufferRef<'_, X>, u32),
    y: BufferMut<'_, f32>,
) -> Result<Called, CallError> {
    queue.launch::<_, _, ColumnReductionArgs<X>>(
        call,
        (function, [n, ldx]),
        |(function, sizes)| ColumnReduction::for_rows(*function, target, X::SIZE, sizes),
        |reduction| reduction.kernel(target),
        (x, ldx, y, n, parts, m, n),
    )
}
