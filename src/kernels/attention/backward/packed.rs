//! The gradient kernels for packed sequences.

use super::{
    AttentionBackward, finish_of,
    inputs::{Inputs, PADDING},
};
use crate::{
    kernels::attention::{inputs::Sizes, strides},
    ptx::{BuildError, Builder, In, InOut, Kernel, Out, Target, Val},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// The arguments of the kernel that [`AttentionBackward::packed_rows_kernel`] builds: `(o, d_o, lse, rows, sums, [query_starts,
/// key_starts], [sequences, kv_heads, group, queries, keys], [longest_queries, longest_keys], strides)`.
/// [`AttentionBackward::packed_workspace`] returns the required lengths of `rows` and `sums`. O, `lse`, the starts and the sizes are the
/// same as in [`PackedAttentionArgs`](super::super::PackedAttentionArgs), and dO has the shape of O. No sequence may have more than
/// `longest_queries` queries or `longest_keys` keys. `strides` contains the strides of O and dO between heads and between rows, in
/// elements.
pub type PackedAttentionRowsArgs<T> =
    (In<T>, In<T>, In<f32>, Out<f32>, Out<f32>, [In<u32>; 2], [u32; 5], [u32; 2], [[u32; 2]; 2]);

/// The arguments of the kernel that [`AttentionBackward::packed_keys_kernel`] builds:
/// `(q, k, v, d_o, rows, sums, dk, dv, starts, sizes, longest, strides, scale)`. `starts`, `sizes` and `longest` are the three arrays that
/// precede `strides` in [`PackedAttentionRowsArgs`]. `strides` contains the strides of Q, K, V, dO, dK and dV between heads and between
/// rows, in elements. See [`AttentionKeysArgs`](super::AttentionKeysArgs) for the other arguments.
pub type PackedAttentionKeysArgs<T> = (
    In<T>,
    In<T>,
    In<T>,
    In<T>,
    In<f32>,
    InOut<f32>,
    Out<T>,
    Out<T>,
    [In<u32>; 2],
    [u32; 5],
    [u32; 2],
    [[u32; 2]; 6],
    f32,
);

/// The arguments of the kernel that [`AttentionBackward::packed_finish_kernel`] builds:
/// `(sums, dq, starts, sizes, longest, strides, scale)`. `dq` receives dQ, and `strides` contains its strides between heads and between
/// rows, in elements. See [`PackedAttentionKeysArgs`] for the other arguments.
pub type PackedAttentionFinishArgs<T> = (In<f32>, Out<T>, [In<u32>; 2], [u32; 5], [u32; 2], [u32; 2], f32);

/// The arguments of the kernel that [`AttentionBackward::packed_queries_kernel`] builds:
/// `(q, k, v, d_o, rows, dq, starts, sizes, longest, strides, scale)`. `dq` receives dQ. `strides` contains the strides of Q, K, V, dO and
/// dQ between heads and between rows, in elements. See [`PackedAttentionKeysArgs`] for the other arguments.
pub type PackedAttentionQueriesArgs<T> =
    (In<T>, In<T>, In<T>, In<T>, In<f32>, Out<T>, [In<u32>; 2], [u32; 5], [u32; 2], [[u32; 2]; 5], f32);

const AXES: &[&str] = &["head", "row"];
const SEQUENCES: &str =
    "query_starts, key_starts, sequences, kv_heads, group, queries, keys, longest_queries, longest_keys";

/// Returns the sizes of packed sequences.
#[track_caller]
fn sizes_of<'k>(sizes: [Val<'k, u32>; 5], longest: [Val<'k, u32>; 2]) -> Sizes<'k> {
    Sizes::of(sizes).with_both_longest(longest)
}

/// Returns the strides between batches, heads and rows. Packed sequences form a single batch, so the stride between batches is 0.
fn of_batch<'k, const N: usize>(strides: [[Val<'k, u32>; 2]; N]) -> [[Val<'k, u32>; 3]; N] {
    strides.map(|[head, row]| [0.into(), head, row])
}

impl AttentionBackward {
    /// Returns the required lengths, in elements, of the buffers `rows` and `sums` for packed sequences. `heads` is the number of query
    /// heads, `sequences` is the number of sequences, and `queries` is the total number of rows of Q per head. If
    /// [`deterministic`](Self::deterministic) is true, the length of `sums` is 0.
    #[must_use]
    pub fn packed_workspace(&self, heads: usize, sequences: usize, queries: usize) -> [usize; 2] {
        self.workspace(heads, queries.saturating_add(sequences.saturating_mul(PADDING as usize)))
    }

    /// Returns the part of a packed kernel's name that contains the type, the head sizes and the mask, followed by `_packed`.
    fn packed_name<T: TensorElement>(&self) -> String {
        format!("{}_packed", self.name::<T>())
    }

    /// Builds the variant of [`rows_kernel`](Self::rows_kernel) for packed sequences. Its name ends in `_packed`, as in
    /// `attention_backward_rows_bf16_128_packed`.
    ///
    /// # Errors
    /// Returns an error for an unsupported head size.
    pub fn packed_rows_kernel<T>(&self) -> Result<Kernel<PackedAttentionRowsArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32> + Convert<f32>,
        f32: Convert<T>,
    {
        let with = if self.deterministic { "_only" } else { "" };
        let signature = format!(
            "attention_backward_rows{with}_{}_packed(o, d_o, lse, rows, sums, {SEQUENCES}, {})",
            self.rows_name::<T>(),
            strides(&["o", "d_o"], AXES)
        );
        Kernel::<PackedAttentionRowsArgs<T>>::build(
            &signature,
            Target::SM_90A,
            |k, (o, d_o, lse, rows, sums, starts, sizes, longest, strides)| {
                let sizes = (sizes_of(sizes, longest), Some(starts));
                self.emit_rows(k, ([o, d_o], lse), (rows, sums), sizes, of_batch(strides));
            },
        )
    }

    /// Builds the variant of [`keys_kernel`](Self::keys_kernel) for packed sequences. Its name ends in `_packed`, as in
    /// `attention_backward_bf16_128_causal_packed`. Dropout is not supported.
    ///
    /// # Errors
    /// Returns the same errors as [`keys_kernel`](Self::keys_kernel). Also returns an error if [`dropout`](Self::dropout) is true.
    pub fn packed_keys_kernel<T>(&self) -> Result<Kernel<PackedAttentionKeysArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_backward{}_{}(q, k, v, d_o, rows, sums, dk, dv, {SEQUENCES}, {}, scale)",
            if self.deterministic { "_keys" } else { "" },
            self.packed_name::<T>(),
            strides(&["q", "k", "v", "d_o", "dk", "dv"], AXES)
        );
        Kernel::<PackedAttentionKeysArgs<T>>::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, d_o, rows, sums, dk, dv, starts, sizes, longest, strides, scale)| {
                let [q_strides, k_strides, v_strides, o_strides, dk_strides, dv_strides] = of_batch(strides);
                let inputs = Inputs {
                    factors: [q, keys, values, d_o],
                    strides: [q_strides, k_strides, v_strides, o_strides],
                    rows,
                    sizes: sizes_of(sizes, longest),
                    scale,
                    starts: Some(starts),
                    dropout: None,
                };
                self.emit_keys(k, inputs, sums, ([dk, dv], [dk_strides, dv_strides]));
                self.refuse_dropout(k);
            },
        )
    }

    /// Builds the variant of [`finish_kernel`](Self::finish_kernel) for packed sequences. Its name ends in `_packed`, as in
    /// `attention_backward_finish_bf16_128_packed`.
    ///
    /// # Errors
    /// Returns the same errors as [`finish_kernel`](Self::finish_kernel).
    pub fn packed_finish_kernel<T>(&self) -> Result<Kernel<PackedAttentionFinishArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_backward_finish_{}_packed(sums, dq, {SEQUENCES}, {}, scale)",
            self.rows_name::<T>(),
            strides(&["dq"], AXES)
        );
        Kernel::<PackedAttentionFinishArgs<T>>::build(
            &signature,
            Target::SM_90A,
            |k, (sums, dq, starts, sizes, longest, [head, row], scale)| {
                k.describe("dQ of attention from its sums");
                self.refuse_deterministic(k, "packed_queries_kernel");
                let sizes = (sizes_of(sizes, longest), Some(starts));
                finish_of(self.sizes(), k, sums, dq, sizes, [0.into(), head, row], scale);
            },
        )
    }

    /// Builds the variant of [`queries_kernel`](Self::queries_kernel) for packed sequences. Its name ends in `_packed`, as in
    /// `attention_backward_queries_bf16_128_causal_packed`.
    ///
    /// # Errors
    /// Returns the same errors as [`packed_keys_kernel`](Self::packed_keys_kernel).
    pub fn packed_queries_kernel<T>(&self) -> Result<Kernel<PackedAttentionQueriesArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_backward_queries_{}(q, k, v, d_o, rows, dq, {SEQUENCES}, {}, scale)",
            self.packed_name::<T>(),
            strides(&["q", "k", "v", "d_o", "dq"], AXES)
        );
        Kernel::<PackedAttentionQueriesArgs<T>>::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, d_o, rows, dq, starts, sizes, longest, strides, scale)| {
                let [q_strides, k_strides, v_strides, o_strides, dq_strides] = of_batch(strides);
                let inputs = Inputs {
                    factors: [q, keys, values, d_o],
                    strides: [q_strides, k_strides, v_strides, o_strides],
                    rows,
                    sizes: sizes_of(sizes, longest),
                    scale,
                    starts: Some(starts),
                    dropout: None,
                };
                self.emit_queries(k, inputs, (dq, dq_strides));
                self.refuse_dropout(k);
            },
        )
    }

    /// Rejects dropout, which the forward kernel for packed sequences does not support.
    fn refuse_dropout(&self, k: Builder<'_>) {
        if self.dropout {
            k.refuse("expected packed sequences without dropout, found dropout".into());
        }
    }
}
