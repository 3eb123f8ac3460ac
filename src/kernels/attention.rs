//! Attention on Hopper (sm_90a), with tensor copies and products of warpgroups.

mod forward;
mod order;
mod softmax;
mod visible;
mod warpgroup;

use crate::{
    ptx::{BuildError, In, Kernel, Out, Target},
    tensor::TensorElement,
    tiles::{Convert, Product, Schedule},
};
use forward::{Shape, forward};

/// `(q, k, v, o, lse, batches, heads, kv_heads, queries, keys, scale, …)`: Q and O have `batches`·`heads` matrices of `queries` rows, K
/// and V `batches`·`kv_heads` matrices of `keys` rows, each row as many elements as the head size. The strides follow: of Q, of K, of V
/// and of O, each between batches, between heads and between rows in elements, all multiples of 16 bytes. The logarithms in `lse` are
/// contiguous: `batches`·`heads`·`queries`.
pub type AttentionArgs<T> = (
    In<T>,
    In<T>,
    In<T>,
    Out<T>,
    Out<f32>,
    u32,
    u32,
    u32,
    u32,
    u32,
    f32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
);

/// The keys that a query attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttentionMask {
    /// All keys.
    Full,
    /// Keys up to the query's own position, where the first query is at the position of the first key.
    Causal,
    /// Keys up to the query's own position, where the last query is at the position of the last key: queries continue a sequence whose
    /// first keys are in a cache.
    CausalFromEnd,
}

impl AttentionMask {
    /// All masks.
    pub const ALL: [Self; 3] = [Self::Full, Self::Causal, Self::CausalFromEnd];

    /// Returns the number of steps of `step` keys for the queries before `end`; at least 1.
    fn steps(self, queries: u32, keys: u32, step: u32, end: u32) -> u32 {
        let visible = match self {
            Self::Full => keys,
            Self::Causal => end.min(keys),
            Self::CausalFromEnd => end.saturating_add(keys).saturating_sub(queries).min(keys),
        };
        visible.div_ceil(step).max(1)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Causal => "causal",
            Self::CausalFromEnd => "causal_from_end",
        }
    }
}

/// The bytes of keys and values that remain in the level-2 cache: half of an H100's.
const CACHED: u64 = 25 << 20;

/// The queries and keys that a block processes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttentionTile {
    /// The warpgroups, 2 or 3, each of which has 64 queries.
    pub warpgroups: u32,
    /// The keys of a step.
    pub keys: u32,
}

impl AttentionTile {
    /// All tiles that there are kernels for with this head size.
    pub fn all(head_size: u32) -> impl Iterator<Item = Self> {
        let of_size = TILES.iter().filter(move |[size, ..]| *size == head_size);
        of_size.map(|&[_, warpgroups, keys]| Self { warpgroups, keys })
    }
}

/// A kernel of attention: O = softmax(`scale` · Q·Kᵀ)·V for each head, and the logarithm of the sum of exponentials of each row of
/// `scale` · Q·Kᵀ. Requires sm_90a.
///
/// Scores, their exponentials and sums are f32; the exponentials, relative to the maximum so far, are rounded to `T` before they are multiplied by
/// V, and so are the elements of O. Any number of queries and keys; `heads` must be a multiple of `kv_heads`, of which each serves as
/// many consecutive heads (grouped-query attention), and `scale` positive. A query without keys has O = 0 and the logarithm −∞.
#[doc(alias = "flash_attention")]
#[doc(alias = "scaled_dot_product_attention")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attention {
    /// The length of a row: 64 or 128.
    pub head_size: u32,
    /// The keys that a query attends to.
    pub mask: AttentionMask,
    /// The queries and keys of a step.
    pub tile: AttentionTile,
    /// Whether the warpgroups of a block start products in turn, so that some of them compute weights while the products of another are in
    /// flight.
    pub in_turn: bool,
    /// The order of the tiles of queries (columns) of all heads (rows); with a causal mask, columns count from the last tile.
    pub schedule: Schedule,
}

/// The sizes of a launch, as far as they decide which kernel is fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttentionProblem {
    /// The length of a row.
    pub head_size: u32,
    /// The keys that a query attends to.
    pub mask: AttentionMask,
    /// The heads of all batches.
    pub heads: u32,
    /// The heads of all batches that have their own keys and values.
    pub kv_heads: u32,
    /// The queries of a head.
    pub queries: u32,
    /// The keys of a head.
    pub keys: u32,
    /// The multiprocessors of the device.
    pub multiprocessors: u32,
}

