//! Exchange of whole tiles, one block of subtiles at a time.

use std::ops::Range;

use super::exchange::Exchange;
use crate::{
    layout::TvLayout,
    ptx::{Builder, Scalar, Val},
};

/// The division of a tile into equal blocks of subtiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// The height and width of a block in subtiles.
    pub(super) of: [usize; 2],
    /// The width of the tile in subtiles.
    pub(super) width: usize,
    /// The number of words per subtile.
    pub(super) registers: usize,
}

impl Blocks {
    /// Returns the range of word indices of each subtile of a block, row by row.
    fn words(self, block: usize) -> impl Iterator<Item = Range<usize>> {
        let [height, width] = self.of;
        let per_row = self.width / width;
        let (row, col) = (block / per_row * height, block % per_row * width);
        (0..height * width).map(move |at| {
            let subtile = (row + at / width) * self.width + col + at % width;
            subtile * self.registers..(subtile + 1) * self.registers
        })
    }
}

/// Moves the words of each block from the first layout to the last, via those in between, and returns the words of the resulting tile. Both
/// tiles have the same number of blocks in each direction.
#[track_caller]
pub(super) fn moved<'k, W: Scalar>(
    k: Builder<'k>,
    words: &[Val<'k, W>],
    [from, to]: [Blocks; 2],
    layouts: &[TvLayout],
) -> Vec<Val<'k, W>> {
    let exchanges: Vec<_> = layouts.windows(2).map(|pair| Exchange::plan(&pair[0], &pair[1])).collect();
    let per_block = from.of[0] * from.of[1] * from.registers;
    let mut result = words.to_vec();
    for block in 0..words.len() / per_block {
        let mut moved: Vec<_> = from.words(block).flat_map(|range| &words[range]).copied().collect();
        for exchange in &exchanges {
            moved = exchange.emit(k, &moved);
        }
        to.words(block).flatten().zip(moved).for_each(|(at, word)| result[at] = word);
    }
    result
}
