//! Attention, with tensor copies and `wgmma` on Hopper (sm_90a), and with `cp.async` and `mma.sync` on other targets.

mod backward;
mod cached;
mod dropout;
mod forward;
mod inputs;
mod order;
mod overlap;
mod problem;
mod scaled;
mod scores;
mod softmax;
mod table;
mod values;
mod visible;
mod warpgroup;
mod warps;

use crate::{
    ptx::{BuildError, Builder, In, Kernel, Out, Target},
    tensor::TensorElement,
    tiles::{Convert, Product, Schedule},
};
use dropout::Dropout;
use forward::{Shape, forward};
use inputs::{Inputs, Sizes};
use values::OfKeys;
use warps::forward_by_warps;

pub use backward::{
    AttentionBackward, AttentionFinishArgs, AttentionKeysArgs, AttentionQueriesArgs, AttentionRowsArgs,
    PackedAttentionFinishArgs, PackedAttentionKeysArgs, PackedAttentionQueriesArgs, PackedAttentionRowsArgs,
};
pub use cached::{
    CachedAttention, CachedAttentionArgs, CachedAttentionProblem, PagedAttentionArgs,
    ScaledCachedAttentionArgs, ScaledPagedAttentionArgs,
};
pub use overlap::{AttentionOverlap, ProductOrder};
pub use problem::AttentionProblem;
pub use scaled::{AttentionValuesArgs, ScaledAttention, ScaledAttentionArgs};
pub use table::{AttentionEntry, AttentionTable};
pub use visible::AttentionMask;

/// The arguments of the kernel that [`Attention::kernel`] builds:
/// `(q, k, v, o, lse, [batches, kv_heads, group, queries, keys], strides, scale)`. See [`Attention`] for the results. K and V each consist
/// of `batches`·`kv_heads` matrices of `keys` rows. Each KV head is shared by `group` query heads, so Q and O each consist of
/// `batches`·`kv_heads`·`group` matrices of `queries` rows. `strides` contains the strides of Q, K, V and O: for each, the strides between
/// batches, between heads and between rows, in elements. All strides must be multiples of 16 bytes. `lse` is a contiguous array of
/// `batches`·`kv_heads`·`group`·`queries` elements.
pub type AttentionArgs<T> = (In<T>, In<T>, In<T>, Out<T>, Out<f32>, [u32; 5], [[u32; 3]; 4], f32);

/// The arguments of the kernel that [`Attention::kernel_with_extras`] builds: those of [`AttentionArgs`], followed by `slopes`, `sinks`,
/// `p` and `[seed, offset]`. `slopes` and `sinks` each contain one element per query head of a sequence. If the kernel was built without
/// slopes or sinks, the corresponding buffer may have any length. `p` is the probability that dropout replaces a weight with 0; it must be
/// at least 0 and less than 1. `seed` and `offset` determine the random numbers for dropout.
pub type AttentionExtrasArgs<T> =
    (In<T>, In<T>, In<T>, Out<T>, Out<f32>, [u32; 5], [[u32; 3]; 4], f32, In<f32>, In<f32>, f32, [u64; 2]);

/// The arguments of the kernel that [`Attention::packed_kernel`] builds:
/// `(q, k, v, o, lse, [query_starts, key_starts], [sequences, kv_heads, group, queries, keys], longest, strides, scale)`. The sequences are
/// stored one after the other in the `queries` rows of each head of Q and O, and in the `keys` rows of each head of K and V. `query_starts`
/// and `key_starts` each contain `sequences` + 1 row indices: the first row of each sequence, in ascending order, followed by the end of
/// the last sequence. Results are computed for the first `longest` queries of each sequence; `longest` is rounded up to a multiple of
/// [`AttentionTile::queries`]. `strides` contains the strides of Q, K, V and O: for each, the strides between heads and between rows, in
/// elements. All strides must be multiples of 16 bytes. `lse` is a contiguous array of `kv_heads`·`group`·`queries` elements.
#[doc(alias = "cu_seqlens")]
#[doc(alias = "varlen")]
pub type PackedAttentionArgs<T> =
    (In<T>, In<T>, In<T>, Out<T>, Out<f32>, [In<u32>; 2], [u32; 5], u32, [[u32; 2]; 4], f32);

const BUFFERS: &str = "q, k, v, o, lse";
const MATRICES: &[&str] = &["q", "k", "v", "o"];
const SIZES: &str = "kv_heads, group, queries, keys";

