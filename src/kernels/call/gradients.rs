//! Gradients of functions that operate on the rows of matrices.

use super::{
    operands::{Rows, RowsMut, flattened, portable_target, sizes_of_problem},
    reductions::reduce_parts,
    rows::{input, output, wider},
    softmax::check_scale,
};
use crate::{
    kernels::{
        CrossEntropy, CrossEntropyBackwardArgs, GatedArgs, GatedBackwardArgs, NormBackward, NormBackwardArgs,
        NormFunction, Pointwise, PointwiseFunction, Reduction, RowTiling, SoftmaxBackward,
        SoftmaxBackwardArgs,
    },
    ptx::Target,
    run::{BufferMut, BufferRef, CallError, Called, KernelCache, Queue},
    tensor::TensorElement,
    tiles::Convert,
};

/// Computes dx = f′(x) · dy, the gradient of [`pointwise`](super::pointwise), for each element of m×n matrices, where f is `function`.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
pub fn pointwise_backward<'a, X>(
    on: impl Into<Queue<'a>>,
    function: PointwiseFunction,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    dy: impl Rows<'a, X>,
    dx: impl RowsMut<'a, X>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    f32: Convert<X>,
{
    const CALL: &str = "pointwise_backward";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (dy, lddy), (dx, lddx)) = (input(x, n), input(dy, n), output(CALL, dx, [m, n])?);
    let ([m, n], [ldx, lddy, lddx]) = flattened([m, n], [ldx, lddy, lddx]);
    queue.launch::<_, _, GatedArgs<X, X>>(
        CALL,
        (function, sizes_of_problem([n, ldx, lddy, lddx])),
        |(function, sizes)| Pointwise::for_rows(*function, target, X::SIZE, sizes),
        |kernels| kernels.backward_kernel(target),
        (x, ldx, dy, lddy, dx, lddx, m, n),
    )
}

/// Computes dx = f′(x) · u · dy and du = f(x) · dy, the gradients of [`gated`](super::gated), for each element of m×n matrices, where f is
/// `function`.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
#[doc(alias = "SwiGLU")]
#[doc(alias = "GeGLU")]
pub fn gated_backward<'a, X>(
    on: impl Into<Queue<'a>>,
    function: PointwiseFunction,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    u: impl Rows<'a, X>,
    dy: impl Rows<'a, X>,
    (dx, du): (impl RowsMut<'a, X>, impl RowsMut<'a, X>),
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    f32: Convert<X>,
{
    const CALL: &str = "gated_backward";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (u, ldu), (dy, lddy)) = (input(x, n), input(u, n), input(dy, n));
    let ((dx, lddx), (du, lddu)) = (output(CALL, dx, [m, n])?, output(CALL, du, [m, n])?);
    let ([m, n], [ldx, ldu, lddy, lddx, lddu]) = flattened([m, n], [ldx, ldu, lddy, lddx, lddu]);
    queue.launch::<_, _, GatedBackwardArgs<X>>(
        CALL,
        (function, sizes_of_problem([n, ldx, ldu, lddy, lddx, lddu])),
        |(function, sizes)| Pointwise::for_rows(*function, target, X::SIZE, sizes),
        |kernels| kernels.gated_backward_kernel(target),
        (x, ldx, u, ldu, dy, lddy, dx, lddx, du, lddu, m, n),
    )
}

/// Computes dx, the gradient of [`softmax`](super::softmax()), for each of m rows of n elements. `log` and `scale` must be those of the
/// forward call, y is its result, and dy is the gradient with respect to y. This function also computes the gradients of
/// [`causal_softmax`](super::causal_softmax) and [`lengths_softmax`](super::lengths_softmax). See [`SoftmaxBackward`] for a description of
/// the kernel.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `scale` is not positive.
pub fn softmax_backward<'a, Y, X>(
    on: impl Into<Queue<'a>>,
    log: bool,
    [m, n]: [u32; 2],
    scale: f32,
    y: impl Rows<'a, Y>,
    dy: impl Rows<'a, Y>,
    dx: impl RowsMut<'a, X>,
) -> Result<Called, CallError>
where
    Y: Convert<f32>,
    X: Convert<f32>,
    f32: Convert<X>,
{
    const CALL: &str = "softmax_backward";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    check_scale(CALL, scale)?;
    let ((y, ldy), (dy, lddy), (dx, lddx)) = (input(y, n), input(dy, n), output(CALL, dx, [m, n])?);
    queue.launch::<_, _, SoftmaxBackwardArgs<Y, X>>(
        CALL,
        (log, [n, ldy, lddy, lddx]),
        |(log, sizes)| SoftmaxBackward {
            log: *log,
            ..SoftmaxBackward::for_rows(target, wider::<Y, X>(), sizes)
        },
        |softmax| softmax.kernel(target),
        (y, ldy, dy, lddy, dx, lddx, m, n, scale),
    )
}

/// Computes the gradient of [`cross_entropy`](super::cross_entropy) with respect to the logits x for m rows of n elements: dxⱼ = (e^(xⱼ −
/// log) − δⱼ) · dloss, where δⱼ is 1 if j is the target of the row, and 0 otherwise. Here, log is the row's element of `logs`, a result of
/// `cross_entropy`, and dloss is the row's element of `dlosses`. The gradient of a row is 0 if its target is `ignored`.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
pub fn cross_entropy_backward<'a, X>(
    on: impl Into<Queue<'a>>,
    [m, n]: [u32; 2],
    ignored: i32,
    x: impl Rows<'a, X>,
    targets: impl Into<BufferRef<'a, i32>>,
    logs: impl Into<BufferRef<'a, f32>>,
    dlosses: impl Into<BufferRef<'a, f32>>,
    dx: impl RowsMut<'a, X>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    f32: Convert<X>,
{
    const CALL: &str = "cross_entropy_backward";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (dx, lddx)) = (input(x, n), output(CALL, dx, [m, n])?);
    queue.launch::<_, _, CrossEntropyBackwardArgs<X>>(
        CALL,
        [n, ldx, lddx],
        |sizes| CrossEntropy::for_rows(target, X::SIZE, sizes),
        |kernels| kernels.backward_kernel(target),
        (x, ldx, targets.into(), logs.into(), dlosses.into(), dx, lddx, m, n, ignored),
    )
}