impl Attention {
    /// Returns the kernel for a head size, with the tile that is fastest for long sequences.
    #[must_use]
    pub const fn new(head_size: u32, mask: AttentionMask) -> Self {
        let warpgroups = if head_size == 128 { 2 } else { 3 };
        let tile = AttentionTile { warpgroups, keys: 128 };
        let schedule = match mask {
            AttentionMask::Full => Schedule::linear(),
            // The first tiles take the most steps.
            _ => Schedule::grouped(8).back_and_forth(),
        };
        Self { head_size, mask, tile, in_turn: head_size == 128, schedule }
    }

    /// Returns the kernel for a problem: with a causal mask, the order of tiles in which all multiprocessors finish soonest, and in which
    /// the keys and values of heads that are processed at the same time fit in half of the level-2 cache of an H100.
    #[must_use]
    pub fn for_problem(problem: &AttentionProblem) -> Self {
        let AttentionProblem { head_size, mask, heads, kv_heads, queries, keys, multiprocessors } = *problem;
        let attention = Self::new(head_size, mask);
        if mask == AttentionMask::Full {
            return attention;
        }
        let AttentionTile { warpgroups, keys: step } = attention.tile;
        let height = 64 * warpgroups;
        let columns = queries.div_ceil(height);
        // A tile also takes the time to start and to store, about that of a step.
        let cost =
            |column: u32| 1 + mask.steps(queries, keys, step, (columns - column).saturating_mul(height));
        let costs: Vec<u32> = (0..columns).map(cost).collect();
        // K and V, of 2 bytes.
        let bytes = 4 * u64::from(keys) * u64::from(head_size);
        let together = (CACHED / bytes.max(1)).max(1) * u64::from(heads / kv_heads.max(1)).max(1);
        let together = u32::try_from(together).unwrap_or(u32::MAX);
        Self { schedule: order::balanced(heads, &costs, multiprocessors, together), ..attention }
    }

    /// Builds the kernel, named after the type, head size and mask: `attention_bf16_128_causal`.
    ///
    /// # Errors
    /// For a head size or tile that has no kernel.
    pub fn kernel<T>(&self) -> Result<Kernel<AttentionArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32>,
        f32: Convert<T>,
    {
        let Self { head_size, mask, tile, in_turn, schedule } = *self;
        let AttentionTile { warpgroups, keys } = tile;
        let name = format!("attention_{}_{head_size}_{}", T::NAME, mask.name());
        let description = format!(
            "O = softmax(scale·Q·Kᵀ)·V with rows of {head_size} ({}), {} mask; tiles of {}×{keys}",
            T::NAME,
            mask.name().replace('_', " "),
            64 * warpgroups,
        );
        build(head_size, tile, Shape { name, description, mask, in_turn, schedule })
    }
}

/// Defines the head sizes, warpgroups and keys of a step that there are kernels for, and builds them for `D`, `M` and `N` subtiles of
/// columns, queries and keys, and a number of stages.
macro_rules! tiles {
    ($($size:literal, $warpgroups:literal, $keys:literal => $d:literal, $m:literal, $n:literal, $stages:literal, $queries:literal;)*) => {
        const TILES: &[[u32; 3]] = &[$([$size, $warpgroups, $keys]),*];

        fn build<T>(size: u32, tile: AttentionTile, shape: Shape) -> Result<Kernel<AttentionArgs<T>>, BuildError>
        where
            T: TensorElement + Product<T, f32>,
            f32: Convert<T>,
        {
            match [size, tile.warpgroups, tile.keys] {
                $([$size, $warpgroups, $keys] => forward::<T, $d, $m, $n, $warpgroups, $stages, $queries>(shape),)*
                _ => refused(size, tile, &shape.name),
            }
        }
    };
}

tiles! {
    //  d, C, keys =>  D, M, N, stages, of queries
    64, 2, 128 => 4, 8, 8, 3, 1;
    64, 3, 96 => 4, 12, 6, 3, 2;
    64, 3, 128 => 4, 12, 8, 3, 2;
    128, 2, 80 => 8, 8, 5, 3, 1;
    128, 2, 128 => 8, 8, 8, 2, 1;
    128, 2, 176 => 8, 8, 11, 2, 1;
}

/// Returns the error for a tile without a kernel.
fn refused<T: TensorElement>(
    size: u32,
    tile: AttentionTile,
    name: &str,
) -> Result<Kernel<AttentionArgs<T>>, BuildError> {
    Kernel::build(name, Target::SM_90A, |k, _| {
        let what = |[size, warpgroups, keys]: [u32; 3]| {
            format!("{warpgroups} warpgroups and {keys} keys for a head size of {size}")
        };
        let expected: Vec<_> = TILES.iter().copied().map(what).collect();
        let found = what([size, tile.warpgroups, tile.keys]);
        k.block([128]);
        k.refuse(format!("expected {}; found {found}", expected.join(", ")));
    })
}
