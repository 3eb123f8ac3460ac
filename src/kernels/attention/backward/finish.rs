//! The kernel that scales and rounds the sums of dQ.

use super::inputs::{PADDING, RowBlock};
use crate::{
    kernels::attention::inputs::{Sizes, Starts},
    ptx::{Builder, Global, Ptr, Read, Val, Write},
    tensor::TensorElement,
    tiles::{Convert, Row, St},
};

/// The number of tiles of 16 rows in a block.
const BLOCK: usize = PADDING as usize / 16;

/// Emits the kernel for rows of `D` subtiles. A tile of `sums` has `Q` columns of subtiles. A warp processes 16 rows.
pub(super) fn finish<'k, T, const D: usize, const Q: usize>(
    k: Builder<'k>,
    sums: Ptr<'k, f32, Global, Read>,
    dq: Ptr<'k, T, Global, Write>,
    (sizes, starts): (Sizes<'k>, Starts<'k>),
    strides: [Val<'k, u32>; 3],
    scale: Val<'k, f32>,
) where
    T: TensorElement,
    f32: Convert<T>,
{
    let block = RowBlock::new(k, sizes, &starts);
    let RowBlock { sequences, workspace, sequence, head, tile } = &block;
    let (sequence, head, tile) = (*sequence, *head, *tile);

    let parts = (D / Q) as u32;
    let sums = workspace.sums(k, sums, [parts, Q as u32]);
    let dq = sequences.matrices(dq, [sizes.heads(), sizes.queries], 16 * D as u32, strides);
    let rows = [sequence.first_query, sequence.queries];
    let dq = sequence.only(&dq, head, rows, 16 * D as u32);
    let staged = k.shared_tile::<St<'k, T, BLOCK, D>>();
    block.if_used(k, || {
        let staged = staged.store_with(|staged| {
            for part in 0..parts {
                let row = tile * BLOCK as u32 + k.warp();
                let number = sums.number(workspace.part(sequence, head), row, part.into());
                let sum = sums.tile(number, 0.into()).tile(0).load_by_register::<1, Q, Row>();
                staged.subtile(k.warp(), part * Q as u32).store(&(sum * scale));
            }
        });
        dq.tile(tile, 0).store_shared(&staged.wait());
    });
}
