//! The gradients of attention on Hopper (sm_90a).

mod finish;
mod inputs;
mod key_tiles;
mod keys;
mod packed;
mod queries;
mod rows;
mod visible;
mod warpgroup;
mod weights;
mod wide;

use super::{
    AttentionMask, check_window,
    dropout::Dropout,
    inputs::{Sizes, Starts},
    strides,
};
use crate::{
    ptx::{BuildError, Builder, Global, In, InOut, Kernel, Out, Ptr, Read, ReadWrite, Target, Val, Write},
    tensor::TensorElement,
    tiles::{Auto, Convert, Product, Schedule, Swizzle32, Swizzle64},
};
use inputs::{Inputs, PADDING};

/// The arguments of the kernel that [`AttentionBackward::rows_kernel`] builds: `(o, d_o, lse, rows, sums, [batches, kv_heads, group,
/// queries, keys], strides)`. O, `lse` and the sizes are the same as in [`AttentionArgs`](super::AttentionArgs), and dO has the shape of O.
/// `rows` and `sums` receive intermediate results; [`AttentionBackward::workspace`] returns their required lengths. `strides` contains the
/// strides of O and dO between batches, between heads and between rows, in elements.
pub type AttentionRowsArgs<T> = (In<T>, In<T>, In<f32>, Out<f32>, Out<f32>, [u32; 5], [[u32; 3]; 2]);

/// The arguments of the kernel that [`AttentionBackward::keys_kernel`] builds: `(q, k, v, d_o, rows, sums, dk, dv, [batches, kv_heads,
/// group, queries, keys], strides, scale, p, [seed, offset])`. `rows` and `sums` are the results of the kernel that
/// [`AttentionBackward::rows_kernel`] builds. `dk` and `dv` receive dK and dV. `strides` contains the strides of Q, K, V, dO, dK and dV
/// between batches, between heads and between rows, in elements. `p`, `seed` and `offset` must have the same values as in the launch of the
/// forward kernel; they are ignored if [`dropout`](AttentionBackward::dropout) is false.
pub type AttentionKeysArgs<T> = (
    In<T>,
    In<T>,
    In<T>,
    In<T>,
    In<f32>,
    InOut<f32>,
    Out<T>,
    Out<T>,
    [u32; 5],
    [[u32; 3]; 6],
    f32,
    f32,
    [u64; 2],
);

/// The arguments of the kernel that [`AttentionBackward::finish_kernel`] builds: `(sums, dq, [batches, kv_heads, group, queries, keys],
/// strides, scale)`. `sums` is the result of the kernel that [`AttentionBackward::keys_kernel`] builds. `dq` receives dQ, and `strides`
/// contains its strides between batches, between heads and between rows, in elements.
pub type AttentionFinishArgs<T> = (In<f32>, Out<T>, [u32; 5], [u32; 3], f32);

/// The arguments of the kernel that [`AttentionBackward::queries_kernel`] builds:
/// `(q, k, v, d_o, rows, dq, [batches, kv_heads, group, queries, keys], strides, scale, p, [seed, offset])`. `dq` receives dQ. `strides`
/// contains the strides of Q, K, V, dO and dQ. See [`AttentionKeysArgs`] for the units of the strides and the other arguments.
pub type AttentionQueriesArgs<T> =
    (In<T>, In<T>, In<T>, In<T>, In<f32>, Out<T>, [u32; 5], [[u32; 3]; 5], f32, f32, [u64; 2]);

const AXES: &[&str] = &["batch", "head", "row"];
const SIZES: &str = "batches, kv_heads, group, queries, keys";
const DROPOUT: &str = "p, seed, offset";

pub use packed::{
    PackedAttentionFinishArgs, PackedAttentionKeysArgs, PackedAttentionQueriesArgs, PackedAttentionRowsArgs,
};

