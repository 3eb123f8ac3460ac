//! Functions that operate on the rows of matrices.

use super::operands::{Rows, RowsMut, portable_target, refused};
use crate::{
    kernels::{
        CrossEntropy, CrossEntropyArgs, GatedArgs, Norm, NormArgs, NormFunction, Pointwise, PointwiseArgs,
        PointwiseFunction, ResidualNormArgs, Rotary, RotaryArgs, RotaryPairs, Softmax, SoftmaxArgs,
    },
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::Convert,
};

/// Computes y = norm(x) · w along each of the m rows of n elements; w has n elements.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
#[doc(alias = "RMSNorm")]
#[doc(alias = "LayerNorm")]
pub fn norm<'a, X, W, Y>(
    on: impl Into<Queue<'a>>,
    function: NormFunction,
    [m, n]: [u32; 2],
    epsilon: f32,
    x: impl Rows<'a, X>,
    w: impl Into<BufferRef<'a, W>>,
    y: impl RowsMut<'a, Y>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    W: Convert<f32>,
    Y: TensorElement,
    f32: Convert<X> + Convert<Y>,
{
    const CALL: &str = "norm";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, NormArgs<X, W, Y>>(
        CALL,
        (function, [n, ldx, ldy]),
        |(function, sizes)| Norm::for_rows(*function, target, wider::<X, Y>(), sizes),
        |norm| norm.kernel(target),
        (x, ldx, w.into(), y, ldy, m, n, epsilon),
    )
}

/// Computes h = x + r, rounded to the type of h, and y = norm(h) · w along each of the m rows of n elements.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
#[doc(alias = "add_rmsnorm")]
pub fn residual_norm<'a, X, W, Y>(
    on: impl Into<Queue<'a>>,
    function: NormFunction,
    [m, n]: [u32; 2],
    epsilon: f32,
    (x, r): (impl Rows<'a, X>, impl Rows<'a, X>),
    w: impl Into<BufferRef<'a, W>>,
    (h, y): (impl RowsMut<'a, X>, impl RowsMut<'a, Y>),
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    W: Convert<f32>,
    Y: TensorElement,
    f32: Convert<X> + Convert<Y>,
{
    const CALL: &str = "residual_norm";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (r, ldr)) = (input(x, n), input(r, n));
    let ((h, ldh), (y, ldy)) = (output(CALL, h, [m, n])?, output(CALL, y, [m, n])?);
    queue.launch::<_, _, ResidualNormArgs<X, W, Y>>(
        CALL,
        (function, [n, ldx, ldr, ldh, ldy]),
        |(function, sizes)| Norm::for_residual_rows(*function, target, wider::<X, Y>(), sizes),
        |norm| norm.residual_kernel(target),
        (x, ldx, r, ldr, w.into(), h, ldh, y, ldy, m, n, epsilon),
    )
}

/// Computes y = softmax(`scale` · x) along each of the m rows of n elements, or its natural logarithm if `log`. `scale` must be positive.
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
    if scale.is_nan() || scale <= 0.0 {
        return Err(refused(CALL, "a positive scale", scale));
    }
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, SoftmaxArgs<X, Y>>(
        CALL,
        (log, [n, ldx, ldy]),
        |(log, sizes)| Softmax { log: *log, ..Softmax::for_rows(target, wider::<X, Y>(), sizes) },
        |softmax| softmax.kernel(target),
        (x, ldx, y, ldy, m, n, scale),
    )
}

/// Computes `logs` = ln Σₖ e^xₖ and `losses` = `logs` − x\[targets\] for each of the m rows of n logits. A row whose target is `ignored`
/// has loss 0.
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

/// Computes y = f(x) for each element of an m×n matrix.
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
    queue.launch::<_, _, PointwiseArgs<X, Y>>(
        CALL,
        (function, [n, ldx, ldy]),
        |(function, sizes)| Pointwise::for_rows(*function, target, wider::<X, Y>(), sizes),
        |kernels| kernels.kernel(target),
        (x, ldx, y, ldy, m, n),
    )
}

/// Computes y = f(x) · u for each element of m×n matrices. With [`PointwiseFunction::Silu`], this is SwiGLU.
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
    queue.launch::<_, _, GatedArgs<X, Y>>(
        CALL,
        (function, [n, ldx, ldu, ldy]),
        |(function, sizes)| Pointwise::for_rows(*function, target, wider::<X, Y>(), sizes),
        |kernels| kernels.gated_kernel(target),
        (x, ldx, u, ldu, y, ldy, m, n),
    )
}

/// The tables of angles for [`rotary`], and the positions of the tokens in these tables.
#[derive(Clone, Copy, Debug)]
pub struct RotaryTables<'a> {
    /// The cosines, a `rows`×`half` matrix.
    pub cos: BufferRef<'a, f32>,
    /// The sines, a `rows`×`half` matrix.
    pub sin: BufferRef<'a, f32>,
    /// The number of positions in the tables.
    pub rows: u32,
    /// The number of pairs that are rotated in each head.
    pub half: u32,
    /// The position of each token, one element per token.
    pub positions: BufferRef<'a, i32>,
}

/// Rotates `half` pairs of each head by the angles for the position of the head's token. x and y have `tokens`·`heads` rows of n elements,
/// one for each head; the rows of a token are consecutive. `tables` must contain the positions of all tokens.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if a head has fewer than `half` pairs.
#[doc(alias = "RoPE")]
pub fn rotary<'a, X>(
    on: impl Into<Queue<'a>>,
    pairs: RotaryPairs,
    [tokens, heads, n]: [u32; 3],
    tables: &RotaryTables<'a>,
    x: impl Rows<'a, X>,
    y: impl RowsMut<'a, X>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    f32: Convert<X>,
{
    const CALL: &str = "rotary";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let RotaryTables { cos, sin, rows, half, positions } = *tables;
    if half > n / 2 {
        return Err(refused(CALL, format!("at most {} pairs in heads of {n} elements", n / 2), half));
    }
    let all = u64::from(tokens) * u64::from(heads);
    let m = u32::try_from(all).map_err(|_| refused(CALL, "fewer than 2³² heads of all tokens", all))?;
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, RotaryArgs<X>>(
        CALL,
        (pairs, [half, n, ldx, ldy]),
        |(pairs, sizes)| Rotary::for_rows(*pairs, X::SIZE, sizes),
        |rotary| rotary.kernel(target),
        (x, ldx, cos, sin, half, rows, positions, tokens, heads.max(1), half, y, ldy, m, n),
    )
}

/// Returns the size in bytes of the wider type.
pub(super) const fn wider<X: TensorElement, Y: TensorElement>() -> u32 {
    if X::SIZE > Y::SIZE { X::SIZE } else { Y::SIZE }
}

/// Returns a matrix with rows of n elements, and the stride between them.
pub(super) fn input<'a, T>(matrix: impl Rows<'a, T>, n: u32) -> (BufferRef<'a, T>, u32) {
    let (buffer, distance) = matrix.rows();
    (buffer, distance.unwrap_or(n))
}

/// Returns a matrix of results and the stride between its rows, which must not overlap.
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
