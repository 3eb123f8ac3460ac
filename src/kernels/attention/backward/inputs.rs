//! The inputs of the gradient kernels, and the rows and sums that they pass to each other.

use crate::{
    kernels::attention::inputs::{Sequence, Sequences, Sizes},
    ptx::{Builder, Global, Ptr, Read, Val},
    tensor::TensorElement,
    tiles::{ColVec, Gl, GlTile, row_major},
};

/// The rows of each head are padded to a multiple of this number, so that steps of up to this many queries need not check the end of a
/// head.
pub(super) const PADDING: u32 = 128;

/// The parameters of the kernels that multiply.
pub(super) struct Inputs<'k, T> {
    /// Q, K, V and dO.
    pub(super) factors: [Ptr<'k, T, Global, Read>; 4],
    /// Between batches, heads and rows.
    pub(super) strides: [[Val<'k, u32>; 3]; 4],
    pub(super) rows: Ptr<'k, f32, Global, Read>,
    pub(super) sizes: Sizes<'k>,
    pub(super) scale: Val<'k, f32>,
}

/// The matrices of all heads.
pub(super) struct Heads<'k, T: TensorElement> {
    pub(super) sequences: Sequences<'k>,
    pub(super) workspace: Workspace<'k>,
    factors: [Gl<'k, T, Read, 4>; 4],
    rows: Gl<'k, f32, Read>,
}

/// The matrices of a head.
pub(super) struct Head<'k, T: TensorElement> {
    pub(super) q: Gl<'k, T, Read>,
    pub(super) d_o: Gl<'k, T, Read>,
    rows: Gl<'k, f32, Read>,
    row: Val<'k, u32>,
}

impl<'k, T: TensorElement> Head<'k, T> {
    /// Returns the numbers that are added to the exponents of the rows of a tile.
    #[track_caller]
    pub(super) fn exponents(&self, tile: Val<'k, u32>) -> GlTile<'k, f32, Read> {
        self.rows.tile(self.row, tile)
    }

    /// Returns δ of the rows of a tile.
    #[track_caller]
    pub(super) fn deltas(&self, tile: Val<'k, u32>) -> GlTile<'k, f32, Read> {
        self.rows.tile(self.row + 1, tile)
    }

    /// Returns the numbers of 16 rows.
    #[track_caller]
    pub(super) fn of_rows(&self, tile: Val<'k, u32>) -> [ColVec<'k, f32, 1>; 2] {
        [self.row, self.row + 1].map(|row| self.rows.row(row).tile(tile).load())
    }
}

impl<'k, T: TensorElement> Heads<'k, T> {
    /// Returns the matrices with rows of `d` elements.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, inputs: &Inputs<'k, T>, d: u32) -> Self {
        let Inputs { factors, strides, rows, sizes, .. } = inputs;
        let (sequences, workspace) = (Sequences::new(k, *sizes, &None), Workspace::new(*sizes));
        let heads = [sizes.heads(), sizes.queries];
        let kv_heads = [sizes.kv_heads, sizes.keys];
        let shapes = [heads, kv_heads, kv_heads, heads];
        Self {
            factors: [0, 1, 2, 3].map(|at| sequences.matrices(factors[at], shapes[at], d, strides[at])),
            rows: workspace.rows(k, *rows),
            workspace,
            sequences,
        }
    }

    /// Returns K and V of a head of keys.
    #[track_caller]
    pub(super) fn keys(&self, sequence: Sequence<'k>, kv_head: Val<'k, u32>) -> [Gl<'k, T, Read>; 2] {
        [1, 2].map(|at| sequence.from(&self.factors[at], kv_head, sequence.first_key))
    }

    /// Returns the matrices of a head of queries.
    #[track_caller]
    pub(super) fn head(&self, sequence: Sequence<'k>, head: Val<'k, u32>) -> Head<'k, T> {
        let [q, d_o] = [0, 3].map(|at| sequence.from(&self.factors[at], head, sequence.first_query));
        let row = self.workspace.head(sequence, head) * 2;
        Head { q, d_o, rows: self.rows.clone(), row }
    }
}

/// The rows of Q of a block of a kernel without products: [`PADDING`] rows of a head, 16 for each warp.
pub(super) struct RowBlock<'k> {
    pub(super) sequences: Sequences<'k>,
    pub(super) workspace: Workspace<'k>,
    pub(super) sequence: Sequence<'k>,
    pub(super) head: Val<'k, u32>,
    /// The number of the block among those of the head.
    pub(super) tile: Val<'k, u32>,
}

impl<'k> RowBlock<'k> {
    /// Declares the block and the grid for all heads.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, sizes: Sizes<'k>) -> Self {
        k.block([2 * PADDING]);
        let (heads, tiles) = (sizes.heads(), sizes.queries.ceil_div(PADDING));
        k.grid([sizes.batches * heads * tiles]);
        let (sequences, workspace) = (Sequences::new(k, sizes, &None), Workspace::new(sizes));
        let (head, tile) = (k.ctaid_x() / tiles, k.ctaid_x() % tiles);
        let (sequence, head) = (sequences.sequence(head / heads), head % heads);
        Self { sequences, workspace, sequence, head, tile }
    }
}

/// The shapes of rows and sums.
#[derive(Clone, Copy)]
pub(super) struct Workspace<'k> {
    heads: Val<'k, u32>,
    /// The heads of all batches.
    all: Val<'k, u32>,
    /// The blocks of [`PADDING`] rows of a head.
    blocks: Val<'k, u32>,
}

impl<'k> Workspace<'k> {
    #[track_caller]
    pub(super) fn new(sizes: Sizes<'k>) -> Self {
        let heads = sizes.heads();
        Self { heads, all: sizes.batches * heads, blocks: sizes.queries.ceil_div(PADDING) }
    }

    /// Returns the number of a head among those of all batches.
    #[track_caller]
    pub(super) fn head(self, sequence: Sequence<'k>, head: Val<'k, u32>) -> Val<'k, u32> {
        sequence.number * self.heads + head
    }

    /// Returns two rows for each head: what is added to exponents, and δ.
    #[track_caller]
    pub(super) fn rows<A>(self, k: Builder<'k>, rows: Ptr<'k, f32, Global, A>) -> Gl<'k, f32, A> {
        k.global(rows, row_major(self.all * 2, self.blocks * PADDING))
    }

    /// Returns the sums of dQ, where a tile of 16 rows has `q` subtiles of columns, and `parts` of them are next to each other.
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

/// The sums of dQ, a row for each tile, in the order of its registers.
pub(super) struct Sums<'k, A> {
    parts: u32,
    /// The tiles of a head.
    tiles: Val<'k, u32>,
    all: Gl<'k, f32, A>,
}

impl<'k, A> Sums<'k, A> {
    /// Returns the number of a tile of 16 rows of a head, by its number among those of all batches, and of a part of the columns.
    #[track_caller]
    pub(super) fn number(&self, head: Val<'k, u32>, row: Val<'k, u32>, part: Val<'k, u32>) -> Val<'k, u32> {
        head * self.tiles + row * self.parts + part
    }

    /// Returns the tile that is `rows` tiles of rows after a tile.
    #[track_caller]
    pub(super) fn tile(&self, number: Val<'k, u32>, rows: Val<'k, u32>) -> Gl<'k, f32, A, 1> {
        self.all.row(number + rows * self.parts)
    }
}
