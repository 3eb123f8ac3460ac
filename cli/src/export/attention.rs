//! The exported attention kernels.

use super::kernels::{Options, Ready, Selects, add, add_shared};
use warpwright::{
    kernels::{
        Attention, AttentionBackward, AttentionExtras, AttentionMask, CachedAttention, ScaledAttention,
    },
    ptx::{Module, Target, bf16, f16},
    tensor::{ConvertibleElement, TensorElement},
    tiles::{Convert, Product},
};

/// The attention kernels.
#[rustfmt::skip]
pub(super) const KERNELS: &[Ready] = &[
    Ready {
        name: "attention",
        about: "O = softmax(scale·Q·Kᵀ)·V without a mask and with causal ones, or with --window; packed sequences with the last of these masks; --head-size 192 has values of 128",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::HeadSizesAndWindow,
        builds: &[
            ("bf16", |module, of| forward::<bf16>(module, of)),
            ("f16",  |module, of| forward::<f16>(module, of)),
        ],
    },
    Ready {
        name: "attention_backward",
        about: "dQ, dK and dV of attention without a mask and with causal ones, or with --window: a kernel of rows, then one of keys and sums, then one that finishes dQ; or, deterministic, one of rows, one of keys, and one of queries; --head-size 192 has values of 128",
        target: Target::SM_90A,
        divisors: &[],
        selects: Selects::HeadSizesAndWindow,
        builds: &[
            ("bf16", |module, of| backward::<bf16>(module, of, false)),
            ("f16",  |module, of| backward::<f16>(module, of, false)),
        ],
    },
    Ready {
        name: "attention_backward_dropout",
        about: "the kernels of attention_backward for attention with dropout, with the masks of attention",
        target: Target::SM_90A,
        divisors: &[],
        selects: Selects::HeadSizesAndWindow,
        builds: &[
            ("bf16", |module, of| backward::<bf16>(module, of, true)),
            ("f16",  |module, of| backward::<f16>(module, of, true)),
        ],
    },
    Ready {
        name: "attention_backward_packed",
        about: "the kernels of attention_backward for packed sequences, with the last of the masks of attention",
        target: Target::SM_90A,
        divisors: &[],
        selects: Selects::HeadSizesAndWindow,
        builds: &[
            ("bf16", |module, of| packed_backward::<bf16>(module, of)),
            ("f16",  |module, of| packed_backward::<f16>(module, of)),
        ],
    },
    Ready {
        name: "attention_cached",
        about: "attention of one query and of up to 4 queries per head to contiguous caches of keys and values, which 1, 2 or 4 blocks divide",
        target: Target::SM_90A,
        divisors: &[],
        selects: Selects::HeadSizes,
        builds: &[
            ("bf16", |module, of| cached::<bf16>(module, of)),
            ("f16",  |module, of| cached::<f16>(module, of)),
        ],
    },
    Ready {
        name: "attention_cached_e4m3",
        about: "attention of one query and of up to 4 queries per head to contiguous caches of e4m3 keys and values with scales of heads, which 1, 2 or 4 blocks divide",
        target: Target::SM_90A,
        divisors: &[],
        selects: Selects::HeadSizes,
        builds: &[
            ("bf16", |module, of| cached_e4m3::<bf16>(module, of)),
            ("f16",  |module, of| cached_e4m3::<f16>(module, of)),
        ],
    },
    Ready {
        name: "attention_dropout",
        about: "attention with dropout, with the masks of attention",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::HeadSizesAndWindow,
        builds: &[
            ("bf16", |module, of| dropout::<bf16>(module, of)),
            ("f16",  |module, of| dropout::<f16>(module, of)),
        ],
    },
    Ready {
        name: "attention_e4m3",
        about: "attention of e4m3 Q, K and V with scales of heads, with the masks of attention: a kernel that transposes V, then one that computes O as bf16 or f16",
        target: Target::SM_90A,
        divisors: &[],
        selects: Selects::HeadSizesAndWindow,
        builds: &[
            ("bf16", |module, of| scaled::<bf16>(module, of)),
            ("f16",  |module, of| scaled::<f16>(module, of)),
        ],
    },
    Ready {
        name: "attention_extras",
        about: "attention with ALiBi slopes and with attention sinks, and a cap with --soft-cap, with the masks of attention",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::HeadSizesAndExtras,
        builds: &[
            ("bf16", |module, of| extras::<bf16>(module, of)),
            ("f16",  |module, of| extras::<f16>(module, of)),
        ],
    },
    Ready {
        name: "attention_paged",
        about: "attention of one query and of up to 4 queries per head to caches in pages of 16 and 64 rows, which 1, 2 or 4 blocks divide",
        target: Target::SM_90A,
        divisors: &[],
        selects: Selects::HeadSizes,
        builds: &[
            ("bf16", |module, of| paged::<bf16>(module, of)),
            ("f16",  |module, of| paged::<f16>(module, of)),
        ],
    },
    Ready {
        name: "attention_paged_e4m3",
        about: "attention of one query and of up to 4 queries per head to caches of e4m3 keys and values with scales of heads in pages of 16 and 64 rows, which 1, 2 or 4 blocks divide",
        target: Target::SM_90A,
        divisors: &[],
        selects: Selects::HeadSizes,
        builds: &[
            ("bf16", |module, of| paged_e4m3::<bf16>(module, of)),
            ("f16",  |module, of| paged_e4m3::<f16>(module, of)),
        ],
    },
];

