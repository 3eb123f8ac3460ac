//! Schedules of resident blocks: the order in which tiles of a result are computed.

use std::{fmt, panic::Location};

use super::{roles::Consumer, turns::Turn};
use crate::ptx::{Builder, Dim, IntoDim, State, Steps, Val, quotient, remainder};

/// The order in which the tiles of a result are computed.
///
/// ```
/// use warpwright::tiles::Schedule;
///
/// // Groups of 2 rows: the tiles of a group are taken column by column, so that they share rows of A and columns of B.
/// let schedule = Schedule::grouped(2);
/// let order: Vec<_> = (0..8).map(|index| schedule.tile(index, 4, 2)).collect();
/// assert_eq!(order, [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// The number of rows in a group.
    group: u32,
    /// The number of rows and columns of tiles that the blocks of a cluster compute simultaneously; by default, one column.
    cluster: Option<[u32; 2]>,
    /// Whether every second round of tiles is assigned to the blocks in reverse order.
    back_and_forth: bool,
    /// The number of blocks of a cluster that compute each tile cooperatively.
    parts: u32,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group {
            1 => f.write_str("row by row"),
            group => write!(f, "in groups of {group} rows, column by column"),
        }
    }
}

impl Schedule {
    /// Returns the row-major order: rows from top to bottom, and the tiles of each row from left to right.
    #[must_use]
    pub const fn linear() -> Self {
        Self { group: 1, cluster: None, parts: 1, back_and_forth: false }
    }

    /// Returns an order in groups of `rows` rows of tiles (at least 1), from top to bottom. Within a group, the order is column by column
    /// from left to right, and from top to bottom in each column. Tiles that are computed simultaneously then share rows of operand A and
    /// columns of operand B in the L2 cache.
    #[must_use]
    pub const fn grouped(rows: u32) -> Self {
        Self { group: if rows == 0 { 1 } else { rows }, cluster: None, parts: 1, back_and_forth: false }
    }

    /// Returns the number of rows in a group; 1 for the row-major order.
    #[must_use]
    pub const fn group(self) -> u32 {
        self.group
    }

    /// Assigns each cluster a rectangle of `rows`×`cols` tiles, which the cluster's blocks compute simultaneously. The order then applies
    /// to these rectangles. By default, the blocks of a cluster compute adjacent tiles of one column.
    #[must_use]
    pub const fn per_cluster(self, rows: u32, cols: u32) -> Self {
        Self { cluster: Some([rows, cols]), ..self }
    }

    /// Assigns the tiles of every second round to the blocks in reverse order. In a round, each block computes one tile; the block that
    /// computes the first tile of a round computes the last tile of the next round. This balances the load if the work decreases from tile
    /// to tile.
    #[doc(alias = "boustrophedon")]
    #[must_use]
    pub const fn back_and_forth(self) -> Self {
        Self { back_and_forth: true, ..self }
    }

    /// Divides the computation of each tile among `parts` blocks of a cluster (at least 1). Each of these blocks performs some of the steps
    /// of the computation; see [`Persistent::part`]. Use this method if the result has fewer tiles than the device has multiprocessors.
    #[doc(alias = "split-K")]
    #[must_use]
    pub const fn split(self, parts: u32) -> Self {
        Self { parts: if parts == 0 { 1 } else { parts }, ..self }
    }

    /// Returns the number of blocks of a cluster that compute each tile cooperatively.
    #[must_use]
    pub const fn parts(self) -> u32 {
        self.parts
    }

    /// Returns the number of rows and columns of tiles that the blocks of a cluster compute simultaneously, at least 1.
    pub(super) fn rectangle(self) -> (u32, u32) {
        let [rows, cols] = self.cluster.unwrap_or([1, 1]);
        (rows.max(1), cols.max(1))
    }

    /// Returns the row and column of tile `number` of a result of `rows`×`cols` tiles. The result is
    /// unspecified if `number` is past the last tile. In a kernel with clusters, the order applies to the
    /// rectangles of tiles that clusters compute, and `number`, `rows` and `cols` refer to these rectangles.
    #[must_use]
    pub fn tile(self, number: u32, rows: u32, cols: u32) -> (u32, u32) {
        let group = self.group.min(rows.max(1));
        let of_group = group.saturating_mul(cols).max(1);
        let first = (number / of_group).saturating_mul(group);
        let height = rows.saturating_sub(first).clamp(1, group);
        let within = number % of_group;
        (first + within % height, within / height)
    }

