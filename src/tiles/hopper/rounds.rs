//! The tiles that resident blocks compute simultaneously, and the operand tiles that they read.

use super::schedule::Schedule;

/// The number of tiles of a matrix product that are computed simultaneously, and the numbers of distinct tiles of operands A and B that the
/// blocks read in each step. The L2 cache must fetch these tiles of A and B from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Footprint {
    /// The number of tiles of the result that are computed simultaneously.
    pub tiles: u32,
    /// The number of distinct tiles of A: one for each row of tiles that contains a computed tile.
    pub a_tiles: u32,
    /// The number of distinct tiles of B: one for each column of tiles that contains a computed tile.
    pub b_tiles: u32,
}

impl Schedule {
    /// Returns the number of rounds that `blocks` resident blocks need to compute a result of `rows`×`cols` tiles.
    ///
    /// In a round, each cluster computes one rectangle of tiles. The number of blocks in a cluster is the number of tiles set with
    /// [`per_cluster`](Self::per_cluster) times the number of parts set with [`split`](Self::split). By default, a cluster is a single
    /// block.
    #[must_use]
    pub fn rounds(self, blocks: u32, [rows, cols]: [u32; 2]) -> u32 {
        let [rows, cols] = self.rectangles([rows, cols]);
        rows.saturating_mul(cols).div_ceil(self.resident(blocks))
    }

    /// Returns the row and column of each tile that `blocks` resident blocks compute in round `round`, for a result of `rows`×`cols` tiles.
    /// All tiles are assumed to take the same amount of time. The tiles of a cluster are adjacent in the list; tiles past the last row or
    /// column are omitted.
    #[must_use]
    pub fn round(self, round: u32, blocks: u32, [rows, cols]: [u32; 2]) -> Vec<(u32, u32)> {
        let (of_rows, of_cols) = self.rectangle();
        let [high, wide] = self.rectangles([rows, cols]);
        let resident = self.resident(blocks);
        let first = round.saturating_mul(resident);
        let numbers = first..first.saturating_add(resident).min(high.saturating_mul(wide));
        let tiles = numbers.flat_map(|number| {
            let (row, col) = self.tile(number, high, wide);
            let within = |first: u32, count: u32, end: u32| first..first.saturating_add(count).min(end);
            let rows = within(row * of_rows, of_rows, rows);
            within(col * of_cols, of_cols, cols).flat_map(move |col| rows.clone().map(move |row| (row, col)))
        });
        tiles.collect()
    }

    /// Returns the footprint of [round](Self::round) `round`: the number of result tiles that `blocks` resident blocks compute, and the
    /// numbers of distinct tiles of A and B that they read. `size` contains the numbers of rows and columns of the result, in tiles.
    ///
    /// ```
    /// use warpwright::tiles::{Footprint, Schedule};
    ///
    /// // 64×64 tiles on 132 multiprocessors: row by row, a round reads all 64 columns of B; in groups of 16 rows, it reads only 9.
    /// let size = [64, 64];
    /// assert_eq!(Schedule::linear().footprint(0, 132, size), Footprint { tiles: 132, a_tiles: 3, b_tiles: 64 });
    /// assert_eq!(Schedule::grouped(16).footprint(0, 132, size), Footprint { tiles: 132, a_tiles: 16, b_tiles: 9 });
    /// ```
    #[must_use]
    pub fn footprint(self, round: u32, blocks: u32, size: [u32; 2]) -> Footprint {
        let tiles = self.round(round, blocks, size);
        let distinct = |of: fn(&(u32, u32)) -> u32| {
            let mut all: Vec<_> = tiles.iter().map(of).collect();
            all.sort_unstable();
            all.dedup();
            all.len() as u32
        };
        Footprint {
            tiles: tiles.len() as u32,
            a_tiles: distinct(|tile| tile.0),
            b_tiles: distinct(|tile| tile.1),
        }
    }

    /// Returns the number of rows and columns of a result, in units of a cluster's rectangle of tiles.
    fn rectangles(self, [rows, cols]: [u32; 2]) -> [u32; 2] {
        let (of_rows, of_cols) = self.rectangle();
        [rows.div_ceil(of_rows), cols.div_ceil(of_cols)]
    }

    /// Returns the number of clusters that `blocks` blocks form, at least 1.
    fn resident(self, blocks: u32) -> u32 {
        let (rows, cols) = self.rectangle();
        let per_cluster = rows.saturating_mul(cols).saturating_mul(self.parts());
        (blocks / per_cluster).max(1)
    }
}