/// The masks that are exported without --window.
const MASKS: [AttentionMask; 3] = [AttentionMask::Full, AttentionMask::Causal, AttentionMask::CausalFromEnd];

/// Calls `each` with each head size and mask.
fn for_each(
    of: &Options<'_>,
    mut each: impl FnMut(u32, AttentionMask) -> Result<(), String>,
) -> Result<(), String> {
    let masks = of.window.map_or(MASKS.to_vec(), |window| vec![window]);
    of.head_sizes.iter().try_for_each(|&size| masks.iter().try_for_each(|&mask| each(size, mask)))
}

/// Returns the head size of V and O for a head size of Q and K.
const fn values_of(head_size: u32) -> u32 {
    if head_size == 192 { 128 } else { head_size }
}

/// Adds attention and, with the last of the masks, attention for packed sequences.
fn forward<T>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    let new = |target, size, mask| Attention::new(target, size, values_of(size), mask);
    for_each(of, |size, mask| add(module, |target| new(target, size, mask).kernel::<T>()))?;
    let mask = mask_of_packed(of);
    of.head_sizes
        .iter()
        .try_for_each(|&size| add(module, |target| new(target, size, mask).packed_kernel::<T>()))
}

/// Returns the mask for packed sequences.
fn mask_of_packed(of: &Options<'_>) -> AttentionMask {
    of.window.unwrap_or(AttentionMask::CausalFromEnd)
}

/// Adds attention with dropout.
fn dropout<T>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    let extras = AttentionExtras { dropout: true, ..AttentionExtras::default() };
    for_each(of, |size, mask| {
        add(module, |target| {
            let attention = Attention::new(target, size, values_of(size), mask).with_tile_for_dropout();
            attention.kernel_with_extras::<T>(extras)
        })
    })
}

/// Adds attention with 8-bit floats.
fn scaled<O>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    O: TensorElement,
    f32: Convert<O>,
{
    for &size in of.head_sizes {
        add_shared(module, |_| ScaledAttention::new(size, AttentionMask::Full).values_kernel())?;
    }
    for_each(of, |size, mask| add(module, |_| ScaledAttention::new(size, mask).kernel::<O>()))
}

