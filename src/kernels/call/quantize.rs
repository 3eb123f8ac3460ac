//! Quantization to 8 bits.

use super::{
    operands::{Rows, RowsMut, portable_target},
    rows::{input, output, wider},
};
use crate::{
    kernels::{
        GatedQuantizeArgs, NormFunction, NormQuantizeArgs, PointwiseFunction, Quantize, QuantizeArgs,
        Quantized, ScaleGroup,
    },
    run::{BufferRef, CallError, Called, Queue},
    tiles::Convert,
};

/// Quantizes m rows of n elements to e4m3 or i8: q = round(x / s), as described in [`Quantize`]. `group` determines whether there is one
/// f32 scale s for each row or one for each group of 128 adjacent elements of a row, so `scales` is an m×1 or m×⌈n/128⌉ matrix.
/// Quantization to e4m3 requires a device of compute capability 8.9 or later.
///
/// ```
/// use warpwright::{kernels::{ScaleGroup, call}, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// let x = device.upload(&[1.0f32, -127.0, 0.5, 0.25])?;
/// let (mut q, mut scales) = (device.output::<i8>(4)?, device.output::<f32>(2)?);
/// call::quantize(&kernels, ScaleGroup::Row, [2, 2], &x, &mut q, &mut scales)?;
/// assert_eq!(device.download(&q)?, [1, -127, 127, 64]);
/// assert_eq!(device.download(&scales)?, [1.0, 0.5 / 127.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example if rows of q or of `scales` overlap, or if the device does not support e4m3.
pub fn quantize<'a, X, Q>(
    on: impl Into<Queue<'a>>,
    group: ScaleGroup,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    q: impl RowsMut<'a, Q>,
    scales: impl RowsMut<'a, f32>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    Q: Quantized,
    f32: Convert<Q>,
{
    const CALL: &str = "quantize";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (q, ldq)) = (input(x, n), output(CALL, q, [m, n])?);
    let (scales, lds) = output(CALL, scales, [m, group.scales(n)])?;
    queue.launch::<_, _, QuantizeArgs<X, Q>>(
        CALL,
        (group, [n, ldx, ldq]),
        |(group, sizes)| Quantize::for_rows(*group, target, wider::<X, Q>(), sizes),
        |kernels| kernels.kernel(target),
        (x, ldx, q, ldq, scales, lds, m, n),
    )
}

/// Quantizes norm(x) · w like [`quantize`], without rounding the product first, where norm is the given [`NormFunction`] with ε =
/// `epsilon`. w has n elements.
///
/// # Errors
/// Returns the same errors as [`quantize`].
#[doc(alias = "quantize_norm")]
pub fn norm_quantize<'a, X, W, Q>(
    on: impl Into<Queue<'a>>,
    group: ScaleGroup,
    function: NormFunction,
    [m, n]: [u32; 2],
    epsilon: f32,
    x: impl Rows<'a, X>,
    w: impl Into<BufferRef<'a, W>>,
    q: impl RowsMut<'a, Q>,
    scales: impl RowsMut<'a, f32>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    W: Convert<f32>,
    Q: Quantized,
    f32: Convert<Q>,
{
    const CALL: &str = "norm_quantize";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (q, ldq)) = (input(x, n), output(CALL, q, [m, n])?);
    let (scales, lds) = output(CALL, scales, [m, group.scales(n)])?;
    queue.launch::<_, _, NormQuantizeArgs<X, W, Q>>(
        CALL,
        (group, function, [n, ldx, ldq]),
        |(group, function, sizes)| {
            (Quantize::for_norm_rows(*group, target, wider::<X, Q>(), sizes), *function)
        },
        |(kernels, function)| kernels.norm_kernel(*function, target),
        (x, ldx, w.into(), q, ldq, scales, lds, m, n, epsilon),
    )
}

/// Quantizes f(x) · u like [`quantize`], without rounding the product first, where f is `function`. With [`PointwiseFunction::Silu`], the
/// product is SwiGLU.
///
/// # Errors
/// Returns the same errors as [`quantize`].
#[doc(alias = "quantize_gated")]
#[doc(alias = "SwiGLU")]
pub fn gated_quantize<'a, X, Q>(
    on: impl Into<Queue<'a>>,
    group: ScaleGroup,
    function: PointwiseFunction,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    u: impl Rows<'a, X>,
    q: impl RowsMut<'a, Q>,
    scales: impl RowsMut<'a, f32>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    Q: Quantized,
    f32: Convert<Q>,
{
    const CALL: &str = "gated_quantize";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (u, ldu), (q, ldq)) = (input(x, n), input(u, n), output(CALL, q, [m, n])?);
    let (scales, lds) = output(CALL, scales, [m, group.scales(n)])?;
    queue.launch::<_, _, GatedQuantizeArgs<X, Q>>(
        CALL,
        (group, function, [n, ldx, ldu, ldq]),
        |(group, function, sizes)| (Quantize::for_rows(*group, target, wider::<X, Q>(), sizes), *function),
        |(kernels, function)| kernels.gated_kernel(*function, target),
        (x, ldx, u, ldu, q, ldq, scales, lds, m, n),
    )
}