/// Optional extensions of attention. The scores are the elements of `scale` · Q·Kᵀ, and the weights of a query are the softmax of its
/// scores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttentionExtras {
    /// The soft cap c, from 0.001 to 10,000: each score is replaced with c·tanh(score / c), with an error of about 10⁻⁶·c. If this field is
    /// `None`, scores are not capped.
    pub soft_cap: Option<f32>,
    /// Whether to apply ALiBi: slope · distance is subtracted from each score (after the soft cap, if any), where slope is the head's
    /// element of the argument `slopes`, and distance is the absolute difference between the positions of the query and the key.
    /// [`AttentionMask`] defines the positions; with [`AttentionMask::Full`], the first query has the same position as the first key.
    /// Distances of 2²⁴ or more are rounded.
    #[doc(alias = "ALiBi")]
    pub slopes: bool,
    /// Whether to add exp(sink) to each row's sum of exponentials, where sink is the head's element of the argument `sinks`. The effect is
    /// that of an additional key whose score is sink and whose value is zero.
    #[doc(alias = "attention sink")]
    pub sinks: bool,
    /// Whether to apply dropout to the weights: each weight becomes 0 with probability `p`, and the other weights are multiplied by 1 / (1
    /// − `p`). The random word that [`Builder::random`](crate::ptx::Builder::random) returns for element (i, j), `seed` and `offset` + h
    /// determines whether the weight of query i and key j becomes 0. Here, h is the index of the query head among the query heads of all
    /// batches. `p`, `seed` and `offset` are arguments of the kernel ([`AttentionExtrasArgs`]). The random numbers do not depend on the
    /// tile, and [`AttentionBackward`] uses the same numbers.
    pub dropout: bool,
}

/// The numbers of queries and keys that a block processes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttentionTile {
    /// The number of queries that a block processes at a time.
    pub queries: u32,
    /// The number of keys that a block processes at a time.
    pub keys: u32,
}

impl AttentionTile {
    /// Returns the tiles that the kernels support for a target, where `head_size` is the head size of Q and K, and `value_size` is that of
    /// V and O. Of the tiles whose kernels have enough registers, the first is the fastest for long sequences. The iterator is empty if the
    /// head sizes are not supported.
    pub fn all(target: Target, head_size: u32, value_size: u32) -> impl Iterator<Item = Self> {
        let tiles = if uses_wgmma(target) { HOPPER_TILES } else { WARP_TILES };
        let of_size = tiles.iter().filter(move |[d, e, ..]| [*d, *e] == [head_size, value_size]);
        of_size.map(|&[.., queries, keys]| Self { queries, keys })
    }
}

/// Returns whether the kernels for a target use `wgmma`.
fn uses_wgmma(target: Target) -> bool {
    target == Target::SM_90A
}

/// An attention kernel for bf16 or f16 elements. For each head, it computes O = softmax(`scale` · Q·Kᵀ)·V and `lse`, the logarithm of the
/// sum of exponentials in each row of `scale` · Q·Kᵀ. The kernel uses `wgmma` on sm_90a, and `mma.sync` on all other targets, which must be
/// sm_80 or later.
///
/// Scores, exponentials and sums are computed in f32. Exponentials are computed relative to a running maximum, which is updated only if an
/// exponential would exceed 2⁸. Exponentials are rounded to the element type before they are multiplied by V, and results are rounded to
/// the element type when they are stored in O. Up to 2³⁰ queries and 2³⁰ keys are supported, and `scale` must be positive. For a query that
/// attends to no keys, O is 0 and, without a [sink](AttentionExtras::sinks), the logarithm is −∞. A NaN or ∞ in V can make elements of O
/// NaN even if the corresponding weight is 0.
///
/// Kernels with a head size of 256 and a mask other than [`AttentionMask::Full`] spill a few registers once per tile.
#[doc(alias = "flash_attention")]
#[doc(alias = "scaled_dot_product_attention")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attention {
    /// The target of the kernel.
    pub target: Target,
    /// The head size of Q and K: 32, 64, 96, 128, 192 or 256.
    pub head_size: u32,
    /// The head size of V and O. It must be 128 if [`head_size`](Self::head_size) is 192, and equal to `head_size` otherwise.
    pub value_size: u32,
    /// The mask, which determines the keys that each query attends to.
    pub mask: AttentionMask,
    /// The numbers of queries and keys that a block processes at a time.
    pub tile: AttentionTile,
    /// The order in which the tiles of queries are processed on sm_90a; ignored on other targets. Rows of the schedule are heads, and
    /// columns are the tiles of a head. With a causal mask, column 0 is the last tile of a head.
    pub schedule: Schedule,
}

