//! The Mamba-2 state space model.

use super::{
    heads::HeadOrder,
    linear::check_sizes,
    operands::{portable_target, refused},
};
use crate::{
    kernels::{StateSpace, StateSpaceArgs},
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// The sizes and the layout of [`state_space`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StateSpaceShape {
    /// The number of sequences.
    pub batches: u32,
    /// The number of heads of X per sequence.
    pub heads: u32,
    /// The number of groups of heads per sequence, which must divide `heads`; the heads of a group share B and C.
    pub groups: u32,
    /// The number of positions per sequence.
    pub positions: u32,
    /// The number of elements per row of X and Y: 64 or 128.
    pub head_size: u32,
    /// The number of elements per row of B and C: 64 or 128.
    pub state_size: u32,
    /// The axis order of the contiguous arrays X, B, C, Y and dt. B and C have groups instead of heads, and dt has one column.
    pub order: HeadOrder,
}

/// The inputs of [`state_space`], except the state.
#[derive(Clone, Copy, Debug)]
pub struct StateSpaceOperands<'a, T> {
    /// X, which has one row of `head_size` elements for each position and head.
    pub x: BufferRef<'a, T>,
    /// dt, the time steps: one element for each position and head. All elements must be positive.
    pub dt: BufferRef<'a, f32>,
    /// A, which has one element per head. All elements must be finite and negative.
    pub a: BufferRef<'a, f32>,
    /// B, which has one row of `state_size` elements for each position and group.
    pub b: BufferRef<'a, T>,
    /// C, which has the layout of B.
    pub c: BufferRef<'a, T>,
    /// D, which has one element per head.
    pub d: BufferRef<'a, f32>,
}

/// Computes the Mamba-2 state space model: Sᵢ = e^(dtᵢ·a) · Sᵢ₋₁ + dtᵢ · xᵢ·bᵢᵀ and yᵢ = Sᵢ·cᵢ + d · xᵢ, as described in [`StateSpace`]. Y
/// has the layout of X. `state` is a contiguous `[batch][head][head_size][state_size]` array. It contains the state before the first
/// position (zeros at the start of a sequence) and is overwritten with the state after the last position. Requires a device of compute
/// capability 8.0 or later. If `head_size` and `state_size` are both 128, the device must have at least 107 KiB of shared memory per block,
/// which excludes compute capabilities 8.6, 8.9 and 12.x.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `heads` is not a multiple of `groups`, or if a size is neither 64 nor 128.
#[doc(alias = "Mamba-2")]
#[doc(alias = "mamba_chunk_scan")]
pub fn state_space<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &StateSpaceShape,
    operands: &StateSpaceOperands<'_, T>,
    y: impl Into<BufferMut<'a, T>>,
    state: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError>
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    const CALL: &str = "state_space";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let StateSpaceShape { batches, heads, groups, positions, head_size, state_size, order } = *shape;
    check_sizes(CALL, [head_size, state_size])?;
    if groups == 0 || !heads.is_multiple_of(groups) {
        return Err(refused(CALL, format!("heads that are a multiple of groups = {groups}"), heads));
    }
    let of_x = order.strides(CALL, [heads, positions, head_size])?;
    let of_b = order.strides(CALL, [groups, positions, state_size])?;
    let of_dt = order.strides(CALL, [heads, positions, 1])?;
    let StateSpaceOperands { x, dt, a, b, c, d } = *operands;
    let sizes = [batches, groups, heads / groups, positions];
    let strides = [of_x, of_b, of_b, of_x, of_dt];
    queue.launch::<_, _, StateSpaceArgs<T>>(
        CALL,
        StateSpace { head_size, state_size },
        |model| *model,
        |model| model.kernel(target),
        (x, dt, a, b, c, d, y.into(), state.into(), sizes, strides),
    )
}