    /// Returns the index of the block that computes tile `number` if `blocks` blocks are resident. In a kernel with clusters, `number`
    /// refers to rectangles of tiles, and `blocks` and the result refer to clusters.
    #[must_use]
    pub fn block(self, number: u32, blocks: u32) -> u32 {
        let blocks = blocks.max(1);
        let (round, at) = (number / blocks, number % blocks);
        if self.back_and_forth && round % 2 == 1 { blocks - 1 - at } else { at }
    }

    /// Emits instructions that compute [`tile`](Self::tile), and returns the row and column.
    #[track_caller]
    pub(crate) fn emit<'k>(
        self,
        number: Val<'k, u32>,
        rows: Val<'k, u32>,
        cols: Val<'k, u32>,
    ) -> (Val<'k, u32>, Val<'k, u32>) {
        if self.group == 1 {
            let row = number / cols;
            return (row, number - row * cols);
        }
        // With more rows in a group than the result has, the product could overflow.
        let group = rows.min(self.group);
        let of_group = cols * group;
        let groups = number / of_group;
        let first = groups * group;
        let height = (rows - first).min(group);
        // A product and a difference take fewer instructions than a second division.
        let within = number - groups * of_group;
        let col = within / height;
        (first + (within - col * height), col)
    }
}

/// Returns the mask `first` shifted to the left by `by` bits, one per block.
#[track_caller]
fn mask<'k>(first: u16, by: Val<'k, u32>) -> Val<'k, u16> {
    match by.as_constant() {
        Some(by) => Val::from(first.checked_shl(by).unwrap_or(0)),
        None => (Val::from(u32::from(first)) << by).cast(),
    }
}

/// A set of blocks of a cluster, identified by their ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks<'k> {
    first: Val<'k, u32>,
    step: u32,
    pub(super) count: u32,
}

impl<'k> Blocks<'k> {
    /// Returns all blocks of a cluster.
    pub(super) fn all(count: u32) -> Self {
        Self { first: 0.into(), step: 1, count }
    }

    /// Returns the cluster rank of the block with the given index in this set.
    #[track_caller]
    pub(super) fn rank(self, index: impl Into<Val<'k, u32>>) -> Val<'k, u32> {
        self.first + index.into() * self.step
    }
}

/// Blocks of a cluster that load the same tile: each block loads a part of the tile for all of them
/// ([`GlTile::multicast`](crate::tiles::GlTile::multicast)).
#[derive(Clone, Copy, Debug)]
pub struct Sharing<'k> {
    /// The index of this block among these blocks.
    pub(super) rank: Val<'k, u32>,
    /// The number of blocks.
    pub(super) count: u32,
    /// A bit mask of the cluster ranks of these blocks.
    pub(super) blocks: Val<'k, u16>,
}

/// The tiles of a result that this resident block computes, one after another. Returned by [`Builder::persistent`].
#[derive(Clone, Copy, Debug)]
pub struct Persistent<'k> {
    k: Builder<'k>,
    schedule: Schedule,
    /// The number of rows, in units of a cluster's rectangle of tiles.
    rows: Val<'k, u32>,
    cols: Val<'k, u32>,
    /// The number of rows and columns of tiles that a cluster computes simultaneously.
    cluster: [u32; 2],
    /// The number of blocks per tile.
    parts: u32,
}

/// One block's share of the steps that compute a tile, if several blocks of a cluster compute the tile cooperatively.
#[derive(Clone, Copy, Debug)]
pub struct Part<'k> {
    rank: Val<'k, u32>,
    count: u32,
}

impl<'k> Part<'k> {
    /// Returns the index of this block's part.
    pub fn rank(self) -> Val<'k, u32> {
        self.rank
    }

    /// Returns the first step and the number of steps of this part, given the total number of steps. All parts have the same number of
    /// steps, except that the last parts may have fewer or none.
    #[track_caller]
    pub fn of(self, steps: impl Into<Val<'k, u32>>) -> (Val<'k, u32>, Val<'k, u32>) {
        let steps = steps.into();
        let most = steps.ceil_div(self.count);
        let first = (self.rank * most).min(steps);
        (first, (steps - first).min(most))
    }
}