impl Attention {
    /// Returns the kernel for the given target, head sizes and mask, with the first tile that [`AttentionTile::all`] returns. If the head
    /// sizes are not supported, building the kernel fails.
    #[must_use]
    pub fn new(target: Target, head_size: u32, value_size: u32, mask: AttentionMask) -> Self {
        let none = AttentionTile { queries: 128, keys: 128 };
        let tile = AttentionTile::all(target, head_size, value_size).next().unwrap_or(none);
        // With a causal mask, the first tiles take the most steps.
        let schedule =
            if mask.is_causal() { Schedule::grouped(8).back_and_forth() } else { Schedule::linear() };
        Self { target, head_size, value_size, mask, tile, schedule }
    }

    /// Returns this kernel with a tile that leaves enough registers for a soft cap. On sm_90a, with a head size of 32 or 64, this is the
    /// first tile of [`AttentionTile::all`] with 192 queries and fewer keys than the current tile, if any. In all other cases, the tile
    /// does not change. Use [`kernel_with_extras`](Self::kernel_with_extras) to build the kernel.
    #[must_use]
    pub fn with_tile_for_cap(self) -> Self {
        let fewer = |tile: &AttentionTile| tile.queries == 192 && tile.keys < self.tile.keys;
        let mut all = AttentionTile::all(self.target, self.head_size, self.value_size);
        let tile = all.find(fewer).unwrap_or(self.tile);
        Self { tile, ..self }
    }

    /// Returns this kernel with a tile that leaves enough registers for dropout. On sm_90a, this is the tile with the fewest keys among the
    /// tiles with the fewest queries. On other targets, it is the first tile of [`AttentionTile::all`]. Use
    /// [`kernel_with_extras`](Self::kernel_with_extras) to build the kernel. On sm_90a, kernels with dropout and a head size of 96, 192 or
    /// 256 spill a few registers.
    #[must_use]
    pub fn with_tile_for_dropout(self) -> Self {
        let mut all = AttentionTile::all(self.target, self.head_size, self.value_size);
        let tile = if uses_wgmma(self.target) {
            all.min_by_key(|tile| (tile.queries, tile.keys))
        } else {
            all.next()
        };
        Self { tile: tile.unwrap_or(self.tile), ..self }
    }