/// Kernels that compute the gradients of [attention](super::Attention) with respect to Q, K and V in three launches. The kernels require
/// sm_90a.
///
/// The forward kernel computes lse, the logarithm of the sum of exponentials, for each row. Let ∘ be the elementwise product, and let
///
/// - P = exp(`scale` · Q·Kᵀ − lse),
/// - dP = dO·Vᵀ,
/// - δ = the row sums of dO ∘ O, and
/// - dS = P ∘ (dP − δ).
///
/// The gradients are dV = Pᵀ·dO, dK = `scale` · dSᵀ·Q and dQ = `scale` · dS·K. dK and dV are summed over the query heads that share a KV
/// head.
///
/// 1. [`rows_kernel`](Self::rows_kernel) computes δ, writes δ and a multiple of lse to the buffer `rows`, and clears the buffer `sums`.
/// 2. [`keys_kernel`](Self::keys_kernel) computes dK and dV, and accumulates dQ in `sums` with atomic additions in f32. The order of these
///    additions varies, so the last bits of dQ can differ from run to run.
/// 3. [`finish_kernel`](Self::finish_kernel) scales and rounds `sums` to obtain dQ.
///
/// If [`deterministic`](Self::deterministic) is true, the second kernel does not accumulate dQ. Instead, launch the
/// [`queries_kernel`](Self::queries_kernel), which computes dQ, as the third kernel. It recomputes Q·Kᵀ and dO·Vᵀ, so the kernels compute
/// seven matrix products instead of five, but `sums` is not required.
///
/// Sums are computed in f32. P and dS are rounded to the element type before they are multiplied by other matrices. The gradient of a query
/// that attends to no keys is 0.
///
/// With [`dropout`](Self::dropout), let Z contain the dropout factor of each weight: 0 or 1 / (1 − p). Then dV = (P ∘ Z)ᵀ·dO and dS = P ∘
/// (Z ∘ dP − δ). The kernels recompute the random numbers of the forward kernel, so no mask is stored.
///
/// The `packed_…` methods build kernels for sequences of different lengths, which are stored one after the other as for
/// [`Attention::packed_kernel`](super::Attention::packed_kernel). Gradients are not written for rows that do not belong to a sequence. The
/// last tile of a sequence can include rows that follow the sequence; a NaN or ∞ in these rows can make gradients of the sequence NaN.
///
/// For head sizes of 192 and 256, a block computes dK and dV for 64 keys instead of 128. Q and dO are therefore read twice as often, and
/// twice as many values are added to `sums`.
///
/// Some kernels spill registers. Kernels for packed sequences and kernels with dropout spill up to 21 registers per thread with a head size
/// of 32, and up to 14 with a head size of 128. With head sizes of 192 and 256, kernels without dropout spill up to 8 registers per thread,
/// or up to 24 for packed sequences. Kernels with these head sizes and dropout spill up to 12 registers per thread, except that the
/// `queries_kernel` spills up to 48.
///
/// Build all kernels from the same `AttentionBackward`, and launch them one after the other. The mask and `scale` must be the same as for
/// the forward kernel, and `scale` must be positive. Soft caps and ALiBi slopes are not supported. Launch the first kernel before every
/// launch of the second, which adds to `sums`. All strides must be multiples of 16 bytes. A NaN or ∞ in dO·Vᵀ can make the gradients of a
/// query and a key NaN even if the query does not attend to the key.
#[doc(alias = "flash_attention")]
#[doc(alias = "scaled_dot_product_attention_backward")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttentionBackward {
    /// The head size of Q and K: 32, 64, 96, 128, 192 or 256.
    pub head_size: u32,
    /// The head size of V and O. It must be equal to [`head_size`](Self::head_size), except that it may also be 128 if `head_size` is 192.
    pub value_size: u32,
    /// The mask, which determines the keys that each query attends to.
    pub mask: AttentionMask,
    /// Whether results are bit-identical in every run.
    pub deterministic: bool,
    /// Whether the forward kernel applies [dropout](super::AttentionExtras::dropout).
    pub dropout: bool,
    /// The order in which the tiles of keys are processed. Rows of the schedule are KV heads, and columns are the tiles of a head. For
    /// [`queries_kernel`](Self::queries_kernel), rows are query heads, and columns are tiles of queries. With a causal mask, the tiles with
    /// the most steps are in the first columns.
    pub schedule: Schedule,
}

impl AttentionBackward {
    /// Returns the kernels for `mask`, with `head_size` as the head size of Q, K, V and O. [`deterministic`](Self::deterministic) and
    /// [`dropout`](Self::dropout) are `false`.
    #[must_use]
    pub fn new(head_size: u32, mask: AttentionMask) -> Self {
        let schedule = Schedule::grouped(8);
        Self { head_size, value_size: head_size, mask, deterministic: false, dropout: false, schedule }
    }

