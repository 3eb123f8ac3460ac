//! Permutation of the axes of a tensor.

use super::operands::{portable_target, refused};
use crate::{
    kernels::{Permute, PermuteArgs, PermuteError},
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
};

/// Copies x to y with the axes in a different order: axis i of y is axis `order[i]` of x. Both x and y must
/// be contiguous, with at most five axes. `extents` contains the extents of x.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if there are more than five axes, or if `order` does not contain each axis exactly once.
pub fn permute<'a, T: TensorElement>(
    on: impl Into<Queue<'a>>,
    extents: &[u32],
    order: &[usize],
    x: impl Into<BufferRef<'a, T>>,
    y: impl Into<BufferMut<'a, T>>,
) -> Result<Called, CallError> {
    const CALL: &str = "permute";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let invalid = |error: PermuteError| match error {
        PermuteError::Rank { found } => refused(CALL, "up to five axes", found),
        PermuteError::Order { axes, order } => {
            refused(CALL, format!("each of the {axes} axes exactly once"), format!("{order:?}"))
        }
        PermuteError::Stride { found } => refused(CALL, "strides of fewer than 2³² elements", found),
    };
    let (x, y) = (x.into(), y.into());
    let permute = Permute::for_axes::<T>(extents, order).map_err(invalid)?;
    let permute = permute.for_addresses(|bytes| x.is_aligned(bytes) && y.is_aligned(bytes));
    let (extents, x_strides, y_strides) = Permute::arguments(extents, order).map_err(invalid)?;
    queue.launch::<_, _, PermuteArgs<T>>(
        CALL,
        permute,
        |permute| *permute,
        |permute| permute.kernel(target),
        (x, y, extents, x_strides, y_strides),
    )
}
