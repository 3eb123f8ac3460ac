//! Schedules of resident blocks: the order in which tiles of a result are computed.

use std::{fmt, panic::Location};

use crate::ptx::{Builder, Dim, IntoDim, Steps, Val};

/// The order of the tiles of a result of `rows`×`cols` tiles.
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
    /// The rows of a group.
    group: u32,
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
    /// Returns the order of rows from left to right, top to bottom.
    #[must_use]
    pub const fn linear() -> Self {
        Self { group: 1 }
    }

    /// Returns the order of groups of `rows` rows (at least 1), top to bottom; in a group, columns from left to right, each from top to
    /// bottom. Tiles that are computed at the same time then share rows of A and columns of B in the level-2 cache.
    #[must_use]
    pub const fn grouped(rows: u32) -> Self {
        Self { group: if rows == 0 { 1 } else { rows } }
    }

    /// Returns the row and column of the tile with this number, of `rows`×`cols` tiles. Numbers past the last tile have no meaning.
    #[must_use]
    pub fn tile(self, number: u32, rows: u32, cols: u32) -> (u32, u32) {
        let of_group = (self.group * cols).max(1);
        let first = number / of_group * self.group;
        let height = rows.saturating_sub(first).clamp(1, self.group);
        let within = number % of_group;
        (first + within % height, within / height)
    }

    /// Emits [`tile`](Self::tile).
    #[track_caller]
    fn emit<'k>(self, number: Val<'k, u32>, rows: Val<'k, u32>, cols: Val<'k, u32>) -> (Val<'k, u32>, Val<'k, u32>) {
        if self.group == 1 {
            return (number / cols, number % cols);
        }
        let of_group = cols * self.group;
        let first = number / of_group * self.group;
        let height = (rows - first).min(self.group);
        let within = number % of_group;
        (first + within % height, within / height)
    }
}

/// The tiles of a result that this block computes, one after the other, while it stays resident; [`Builder::persistent`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct Persistent<'k> {
    k: Builder<'k>,
    schedule: Schedule,
    /// In tiles of a cluster.
    rows: Val<'k, u32>,
    cols: Val<'k, u32>,
    /// The blocks of a cluster, which compute tiles on top of one another.
    cluster: u32,
}

impl<'k> Builder<'k> {
    /// Declares a grid of as many blocks as the device has multiprocessors, or fewer if there are fewer tiles, and returns the tiles of
    /// this block: `k.persistent(Schedule::grouped(8), m.ceil_div(128), n.ceil_div(256))`.
    ///
    /// The blocks of a cluster compute tiles in adjacent rows of one column at the same time. Rejected when the kernel is built if a
    /// launch cannot compute `rows` and `cols`.
    #[track_caller]
    pub fn persistent(
        self,
        schedule: Schedule,
        rows: impl Into<Val<'k, u32>>,
        cols: impl Into<Val<'k, u32>>,
    ) -> Persistent<'k> {
        let (k, rows, cols) = (self, rows.into(), cols.into());
        let cluster = k.cluster_shape().map_or(1, |[x, ..]| x);
        k.located(Location::caller(), || {
            if let Some([_, y, z]) = k.cluster_shape().filter(|[_, y, z]| y * z > 1) {
                k.refuse(format!("expected a cluster along x for resident blocks, found {y} blocks along y and {z} along z"));
            }
            let tiles = Dim::U32((rows.into_dim().ceil_div(cluster) * cols).into());
            k.grid([(tiles * cluster).min(Dim::Multiprocessors.round_down(cluster))]);
            Persistent { k, schedule, rows: rows.ceil_div(cluster), cols, cluster }
        })
    }
}

impl<'k> Persistent<'k> {
    /// Emits a loop over the tiles of this block: `each` is called once, with the row and column of the tile.
    #[track_caller]
    pub fn each(self, each: impl FnOnce(Val<'k, u32>, Val<'k, u32>)) {
        let Self { k, schedule, rows, cols, cluster } = self;
        k.located(Location::caller(), || {
            let (first, step) = match cluster {
                1 => (k.ctaid_x(), k.nctaid_x()),
                _ => (k.clusterid_x(), k.nclusterid_x()),
            };
            k.for_(Steps::new(first, rows * cols).by(step), |number| {
                let (row, col) = schedule.emit(number, rows, cols);
                let row = if cluster == 1 { row } else { row * cluster + k.this_block().rank() };
                k.unlocated(|| each(row, col));
            });
        });
    }
}
