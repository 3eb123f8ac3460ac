//! Norms of matrix rows, optionally after a residual is added.

use super::{
    operands::{Rows, RowsMut, portable_target},
    rows::{input, output, wider},
};
use crate::{
    kernels::{BiasedNormArgs, Norm, NormArgs, NormFunction, ResidualBiasedNormArgs, ResidualNormArgs},
    run::{BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::Convert,
};

/// Computes y = norm(x) · w for each of m rows of n elements, where norm is the given [`NormFunction`] with ε = `epsilon`. w has n
/// elements.
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

/// Computes y = norm(x) · w + b for each of m rows of n elements, where norm is the given [`NormFunction`] with ε = `epsilon`. w and b have
/// n elements.
///
/// ```
/// use warpwright::{kernels::{NormFunction, call}, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// let x = device.upload(&[1.0f32, 3.0, -5.0, 5.0])?;
/// let (w, b) = (device.upload(&[2.0f32, 2.0])?, device.upload(&[0.0f32, 10.0])?);
/// let mut y = device.output::<f32>(4)?;
/// call::biased_norm(&kernels, NormFunction::Layer, [2, 2], 0.0, &x, (&w, &b), &mut y)?;
/// assert_eq!(device.download(&y)?, [-2.0, 12.0, -2.0, 12.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
#[doc(alias = "LayerNorm")]
pub fn biased_norm<'a, X, W, Y>(
    on: impl Into<Queue<'a>>,
    function: NormFunction,
    [m, n]: [u32; 2],
    epsilon: f32,
    x: impl Rows<'a, X>,
    (w, b): (impl Into<BufferRef<'a, W>>, impl Into<BufferRef<'a, W>>),
    y: impl RowsMut<'a, Y>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    W: Convert<f32>,
    Y: TensorElement,
    f32: Convert<X> + Convert<Y>,
{
    const CALL: &str = "biased_norm";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, BiasedNormArgs<X, W, Y>>(
        CALL,
        (function, [n, ldx, ldy]),
        |(function, sizes)| Norm::for_biased_rows(*function, target, wider::<X, Y>(), sizes),
        |norm| norm.biased_kernel(target),
        (x, ldx, w.into(), b.into(), y, ldy, m, n, epsilon),
    )
}

/// Computes h = x + r, rounded to the type of x, and y = norm(h) · w for each of m rows of n elements, where norm is the given
/// [`NormFunction`] with ε = `epsilon`. w has n elements.
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

/// Computes h = x + r, rounded to the type of x, and y = norm(h) · w + b for each of m rows of n elements, where norm is the given
/// [`NormFunction`] with ε = `epsilon`. w and b have n elements.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
#[doc(alias = "add_layernorm")]
pub fn residual_biased_norm<'a, X, W, Y>(
    on: impl Into<Queue<'a>>,
    function: NormFunction,
    [m, n]: [u32; 2],
    epsilon: f32,
    (x, r): (impl Rows<'a, X>, impl Rows<'a, X>),
    (w, b): (impl Into<BufferRef<'a, W>>, impl Into<BufferRef<'a, W>>),
    (h, y): (impl RowsMut<'a, X>, impl RowsMut<'a, Y>),
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    W: Convert<f32>,
    Y: TensorElement,
    f32: Convert<X> + Convert<Y>,
{
    const CALL: &str = "residual_biased_norm";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (r, ldr)) = (input(x, n), input(r, n));
    let ((h, ldh), (y, ldy)) = (output(CALL, h, [m, n])?, output(CALL, y, [m, n])?);
    queue.launch::<_, _, ResidualBiasedNormArgs<X, W, Y>>(
        CALL,
        (function, [n, ldx, ldr, ldh, ldy]),
        |(function, sizes)| Norm::for_residual_rows(*function, target, wider::<X, Y>(), sizes),
        |norm| norm.residual_biased_kernel(target),
        (x, ldx, r, ldr, w.into(), b.into(), h, ldh, y, ldy, m, n, epsilon),
    )
}
