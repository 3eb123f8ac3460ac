//! The views of a kernel's parameters, and the division of the work among blocks.

use super::{Inputs, Rows, pages::Caches, rows::GroupRows};
use crate::{
    kernels::attention::visible::{AttentionMask, Visible},
    ptx::{Builder, Read, Val, Write},
    tensor::TensorElement,
    tiles::{Gl, Persistent, Schedule, contiguous, vector},
};

/// The matrices of queries of type `T` and of caches with elements of type `E`, and the tiles that the blocks process.
pub(super) struct Views<'k, T: TensorElement, E: TensorElement> {
    pub(super) rows: GroupRows<'k>,
    pub(super) q: Gl<'k, T, Read, 5>,
    pub(super) o: Gl<'k, T, Write, 5>,
    pub(super) lse: Gl<'k, f32, Write, 4>,
    pub(super) keys: Gl<'k, E, Read, 4>,
    pub(super) values: Gl<'k, E, Read, 4>,
    /// The tiles of all caches; their keys are divided among the parts.
    pub(super) tiles: Persistent<'k>,
    lengths: Gl<'k, u32, Read, 1>,
    kv_heads: Val<'k, u32>,
    mask: AttentionMask,
    queries: Val<'k, u32>,
}

/// A tile of a cache.
#[derive(Clone, Copy)]
pub(super) struct CacheTile<'k> {
    pub(super) batch: Val<'k, u32>,
    pub(super) head: Val<'k, u32>,
    /// The index of the tile among those with the same KV head.
    pub(super) index: Val<'k, u32>,
    /// The number of keys in use.
    pub(super) length: Val<'k, u32>,
    /// The first step of this block, and the number of its steps.
    pub(super) first: Val<'k, u32>,
    pub(super) count: Val<'k, u32>,
}

impl<'k, T: TensorElement, E: TensorElement> Views<'k, T, E> {
    /// Creates the views for rows of `d` elements, tiles with `height` rows of at most `most` queries per head, and `parts` parts.
    #[track_caller]
    pub(super) fn new(
        k: Builder<'k>,
        inputs: Inputs<'k, T>,
        factors: [Rows<'k, E>; 2],
        [d, most, height, parts]: [u32; 4],
    ) -> Self {
        let Inputs { q, o, lse, lengths, sizes, of_queries, .. } = inputs;
        let [batches, kv_heads, group, queries] = sizes;
        k.block([256]);
        if parts > 1 {
            k.cluster([parts]);
        }
        let queries = queries.at_most(most);
        let rows = GroupRows::new(k, [batches, kv_heads, group, queries], most, height);
        let (q, o) = (rows.matrices(q, d, of_queries[0]), rows.matrices(o, d, of_queries[1]));
        let lse = rows.logarithms(lse);
        let lengths = k.global(lengths, vector(batches));
        let [keys, values] = factors.map(|(rows, [outer, heads, rows_of_each], [a, b, c])| {
            let layout = contiguous([outer, heads, rows_of_each, d.into()]).with_strides([a, b, c, 1.into()]);
            k.global(rows, layout)
        });
        let columns = group.ceil_div(rows.heads());
        let tiles = k.persistent(Schedule::linear().split(parts), batches * kv_heads, columns);
        let mask = if most == 1 { AttentionMask::Full } else { AttentionMask::CausalFromEnd };
        Self { rows, q, o, lse, keys, values, tiles, lengths, kv_heads, mask, queries }
    }

    /// Emits a loop over the tiles of this block, whose keys are processed in steps of `step` keys.
    #[track_caller]
    pub(super) fn each_tile(&self, caches: &Caches<'k>, step: u32, each: impl FnOnce(CacheTile<'k>)) {
        self.tiles.each(|row, index| {
            let (batch, head) = (row / self.kv_heads, row % self.kv_heads);
            let length = self.lengths.at(batch).load().min(caches.capacity());
            let (first, count) = self.tiles.part().of(length.ceil_div(step));
            each(CacheTile { batch, head, index, length, first, count });
        });
    }

    /// Returns the keys that are visible to the rows of a tile, in steps of `step` keys.
    pub(super) fn visible(&self, tile: CacheTile<'k>, step: u32) -> Visible<'k> {
        let Self { mask, queries, rows, .. } = self;
        Visible { mask: *mask, queries: *queries, keys: tile.length, step, heads: rows.heads() }
    }
}