impl<'k> Builder<'k> {
    /// Declares a grid of resident blocks and returns the tiles of this block:
    /// `k.persistent(Schedule::grouped(8), m.ceil_div(128), n.ceil_div(256))`.
    ///
    /// The result has `rows`×`cols` tiles. The grid has one block per multiprocessor, rounded down to whole clusters, or fewer blocks if
    /// there are fewer tiles.
    ///
    /// The blocks of a cluster compute adjacent tiles simultaneously ([`Schedule::per_cluster`]). A cluster also computes tiles past the
    /// last row or column, but loads from them return zero, and stores to them have no effect.
    ///
    /// The builder rejects the call if `rows` or `cols` cannot be computed at launch, if clusters extend along y or z, or if the number of
    /// blocks per cluster is not the number of tiles per cluster times the number of parts per tile.
    #[track_caller]
    pub fn persistent(
        self,
        schedule: Schedule,
        rows: impl Into<Val<'k, u32>>,
        cols: impl Into<Val<'k, u32>>,
    ) -> Persistent<'k> {
        let (k, rows, cols) = (self, rows.into(), cols.into());
        let blocks = k.cluster_shape().map_or(1, |[x, ..]| x);
        let parts = if blocks.is_multiple_of(schedule.parts) { schedule.parts } else { 1 };
        let expected = schedule.cluster.unwrap_or([blocks / parts, 1]);
        let fits = parts == schedule.parts
            && expected[0].checked_mul(expected[1]).and_then(|tiles| tiles.checked_mul(parts))
                == Some(blocks);
        let (cluster, parts) = if fits { (expected, parts) } else { ([blocks, 1], 1) };
        let _located = k.locate(Location::caller());
        if let Some([_, y, z]) = k.cluster_shape().filter(|[_, y, z]| y * z > 1) {
            k.refuse(format!(
                "expected a cluster along x for resident blocks, found {y} blocks along y and {z} along z"
            ));
        }
        if !fits {
            let [rows, cols] = expected;
            let parts =
                if schedule.parts == 1 { String::new() } else { format!(" in {} parts", schedule.parts) };
            k.refuse(format!(
                "expected as many tiles per cluster as it has blocks, {blocks}, found {rows}×{cols}{parts}"
            ));
        }
        let per_cluster = |count: Val<'k, u32>, of: usize| {
            (count.into_dim().ceil_div(cluster[of]), count.ceil_div(cluster[of]))
        };
        let ((row_dim, rows), (col_dim, cols)) = (per_cluster(rows, 0), per_cluster(cols, 1));
        let rectangles = Dim::U32((row_dim * col_dim).into());
        k.grid([(rectangles * blocks).min(Dim::Multiprocessors.round_down(blocks).max(blocks))]);
        Persistent { k, schedule, rows, cols, cluster, parts }
    }
}

impl<'k> Persistent<'k> {
    /// Emits a loop over the tiles of this block.
    ///
    /// `each` emits the body of the loop and receives the row and column of the tile. It is called once, or not at all if the block is
    /// known to have no tiles.
    #[track_caller]
    pub fn each(self, each: impl FnOnce(Val<'k, u32>, Val<'k, u32>)) {
        self.every(1, 0.into(), (), |_, row, col, ()| each(row, col));
    }