    /// Builds the kernel. Its name contains the type, the head sizes and the mask, for example `attention_bf16_128_causal`.
    ///
    /// # Errors
    /// Returns an error for an unsupported head size or tile, for a window that extends 2³⁰ or more positions in either direction, or for a
    /// target older than sm_80.
    pub fn kernel<T>(&self) -> Result<Kernel<AttentionArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "{}({BUFFERS}, batches, {SIZES}, {}, scale)",
            self.name::<T>(),
            strides(MATRICES, &["batch", "head", "row"])
        );
        Kernel::build(&signature, self.target, |k, (q, keys, values, o, lse, sizes, strides, scale)| {
            let sizes = Sizes::of(sizes);
            let inputs = Inputs::new([q, keys, values], (o, lse), sizes, strides, scale);
            self.emit(k, inputs, None);
        })
    }

    /// Builds the kernel with optional extensions. Its name also lists the extensions, for example
    /// `attention_bf16_128_causal_cap50_slopes_sinks_dropout`. All extensions except dropout affect the logarithms in `lse`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel). Also returns an error if the soft cap is out of range.
    pub fn kernel_with_extras<T>(
        &self,
        extras: AttentionExtras,
    ) -> Result<Kernel<AttentionExtrasArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let AttentionExtras { soft_cap, slopes, sinks, dropout } = extras;
        let cap = soft_cap.map_or(String::new(), |cap| format!("_cap{cap}").replace(['.', '-'], "_"));
        let with = [(true, &*cap), (slopes, "_slopes"), (sinks, "_sinks"), (dropout, "_dropout")];
        let with: String = with.into_iter().filter_map(|(is_added, name)| is_added.then_some(name)).collect();
        let signature = format!(
            "{}{with}({BUFFERS}, batches, {SIZES}, {}, scale, slopes, sinks, p, seed, offset)",
            self.name::<T>(),
            strides(MATRICES, &["batch", "head", "row"])
        );
        Kernel::build(
            &signature,
            self.target,
            |k, (q, keys, values, o, lse, sizes, strides, scale, of_heads, sinks_of_heads, p, random)| {
                if let Some(cap) = soft_cap.filter(|cap| !(1e-3..=1e4).contains(cap)) {
                    k.refuse(format!("expected a soft cap from 0.001 to 10000, found {cap}"));
                }
                let (slopes, sinks) = (slopes.then_some(of_heads), sinks.then_some(sinks_of_heads));
                let sizes = Sizes::of(sizes);
                let inputs = Inputs {
                    slopes,
                    sinks,
                    dropout: dropout.then(|| Dropout::new(p, random)),
                    ..Inputs::new([q, keys, values], (o, lse), sizes, strides, scale)
                };
                self.emit(k, inputs, soft_cap);
            },
        )
    }

    /// Builds the kernel for packed sequences, which may have different lengths. Its name ends in `_packed`, for example
    /// `attention_bf16_128_causal_packed`.
    ///
    /// Rows of O that do not belong to a sequence are not written. Rows of K and V that belong to other sequences or to no sequence do not
    /// affect the results of a sequence, even if they contain NaN or ∞.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn packed_kernel<T>(&self) -> Result<Kernel<PackedAttentionArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let signature = format!(
            "{}_packed({BUFFERS}, query_starts, key_starts, sequences, {SIZES}, longest, {}, scale)",
            self.name::<T>(),
            strides(MATRICES, &["head", "row"])
        );
        Kernel::<PackedAttentionArgs<T>>::build(
            &signature,
            self.target,
            |k, (q, keys, values, o, lse, starts, sizes, longest, strides, scale)| {
                let sizes = Sizes::of(sizes).with_longest(longest);
                let strides = strides.map(|[head, row]| [0.into(), head, row]);
                let starts = Some(starts);
                let inputs =
                    Inputs { starts, ..Inputs::new([q, keys, values], (o, lse), sizes, strides, scale) };
                self.emit(k, inputs, None);
            },
        )
    }

    /// Returns the name of the kernel without the suffixes of extensions.
    fn name<T: TensorElement>(&self) -> String {
        let Self { head_size, value_size, mask, .. } = *self;
        let values = if value_size == head_size { String::new() } else { format!("_{value_size}") };
        format!("attention_{}_{head_size}{values}_{}", T::NAME, mask.name())
    }

    fn emit<'k, T>(&self, k: Builder<'k>, inputs: Inputs<'k, T>, soft_cap: Option<f32>)
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let Self { target, head_size, value_size, mask, tile, schedule } = *self;
        let AttentionTile { queries, keys } = tile;
        let of_values = if value_size == head_size { String::new() } else { format!(" and {value_size}") };
        k.describe(format!(
            "O = softmax(scale·Q·Kᵀ)·V with rows of {head_size}{of_values} ({}), {} mask; tiles of {queries}×{keys}",
            T::NAME,
            mask.name().replace('_', " "),
        ));
        if check_window(k, mask) {
            let build = if uses_wgmma(target) { hopper } else { warps };
            let overlap = AttentionOverlap::default();
            build([head_size, value_size], tile, k, inputs, Shape { mask, schedule, soft_cap, overlap });
        }
    }
}

/// Checks that all distances in the window of a mask fit in an i32. Rejects the window and returns `false` if they do not fit.
fn check_window(k: Builder<'_>, mask: AttentionMask) -> bool {
    match mask {
        AttentionMask::Window { before, after } if before.max(after) >= 1 << 30 => {
            k.block([128]);
            k.refuse(format!(
                "expected a window of less than 2³⁰ positions, found {before} before and {after} after"
            ));
            false
        }
        _ => true,
    }
}

/// Returns the names of the strides of `matrices` along `axes`, separated by commas.
fn strides(matrices: &[&str], axes: &[&str]) -> String {
    let names = matrices.iter().flat_map(|matrix| axes.iter().map(move |axis| format!("{matrix}_{axis}")));
    names.collect::<Vec<_>>().join(", ")
}

/// Expands to the function that emits kernels for elements of type `T` with the given constants.
macro_rules! by_warpgroups {
    ($($constant:literal),*) => { forward::<T, T, OfKeys, $($constant),*> };
}

