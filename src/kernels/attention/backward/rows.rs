//! The kernel that prepares lse and δ of each row for the other kernels.

use std::f32::consts::LOG2_E;

use super::inputs::{PADDING, RowBlock};
use crate::{
    kernels::attention::inputs::{Sizes, Starts},
    ptx::{Builder, Global, Ptr, Read, Val, Write},
    tensor::TensorElement,
    tiles::{Convert, Naive, Rt},
};

/// O, dO and the logarithms of sums.
pub(super) type Inputs<'k, T> = ([Ptr<'k, T, Global, Read>; 2], Ptr<'k, f32, Global, Read>);
/// The output `rows`, and the `sums` to be cleared.
pub(super) type Outputs<'k> = (Ptr<'k, f32, Global, Write>, Option<Ptr<'k, f32, Global, Write>>);

/// Emits the kernel for rows of `D` subtiles of Q and of `E` subtiles of O. A warp processes 16 rows.
///
/// The first value of a row is c = −lse·log₂ e, so that P = 2^(`scale`·log₂ e · s + c) for a score s. For queries that attend to no keys,
/// and for rows past the last one, c is −∞, so that P = 0.
pub(super) fn rows<'k, T, const D: usize, const E: usize>(
    k: Builder<'k>,
    (factors, lse): Inputs<'k, T>,
    (rows, sums): Outputs<'k>,
    (sizes, starts): (Sizes<'k>, Starts<'k>),
    strides: [[Val<'k, u32>; 3]; 2],
) where
    T: TensorElement + Convert<f32>,
{
    let block = RowBlock::new(k, sizes, &starts);
    block.if_used(k, || rows_of_block::<T, D, E>(k, &block, (factors, lse), (rows, sums), sizes, strides));
}

#[track_caller]
fn rows_of_block<'k, T, const D: usize, const E: usize>(
    k: Builder<'k>,
    block: &RowBlock<'k>,
    (factors, lse): Inputs<'k, T>,
    (rows, sums): Outputs<'k>,
    sizes: Sizes<'k>,
    strides: [[Val<'k, u32>; 3]; 2],
) where
    T: TensorElement + Convert<f32>,
{
    let RowBlock { sequences, workspace, sequence, head, tile } = block;
    let (sequence, head) = (*sequence, *head);
    let warp = *tile * (PADDING / 16) + k.warp();

    let [o, d_o] = [0, 1].map(|at| {
        let matrices =
            sequences.matrices(factors[at], [sizes.heads(), sizes.queries], 16 * E as u32, strides[at]);
        sequence.from(&matrices, head, sequence.first_query)
    });
    // All lanes read each row together, and lane r keeps δ of row r.
    let (part, lane) = (workspace.part(sequence, head), k.lane().rank());
    let delta = (0..16).fold(Val::from(0.0), |delta, r| {
        let [o, d_o] = [&o, &d_o].map(|x| x.row(warp * 16 + r).tile(0).load::<f32, E, Naive>());
        lane.eq(r).select((o * &d_o).sum(), delta)
    });
    let query = warp * 16 + lane;
    let lse = sequences.logarithms(lse, sequence, head);
    let lse = query.lt(sequence.queries).select(lse.at(query).load(), f32::NEG_INFINITY);
    let exponent = lse.eq(f32::NEG_INFINITY).select(lse, lse * -LOG2_E);
    let [exponents, deltas] = part.rows(&workspace.rows(k, rows));
    k.if_(lane.lt(16), || {
        exponents.at(query).store(exponent);
        deltas.at(query).store(delta);
    });
    if let Some(sums) = sums {
        let sums = workspace.sums(k, sums, [1, D as u32]);
        sums.tile(sums.number(part, warp, 0.into()), 0.into())
            .tile(0)
            .store_by_register(&k.zeros::<Rt<'k, f32, 1, D>>());
    }
}
