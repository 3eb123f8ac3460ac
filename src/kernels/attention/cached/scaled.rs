//! Kernels for caches of 8-bit floats with one scale factor per KV head.

use super::{
    CachedAttention, Inputs, Pages, Rows, contiguous_caches, paged_caches, pages::Caches, widened::emit,
};
use crate::{
    kernels::attention::strides,
    ptx::{BuildError, Builder, Global, In, Kernel, Out, Ptr, Read, Target, e4m3},
    tensor::ConvertibleElement,
    tiles::Convert,
};

/// The arguments of the kernel that [`CachedAttention::scaled_kernel`] builds:
/// `(q, k, v, o, lse, lengths, [k_scales, v_scales], [batches, kv_heads, group, queries, keys], of_queries, of_keys, scale)`. `k_scales`
/// and `v_scales` contain one scale factor per KV head, which all batches share. See [`CachedAttentionArgs`](super::CachedAttentionArgs)
/// for the other arguments.
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
/// factor per KV head, which all batches share. See [`PagedAttentionArgs`](super::PagedAttentionArgs) for the other arguments.
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
    /// Builds the kernel for contiguous caches of `e4m3` elements with one scale factor per KV head. Elements of the cache are converted
    /// exactly to f16. Each row of Q is divided by a power of two, so that its largest element is usually between 1 and 2, and rounded to
    /// f16; this changes only elements smaller than 2⁻¹⁷ (bf16) or 2⁻¹⁴ (f16) times the largest one. Weights, which are at most 2⁸, are
    /// rounded to f16 before they are multiplied by the values. Sums are computed in f32.
    ///
    /// A tile has 16 rows for one or two [`queries`](Self::queries), 32 for four, and 64 for eight. If a tile cannot contain all heads that
    /// share a KV head, the cache is read several times, mostly from the L2 cache. All elements are converted twice with four queries, and
    /// four times with eight queries. With eight queries, the kernel is slower than with a 16-bit cache. The kernel's name also contains
    /// the element type of the cache, as in `attention_cached_bf16_e4m3_128_split2`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    #[doc(alias = "fp8")]
    pub fn scaled_kernel<T>(&self) -> Result<Kernel<ScaledCachedAttentionArgs<T>>, BuildError>
    where
        T: ConvertibleElement,
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
                let inputs = Inputs { q, o, lse, lengths, sizes, of_queries, scale };
                let (factors, caches) = contiguous_caches(&inputs, [keys, values], n, of_keys);
                self.emit_scaled(k, inputs, scales, factors, caches);
            },
        )
    }

    /// Builds the variant of [`scaled_kernel`](Self::scaled_kernel) for caches that are stored in pages of `page` rows. Its name also
    /// contains the page size, as in `attention_paged_bf16_e4m3_128_pages16_split2`.
    ///
    /// # Errors
    /// Returns the same errors as [`paged_kernel`](Self::paged_kernel).
    pub fn scaled_paged_kernel<T>(&self, page: u32) -> Result<Kernel<ScaledPagedAttentionArgs<T>>, BuildError>
    where
        T: ConvertibleElement,
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
                let inputs = Inputs { q, o, lse, lengths, sizes, of_queries, scale };
                let pages = Pages { tables, pages, table, rows: page };
                let (factors, caches) = paged_caches(k, &inputs, [keys, values], pages, of_keys);
                self.emit_scaled(k, inputs, scales, factors, caches);
            },
        )
    }

    #[track_caller]
    fn emit_scaled<'k, T>(
        &self,
        k: Builder<'k>,
        inputs: Inputs<'k, T>,
        scales: [Ptr<'k, f32, Global, Read>; 2],
        factors: [Rows<'k, e4m3>; 2],
        caches: Caches<'k>,
    ) where
        T: ConvertibleElement,
        f32: Convert<T>,
    {
        self.describe::<T>(k, " (e4m3 with scales of heads)");
        // For up to two queries, the keys of a step are divided among 4 warps; for four, among 2; for eight,
        // each warp processes all of them.
        match self.queries {
            1 | 2 => self.emit_widened::<T, 2>(k, inputs, scales, factors, caches),
            4 => self.emit_widened::<T, 4>(k, inputs, scales, factors, caches),
            _ => self.emit_widened::<T, 8>(k, inputs, scales, factors, caches),
        }
    }

    /// Emits the kernel in which each warp processes `K` subtiles of keys per step.
    #[track_caller]
    fn emit_widened<'k, T, const K: usize>(
        &self,
        k: Builder<'k>,
        inputs: Inputs<'k, T>,
        scales: [Ptr<'k, f32, Global, Read>; 2],
        factors: [Rows<'k, e4m3>; 2],
        caches: Caches<'k>,
    ) where
        T: ConvertibleElement,
        f32: Convert<T>,
    {
        let Self { head_size, parts, queries } = *self;
        match [head_size, parts] {
            _ if !self.is_supported() => self.refuse(k),
            [64, 1] => emit::<T, 4, 2, 1, 4, K>(k, inputs, scales, factors, caches, queries),
            [64, 2] => emit::<T, 4, 2, 2, 2, K>(k, inputs, scales, factors, caches, queries),
            [64, _] => emit::<T, 4, 2, 4, 1, K>(k, inputs, scales, factors, caches, queries),
            [_, 1] => emit::<T, 8, 4, 1, 8, K>(k, inputs, scales, factors, caches, queries),
            [_, 2] => emit::<T, 8, 4, 2, 4, K>(k, inputs, scales, factors, caches, queries),
            _ => emit::<T, 8, 4, 4, 2, K>(k, inputs, scales, factors, caches, queries),
        }
    }
}
