//! Functions that operate on the rows of matrices.

use super::operands::{Rows, RowsMut, flattened, portable_target, refused, sizes_of_problem};
use crate::{
    kernels::{
        CrossEntropy, CrossEntropyArgs, GatedArgs, Pointwise, PointwiseArgs, PointwiseFunction, Rotary,
        RotaryArgs, RotaryPairs,
    },
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::Convert,
};

/// Computes the cross-entropy loss of each of m rows of n logits x: log = ln Σₖ e^xₖ and loss = log − x\[target\]. `targets` contains the
/// target of each row, which is a column index. `losses` and `logs` each receive one element per row. The loss of a row is 0 if its target
/// is `ignored`, and NaN if its target is any other value that is not a column index.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
pub fn cross_entropy<'a, X>(
    on: impl Into<Queue<'a>>,
    [m, n]: [u32; 2],
    ignored: i32,
    x: impl Rows<'a, X>,
    targets: impl Into<BufferRef<'a, i32>>,
    losses: impl Into<BufferMut<'a, f32>>,
    logs: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
{
    const CALL: &str = "cross_entropy";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let (x, ldx) = input(x, n);
    queue.launch::<_, _, CrossEntropyArgs<X>>(
        CALL,
        [n, ldx],
        |sizes| CrossEntropy::for_rows(target, X::SIZE, sizes),
        |kernels| kernels.kernel(target),
        (x, ldx, targets.into(), losses.into(), logs.into(), m, n, ignored),
    )
}

/// Computes y = f(x) for each element of an m×n matrix, where f is `function`.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
pub fn pointwise<'a, X, Y>(
    on: impl Into<Queue<'a>>,
    function: PointwiseFunction,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    y: impl RowsMut<'a, Y>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    Y: TensorElement,
    f32: Convert<Y>,
{
    const CALL: &str = "pointwise";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    let ([m, n], [ldx, ldy]) = flattened([m, n], [ldx, ldy]);
    queue.launch::<_, _, PointwiseArgs<X, Y>>(
        CALL,
        (function, sizes_of_problem([n, ldx, ldy])),
        |(function, sizes)| Pointwise::for_rows(*function, target, wider::<X, Y>(), sizes),
        |kernels| kernels.kernel(target),
        (x, ldx, y, ldy, m, n),
    )
}

/// Computes y = f(x) · u for each element of m×n matrices, where f is `function`. With [`PointwiseFunction::Silu`], this is SwiGLU.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
#[doc(alias = "SwiGLU")]
#[doc(alias = "GeGLU")]
pub fn gated<'a, X, Y>(
    on: impl Into<Queue<'a>>,
    function: PointwiseFunction,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    u: impl Rows<'a, X>,
    y: impl RowsMut<'a, Y>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    Y: TensorElement,
    f32: Convert<Y>,
{
    const CALL: &str = "gated";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (u, ldu), (y, ldy)) = (input(x, n), input(u, n), output(CALL, y, [m, n])?);
    let ([m, n], [ldx, ldu, ldy]) = flattened([m, n], [ldx, ldu, ldy]);
    queue.launch::<_, _, GatedArgs<X, Y>>(
        CALL,
        (function, sizes_of_problem([n, ldx, ldu, ldy])),
        |(function, sizes)| Pointwise::for_rows(*function, target, wider::<X, Y>(), sizes),
        |kernels| kernels.gated_kernel(target),
        (x, ldx, u, ldu, y, ldy, m, n),
    )
}

/// Computes y = f(x) + u for each element of m×n matrices, where f is `function`. With [`PointwiseFunction::Identity`], this is the sum of
/// two matrices, for example for a residual connection.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
#[doc(alias = "residual_add")]
pub fn add<'a, X, Y>(
    on: impl Into<Queue<'a>>,
    function: PointwiseFunction,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    u: impl Rows<'a, X>,
    y: impl RowsMut<'a, Y>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    Y: TensorElement,
    f32: Convert<Y>,
{
    const CALL: &str = "add";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (u, ldu), (y, ldy)) = (input(x, n), input(u, n), output(CALL, y, [m, n])?);
    let ([m, n], [ldx, ldu, ldy]) = flattened([m, n], [ldx, ldu, ldy]);
    queue.launch::<_, _, GatedArgs<X, Y>>(
        CALL,
        (function, sizes_of_problem([n, ldx, ldu, ldy])),
        |(function, sizes)| Pointwise::for_rows(*function, target, wider::<X, Y>(), sizes),
        |kernels| kernels.added_kernel(target),
        (x, ldx, u, ldu, y, ldy, m, n),
    )
}

