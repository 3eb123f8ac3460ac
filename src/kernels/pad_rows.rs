//! A copy of a matrix to rows at another distance.

use crate::{
    ptx::{BuildError, In, Kernel, Out, Target},
    tensor::TensorElement,
    tiles::row_major,
};

/// `(x, ldx, y, ldy, m, n)`: x and y m×n, in rows that are `ldx` and `ldy` elements apart.
pub type PadRowsArgs<T> = (In<T>, u32, Out<T>, u32, u32, u32);

/// Elements of a row in flight per lane.
const IN_FLIGHT: u32 = 16;

/// `y = x`: m×n elements of `T`, in rows that are any distance apart; what is between the rows of y is not written.
///
/// Tensor copies require rows that are a multiple of 16 bytes apart: for [`Gemm`](super::Gemm), factors with other rows are copied first.
/// Single elements are moved, a warp 32 adjacent ones at a time, which takes as long as the memory does.
///
/// The kernel is named `pad_rows_bf16` for bf16.
///
/// # Errors
/// None for the supported targets.
#[doc(alias = "cuMemcpy2D")]
pub fn pad_rows<T: TensorElement>(target: Target) -> Result<Kernel<PadRowsArgs<T>>, BuildError> {
    let signature = format!("pad_rows_{}(x, ldx, y, ldy, m, n)", T::NAME);
    Kernel::<PadRowsArgs<T>>::build(&signature, target, |k, (x, ldx, y, ldy, m, n)| {
        k.describe(format!("y = x: m×n elements of {}, in rows any distance apart", T::NAME));
        k.block([256]);
        k.grid([n.tiles(32 * IN_FLIGHT), m.tiles(8)]);
        let x = k.global(x, row_major(m, n).with_row_stride(ldx));
        let y = k.global(y, row_major(m, n).with_row_stride(ldy));
        let (row, first) = (k.ctaid_y() * 8 + k.warp(), k.ctaid_x() * (32 * IN_FLIGHT) + k.lane());
        let cols = (0..IN_FLIGHT).map(|i| first + i * 32);
        let elements: Vec<_> = cols.clone().map(|col| x.at(row, col).load()).collect();
        for (col, element) in cols.zip(elements) {
            y.at(row, col).store(element);
        }
    })
}
