//! Quantization to 8 bits.

use super::{
    operands::{Rows, RowsMut, portable_target},
    rows::{input, output, wider},
};
use crate::{
    kernels::{Quantize, QuantizeArgs, Quantized, ScaleGroup},
    run::{CallError, Called, Queue},
    tiles::Convert,
};

/// Quantizes each of m rows of n elements to e4m3 or i8, with one f32 scale for each row or for each group of 128 adjacent elements of a
/// row, as [`Quantize`] does: q = round(x / s). `scales` is an m×1 or m×⌈n/128⌉ matrix. e4m3 requires a device of compute capability 8.9 or
/// later.
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
/// Returns [`CallError`], for example if rows of q or of the scales overlap, or for e4m3 on older devices.
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
