//! Attention with 8-bit floats and one scale factor per head, on Hopper (sm_90a).

mod transpose;

use super::{
    AttentionMask, AttentionOverlap, AttentionTile, ProductOrder, check_window,
    forward::{Shape, forward},
    inputs::{HeadScales, Inputs, Sizes},
    strides,
    values::Transposed,
};
use crate::{
    ptx::{BuildError, Builder, In, Kernel, Out, Target, e4m3},
    tensor::TensorElement,
    tiles::{Convert, Schedule},
};

pub(super) use transpose::padded;

pub use transpose::AttentionValuesArgs;

/// The arguments of the kernel that [`ScaledAttention::kernel`] builds:
/// `(q, k, v, o, lse, [q_scales, k_scales, v_scales], [batches, kv_heads, group, queries, keys], strides, scale)`. `v` is the result of the
/// kernel that [`ScaledAttention::values_kernel`] builds. `q_scales` contains one factor for each query head of all batches; `k_scales` and
/// `v_scales` contain one factor for each KV head of all batches. `strides` contains the strides of Q, K and O. See
/// [`AttentionArgs`](super::AttentionArgs) for the units of the strides and the other arguments.
pub type ScaledAttentionArgs<O> =
    (In<e4m3>, In<e4m3>, In<e4m3>, Out<O>, Out<f32>, [In<f32>; 3], [u32; 5], [[u32; 3]; 3], f32);

/// A pair of kernels for attention with `e4m3` elements. The kernels require sm_90a. For each head, they compute O = softmax(`scale` ·
/// Q·Kᵀ)·V and the logarithm of the sum of exponentials (LSE) in each row of `scale` · Q·Kᵀ. Q, K and V are the `e4m3` elements multiplied
/// by the scale factors of their heads.
///
/// 1. [`values_kernel`](Self::values_kernel) transposes V, because `wgmma` requires the elements of an 8-bit operand to be contiguous along
///    k. In the product of the weights and V, k runs over the keys (the rows of V).
/// 2. [`kernel`](Self::kernel) computes O and the LSE from Q, K and the transposed V.
///
/// For 8-bit floats, `wgmma` computes exact products but accumulates them with less precision than f32. Before weights are rounded to
/// `e4m3`, they are scaled so that the largest weight of the row so far is between 2⁶ and 2⁸. Weights less than 2⁻¹⁸ times the largest
/// weight therefore become 0, and weights less than 2⁻¹⁶ times the largest weight may become 0. The denominator of the softmax is the sum
/// of the unrounded weights. In all other respects, the arithmetic, the masks and the limits on sizes are the same as in
/// [`Attention`](super::Attention).
#[doc(alias = "fp8")]
#[doc(alias = "flash_attention")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScaledAttention {
    /// The head size: 64 or 128.
    pub head_size: u32,
    /// The mask, which determines the keys that each query attends to.
    pub mask: AttentionMask,
    /// The numbers of queries and keys that a block processes at a time.
    pub tile: AttentionTile,
    /// The order in which the tiles of queries are processed. Rows of the schedule are heads, and columns are the tiles of a head. With a
    /// causal mask, column 0 is the last tile of a head.
    pub schedule: Schedule,
    /// The overlap of matrix products with the computation of softmax weights.
    pub overlap: AttentionOverlap,
}

/// Returns the key that is stored at index `at` of each group of 16 keys in a row of transposed values.
///
/// In a product S = Q·Kᵀ, a lane owns the scores of the keys 2t, 2t + 1, 2t + 8 and 2t + 9, where t is the lane modulo 4. In the left
/// operand of the next product, the lane owns the elements 4t to 4t + 3.
pub(super) const fn key_at(at: u32) -> u32 {
    let (lane, pair, element) = (at / 4, at / 2 % 2, at % 2);
    8 * pair + 2 * lane + element
}

impl ScaledAttention {
    /// Returns the supported tiles for a head size.
    pub fn tiles(head_size: u32) -> impl Iterator<Item = AttentionTile> {
        let of_size = TILES.iter().filter(move |[size, ..]| *size == head_size);
        of_size.map(|&[_, queries, keys]| AttentionTile { queries, keys })
    }

    /// Returns the kernels for a head size and a mask, with the tile that is fastest for long sequences.
    #[must_use]
    pub fn new(head_size: u32, mask: AttentionMask) -> Self {
        let none = AttentionTile { queries: 128, keys: 128 };
        // With a head size of 64 and a causal mask, steps of 64 keys for 256 queries are fastest.
        let is_default = |tile: &AttentionTile| !mask.is_causal() || head_size != 64 || tile.keys == 64;
        let tile = Self::tiles(head_size).find(is_default).unwrap_or(none);
        // With a causal mask, the first tiles take the most steps.
        let schedule =
            if mask.is_causal() { Schedule::grouped(8).back_and_forth() } else { Schedule::linear() };
        let overlap = AttentionOverlap { order: ProductOrder::Free, rounds_early: true };
        Self { head_size, mask, tile, schedule, overlap }
    }

