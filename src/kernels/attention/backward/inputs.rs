//! The inputs of the gradient kernels, and the buffers `rows` and `sums` that they pass to each other.

use crate::{
    kernels::attention::{
        dropout::{Dropout, HeadDropout},
        inputs::{Sequence, Sequences, Sizes, Starts},
    },
    ptx::{Builder, Global, IntoDim, Ptr, Read, Val},
    tensor::TensorElement,
    tiles::{ColVec, Gl, GlTile, row_major},
};

/// The rows of each head are padded to a multiple of `PADDING`, so that steps of up to `PADDING` queries need not check for the end of a
/// head.
pub(super) const PADDING: u32 = 128;

/// The parameters of the kernels that compute matrix products.
pub(super) struct Inputs<'k, T> {
    /// Q, K, V and dO.
    pub(super) factors: [Ptr<'k, T, Global, Read>; 4],
    /// The strides between batches, heads and rows.
    pub(super) strides: [[Val<'k, u32>; 3]; 4],
    pub(super) rows: Ptr<'k, f32, Global, Read>,
    pub(super) sizes: Sizes<'k>,
    pub(super) scale: Val<'k, f32>,
    /// The first query and the first key of each packed sequence.
    pub(super) starts: Starts<'k>,
    pub(super) dropout: Option<Dropout<'k>>,
}

/// The matrices of all heads.
pub(super) struct Heads<'k, T: TensorElement> {
    pub(super) sequences: Sequences<'k>,
    pub(super) workspace: Workspace<'k>,
    factors: [Gl<'k, T, Read, 4>; 4],
    rows: Gl<'k, f32, Read>,
    dropout: Option<Dropout<'k>>,
}

/// The matrices of a head.
pub(super) struct Head<'k, T: TensorElement> {
    pub(super) q: Gl<'k, T, Read>,
    pub(super) d_o: Gl<'k, T, Read>,
    rows: Gl<'k, f32, Read>,
    row: Val<'k, u32>,
}

impl<'k, T: TensorElement> Head<'k, T> {
    /// Returns the terms that are added to the exponents of the rows of a tile.
    #[track_caller]
    pub(super) fn exponents(&self, tile: Val<'k, u32>) -> GlTile<'k, f32, Read> {
        self.rows.tile(self.row, tile)
    }

    /// Returns δ of the rows of a tile.
    #[track_caller]
    pub(super) fn deltas(&self, tile: Val<'k, u32>) -> GlTile<'k, f32, Read> {
        self.rows.tile(self.row + 1, tile)
    }

    /// Returns two values for each of 16 rows: the term that is added to the exponents, and δ.
    #[track_caller]
    pub(super) fn of_rows(&self, tile: Val<'k, u32>) -> [ColVec<'k, f32, 1>; 2] {
        [self.row, self.row + 1].map(|row| self.rows.row(row).tile(tile).load())
    }
}

impl<'k, T: TensorElement> Heads<'k, T> {
    /// Returns the matrices; rows of Q and K have `d` elements, and rows of V and dO have `e`.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, inputs: &Inputs<'k, T>, [d, e]: [u32; 2]) -> Self {
        let Inputs { factors, strides, rows, sizes, starts, dropout, .. } = inputs;
        let sequences = Sequences::new(k, *sizes, starts);
        let workspace = Workspace::new(*sizes, starts);
        let heads = [sizes.heads(), sizes.queries];
        let kv_heads = [sizes.kv_heads, sizes.keys];
        let shapes = [(heads, d), (kv_heads, d), (kv_heads, e), (heads, e)];
        Self {
            factors: [0, 1, 2, 3].map(|at| {
                let (rows, columns) = shapes[at];
                sequences.matrices(factors[at], rows, columns, strides[at])
            }),
            rows: workspace.rows(k, *rows),
            dropout: *dropout,
            workspace,
            sequences,
        }
    }

    /// Returns K and V of a KV head.
    #[track_caller]
    pub(super) fn keys(&self, sequence: Sequence<'k>, kv_head: Val<'k, u32>) -> [Gl<'k, T, Read>; 2] {
        [1, 2].map(|at| sequence.from(&self.factors[at], kv_head, sequence.first_key))
    }

    /// Returns the matrices of a query head.
    #[track_caller]
    pub(super) fn head(&self, sequence: Sequence<'k>, head: Val<'k, u32>) -> Head<'k, T> {
        let [q, d_o] = [0, 3].map(|at| sequence.from(&self.factors[at], head, sequence.first_query));
        let part = self.workspace.part(sequence, head);
        Head { q, d_o, rows: part.of_rows(&self.rows), row: part.head * 2 }
    }

    /// Returns the dropout of a query head.
    #[track_caller]
    pub(super) fn dropout(&self, sequence: Sequence<'k>, head: Val<'k, u32>) -> Option<HeadDropout<'k>> {
        let Sequences { k, sizes, .. } = self.sequences;
        self.dropout.map(|dropout| dropout.of_head(k, sequence.number * sizes.heads() + head))
    }
}

/// The rows of Q that a block processes in a kernel without matrix products: [`PADDING`] rows of a head, 16 per warp.
pub(super) struct RowBlock<'k> {
    pub(super) sequences: Sequences<'k>,
    pub(super) workspace: Workspace<'k>,
    pub(super) sequence: Sequence<'k>,
    pub(super) head: Val<'k, u32>,
    /// The index of the block within the head.
    pub(super) tile: Val<'k, u32>,
}