    /// Returns the number of keys in a tile of [`keys_kernel`](Self::keys_kernel).
    pub(super) fn keys(&self) -> u32 {
        if self.head_size <= 128 { warpgroup::KEYS } else { wide::KEYS }
    }

    /// Returns the required lengths, in elements, of the buffers `rows` and `sums`. `heads` is the total number of query heads in all
    /// batches, and `queries` is the number of queries per head. If [`deterministic`](Self::deterministic) is true, the length of `sums` is
    /// 0.
    #[must_use]
    pub fn workspace(&self, heads: usize, queries: usize) -> [usize; 2] {
        // If a length overflows, it becomes one that no buffer has.
        let padded = queries.div_ceil(PADDING as usize).saturating_mul(PADDING as usize);
        let rows = heads.saturating_mul(padded);
        let sums = if self.deterministic { 0 } else { rows.saturating_mul(self.head_size as usize) };
        [rows.saturating_mul(2), sums]
    }

    /// Returns the part of a kernel's name that contains the type and the head sizes.
    fn rows_name<T: TensorElement>(&self) -> String {
        let Self { head_size, value_size, .. } = *self;
        let values = if value_size == head_size { String::new() } else { format!("_{value_size}") };
        format!("{}_{head_size}{values}", T::NAME)
    }

    fn name<T: TensorElement>(&self) -> String {
        let dropout = if self.dropout { "_dropout" } else { "" };
        format!("{}_{}{dropout}", self.rows_name::<T>(), self.mask.name())
    }

    /// Returns `[head_size, value_size]`.
    fn sizes(&self) -> [u32; 2] {
        [self.head_size, self.value_size]
    }

    /// Rejects the finish kernel if `deterministic` is true, because `sums` is then not computed. `queries_kernel` is the name of the
    /// method that builds the kernel for dQ.
    #[track_caller]
    fn refuse_deterministic(&self, k: Builder<'_>, queries_kernel: &str) {
        if self.deterministic {
            k.refuse(format!("expected `deterministic` = false: `{queries_kernel}` computes dQ otherwise"));
        }
    }