/// Computes the gradients dx, dw and db of y = norm(x) · w + b for m rows of n elements, where norm is the given [`NormFunction`] with ε =
/// `epsilon`, and dy is the gradient with respect to y. dw = Σ dy · norm(x) and db = Σ dy are sums over the rows and have n elements each.
/// There are three launches. The first computes dx and writes partial sums to the two workspaces (see [`NormBackward`]). The second adds
/// the partial sums of dw, and the third adds those of db. Results are bit-identical in every run. The returned [`Called`] describes the
/// first launch.
///
/// ```
/// use warpwright::{kernels::{NormFunction, call}, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// let (size, x) = ([2, 2], device.upload(&[1.0f32, 3.0, -5.0, 5.0])?);
/// let (w, dy) = (device.upload(&[1.0f32, 1.0])?, device.upload(&[1.0f32, 2.0, 3.0, 4.0])?);
/// let mut dx = device.output::<f32>(4)?;
/// let (mut dw, mut db) = (device.output::<f32>(2)?, device.output::<f32>(2)?);
/// let length = call::norm_backward_workspace::<f32>(&kernels, size);
/// let (mut dw_parts, mut db_parts) = (device.output::<f32>(length)?, device.output::<f32>(length)?);
/// let workspace = [&mut dw_parts, &mut db_parts];
/// call::norm_backward(&kernels, NormFunction::Layer, size, 0.0, &x, &w, &dy, &mut dx, (&mut dw, &mut db), workspace)?;
/// assert_eq!(device.download(&dw)?, [-4.0, 6.0]);
/// assert_eq!(device.download(&db)?, [4.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example if a workspace has fewer elements than [`norm_backward_workspace`] returns. On devices of compute
/// capability 9.0 or later, except 12.x, rows may have at most 65,536 elements, or 131,072 if they are aligned and their elements are
/// 16-bit; other devices have lower limits. If the second or third launch fails, the contents of the results are unspecified.
#[doc(alias = "rmsnorm_backward")]
#[doc(alias = "layernorm_backward")]
pub fn norm_backward<'a, X, W>(
    on: impl Into<Queue<'a>>,
    function: NormFunction,
    [m, n]: [u32; 2],
    epsilon: f32,
    x: impl Rows<'a, X>,
    w: impl Into<BufferRef<'a, W>>,
    dy: impl Rows<'a, X>,
    dx: impl RowsMut<'a, X>,
    (dw, db): (impl Into<BufferMut<'a, f32>>, impl Into<BufferMut<'a, f32>>),
    workspace: [impl Into<BufferMut<'a, f32>>; 2],
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    W: Convert<f32>,
    f32: Convert<X>,
{
    const CALL: &str = "norm_backward";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (dy, lddy), (dx, lddx)) = (input(x, n), input(dy, n), output(CALL, dx, [m, n])?);
    let sizes = [n, ldx, lddy, lddx];
    let backward = NormBackward::for_rows(function, target, X::SIZE, &sizes);
    let parts = parts_of(&backward, queue.cache(), m);
    let [mut dw_parts, mut db_parts] = workspace.map(Into::into);
    let called = queue.launch::<_, _, NormBackwardArgs<X, W>>(
        CALL,
        (function, sizes),
        |_| backward,
        |backward| backward.kernel(target),
        (
            x,
            ldx,
            w.into(),
            dy,
            lddy,
            dx,
            lddx,
            dw_parts.reborrow(),
            db_parts.reborrow(),
            parts,
            m,
            n,
            epsilon,
        ),
    )?;
    for (sums, to) in [(dw_parts, dw.into()), (db_parts, db.into())] {
        reduce_parts(CALL, queue, target, Reduction::Sum, [parts, n, 1], (sums.as_read(), n), to)?;
    }
    Ok(called)
}

/// Returns the required length, in elements, of each of the two workspaces of [`norm_backward`], for m rows of n elements of type `X` on
/// the device of `kernels`. This length suffices for all strides between rows.
#[must_use]
pub fn norm_backward_workspace<X: TensorElement>(kernels: &KernelCache<'_>, [m, n]: [u32; 2]) -> usize {
    let (major, minor) = kernels.capability();
    let Some(target) = Target::newest_portable(major, minor) else { return 0 };
    // One stride for each possible alignment of rows of n elements.
    let sizes = [n, 8, 4, 2, 1].map(|stride| [n, stride]);
    let functions = [NormFunction::Rms, NormFunction::Layer];
    let backward = functions
        .into_iter()
        .flat_map(|function| sizes.map(|sizes| NormBackward::for_rows(function, target, X::SIZE, &sizes)));
    let parts = backward.map(|backward| parts_of(&backward, kernels, m)).max();
    parts.unwrap_or(0) as usize * n as usize
}

/// Returns the number of partial sums for m rows.
fn parts_of(backward: &NormBackward, kernels: &KernelCache<'_>, m: u32) -> u32 {
    let RowTiling { rows, cluster, .. } = backward.tiling;
    let rows = rows.max(1);
    backward.parts(kernels.resident_clusters(cluster)).min(m.div_ceil(rows).max(1).saturating_mul(rows))
}