    /// Returns the required length, in elements, of the buffer for the transposed values. `kv_heads` is the total number of KV heads in all
    /// batches, and `keys` is the number of keys per KV head.
    #[must_use]
    pub fn values(&self, kv_heads: usize, keys: usize) -> usize {
        // If the length overflows, it becomes one that no buffer has.
        let padded = keys.div_ceil(transpose::PADDING as usize).saturating_mul(transpose::PADDING as usize);
        kv_heads.saturating_mul(self.head_size as usize).saturating_mul(padded)
    }

    /// Builds the kernel that computes O and the LSE. Its name contains the type of O, the head size and the mask, as in
    /// `attention_e4m3_bf16_128_causal`.
    ///
    /// # Errors
    /// Returns an error for an unsupported head size or tile, or for a window that extends 2³⁰ or more positions in either direction.
    pub fn kernel<O>(&self) -> Result<Kernel<ScaledAttentionArgs<O>>, BuildError>
    where
        O: TensorElement,
        f32: Convert<O>,
    {
        let Self { head_size, mask, tile, schedule, overlap } = *self;
        let signature = format!(
            "attention_e4m3_{}_{head_size}_{}(q, k, v, o, lse, q_scales, k_scales, v_scales, batches, kv_heads, group, queries, keys, {}, scale)",
            O::NAME,
            mask.name(),
            strides(&["q", "k", "o"], &["batch", "head", "row"])
        );
        Kernel::<ScaledAttentionArgs<O>>::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, o, lse, scales, sizes, strides, scale)| {
                let AttentionTile { queries, keys: step } = tile;
                k.describe(format!(
                    "O = softmax(scale·Q·Kᵀ)·V with rows of {head_size} (e4m3 with scales of heads), {} mask; tiles of {queries}×{step}",
                    mask.name().replace('_', " "),
                ));
                let sizes = Sizes::of(sizes);
                let of_values = transpose::strides(sizes, head_size);
                let strides = [strides[0], strides[1], of_values, strides[2]];
                let inputs = Inputs {
                    scales: Some(HeadScales::new(scales)),
                    ..Inputs::new([q, keys, values], (o, lse), sizes, strides, scale)
                };
                if check_window(k, mask) {
                    build(head_size, tile, k, inputs, Shape { mask, schedule, soft_cap: None, overlap });
                }
            },
        )
    }
}

/// Defines the supported head sizes and tiles (queries, and keys per step), and a function that emits each kernel with the constants after
/// `=>`.
macro_rules! tiles {
    ($($size:literal, $queries:literal, $keys:literal => $k:literal, $($constant:literal),*;)*) => {
        const TILES: &[[u32; 3]] = &[$([$size, $queries, $keys]),*];

        fn build<'k, O>(
            head_size: u32,
            tile: AttentionTile,
            k: Builder<'k>,
            inputs: Inputs<'k, e4m3, O>,
            shape: Shape,
        ) where
            O: TensorElement,
            f32: Convert<O>,
        {
            match [head_size, tile.queries, tile.keys] {
                $([$size, $queries, $keys] => forward::<e4m3, O, Transposed<$k>, $($constant),*>(k, inputs, shape),)*
                found => {
                    k.block([128]);
                    k.refuse(format!("expected a head size, queries and keys of {TILES:?}, found {found:?}"));
                }
            }
        }
    };
}

// K: columns of subtiles of the transposed V, whose columns are keys. D, E: columns of subtiles of K and of V. M, N: subtiles of queries
// and of keys. C: warpgroups. These are followed by the stages of keys and of queries, and the columns of subtiles that are stored at a
// time.
tiles! {
    //  d,   m, keys => K, D, E,  M,  N, C, stages, of queries, stored
     64, 192, 160 => 5, 2, 4, 12, 10, 3, 3, 2, 4;
     64, 192, 128 => 4, 2, 4, 12,  8, 3, 3, 2, 4;
     64, 192,  96 => 3, 2, 4, 12,  6, 3, 4, 2, 4;
     64, 128, 128 => 4, 2, 4,  8,  8, 2, 3, 2, 4;
     64, 128, 256 => 8, 2, 4,  8, 16, 2, 3, 2, 4;
     64, 256,  64 => 2, 2, 4, 16,  4, 4, 4, 2, 4;
    128, 192,  96 => 3, 4, 8, 12,  6, 3, 3, 2, 4;
    128, 128, 128 => 4, 4, 8,  8,  8, 2, 3, 2, 4;
    128, 128, 160 => 5, 4, 8,  8, 10, 2, 3, 2, 4;
    128, 128, 192 => 6, 4, 8,  8, 12, 2, 2, 2, 4;
    128, 128, 224 => 7, 4, 8,  8, 14, 2, 2, 2, 4;
    128, 192,  64 => 2, 4, 8, 12,  4, 3, 4, 2, 4;
}
