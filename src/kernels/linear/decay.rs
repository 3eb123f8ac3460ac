//! Products of the decay factors between two tokens.

use super::inputs::{CHUNK, SUBTILES};
use crate::{
    ptx::{Builder, Val},
    tiles::{Col, ColVec, Filled, Naive, RowVec, Rt, Rv, Sv},
};

/// The decay factors in a chunk. In the result of token i, token j is multiplied by 2^(cᵢ − cⱼ) · wⱼ, and the state before the chunk is
/// multiplied by 2^cᵢ. cᵢ is the sum of the base-2 logarithms of the decay factors up to token i, and wⱼ is the weight of token j.
pub(super) struct Decays<'k> {
    k: Builder<'k>,
    /// cᵢ of all tokens. Each warp has a copy, which it reads without waiting for other warps.
    logs: Filled<Sv<'k, f32, SUBTILES>>,
    /// cᵢ of the last token.
    last: Val<'k, f32>,
}

impl<'k> Decays<'k> {
    /// Allocates shared memory for [`of`](Self::of).
    #[track_caller]
    pub(super) fn memory(k: Builder<'k>) -> Sv<'k, f32, SUBTILES> {
        k.shared_tile_of(k.warp())
    }

    /// Returns the decay factors of a chunk, given their base-2 logarithms.
    #[track_caller]
    pub(super) fn of(
        k: Builder<'k>,
        memory: Sv<'k, f32, SUBTILES>,
        logs: &Rv<'k, f32, SUBTILES, Naive>,
    ) -> Self {
        let sums = logs.scan();
        Self { k, last: sums.get(CHUNK - 1), logs: memory.store(&sums).wait() }
    }

    /// Returns the memory after all lanes have read it.
    #[track_caller]
    pub(super) fn release(self) -> Sv<'k, f32, SUBTILES> {
        self.logs.release()
    }

    /// Returns a tile of the factors from the token of each column to the token of each row; `row` and `col` are in units of the tile's
    /// size.
    #[track_caller]
    pub(super) fn between<const P: usize>(&self, row: Val<'k, u32>, col: Val<'k, u32>) -> Rt<'k, f32, 1, P> {
        let (rows, cols): (ColVec<f32, 1>, RowVec<f32, P>) =
            (self.logs.tile(row).load(), self.logs.tile(col).load());
        (Rt::broadcast(&rows) - &cols).exp2()
    }

    /// Returns the factors by which the state before the chunk is multiplied at each of 16 tokens.
    #[track_caller]
    pub(super) fn of_past(&self, subtile: u32) -> ColVec<'k, f32, 1> {
        let logs: ColVec<f32, 1> = self.logs.tile(subtile).load();
        logs.exp2()
    }

    /// Returns the factor by which the state before the chunk is multiplied at the last token of the chunk.
    #[track_caller]
    pub(super) fn of_all(&self) -> Val<'k, f32> {
        self.k.exp2(self.last)
    }

    /// Returns the factors from 16 tokens to the last token of the chunk.
    #[track_caller]
    pub(super) fn to_last(&self, subtile: u32) -> ColVec<'k, f32, 1, Col> {
        let logs: ColVec<f32, 1, Col> = self.logs.tile(subtile).load();
        (-logs + self.last).exp2()
    }
}
