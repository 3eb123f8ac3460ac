//! The arguments of a launch of linear attention.

use crate::{
    ptx::{Builder, Global, In, Out, Ptr, Val},
    tensor::TensorElement,
    tiles::{Gl, contiguous},
};

/// The arguments of the kernel that [`TaylorAttention::kernel`](super::TaylorAttention::kernel) builds:
/// `(q, k, v, o, [batches, heads, length], strides)`. Each of Q, K, V and O consists of one matrix of `length` rows for each batch and
/// head. `strides` contains the strides of Q, K, V and O between batches, between heads and between rows, in elements; they must be
/// multiples of 8.
pub type LinearAttentionArgs<T> = (In<T>, In<T>, In<T>, Out<T>, [u32; 3], [[u32; 3]; 4]);

/// Returns the names of the strides of matrices, separated by commas.
pub(super) fn strides_of(matrices: &[&str]) -> String {
    let axes = ["batch", "head", "row"];
    let names = matrices.iter().flat_map(|matrix| axes.map(|axis| format!("{matrix}_{axis}")));
    names.collect::<Vec<_>>().join(", ")
}

/// The number of tokens that are processed at a time, in subtiles.
pub(super) const SUBTILES: usize = 4;
/// The number of tokens that are processed at a time.
pub(super) const CHUNK: u32 = 16 * SUBTILES as u32;

/// The number of batches, heads and rows.
#[derive(Clone, Copy)]
pub(super) struct Sizes<'k> {
    pub(super) batches: Val<'k, u32>,
    pub(super) heads: Val<'k, u32>,
    pub(super) length: Val<'k, u32>,
}

impl<'k> Sizes<'k> {
    /// Returns the matrices of all batches and heads, with `columns` columns each. `strides` contains the strides between batches, heads
    /// and rows. Rows are accessed 16 bytes at a time.
    #[track_caller]
    pub(super) fn matrices<T: TensorElement, A>(
        self,
        k: Builder<'k>,
        elements: Ptr<'k, T, Global, A>,
        columns: u32,
        strides: [Val<'k, u32>; 3],
    ) -> Gl<'k, T, A, 4> {
        let Self { batches, heads, length } = self;
        let [batch, head, row] = strides.map(|stride| stride.multiple_of(8));
        let layout =
            contiguous([batches, heads, length, columns.into()]).with_strides([batch, head, row, 1.into()]);
        k.global(elements, layout)
    }

    /// Declares a grid of one block for each batch and head, and returns the batch and the head of this block.
    #[track_caller]
    pub(super) fn block_of_each(self, k: Builder<'k>) -> (Val<'k, u32>, Val<'k, u32>) {
        k.grid([self.batches * self.heads]);
        (k.ctaid_x() / self.heads, k.ctaid_x() % self.heads)
    }
}
