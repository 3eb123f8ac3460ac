//! How the rows of matrices are divided among threads.

use std::fmt;

use super::team::Team;
use crate::{
    ptx::{Builder, Features, Global, IntoDim, Ptr, Readable, Target, Val, Writable},
    tensor::TensorElement,
    tiles::{Convert, Gl, Striped, Stripes, row_major},
};

/// How rows are divided among threads, and how long they may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowTiling {
    /// The threads of a block that process a row: a power of two up to 32, or a multiple of 32 up to 1024.
    pub threads: u32,
    /// The rows of a block; more than one only if a row has at most 32 threads.
    pub rows: u32,
    /// The blocks that process a row together, as a cluster: 1, or a power of two up to 8 (sm_90).
    pub cluster: u32,
    /// The adjacent elements of a thread, a power of two, which must divide the length of rows and the distances between them; they
    /// are loaded and stored together, with accesses of up to 16 bytes.
    pub adjacent: u32,
    /// The groups of adjacent elements that a thread keeps in registers.
    pub stripes: u32,
    /// Whether rows may be longer than the [capacity](Self::capacity): they are read in parts, several times.
    pub streamed: bool,
    /// The blocks that registers are limited for, per multiprocessor; 0 for no limit.
    pub resident: u32,
}

/// The elements of a row that a thread keeps in registers, if there are enough threads.
const PER_THREAD: u32 = 16;
/// The threads of a block whose rows have at most a warp each.
const SHORT: u32 = 256;
/// The most threads of a block of a cluster.
const IN_CLUSTER: u32 = 512;
/// The threads that a multiprocessor can run.
const MULTIPROCESSOR: u32 = 2048;

impl RowTiling {
    /// Returns the largest power of two that divides all of `sizes`, such as the length of rows and the distances between them, and for
    /// which adjacent elements of `bytes` bytes fill at most 16 bytes.
    #[must_use]
    pub fn adjacent(bytes: u32, sizes: &[u32]) -> u32 {
        let common = sizes.iter().fold(0, |bits, size| bits | size);
        (16 / bytes).min(1 << common.trailing_zeros().min(4))
    }

    /// Returns the tiling for rows of at most `n` elements, `adjacent` of which are accessed together: rows of up to 1024 elements by a
    /// warp or a part of one, of up to 16,384 by a block, of up to 131,072 by a cluster, and longer ones in parts. On targets without
    /// clusters, rows of more than 32,768 elements are read in parts.
    #[must_use]
    pub fn for_rows(target: Target, n: u32, adjacent: u32) -> Self {
        let n = n.max(1);
        let tiling = |threads: u32, rows: u32, cluster: u32| {
            let stripes = n.div_ceil(threads * cluster * adjacent);
            let resident = MULTIPROCESSOR / (threads * rows);
            Self { threads, rows, cluster, adjacent, stripes, streamed: false, resident }
        };
        let clusters = target.features().contains(Features::HOPPER);
        let whole_warps = |threads: u32| threads.next_multiple_of(32);
        match n {
            ..=1024 => {
                let threads = n.div_ceil(adjacent).next_power_of_two().min(32);
                Self { resident: 0, ..tiling(threads, SHORT / threads, 1) }
            }
            1025..=16384 => tiling(whole_warps(n.div_ceil(PER_THREAD)), 1, 1),
            16385..=131_072 if clusters => {
                let cluster = n.div_ceil(IN_CLUSTER * PER_THREAD).next_power_of_two().min(8);
                let threads = whole_warps(n.div_ceil(cluster * PER_THREAD));
                tiling(threads, 1, cluster)
            }
            16385..=32768 => Self { resident: 1, ..tiling(1024, 1, 1) },
            _ => {
                let stripes = PER_THREAD / adjacent;
                Self { threads: 1024, rows: 1, cluster: 1, adjacent, stripes, streamed: true, resident: 2 }
            }
        }
    }

    /// Returns the number of elements that the threads of a row keep in registers.
    #[must_use]
    pub const fn capacity(self) -> u32 {
        self.threads * self.cluster * self.adjacent * self.stripes
    }

    /// Rejects a tiling that does not exist.
    #[track_caller]
    fn check(self, k: Builder<'_>) {
        let Self { threads, rows, cluster, adjacent, .. } = self;
        let in_warp = threads <= 32 && threads.is_power_of_two() && (threads * rows).is_multiple_of(32);
        let in_block = threads.is_multiple_of(32) && threads <= 1024 && rows == 1;
        if !(in_warp && cluster == 1 || in_block) {
            k.refuse(format!(
                "expected a power of two up to 32 threads for each of several rows, that fill whole warps, or up to 32 warps for one, found {threads} threads for each \
                 of {rows} rows in clusters of {cluster}"
            ));
        }
        if !cluster.is_power_of_two() || cluster > 8 {
            k.refuse(format!("expected clusters of 1, 2, 4 or 8 blocks, found {cluster}"));
        }
        if !adjacent.is_power_of_two() || adjacent > 16 {
            k.refuse(format!("expected 1, 2, 4, 8 or 16 adjacent elements, found {adjacent}"));
        }
    }