/// Expands to the same function for kernels without `wgmma`.
macro_rules! by_warps {
    ($($constant:literal),*) => { forward_by_warps::<T, $($constant),*> };
}

/// Defines a table of the supported head sizes and tiles, and a function that emits the kernel for an entry of the table. The literals
/// after `=>` are the constants of that kernel.
macro_rules! tiles {
    ($all:ident $build:ident $emit:ident: $($size:literal, $value:literal, $queries:literal, $keys:literal => $($constant:literal),*;)*) => {
        const $all: &[[u32; 4]] = &[$([$size, $value, $queries, $keys]),*];

        fn $build<'k, T>(sizes: [u32; 2], tile: AttentionTile, k: Builder<'k>, inputs: Inputs<'k, T>, shape: Shape)
        where
            T: TensorElement + Product<T, f32>,
            f32: Convert<T>,
        {
            match [sizes[0], sizes[1], tile.queries, tile.keys] {
                $([$size, $value, $queries, $keys] => $emit!($($constant),*)(k, inputs, shape),)*
                _ => refuse(k, $all, sizes, tile),
            }
        }
    };
}

// D, E: columns of subtiles of K and of V. M, N: subtiles of queries and of keys. C: warpgroups. The last three constants are the numbers
// of stages of keys and of queries, and the number of columns of subtiles that are stored at a time.
tiles! { HOPPER_TILES hopper by_warpgroups:
    //  d,  e,   m, keys =>  D,  E,  M,  N, C, stages, of queries, stored
     32,  32, 192, 128 =>  2,  2, 12,  8, 3, 4, 2, 2;
     32,  32, 192,  96 =>  2,  2, 12,  6, 3, 4, 2, 2;
     32,  32, 128, 128 =>  2,  2,  8,  8, 2, 4, 2, 2;
     64,  64, 192, 128 =>  4,  4, 12,  8, 3, 3, 2, 4;
     64,  64, 192,  96 =>  4,  4, 12,  6, 3, 3, 2, 4;
     64,  64, 128, 128 =>  4,  4,  8,  8, 2, 3, 1, 4;
     96,  96, 128, 128 =>  6,  6,  8,  8, 2, 2, 1, 2;
    128, 128, 128, 128 =>  8,  8,  8,  8, 2, 2, 1, 4;
    128, 128, 128,  80 =>  8,  8,  8,  5, 2, 3, 1, 4;
    128, 128, 128, 176 =>  8,  8,  8, 11, 2, 2, 1, 4;
    192, 128, 128, 128 => 12,  8,  8,  8, 2, 2, 1, 4;
    256, 256, 128,  64 => 16, 16,  8,  4, 2, 2, 1, 4;
    256, 256, 128,  48 => 16, 16,  8,  3, 2, 2, 1, 4;
}

// D, E: columns of subtiles of K and of V. M, H: subtiles of queries of a block and of a warp. N: subtiles of keys. All tiles fit in the
// shared memory of sm_86.
tiles! { WARP_TILES warps by_warps:
    //  d,  e,   m, keys =>  D,  E, M, H, N, stages
     32,  32, 128,  64 =>  2,  2, 8, 2, 4, 2;
     64,  64,  64,  64 =>  4,  4, 4, 1, 4, 2;
     64,  64, 128,  64 =>  4,  4, 8, 2, 4, 2;
     96,  96, 128,  64 =>  6,  6, 8, 2, 4, 2;
    128, 128, 128,  32 =>  8,  8, 8, 2, 2, 2;
    128, 128, 128,  64 =>  8,  8, 8, 2, 4, 2;
    128, 128,  64,  64 =>  8,  8, 4, 1, 4, 2;
    192, 128, 128,  32 => 12,  8, 8, 2, 2, 2;
    256, 256,  64,  32 => 16, 16, 4, 1, 2, 2;
}

/// Rejects unsupported head sizes or an unsupported tile; `all` contains the supported combinations.
fn refuse(k: Builder<'_>, all: &[[u32; 4]], [head_size, value_size]: [u32; 2], tile: AttentionTile) {
    let what = |[d, e, queries, keys]: [u32; 4]| {
        format!("{queries} queries and {keys} keys for rows of {d} and {e}")
    };
    let expected: Vec<_> = all.iter().copied().map(what).collect();
    let found = what([head_size, value_size, tile.queries, tile.keys]);
    k.block([128]);
    k.refuse(format!("expected {}; found {found}", expected.join(", ")));
}