    /// Emits a loop over the tiles of consumer warpgroup `c`, one of `C` that take [turns](crate::tiles::Turns): tiles `c.rank()`,
    /// `c.rank() + C`, … of the block. `each` emits the body of the loop and receives the turn and the row and column of the tile. It is
    /// called once, or not at all if the block is known to have no tiles.
    #[doc(alias = "ping-pong")]
    #[track_caller]
    pub fn each_in_turn<const C: usize>(
        self,
        c: Consumer<'k, C>,
        each: impl FnOnce(Turn<'k>, Val<'k, u32>, Val<'k, u32>),
    ) {
        self.every(C as u32, c.rank(), (), |number, row, col, ()| each(Turn { number }, row, col));
    }

    /// Emits a loop like [`each_in_turn`](Self::each_in_turn), but only over tiles in rows for which `keep` returns true; only these tiles
    /// count as turns. `row` is called once, with the index of the row, and its result is passed to `keep` and `each`. `keep` must return
    /// the same value for all threads of the block.
    #[track_caller]
    pub(crate) fn each_kept_in_turn<const C: usize, R>(
        self,
        c: Consumer<'k, C>,
        row: impl FnOnce(Val<'k, u32>) -> R,
        keep: impl FnOnce(&R) -> Val<'k, bool>,
        each: impl FnOnce(Turn<'k>, R, Val<'k, u32>),
    ) {
        self.every(1, 0.into(), Val::from(0), |_, number_of_row, col, number| {
            let row = row(number_of_row);
            let kept = keep(&row);
            let is_own = kept & remainder(number, C as u32).eq(c.rank());
            self.k.if_(is_own.assume_uniform(c.group()), || each(Turn { number }, row, col));
            kept.select(number + 1, number)
        });
    }

    /// Emits a loop that carries `state` over tiles `first`, `first + turns`, … of the block. `each` receives the tile's index in the
    /// block, its row and column, and the state.
    #[track_caller]
    fn every<S: State<'k>>(
        self,
        turns: u32,
        first: Val<'k, u32>,
        state: S,
        each: impl FnOnce(Val<'k, u32>, Val<'k, u32>, Val<'k, u32>, S) -> S,
    ) {
        let Self { k, schedule, rows, cols, cluster, parts } = self;
        let _located = k.locate(Location::caller());
        let (start, step) = match (cluster, parts) {
            ([1, 1], 1) => (k.ctaid_x(), k.nctaid_x()),
            _ => (k.clusterid_x(), k.nclusterid_x()),
        };
        let count = rows * cols;
        let tile = |number: Val<'k, u32>, of_block: Val<'k, u32>, state| {
            let (row, col) = schedule.emit(number, rows, cols);
            let [within_row, within_col] = self.in_cluster();
            let (row, col) = (row * cluster[0] + within_row, col * cluster[1] + within_col);
            k.unlocated(|| each(of_block, row, col, state))
        };
        if schedule.back_and_forth {
            // In an even round, block b computes tile b of the round; in an odd round, tile b counted from the end.
            let number = |round: Val<'k, u32>| {
                let in_round = (round & 1).eq(0).select(start, step - 1 - start);
                round.mad(step, in_round)
            };
            let whole = count / step;
            let rounds = number(whole).lt(count).select(whole + 1, whole);
            k.fold(Steps::new(first, rounds).by(turns), state, |round, state| {
                tile(number(round), round, state)
            });
        } else {
            let all = Steps::new(first.mad(step, start), count).by(step * turns);
            k.fold(all, (first, state), |number, (of_block, state)| {
                let state = tile(number, of_block, state);
                (of_block + turns, state)
            });
        };
    }

    /// Returns the row and column of this block's tile among those of its cluster.
    #[track_caller]
    fn in_cluster(self) -> [Val<'k, u32>; 2] {
        let [rows, cols] = self.cluster;
        let rank = if rows * cols == 1 { 0.into() } else { remainder(self.rank(), rows * cols) };
        let row = if cols == 1 { rank } else { remainder(rank, rows) };
        [row, if rows == 1 { rank } else { quotient(rank, rows) }]
    }

    /// Returns the rank of this block in its cluster.
    #[track_caller]
    fn rank(self) -> Val<'k, u32> {
        let [rows, cols] = self.cluster;
        if rows * cols * self.parts == 1 { 0.into() } else { self.k.this_block().rank() }
    }

    /// Returns the part of each tile's computation that this block performs. Unless the schedule is [split](Schedule::split), this is the
    /// entire computation.
    #[track_caller]
    pub fn part(self) -> Part<'k> {
        let [rows, cols] = self.cluster;
        let rank = if self.parts == 1 { 0.into() } else { quotient(self.rank(), rows * cols) };
        Part { rank, count: self.parts }
    }

    /// Returns the blocks of the cluster, including this one, that compute the same part of different tiles; they may share loads.
    #[track_caller]
    pub(super) fn same_part(self) -> Blocks<'k> {
        let [rows, cols] = self.cluster;
        Blocks { first: self.part().rank * (rows * cols), step: 1, count: rows * cols }
    }

    /// Returns the blocks of the cluster, including this one, that compute parts of the same tile.
    #[track_caller]
    pub(super) fn same_tile(self) -> Blocks<'k> {
        let [rows, cols] = self.cluster;
        let first = if rows * cols == 1 { 0.into() } else { remainder(self.rank(), rows * cols) };
        Blocks { first, step: rows * cols, count: self.parts }
    }

    pub(super) fn kernel(self) -> Builder<'k> {
        self.k
    }

    /// Returns the blocks of the cluster, including this one, that compute tiles in the same row and the same [part](Self::part) of their
    /// tiles. They read the same tile of A.
    #[track_caller]
    pub fn same_row(self) -> Sharing<'k> {
        let ([rows, cols], [row, col]) = (self.cluster, self.in_cluster());
        let first =
            (0..cols).map(|col| 1u16.checked_shl(col * rows).unwrap_or(0)).fold(0, |all, one| all | one);
        Sharing { rank: col, count: cols, blocks: mask(first, self.same_part().first + row) }
    }

    /// Returns the blocks of the cluster, including this one, that compute tiles in the same column and the same [part](Self::part) of
    /// their tiles. They read the same tile of B.
    #[track_caller]
    pub fn same_col(self) -> Sharing<'k> {
        let ([rows, _], [row, col]) = (self.cluster, self.in_cluster());
        let first = u16::MAX >> (16 - rows.clamp(1, 16));
        Sharing { rank: row, count: rows, blocks: mask(first, self.same_part().first + col * rows) }
    }
}
