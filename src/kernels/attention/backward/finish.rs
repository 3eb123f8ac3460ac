//! dQ from its sums.

use super::inputs::{PADDING, Workspace};
use crate::{
    kernels::attention::inputs::{Sequences, Sizes},
    ptx::{Builder, Global, Ptr, Read, Val, Write},
    tensor::TensorElement,
    tiles::{Convert, Row},
};

/// Emits the kernel for rows of `D` subtiles. A warp processes 16 rows.
pub(super) fn finish<'k, T, const D: usize>(
    k: Builder<'k>,
    sums: Ptr<'k, f32, Global, Read>,
    dq: Ptr<'k, T, Global, Write>,
    sizes: Sizes<'k>,
    strides: [Val<'k, u32>; 3],
    scale: Val<'k, f32>,
) where
    T: TensorElement,
    f32: Convert<T>,
{
    k.block([2 * PADDING]);
    let (heads, tiles) = (sizes.heads(), sizes.queries.ceil_div(PADDING));
    k.grid([sizes.batches * heads * tiles]);
    let (sequences, workspace) = (Sequences::new(k, sizes, &None), Workspace::new(sizes));
    let (head, tile) = (k.ctaid_x() / tiles, k.ctaid_x() % tiles);
    let (sequence, head) = (sequences.sequence(head / heads), head % heads);
    let warp = tile * (PADDING / 16) + k.warp();

    let sums = workspace.of_head(&workspace.sums(k, sums, 16 * D as u32), sequence, head);
    let sum = sums.tile(warp, 0).load::<f32, 1, D, Row>();
    let dq = sequences.matrices(dq, [heads, sizes.queries], 16 * D as u32, strides);
    let rows = [sequence.first_query, sequence.queries];
    sequence.only(&dq, head, rows, 16 * D as u32).tile(warp, 0).store(&(sum * scale));
}