/// The tables of cosines and sines for [`rotary`], and the positions of the tokens, which are row indices in these tables.
#[derive(Clone, Copy, Debug)]
pub struct RotaryTables<'a> {
    /// The cosines: a contiguous `rows`×`half` matrix.
    pub cos: BufferRef<'a, f32>,
    /// The sines: a contiguous `rows`×`half` matrix.
    pub sin: BufferRef<'a, f32>,
    /// The number of rows of the tables: one for each position.
    pub rows: u32,
    /// The number of columns of the tables: one for each pair of elements that is rotated.
    pub half: u32,
    /// The positions of the tokens: one element per token.
    pub positions: BufferRef<'a, i32>,
}

/// Applies rotary position embeddings: rotates `half` pairs of elements of each head by the angles for the token's position, whose cosines
/// and sines are in `tables`. `pairs` determines which elements form a pair. `sizes` is `[tokens, heads, n]`: x and y have `tokens`·`heads`
/// rows of n elements, one for each head of each token; the rows of a token are consecutive. If a token's position is not in the tables,
/// its pairs become zero. Elements after the first 2·`half` of each row are copied.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `half` is greater than n / 2.
#[doc(alias = "RoPE")]
pub fn rotary<'a, X>(
    on: impl Into<Queue<'a>>,
    pairs: RotaryPairs,
    sizes: [u32; 3],
    tables: &RotaryTables<'a>,
    x: impl Rows<'a, X>,
    y: impl RowsMut<'a, X>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    f32: Convert<X>,
{
    rotated("rotary", on.into(), (pairs, false), sizes, tables, x, y)
}

/// Computes the gradient of [`rotary`] with respect to x, given the gradient with respect to y. The pairs are rotated by the negated
/// angles, so this function is also the inverse of [`rotary`]. `pairs`, `sizes` and `tables` have the same meaning as in [`rotary`].
///
/// # Errors
/// Returns the same errors as [`rotary`].
#[doc(alias = "inverse_rotary")]
#[doc(alias = "RoPE")]
pub fn rotary_backward<'a, X>(
    on: impl Into<Queue<'a>>,
    pairs: RotaryPairs,
    sizes: [u32; 3],
    tables: &RotaryTables<'a>,
    dy: impl Rows<'a, X>,
    dx: impl RowsMut<'a, X>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    f32: Convert<X>,
{
    rotated("rotary_backward", on.into(), (pairs, true), sizes, tables, dy, dx)
}

/// Rotates by the angles, or by the negated angles if `inverse` is true.
fn rotated<'a, X>(
    call: &'static str,
    queue: Queue<'a>,
    (pairs, inverse): (RotaryPairs, bool),
    [tokens, heads, n]: [u32; 3],
    tables: &RotaryTables<'a>,
    x: impl Rows<'a, X>,
    y: impl RowsMut<'a, X>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    f32: Convert<X>,
{
    let target = portable_target(call, queue)?;
    let RotaryTables { cos, sin, rows, half, positions } = *tables;
    if half > n / 2 {
        return Err(refused(call, format!("at most {} pairs in heads of {n} elements", n / 2), half));
    }
    let all = u64::from(tokens) * u64::from(heads);
    let m = u32::try_from(all).map_err(|_| refused(call, "fewer than 2³² heads of all tokens", all))?;
    let ((x, ldx), (y, ldy)) = (input(x, n), output(call, y, [m, n])?);
    queue.launch::<_, _, RotaryArgs<X>>(
        call,
        (pairs, [half, n, ldx, ldy]),
        |(pairs, sizes)| Rotary { inverse, ..Rotary::for_rows(*pairs, X::SIZE, sizes) },
        |rotary| rotary.kernel(target),
        (x, ldx, cos, sin, half, rows, positions, tokens, heads.max(1), half, y, ldy, m, n),
    )
}

/// Returns the size in bytes of the wider of the two types.
pub(super) const fn wider<X: TensorElement, Y: TensorElement>() -> u32 {
    if X::SIZE > Y::SIZE { X::SIZE } else { Y::SIZE }
}

/// Returns the buffer of a matrix with rows of n elements, and the stride between the rows.
pub(super) fn input<'a, T>(matrix: impl Rows<'a, T>, n: u32) -> (BufferRef<'a, T>, u32) {
    let (buffer, distance) = matrix.rows();
    (buffer, distance.unwrap_or(n))
}

/// Returns the buffer of an m×n result and the stride between its rows. Rejects overlapping rows.
pub(super) fn output<'a, T>(
    call: &'static str,
    matrix: impl RowsMut<'a, T>,
    [m, n]: [u32; 2],
) -> Result<(BufferMut<'a, T>, u32), CallError> {
    let (buffer, distance) = matrix.rows_mut();
    let distance = distance.unwrap_or(n);
    if distance < n && m > 1 {
        return Err(refused(call, format!("rows of results that are at least {n} elements apart"), distance));
    }
    Ok((buffer, distance))
}