/// Adds attention with slopes and with sinks; if there is a cap, adds attention with the cap alone, with the cap and slopes, and with the
/// cap and sinks.
fn extras<T>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    let soft_cap = of.soft_cap;
    for_each(of, |size, mask| {
        let kernel = |slopes, sinks| {
            move |target| {
                let attention = Attention::new(target, size, values_of(size), mask);
                let attention = if soft_cap.is_some() { attention.with_tile_for_cap() } else { attention };
                attention.kernel_with_extras::<T>(AttentionExtras { soft_cap, slopes, sinks, dropout: false })
            }
        };
        if soft_cap.is_some() {
            add(module, kernel(false, false))?;
        }
        add(module, kernel(true, false))?;
        add(module, kernel(false, true))
    })
}

/// Returns the gradients of attention, with sums of dQ and deterministic.
fn gradients(size: u32, mask: AttentionMask, dropout: bool) -> [AttentionBackward; 2] {
    let value_size = values_of(size);
    [false, true].map(|deterministic| AttentionBackward {
        value_size,
        deterministic,
        dropout,
        ..AttentionBackward::new(size, mask)
    })
}

/// Adds the gradients of attention, with or without dropout.
fn backward<T>(module: &mut Module, of: &Options<'_>, dropout: bool) -> Result<(), String>
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    for &size in of.head_sizes {
        let [sums, deterministic] = gradients(size, AttentionMask::Full, dropout);
        add(module, |_| sums.rows_kernel::<T>())?;
        add(module, |_| deterministic.rows_kernel::<T>())?;
        add(module, |_| sums.finish_kernel::<T>())?;
    }
    for_each(of, |size, mask| {
        let [sums, deterministic] = gradients(size, mask, dropout);
        add(module, |_| sums.keys_kernel::<T>())?;
        add(module, |_| deterministic.keys_kernel::<T>())?;
        add(module, |_| deterministic.queries_kernel::<T>())
    })
}

/// Adds the gradients of attention for packed sequences.
fn packed_backward<T>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    of.head_sizes.iter().try_for_each(|&size| {
        let [sums, deterministic] = gradients(size, mask_of_packed(of), false);
        add(module, |_| sums.packed_rows_kernel::<T>())?;
        add(module, |_| deterministic.packed_rows_kernel::<T>())?;
        add(module, |_| sums.packed_finish_kernel::<T>())?;
        add(module, |_| sums.packed_keys_kernel::<T>())?;
        add(module, |_| deterministic.packed_keys_kernel::<T>())?;
        add(module, |_| deterministic.packed_queries_kernel::<T>())
    })
}

/// Adds the kernels for attention over contiguous caches.
fn cached<T>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    divided(of).try_for_each(|attention| add(module, |_| attention.kernel::<T>()))
}

/// Adds the kernels for attention over contiguous caches of 8-bit floats.
fn cached_e4m3<T>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: ConvertibleElement,
    f32: Convert<T>,
{
    divided(of).try_for_each(|attention| add(module, |_| attention.scaled_kernel::<T>()))
}

/// Adds the kernels for attention over paged caches.
fn paged<T>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    in_pages(of, |attention, page| add(module, |_| attention.paged_kernel::<T>(page)))
}

/// Adds the kernels for attention over paged caches of 8-bit floats.
fn paged_e4m3<T>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: ConvertibleElement,
    f32: Convert<T>,
{
    in_pages(of, |attention, page| add(module, |_| attention.scaled_paged_kernel::<T>(page)))
}

/// Returns the kernels for attention over a cache, for each head size, number of queries and number of
/// blocks.
fn divided(of: &Options<'_>) -> impl Iterator<Item = CachedAttention> {
    of.head_sizes.iter().flat_map(|&head_size| {
        [1, 4].into_iter().flat_map(move |queries| {
            CachedAttention::PARTS.map(|parts| CachedAttention { head_size, parts, queries })
        })
    })
}

/// Calls `each` with each result of [`divided`] and each page size.
fn in_pages(
    of: &Options<'_>,
    mut each: impl FnMut(CachedAttention, u32) -> Result<(), String>,
) -> Result<(), String> {
    divided(of).try_for_each(|attention| [16, 64].into_iter().try_for_each(|page| each(attention, page)))
}
