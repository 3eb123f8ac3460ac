//! Softmax along the rows of matrices, with and without a mask.

use super::{
    operands::{Rows, RowsMut, portable_target, refused},
    rows::{input, output, wider},
};
use crate::{
    kernels::{CausalSoftmaxArgs, LengthsSoftmaxArgs, Softmax, SoftmaxArgs},
    run::{BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::Convert,
};

/// Computes y = softmax(`scale` · x) for each of m rows of n elements or, if `log` is true, the natural logarithm of the softmax. `scale`
/// must be positive.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
pub fn softmax<'a, X, Y>(
    on: impl Into<Queue<'a>>,
    log: bool,
    [m, n]: [u32; 2],
    scale: f32,
    x: impl Rows<'a, X>,
    y: impl RowsMut<'a, Y>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    Y: TensorElement,
    f32: Convert<Y>,
{
    const CALL: &str = "softmax";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    check_scale(CALL, scale)?;
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, SoftmaxArgs<X, Y>>(
        CALL,
        (log, [n, ldx, ldy]),
        |(log, sizes)| Softmax { log: *log, ..Softmax::for_rows(target, wider::<X, Y>(), sizes) },
        |softmax| softmax.kernel(target),
        (x, ldx, y, ldy, m, n, scale),
    )
}

/// Computes y like [`softmax`], but with a causal mask: the softmax of row i includes only the first `first + i % queries` columns. The
/// remaining elements of that row of y become 0, or −∞ if `log` is true. Each group of `queries` consecutive rows contains the scores of
/// one head. If `first` is 1, query q attends to the first q + 1 keys; if `first` is 1 + n − `queries`, the last query attends to all keys.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// // The scores of two heads of two queries and two keys.
/// let (x, mut y) = (device.upload(&[3.0f32; 8])?, device.output::<f32>(8)?);
/// call::causal_softmax(&kernels, false, [4, 2], 1.0, (2, 1), &x, &mut y)?;
/// assert_eq!(device.download(&y)?, [1.0, 0.0, 0.5, 0.5, 1.0, 0.0, 0.5, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `queries` is 0.
pub fn causal_softmax<'a, X, Y>(
    on: impl Into<Queue<'a>>,
    log: bool,
    [m, n]: [u32; 2],
    scale: f32,
    (queries, first): (u32, i32),
    x: impl Rows<'a, X>,
    y: impl RowsMut<'a, Y>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    Y: TensorElement,
    f32: Convert<Y>,
{
    const CALL: &str = "causal_softmax";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    check_scale(CALL, scale)?;
    if queries == 0 {
        return Err(refused(CALL, "at least 1 query", queries));
    }
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, CausalSoftmaxArgs<X, Y>>(
        CALL,
        (log, [n, ldx, ldy]),
        |(log, sizes)| Softmax { log: *log, ..Softmax::for_masked_rows(target, wider::<X, Y>(), sizes) },
        |softmax| softmax.causal_kernel(target),
        (x, ldx, y, ldy, m, n, scale, queries, first),
    )
}

/// Computes y like [`softmax`], but for rows of different lengths: the softmax of row i includes only the first `lengths[i / rows]`
/// columns. The remaining elements of that row of y become 0, or −∞ if `log` is true. `lengths` has ⌈m / `rows`⌉ elements.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `rows` is 0.
pub fn lengths_softmax<'a, X, Y>(
    on: impl Into<Queue<'a>>,
    log: bool,
    [m, n]: [u32; 2],
    scale: f32,
    (lengths, rows): (impl Into<BufferRef<'a, u32>>, u32),
    x: impl Rows<'a, X>,
    y: impl RowsMut<'a, Y>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    Y: TensorElement,
    f32: Convert<Y>,
{
    const CALL: &str = "lengths_softmax";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    check_scale(CALL, scale)?;
    if rows == 0 {
        return Err(refused(CALL, "at least 1 row for each length", rows));
    }
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, LengthsSoftmaxArgs<X, Y>>(
        CALL,
        (log, [n, ldx, ldy]),
        |(log, sizes)| Softmax { log: *log, ..Softmax::for_masked_rows(target, wider::<X, Y>(), sizes) },
        |softmax| softmax.lengths_kernel(target),
        (x, ldx, y, ldy, m, n, scale, lengths.into(), m.div_ceil(rows), rows),
    )
}

/// Rejects a scale that is not positive, or whose product with log₂ e is infinite.
pub(super) fn check_scale(call: &'static str, scale: f32) -> Result<(), CallError> {
    let is_valid = scale > 0.0 && (scale * std::f32::consts::LOG2_E).is_finite();
    if is_valid { Ok(()) } else { Err(refused(call, "a positive scale of at most 2.3e38", scale)) }
}