    /// Returns the dropout of the kernels, if any.
    #[track_caller]
    fn random<'k>(&self, p: Val<'k, f32>, random: [Val<'k, u64>; 2]) -> Option<Dropout<'k>> {
        self.dropout.then(|| Dropout::new(p, random))
    }

    /// Builds the first kernel, which writes `rows` and clears `sums`. Its name contains the type and the head size (both head sizes if
    /// they differ), as in `attention_backward_rows_bf16_128`. If `deterministic` is true, the kernel does not clear `sums`, and its name
    /// begins with `attention_backward_rows_only_`.
    ///
    /// # Errors
    /// Returns an error for an unsupported head size.
    pub fn rows_kernel<T>(&self) -> Result<Kernel<AttentionRowsArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32> + Convert<f32>,
        f32: Convert<T>,
    {
        let with = if self.deterministic { "_only" } else { "" };
        let signature = format!(
            "attention_backward_rows{with}_{}(o, d_o, lse, rows, sums, {SIZES}, {})",
            self.rows_name::<T>(),
            strides(&["o", "d_o"], AXES)
        );
        Kernel::build(&signature, Target::SM_90A, |k, (o, d_o, lse, rows, sums, sizes, strides)| {
            self.emit_rows(k, ([o, d_o], lse), (rows, sums), (Sizes::of(sizes), None), strides);
        })
    }

    fn emit_rows<'k, T>(
        &self,
        k: Builder<'k>,
        inputs: rows::Inputs<'k, T>,
        (rows, sums): (Ptr<'k, f32, Global, Write>, Ptr<'k, f32, Global, Write>),
        sizes: (Sizes<'k>, Starts<'k>),
        strides: [[Val<'k, u32>; 3]; 2],
    ) where
        T: TensorElement + Convert<f32>,
    {
        k.describe("for attention backward: what is added to the exponents of each row, and δ = Σ dO∘O");
        let sums = (!self.deterministic).then_some(sums);
        rows_of(self.sizes(), k, inputs, (rows, sums), sizes, strides);
    }

    /// Builds the second kernel, which computes dK and dV and accumulates dQ in `sums`. Its name contains the type, the head size (both
    /// head sizes if they differ) and the mask, as in `attention_backward_bf16_128_causal`; with dropout, the name ends in `_dropout`. If
    /// `deterministic` is true, the kernel does not compute dQ, and its name begins with `attention_backward_keys_`.
    ///
    /// # Errors
    /// Returns an error for an unsupported head size, or for a window that extends 2³⁰ or more positions in either direction.
    pub fn keys_kernel<T>(&self) -> Result<Kernel<AttentionKeysArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_backward{}_{}(q, k, v, d_o, rows, sums, dk, dv, {SIZES}, {}, scale, {DROPOUT})",
            if self.deterministic { "_keys" } else { "" },
            self.name::<T>(),
            strides(&["q", "k", "v", "d_o", "dk", "dv"], AXES)
        );
        Kernel::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, d_o, rows, sums, dk, dv, sizes, strides, scale, p, random)| {
                let [q_strides, k_strides, v_strides, o_strides, dk_strides, dv_strides] = strides;
                let inputs = Inputs {
                    factors: [q, keys, values, d_o],
                    strides: [q_strides, k_strides, v_strides, o_strides],
                    rows,
                    sizes: Sizes::of(sizes),
                    scale,
                    starts: None,
                    dropout: self.random(p, random),
                };
                self.emit_keys(k, inputs, sums, ([dk, dv], [dk_strides, dv_strides]));
            },
        )
    }

    fn emit_keys<'k, T>(
        &self,
        k: Builder<'k>,
        inputs: Inputs<'k, T>,
        sums: Ptr<'k, f32, Global, ReadWrite>,
        outputs: key_tiles::Outputs<'k, T>,
    ) where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let with = if self.deterministic { "" } else { ", and sums of dQ" };
        k.describe(format!("dK and dV of attention{with}"));
        let sums = (!self.deterministic).then_some(sums);
        if check_window(k, self.mask) {
            keys_of(self, k, inputs, sums, outputs);
        }
    }

    /// Builds the third kernel, which scales and rounds `sums` to obtain dQ. Its name contains the type and the head size (both head sizes
    /// if they differ), as in `attention_backward_finish_bf16_128`.
    ///
    /// # Errors
    /// Returns an error for an unsupported head size, or if [`deterministic`](Self::deterministic) is true, because `sums` is then not
    /// computed.
    pub fn finish_kernel<T>(&self) -> Result<Kernel<AttentionFinishArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_backward_finish_{}(sums, dq, {SIZES}, {}, scale)",
            self.rows_name::<T>(),
            strides(&["dq"], AXES)
        );
        Kernel::build(&signature, Target::SM_90A, |k, (sums, dq, sizes, strides, scale)| {
            k.describe("dQ of attention from its sums");
            self.refuse_deterministic(k, "queries_kernel");
            finish_of(self.sizes(), k, sums, dq, (Sizes::of(sizes), None), strides, scale);
        })
    }

    /// Builds the kernel that computes dQ if [`deterministic`](Self::deterministic) is true. Its name contains the type, the head size
    /// (both head sizes if they differ) and the mask, as in `attention_backward_queries_bf16_128_causal`; with dropout, the name ends in
    /// `_dropout`.
    ///
    /// # Errors
    /// Returns the same errors as [`keys_kernel`](Self::keys_kernel).
    pub fn queries_kernel<T>(&self) -> Result<Kernel<AttentionQueriesArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_backward_queries_{}(q, k, v, d_o, rows, dq, {SIZES}, {}, scale, {DROPOUT})",
            self.name::<T>(),
            strides(&["q", "k", "v", "d_o", "dq"], AXES)
        );
        Kernel::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, d_o, rows, dq, sizes, strides, scale, p, random)| {
                let [q_strides, k_strides, v_strides, o_strides, dq_strides] = strides;
                let inputs = Inputs {
                    factors: [q, keys, values, d_o],
                    strides: [q_strides, k_strides, v_strides, o_strides],
                    rows,
                    sizes: Sizes::of(sizes),
                    scale,
                    starts: None,
                    dropout: self.random(p, random),
                };
                self.emit_queries(k, inputs, (dq, dq_strides));
            },
        )
    }

    fn emit_queries<'k, T>(&self, k: Builder<'k>, inputs: Inputs<'k, T>, output: queries::Output<'k, T>)
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        k.describe("dQ of attention");
        if check_window(k, self.mask) {
            queries_of(self, k, inputs, output);
        }
    }
}

