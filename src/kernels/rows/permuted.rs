//! Copies of rows in a different order, for permutations of axes.

use super::RowTiling;
use crate::{
    ptx::{Builder, Global, Ptr, Read, Val, Write},
    tensor::{TensorElement, UnalignedRow},
};

/// Copies the rows of the contiguous tensor x, which have `n` elements, to the contiguous tensor y, with an unaligned tiling. `extents`
/// contains the extents of the axes of y without the last one, and `x_strides` contains the strides of these axes in x, in elements.
#[track_caller]
pub(in crate::kernels) fn copy_rows<'k, T: TensorElement, const AXES: usize>(
    tiling: RowTiling,
    k: Builder<'k>,
    (x, y): (Ptr<'k, T, Global, Read>, Ptr<'k, T, Global, Write>),
    (extents, n): ([Val<'k, u32>; AXES], Val<'k, u32>),
    x_strides: [Val<'k, u32>; AXES],
) {
    let m = extents.into_iter().fold(Val::from(1), |m, extent| m * extent);
    let (row, part) = tiling.part_of_row(k, [m, n, n]);
    let (mut rest, mut at) = (row.at, Val::from(0u32));
    for (axis, (extent, stride)) in extents.into_iter().zip(x_strides).enumerate().rev() {
        let is_last = axis == 0;
        let coordinate = if is_last { rest } else { rest % extent };
        at = at + coordinate * (stride / n);
        rest = if is_last { 0.into() } else { rest / extent };
    }
    let from = row.moved(at, m);
    let (x, y) = (from.unaligned_of(x, n), row.unaligned_of(y, n));
    let words = UnalignedRow::load(&[&x], &from.unaligned_groups(part));
    row.in_part(part, || y.store(&row.unaligned_groups(part), &words));
}
