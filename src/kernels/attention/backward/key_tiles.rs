//! The tiles of keys of the kernels that compute dK and dV.

use super::{
    AttentionBackward,
    inputs::{Head, Heads, Inputs, Sums},
    visible::{QueryRange, VisibleFrom},
};
use crate::{
    kernels::attention::{
        dropout::{Dropout, HeadDropout},
        inputs::{Sequence, Sizes},
        visible::{AttentionMask, Visible},
    },
    ptx::{Builder, Global, Ptr, Read, ReadWrite, State, Val, Write},
    tensor::TensorElement,
    tiles::{Gl, Persistent, Rt},
};

/// dK and dV, and their strides.
pub(super) type Outputs<'k, T> = ([Ptr<'k, T, Global, Write>; 2], [[Val<'k, u32>; 3]; 2]);

/// The sums of dQ, and the index of the first tile of this warp.
pub(super) type SumsOfWarp<'a, 'k> = (&'a Sums<'k, ReadWrite>, Val<'k, u32>);

/// The sizes of the tiles of a kernel.
#[derive(Clone, Copy)]
pub(super) struct TileSizes {
    /// The number of elements in a row of Q and K, and in a row of V and dO.
    pub(super) columns: [u32; 2],
    /// The number of keys in a tile.
    pub(super) keys: u32,
    /// The number of queries in a step.
    pub(super) queries: u32,
    /// The number of columns of subtiles in each tile of the sums of dQ.
    pub(super) of_sums: u32,
}

/// The tiles of keys that a resident block processes. Each step processes some of the queries of one query head that shares the keys.
pub(super) struct KeyTiles<'k, T: TensorElement> {
    k: Builder<'k>,
    matrices: Heads<'k, T>,
    outputs: [Gl<'k, T, Write, 4>; 2],
    sums: Option<Sums<'k, ReadWrite>>,
    tiles: Persistent<'k>,
    of: TileSizes,
    sizes: Sizes<'k>,
    mask: AttentionMask,
    dropout: Option<Dropout<'k>>,
}

/// A tile of keys of a head.
#[derive(Clone, Copy)]
pub(super) struct KeyTile<'k> {
    sequence: Sequence<'k>,
    kv_head: Val<'k, u32>,
    /// The index of the tile within the head.
    pub(super) number: Val<'k, u32>,
    pub(super) visible: VisibleFrom<'k>,
}

impl<'k> KeyTile<'k> {
    /// Returns the steps with queries that attend to keys of the tile.
    #[track_caller]
    pub(super) fn range(self) -> QueryRange<'k> {
        let keys = self.visible.visible.step;
        self.visible.range(self.number * keys, (self.number + 1) * keys)
    }
}

impl<'k, T: TensorElement> KeyTiles<'k, T> {
    /// Declares the grid, and returns the tiles of this block.
    #[track_caller]
    pub(super) fn new(
        k: Builder<'k>,
        inputs: &Inputs<'k, T>,
        sums: Option<Ptr<'k, f32, Global, ReadWrite>>,
        (outputs, strides): Outputs<'k, T>,
        backward: &AttentionBackward,
        of: TileSizes,
    ) -> Self {
        let TileSizes { columns, keys, of_sums, .. } = of;
        let matrices = Heads::new(k, inputs, columns);
        let sizes = inputs.sizes;
        let shape = [sizes.kv_heads, sizes.keys];
        let outputs =
            [0, 1].map(|at| matrices.sequences.matrices(outputs[at], shape, columns[at], strides[at]));
        let parts = columns[0] / (16 * of_sums);
        let sums = sums.map(|sums| matrices.workspace.sums(k, sums, [parts, of_sums]));
        let rows = sizes.batches * sizes.kv_heads;
        let tiles = k.persistent(backward.schedule, rows, sizes.longest_keys.ceil_div(keys));
        Self { k, matrices, outputs, sums, tiles, of, sizes, mask: backward.mask, dropout: inputs.dropout }
    }

    pub(super) fn are_packed(&self) -> bool {
        self.matrices.sequences.are_packed()
    }

    /// Emits a loop over the tiles of this block.
    #[track_caller]
    pub(super) fn each(&self, each: impl FnOnce(KeyTile<'k>)) {
        let TileSizes { keys: step, queries: of_step, .. } = self.of;
        self.tiles.each(|row, number| {
            let (sequence, kv_head) =
                (self.matrices.sequences.sequence(row / self.sizes.kv_heads), row % self.sizes.kv_heads);
            let (queries, keys) = (sequence.queries, sequence.keys);
            let visible = Visible { mask: self.mask, queries, keys, step, heads: 1 };
            let visible = VisibleFrom { visible, step: of_step };
            let tile = KeyTile { sequence, kv_head, number, visible };
            sequence.if_has(self.k, number * step, keys, || each(tile));
        });
    }

    /// Returns K and V of the head of a tile.
    #[track_caller]
    pub(super) fn factors(&self, of: KeyTile<'k>) -> [Gl<'k, T, Read>; 2] {
        self.matrices.keys(of.sequence, of.kv_head)
    }

    /// Emits a loop over the steps of a tile; `each` receives the matrices of the query head and the index of the step.
    #[track_caller]
    pub(super) fn each_step(&self, of: KeyTile<'k>, each: impl FnOnce(&Head<'k, T>, Val<'k, u32>)) {
        let range = of.range();
        let group = self.sizes.group;
        self.k.for_(group, |member| {
            let head = self.matrices.head(of.sequence, of.kv_head * group + member);
            self.k.for_(range.all(), |i| each(&head, i));
        });
    }

    /// Emits a loop over the query heads that share the keys of a tile, starting with `state`. `head` receives the sums of dQ, the dropout
    /// for weights whose rows are keys, and the state, and returns the next state. The sums start at the tile whose row and column `first`
    /// returns.
    #[track_caller]
    pub(super) fn fold_heads<S: State<'k>>(
        &self,
        of: KeyTile<'k>,
        state: S,
        first: impl Fn() -> [Val<'k, u32>; 2],
        head: impl FnOnce(Option<SumsOfWarp<'_, 'k>>, Option<HeadDropout<'k>>, S) -> S,
    ) -> S {
        let KeyTile { sequence, kv_head, .. } = of;
        let group = self.sizes.group;
        self.k.fold(group, state, |member, state| {
            let number = kv_head * group + member;
            let sums = self.sums.as_ref().map(|sums| {
                let of = self.matrices.workspace.part(sequence, number);
                let [row, part] = first();
                (sums, sums.number(of, row, part))
            });
            let dropout = self.matrices.dropout(sequence, number).map(HeadDropout::transposed);
            head(sums, dropout, state)
        })
    }

    /// Returns dK and dV of the head of a tile.
    #[track_caller]
    pub(super) fn results(&self, of: KeyTile<'k>) -> [Gl<'k, T, Write>; 2] {
        // The sequence is loaded again rather than kept in registers.
        let sequence = self.matrices.sequences.sequence(of.sequence.number);
        let rows = [sequence.first_key, sequence.keys];
        [0, 1].map(|at| sequence.only(&self.outputs[at], of.kv_head, rows, self.of.columns[at]))
    }

    /// Multiplies sums of dV by the dropout factor.
    #[track_caller]
    pub(super) fn scaled<const E: usize>(&self, dv: Rt<'k, f32, 1, E>) -> Rt<'k, f32, 1, E> {
        match self.dropout {
            Some(dropout) => dv * dropout.scale(),
            None => dv,
        }
    }
}