    /// Declares the block and the grid of a kernel on `m` rows of `n` elements, and returns this thread's row.
    #[track_caller]
    pub(super) fn row_of<'k>(self, k: Builder<'k>, m: Val<'k, u32>, n: Val<'k, u32>) -> Row<'k> {
        let Self { threads, rows, cluster, adjacent, stripes, streamed, resident } = self;
        self.check(k);
        let block = k.block([threads * rows]);
        if resident > 0 {
            k.min_blocks(resident);
        }
        let n = n.multiple_of(adjacent);
        let n = if streamed { n } else { n.at_most(self.capacity()) };
        let (at, thread) = if cluster > 1 {
            let cluster = k.cluster([cluster]);
            k.grid([m.into_dim() * self.cluster]);
            (cluster.rank(), cluster.thread())
        } else {
            k.grid([if rows == 1 { m.into_dim() } else { m.tiles(rows) }]);
            let (row, thread) = (block.thread() / threads, block.thread() % threads);
            (k.ctaid_x() * rows + row, thread)
        };
        let stripes = k.stripes(thread, threads * cluster, adjacent, stripes);
        Row { k, at, m, n, tiling: self, stripes, team: Team::new(k, self) }
    }
}

/// The end of a kernel's name: the longest row, and the divisor of sizes, as in `8192_by8`.
impl fmt::Display for RowTiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.streamed {
            true => f.write_str("any")?,
            false => write!(f, "{}", self.capacity())?,
        }
        write!(f, "_by{}", self.adjacent)
    }
}

/// The row that this thread processes, together with others.
pub(super) struct Row<'k> {
    pub(super) k: Builder<'k>,
    /// The row's number; past the last one, nothing is accessed.
    pub(super) at: Val<'k, u32>,
    m: Val<'k, u32>,
    /// The length.
    pub(super) n: Val<'k, u32>,
    tiling: RowTiling,
    stripes: Stripes<'k>,
    pub(super) team: Team<'k>,
}

impl<'k> Row<'k> {
    /// Returns this row of a matrix whose rows are `pitch` elements apart.
    #[track_caller]
    pub(super) fn of<T: TensorElement, A>(
        &self,
        matrix: Ptr<'k, T, Global, A>,
        pitch: Val<'k, u32>,
    ) -> Gl<'k, T, A, 1> {
        let pitch = pitch.multiple_of(self.tiling.adjacent);
        self.k.global(matrix, row_major(self.m, self.n).with_row_stride(pitch)).row(self.at)
    }

    /// Whether the whole row is in registers.
    pub(super) fn is_held(&self) -> bool {
        !self.tiling.streamed
    }

    /// Returns the number of parts of a row that does not fit in registers.
    #[track_caller]
    pub(super) fn parts(&self) -> Val<'k, u32> {
        self.n.ceil_div(self.stripes.length())
    }

    /// Loads part `part` of a row as f32; elements past the end are `fill`, which `T` represents.
    #[track_caller]
    pub(super) fn load<T: Convert<f32>, A: Readable>(
        &self,
        row: &Gl<'k, T, A, 1>,
        part: impl Into<Val<'k, u32>>,
        fill: f32,
    ) -> Striped<'k, f32> {
        let fill = T::exactly(fill).unwrap_or(T::from_mem_bits(0));
        self.stripes.load_or(row, part, fill).convert()
    }

    /// Replaces the elements of part `part` that are past the end by 0.
    #[track_caller]
    pub(super) fn zeroed_past(&self, part: Val<'k, u32>, values: &Striped<'k, f32>) -> Striped<'k, f32> {
        values.fill_past(self.n - part * self.stripes.length(), 0.0)
    }

    /// Stores part `part` of a row.
    #[track_caller]
    pub(super) fn store<T: TensorElement, A: Writable>(
        &self,
        row: &Gl<'k, T, A, 1>,
        part: impl Into<Val<'k, u32>>,
        values: &Striped<'k, f32>,
    ) where
        f32: Convert<T>,
    {
        self.stripes.store(row, part, values);
    }
}

/// Returns the end of a kernel's name for a type other than that of x: `_f32`.
pub(super) fn same_or<X: TensorElement, T: TensorElement>() -> String {
    if X::NAME == T::NAME { String::new() } else { format!("_{}", T::NAME) }
}
