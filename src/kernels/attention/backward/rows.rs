//! The numbers of each row of Q that the other kernels read.

use std::f32::consts::LOG2_E;

use super::inputs::{PADDING, Workspace};
use crate::{
    kernels::attention::inputs::{Sequences, Sizes},
    ptx::{Builder, Global, Ptr, Read, Val, Write},
    tensor::TensorElement,
    tiles::{ColVec, Convert, Rt, row_major},
};

/// O, dO and the logarithms of sums.
pub(super) type Inputs<'k, T> = ([Ptr<'k, T, Global, Read>; 2], Ptr<'k, f32, Global, Read>);
/// The rows, and sums to be cleared.
pub(super) type Outputs<'k> = (Ptr<'k, f32, Global, Write>, Option<Ptr<'k, f32, Global, Write>>);

/// Emits the kernel for rows of `D` subtiles. A warp processes 16 rows.
///
/// The first number of a row is −lse·log₂ e, so that P = 2^(`scale`·log₂ e · s + number); of rows without keys, and of those past the last
/// one, it is −∞, so that P = 0.
pub(super) fn rows<'k, T, const D: usize>(
    k: Builder<'k>,
    (factors, lse): Inputs<'k, T>,
    (rows, sums): Outputs<'k>,
    sizes: Sizes<'k>,
    strides: [[Val<'k, u32>; 3]; 2],
) where
    T: TensorElement + Convert<f32>,
{
    k.block([2 * PADDING]);
    let (heads, tiles) = (sizes.heads(), sizes.queries.ceil_div(PADDING));
    k.grid([sizes.batches * heads * tiles]);
    let (sequences, workspace) = (Sequences::new(k, sizes, &None), Workspace::new(sizes));
    let (head, tile) = (k.ctaid_x() / tiles, k.ctaid_x() % tiles);
    let (sequence, head) = (sequences.sequence(head / heads), head % heads);
    let warp = tile * (PADDING / 16) + k.warp();

    let [o, d_o] = [0, 1].map(|at| {
        let matrices = sequences.matrices(factors[at], [heads, sizes.queries], 16 * D as u32, strides[at]);
        let x: Rt<'k, f32, 1, D> = sequence.from(&matrices, head, sequence.first_query).tile(warp, 0).load();
        x
    });
    let row = workspace.head(sequence, head);
    let lse = k.global(lse, row_major(sizes.batches * heads, sizes.queries)).row(row);
    let lse: ColVec<'k, f32, 1> = lse.tile(warp).load_or(f32::NEG_INFINITY);
    let exponents = lse.map(|lse| lse.eq(f32::NEG_INFINITY).select(lse, lse * -LOG2_E));
    let rows = workspace.rows(k, rows);
    rows.row(row * 2).tile(warp).store(&exponents);
    rows.row(row * 2 + 1).tile(warp).store(&(o * &d_o).row_sum());
    if let Some(sums) = sums {
        let sums = workspace.sums(k, sums, 16 * D as u32);
        workspace.of_head(&sums, sequence, head).tile(warp, 0).store(&k.zeros::<Rt<'k, f32, 1, D>>());
    }
}
