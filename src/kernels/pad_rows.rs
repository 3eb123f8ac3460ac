//! Copies of matrices with a different row pitch.

use crate::{
    ptx::{BuildError, In, Kernel, Out, Target},
    tensor::TensorElement,
    tiles::row_major,
};

/// The arguments of the kernel that [`pad_rows`] builds: `(x, ldx, y, ldy, m, n)`, where x and y are m×n, with row pitches of `ldx` and
/// `ldy` elements.
pub type PadRowsArgs<T> = (In<T>, u32, Out<T>, u32, u32, u32);

/// The number of elements of a row that a lane has in flight.
const IN_FLIGHT: u32 = 16;

/// Builds the kernel that copies an m×n matrix with elements of type `T` from x to y. The row pitches of x and y may have any value.
/// Elements between the rows of y are not written.
///
/// TMA tensor copies require row pitches that are multiples of 16 bytes. Before running a [`Gemm`](super::Gemm) on sm_90a, use this kernel
/// to copy operands with other pitches to buffers that meet this requirement. Each load or store of a warp accesses 32 adjacent elements,
/// one per lane. The kernel is limited by memory bandwidth.
///
/// The kernel's name contains the type, for example `pad_rows_bf16`.
///
/// # Errors
/// Building the kernel succeeds for all supported targets.
#[doc(alias = "cuMemcpy2D")]
pub fn pad_rows<T: TensorElement>(target: Target) -> Result<Kernel<PadRowsArgs<T>>, BuildError> {
    let signature = format!("pad_rows_{}(x, ldx, y, ldy, m, n)", T::NAME);
    Kernel::<PadRowsArgs<T>>::build(&signature, target, |k, (x, ldx, y, ldy, m, n)| {
        k.describe(format!("y = x: m×n elements of {}, in rows any distance apart", T::NAME));
        k.block([256]);
        // The grid is one-dimensional, because the first dimension is not limited to 65,535 blocks.
        k.grid([n.tiles(32 * IN_FLIGHT) * m.tiles(8)]);
        let x = k.global(x, row_major(m, n).with_row_stride(ldx));
        let y = k.global(y, row_major(m, n).with_row_stride(ldy));
        let across = n.ceil_div(32 * IN_FLIGHT);
        let (down, at) = (k.ctaid_x() / across, k.ctaid_x() % across);
        let (row, first) = (down * 8 + k.warp(), at * (32 * IN_FLIGHT) + k.lane());
        let cols = (0..IN_FLIGHT).map(|i| first + i * 32);
        let elements: Vec<_> = cols.clone().map(|col| x.at(row, col).load()).collect();
        for (col, element) in cols.zip(elements) {
            y.at(row, col).store(element);
        }
    })
}
