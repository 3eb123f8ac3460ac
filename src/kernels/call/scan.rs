//! Cumulative sums.

use super::{
    operands::{Rows, RowsMut, portable_target},
    rows::{input, output, wider},
};
use crate::{
    kernels::{CumulativeSum, PointwiseArgs},
    run::{CallError, Called, Queue},
    tensor::TensorElement,
    tiles::Convert,
};

/// Computes the cumulative sums of each of m rows of n elements in f32: yⱼ is the sum of the elements of x in columns 0 to j if `inclusive`
/// is true, or in the columns before j if it is false.
///
/// # Errors
/// Returns [`CallError`], as described in [`call`](crate::kernels::call#errors).
#[doc(alias = "cumsum")]
pub fn cumulative_sum<'a, X, Y>(
    on: impl Into<Queue<'a>>,
    inclusive: bool,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    y: impl RowsMut<'a, Y>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    Y: TensorElement,
    f32: Convert<Y>,
{
    const CALL: &str = "cumulative_sum";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, PointwiseArgs<X, Y>>(
        CALL,
        (inclusive, [n, ldx, ldy]),
        |(inclusive, sizes)| CumulativeSum::for_rows(*inclusive, target, wider::<X, Y>(), sizes),
        |sum| sum.kernel(target),
        (x, ldx, y, ldy, m, n),
    )
}
