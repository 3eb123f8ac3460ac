//! Kernels for caches of 8-bit floats with one scale factor per KV head.

use super::{CachedAttention, Inputs, Pages, format::Widened};
use crate::{
    kernels::attention::strides,
    ptx::{BuildError, In, Kernel, Out, Target, e4m3},
    tensor::ConvertibleElement,
    tiles::{Convert, Product},
};

/// The arguments of the kernel that [`CachedAttention::scaled_kernel`] builds:
/// `(q, k, v, o, lse, lengths, [k_scales, v_scales], [batches, kv_heads, group, queries, keys], of_queries, of_keys, scale)`. `k_scales`
/// and `v_scales` contain one scale factor per KV head, which all batches share. [`CachedAttentionArgs`](super::CachedAttentionArgs)
/// describes the other arguments.
pub type ScaledCachedAttentionArgs<T> = (
    In<T>,
    In<e4m3>,
    In<e4m3>,
    Out<T>,
    Out<f32>,
    In<u32>,
    [In<f32>; 2],
    [u32; 5],
    [[u32; 3]; 2],
    [[u32; 3]; 2],
    f32,
);

/// The arguments of the kernel that [`CachedAttention::scaled_paged_kernel`] builds: `(q, k, v, o, lse, lengths, tables, [k_scales,
/// v_scales], [batches, kv_heads, group, queries, pages, table], of_queries, of_keys, scale)`. `k_scales` and `v_scales` contain one scale
/// factor per KV head, which all batches share. [`PagedAttentionArgs`](super::PagedAttentionArgs) describes the other arguments.
pub type ScaledPagedAttentionArgs<T> = (
    In<T>,
    In<e4m3>,
    In<e4m3>,
    Out<T>,
    Out<f32>,
    In<u32>,
    In<u32>,
    [In<f32>; 2],
    [u32; 6],
    [[u32; 3]; 2],
    [[u32; 3]; 2],
    f32,
);

impl CachedAttention {
    /// Builds the kernel for contiguous caches of `e4m3` elements with one scale factor per KV head. Elements are converted exactly to `T`
    /// before the matrix products. The kernel's name also contains the element type of the cache, as in
    /// `attention_cached_bf16_e4m3_128_split2`. With a head size of 128 and [`queries`](Self::queries) = 8, the kernel spills a few
    /// registers once per tile.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    #[doc(alias = "fp8")]
    pub fn scaled_kernel<T>(&self) -> Result<Kernel<ScaledCachedAttentionArgs<T>>, BuildError>
    where
        T: ConvertibleElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_cached_{}_e4m3_{}{}(q, k, v, o, lse, lengths, k_scales, v_scales, batches, kv_heads, group, queries, keys, {}, {}, scale)",
            T::NAME,
            self.head_size,
            self.name(),
            strides(&["q", "o"], &["batch", "head", "query"]),
            strides(&["k", "v"], &["batch", "head", "row"])
        );
        Kernel::<ScaledCachedAttentionArgs<T>>::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, o, lse, lengths, scales, sizes, of_queries, of_keys, scale)| {
                let [batches, kv_heads, group, queries, n] = sizes;
                let sizes = [batches, kv_heads, group, queries];
                let inputs = Inputs { q, o, lse, lengths, sizes, of_queries, scale, scales: Some(scales) };
                let factors = [keys, values];
                self.emit_contiguous::<T, e4m3, Widened<2>, Widened<4>>(k, inputs, factors, n, of_keys);
            },
        )
    }

    /// Builds the variant of the [`scaled_kernel`](Self::scaled_kernel) for caches that are stored in pages of `page` rows. Its name also
    /// contains the page size, as in `attention_paged_bf16_e4m3_128_pages16_split2`.
    ///
    /// # Errors
    /// Returns the same errors as [`paged_kernel`](Self::paged_kernel).
    pub fn scaled_paged_kernel<T>(&self, page: u32) -> Result<Kernel<ScaledPagedAttentionArgs<T>>, BuildError>
    where
        T: ConvertibleElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "attention_paged_{}_e4m3_{}_pages{page}{}(q, k, v, o, lse, lengths, tables, k_scales, v_scales, batches, kv_heads, group, queries, pages, table, {}, {}, scale)",
            T::NAME,
            self.head_size,
            self.name(),
            strides(&["q", "o"], &["batch", "head", "query"]),
            strides(&["k", "v"], &["page", "head", "row"])
        );
        Kernel::<ScaledPagedAttentionArgs<T>>::build(
            &signature,
            Target::SM_90A,
            |k, (q, keys, values, o, lse, lengths, tables, scales, sizes, of_queries, of_keys, scale)| {
                let [batches, kv_heads, group, queries, pages, table] = sizes;
                let sizes = [batches, kv_heads, group, queries];
                let inputs = Inputs { q, o, lse, lengths, sizes, of_queries, scale, scales: Some(scales) };
                let pages = Pages { tables, pages, table, rows: page };
                let factors = [keys, values];
                self.emit_paged::<T, e4m3, Widened<2>, Widened<4>>(k, inputs, factors, pages, of_keys);
            },
        )
    }
}