/// Defines the supported head sizes and the functions that emit their kernels. A row of Q and K has `D` subtiles, a row of V has `E`
/// subtiles, and a tile of `sums` has `Q` columns of subtiles.
macro_rules! sizes {
    ($($size:literal, $value:literal => $d:literal, $e:literal, $q:literal, $keys:literal, $emit:path;)*) => {
        const HEAD_SIZES: &[[u32; 2]] = &[$([$size, $value]),*];

        fn rows_of<'k, T>(sizes: [u32; 2], k: Builder<'k>, inputs: rows::Inputs<'k, T>, outputs: rows::Outputs<'k>, of: (Sizes<'k>, Starts<'k>), strides: [[Val<'k, u32>; 3]; 2])
        where
            T: TensorElement + Convert<f32>,
        {
            match sizes {
                $([$size, $value] => rows::rows::<T, $d, $e>(k, inputs, outputs, of, strides),)*
                _ => refuse(k, sizes),
            }
        }

        fn keys_of<'k, T>(backward: &AttentionBackward, k: Builder<'k>, inputs: Inputs<'k, T>, sums: Option<Ptr<'k, f32, Global, ReadWrite>>, outputs: key_tiles::Outputs<'k, T>)
        where
            T: TensorElement + Product<T, f32>,
            f32: Convert<T>,
        {
            match backward.sizes() {
                $([$size, $value] => $emit(k, inputs, sums, outputs, backward),)*
                sizes => refuse(k, sizes),
            }
        }

        fn finish_of<'k, T>(sizes: [u32; 2], k: Builder<'k>, sums: Ptr<'k, f32, Global, Read>, dq: Ptr<'k, T, Global, Write>, of: (Sizes<'k>, Starts<'k>), strides: [Val<'k, u32>; 3], scale: Val<'k, f32>)
        where
            T: TensorElement,
            f32: Convert<T>,
        {
            match sizes {
                $([$size, $value] => finish::finish::<T, $d, $q>(k, sums, dq, of, strides, scale),)*
                _ => refuse(k, sizes),
            }
        }

        fn queries_of<'k, T>(backward: &AttentionBackward, k: Builder<'k>, inputs: Inputs<'k, T>, output: queries::Output<'k, T>)
        where
            T: TensorElement + Product<T, f32>,
            f32: Convert<T>,
        {
            match backward.sizes() {
                $([$size, $value] => queries::queries::<T, $d, $e, $keys>(k, inputs, output, backward),)*
                sizes => refuse(k, sizes),
            }
        }
    };
}

// `keys` is the number of subtiles of keys in a step of the queries kernel. It is followed by the function that emits the keys kernel:
// `keys::keys` with the swizzle of K, `D`, the subtiles of queries in a step, `Q` and the number of stages, or `wide::keys` with the
// swizzles of Q and K and of dO, `D`, `E`, half of `D`, half of `E`, `Q` and the number of stages of dO.
sizes! {
    //  d,   e =>  D,  E, Q, keys
     32,  32 =>  2,  2, 2, 4, keys::keys::<T, Auto, 2, 8, 2, 2>;
     64,  64 =>  4,  4, 2, 4, keys::keys::<T, Swizzle64, 4, 4, 2, 2>;
     96,  96 =>  6,  6, 3, 4, keys::keys::<T, Swizzle32, 6, 4, 3, 2>;
    128, 128 =>  8,  8, 4, 4, keys::keys::<T, Auto, 8, 4, 4, 2>;
    192, 128 => 12,  8, 3, 4, wide::keys::<T, Swizzle32, Auto, 12, 8, 6, 4, 3, 2>;
    192, 192 => 12, 12, 3, 4, wide::keys::<T, Swizzle32, Swizzle64, 12, 12, 6, 6, 3, 2>;
    256, 256 => 16, 16, 4, 2, wide::keys::<T, Auto, Auto, 16, 16, 8, 8, 4, 1>;
}

/// Rejects unsupported head sizes.
fn refuse(k: Builder<'_>, found: [u32; 2]) {
    let what = |[d, e]: [u32; 2]| format!("{d} and {e}");
    let expected: Vec<_> = HEAD_SIZES.iter().copied().map(what).collect();
    k.block([128]);
    k.refuse(format!("expected rows of {}; found {}", expected.join(", "), what(found)));
}