impl<'k> RowBlock<'k> {
    /// Declares the block and the grid for all heads.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, sizes: Sizes<'k>, starts: &Starts<'k>) -> Self {
        k.block([2 * PADDING]);
        let (heads, longest) = (sizes.heads(), sizes.longest);
        let (tiles, of_grid) = if starts.is_some() {
            // The workspace contains a block even for a sequence without queries. `longest` + 1 might overflow.
            (longest / PADDING + 1, longest.into_dim().round_down(PADDING).ceil_div(PADDING) + 1)
        } else {
            let tiles = longest.ceil_div(PADDING);
            (tiles, tiles.into_dim())
        };
        k.grid([of_grid * sizes.batches * heads]);
        let (sequences, workspace) = (Sequences::new(k, sizes, starts), Workspace::new(sizes, starts));
        let (head, tile) = (k.ctaid_x() / tiles, k.ctaid_x() % tiles);
        let (sequence, head) = (sequences.sequence(head / heads), head % heads);
        Self { sequences, workspace, sequence, head, tile }
    }

    /// Emits `body`, which is executed only by blocks whose rows are in the workspace.
    #[track_caller]
    pub(super) fn if_used(&self, k: Builder<'k>, body: impl FnOnce()) {
        let Self { sequence, tile, .. } = self;
        sequence.if_has(k, *tile * PADDING, sequence.queries.max(1), body);
    }
}

/// The shapes of `rows` and `sums`.
#[derive(Clone, Copy)]
pub(super) struct Workspace<'k> {
    heads: Val<'k, u32>,
    /// The total number of query heads in all batches; for packed sequences, the number of query heads of one sequence.
    all: Val<'k, u32>,
    /// The number of blocks of [`PADDING`] rows per head; for packed sequences, the total over all sequences.
    blocks: Val<'k, u32>,
    is_packed: bool,
}

/// The section of the workspace for a head of a sequence.
#[derive(Clone, Copy)]
pub(super) struct Part<'k> {
    head: Val<'k, u32>,
    /// The index of the sequence's first block within the head; `None` if sequences are not packed, in which case this index is 0.
    first: Option<Val<'k, u32>>,
}

impl<'k> Part<'k> {
    /// Returns `rows` from the first element of the sequence onward.
    #[track_caller]
    fn of_rows<A>(self, rows: &Gl<'k, f32, A>) -> Gl<'k, f32, A> {
        self.first.map_or_else(|| rows.clone(), |first| rows.skip(0, first * PADDING))
    }

    /// Returns two rows: the terms that are added to the exponents, and δ.
    #[track_caller]
    pub(super) fn rows<A>(self, rows: &Gl<'k, f32, A>) -> [Gl<'k, f32, A, 1>; 2] {
        let rows = self.of_rows(rows);
        [self.head * 2, self.head * 2 + 1].map(|row| rows.row(row))
    }
}

impl<'k> Workspace<'k> {
    #[track_caller]
    pub(super) fn new(sizes: Sizes<'k>, starts: &Starts<'k>) -> Self {
        let (heads, is_packed) = (sizes.heads(), starts.is_some());
        let (all, blocks) = if is_packed {
            (heads, sizes.queries.ceil_div(PADDING) + sizes.batches)
        } else {
            (sizes.batches * heads, sizes.queries.ceil_div(PADDING))
        };
        Self { heads, all, blocks, is_packed }
    }

    /// Returns the section for a head. For packed sequences, the section of sequence `number` starts at block ⌊first query / [`PADDING`]⌋ +
    /// `number`. Every sequence therefore has at least one block, and enough blocks for all of its queries.
    #[track_caller]
    pub(super) fn part(self, sequence: Sequence<'k>, head: Val<'k, u32>) -> Part<'k> {
        let Sequence { number, first_query, .. } = sequence;
        if self.is_packed {
            Part { head, first: Some(first_query / PADDING + number) }
        } else {
            Part { head: number * self.heads + head, first: None }
        }
    }

    /// Returns a matrix with two rows for each head: the terms that are added to the exponents, and δ.
    #[track_caller]
    pub(super) fn rows<A>(self, k: Builder<'k>, rows: Ptr<'k, f32, Global, A>) -> Gl<'k, f32, A> {
        k.global(rows, row_major(self.all * 2, self.blocks * PADDING))
    }

    /// Returns the sums of dQ in tiles of 16 rows and `q` columns of subtiles; `parts` adjacent tiles cover a row of dQ.
    #[track_caller]
    pub(super) fn sums<A>(
        self,
        k: Builder<'k>,
        sums: Ptr<'k, f32, Global, A>,
        [parts, q]: [u32; 2],
    ) -> Sums<'k, A> {
        let tiles = self.blocks * (PADDING / 16 * parts);
        Sums { parts, tiles, all: k.global(sums, row_major(self.all * tiles, 256 * q)) }
    }
}

/// The sums of dQ: a matrix with one row for each tile, which contains the elements of the tile in register order.
pub(super) struct Sums<'k, A> {
    parts: u32,
    /// The number of tiles per head.
    tiles: Val<'k, u32>,
    all: Gl<'k, f32, A>,
}

impl<'k, A> Sums<'k, A> {
    /// Returns the index of the tile in row `row` of a head's tiles and in column `part`.
    #[track_caller]
    pub(super) fn number(&self, of: Part<'k>, row: Val<'k, u32>, part: Val<'k, u32>) -> Val<'k, u32> {
        let row = of.first.map_or(row, |first| first * (PADDING / 16) + row);
        of.head * self.tiles + row * self.parts + part
    }

    /// Returns the tile that follows tile `number` by `rows` rows of tiles.
    #[track_caller]
    pub(super) fn tile(&self, number: Val<'k, u32>, rows: Val<'k, u32>) -> Gl<'k, f32, A, 1> {
        self.all.row(number + rows * self.parts)
    }
}
