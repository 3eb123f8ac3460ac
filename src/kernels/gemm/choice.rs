//! The choice of a kernel for a problem.

use super::{Gemm, GemmTable, GemmTile, GpuKind, MatrixOrder, check::MOST_BLOCKS};
use crate::{
    ptx::{Element, Features, Target},
    tiles::Schedule,
};

/// The time of a block, in microseconds on an H100.
struct Cost {
    tile: GemmTile,
    /// The time of a step of 128 bytes along k, if operands are in shared memory.
    step: f64,
    /// The time between tiles; if two warpgroups take turns, stores overlap with MMAs.
    between: f64,
}

// These costs and the constants below were fitted to the times of 160 random products of bf16, e4m3 and tf32, each with all candidates
// (docs/performance.md, "Products of any size").
#[rustfmt::skip]
const COSTS: [Cost; 12] = [
    Cost { tile: GemmTile::T16x64,   step: 0.100, between: 0.1 },
    Cost { tile: GemmTile::T16x128,  step: 0.133, between: 0.1 },
    Cost { tile: GemmTile::T64x64,   step: 0.116, between: 0.1 },
    Cost { tile: GemmTile::T64x128,  step: 0.159, between: 0.1 },
    Cost { tile: GemmTile::T128x128, step: 0.307, between: 0.1 },
    Cost { tile: GemmTile::T128x160, step: 0.380, between: 0.1 },
    Cost { tile: GemmTile::T128x192, step: 0.435, between: 0.1 },
    Cost { tile: GemmTile::T128x256, step: 0.525, between: 1.1 },
    Cost { tile: GemmTile::T256x128, step: 0.567, between: 1.1 },
    Cost { tile: GemmTile::T192x192, step: 0.597, between: 1.4 },
    Cost { tile: GemmTile::T256x160, step: 0.707, between: 1.4 },
    Cost { tile: GemmTile::T256x192, step: 0.875, between: 1.4 },
];
/// The time in which each multiprocessor reads a cache line from the level-2 cache if all of them read, in microseconds.
const LINE: f64 = 0.001;
/// The additional time until the blocks of clusters start, in microseconds.
const CLUSTER: f64 = 0.85;
/// The time in which the blocks of a cluster exchange the sums of a tile, in microseconds, and the addition for each element.
const EXCHANGE: [f64; 2] = [0.9, 1.5e-4];
/// The factor by which several rounds of tiles take longer in clusters, whose blocks wait for each other, and in clusters of more than two
/// blocks whose warpgroups do not multiply while they store.
const IN_STEP: [f64; 2] = [1.05, 1.12];
/// Bytes per microsecond from the GPU's memory.
const BANDWIDTH: f64 = 3.0e6;

impl Gemm {
    /// Returns the kernels for a target that may be the fastest for results with `m` rows and operands in the given orders.
    pub fn candidates(target: Target, a: MatrixOrder, b: MatrixOrder, m: u32) -> impl Iterator<Item = Self> {
        let has_wgmma = target.features().contains(Features::WGMMA);
        let few_rows = move |tile: &GemmTile| tile.size()[0] >= 64 || m <= 16 && a == MatrixOrder::Row;
        // Rows of 176 elements of B allow only a swizzle of 32 bytes.
        let swizzled = move |tile: &GemmTile| *tile != GemmTile::T128x176 || b == MatrixOrder::Col;
        let suitable = move |tile: &GemmTile| few_rows(tile) && swizzled(tile);
        let tiles = GemmTile::for_target(target).iter().copied().filter(suitable);
        let whole = tiles.flat_map(move |tile| {
            let clusters: &[_] =
                if !has_wgmma || tile.size()[0] < 64 { &[[1, 1]] } else { &[[1, 1], [2, 1], [1, 2], [2, 2]] };
            clusters.iter().map(move |&cluster| Self { a, b, cluster, ..Self::of_target(target, tile) })
        });
        whole.flat_map(move |gemm| {
            let parts: &[_] = if has_wgmma { gemm.tile.parts() } else { &[1] };
            let divided = parts.iter().map(move |&parts| Self { parts, ..gemm });
            divided.filter(|gemm| gemm.blocks_of_cluster() <= MOST_BLOCKS)
        })
    }

    /// Returns the kernel of a target for the product of row-major matrices, in tiles of this size.
    pub(super) fn of_target(target: Target, tile: GemmTile) -> Self {
        let gemm = Self { target, ..Self::new(tile) };
        if gemm.has_wgmma() { gemm } else { Self { schedule: Schedule::grouped(8), ..gemm } }
    }

    /// Returns the kernel that multiplies an m×k matrix by a k×n matrix of `T`, where `size` is `[m, n, k]`, with results of `D`, on a kind
    /// of GPU. If a [table](GemmTable::committed) for this kind of GPU contains the problem, or otherwise a table for another kind with the
    /// same compute capability and number of multiprocessors, the kernel is taken from that table. The kernel has no activation, and its
    /// fields `any_ldd` and `any_size` are `false`.
    ///
    /// Otherwise, on GPUs of compute capability 9.0, the target is sm_90a, and the kernel is the fastest one according to a model. It
    /// estimates the time as the number of waves of tiles times the time of a tile, which depends on the time to read its operands from the
    /// level-2 cache (longer if rows of an operand do not start at cache lines, shorter if blocks of a cluster share them), combined with
    /// the time to read all operands from memory.
    ///
    /// On other GPUs, the target is that of [`Target::newest_portable`], and tiles are the largest ones that occupy all multiprocessors, or
    /// the smallest ones if none do.
    #[must_use]
    pub fn for_problem<T: Element, D: Element>(
        a: MatrixOrder,
        b: MatrixOrder,
        size: [u32; 3],
        gpu: &GpuKind,
    ) -> Self {
        let tables = GemmTable::committed().iter();
        let same = tables.clone().filter(|table| table.gpu == *gpu);
        let similar = tables.filter(|table| table.gpu.is_similar_to(gpu));
        let tuned = same.chain(similar).find_map(|table| table.get::<T, D>(a, b, size));
        tuned.unwrap_or_else(|| match Self::target_of(gpu.capability) {
            Target::SM_90A => Self::estimated(a, b, size, T::SIZE, gpu.multiprocessors),
            target => {
                let tiles = GemmTile::for_target(target).iter().copied();
                Self::filling(target, [a, b], tiles, (size, 1), gpu.multiprocessors)
            }
        })
    }

    /// Returns the [batched kernel](Self::batched_kernel) that multiplies `batches` pairs of an m×k and a k×n matrix of `T`, where `size`
    /// is `[m, n, k]`. On GPUs of compute capability 9.0, this is the fastest kernel whose blocks share no loads of A and B, according to
    /// the model of [`for_problem`](Self::for_problem); on other GPUs, its tiles are chosen as in `for_problem`.
    #[must_use]
    pub fn for_batches<T: Element>(
        a: MatrixOrder,
        b: MatrixOrder,
        size: [u32; 3],
        batches: u32,
        gpu: &GpuKind,
    ) -> Self {
        let target = Self::target_of(gpu.capability);
        if target == Target::SM_90A {
            let candidates = Self::alone(Self::candidates(target, a, b, size[0]));
            let fastest = Self::fastest(candidates, (size, batches), T::SIZE, gpu.multiprocessors);
            return fastest.unwrap_or(Self { a, b, ..Self::new(GemmTile::T128x128) });
        }
        let tiles = GemmTile::for_target(target).iter().copied();
        Self::filling(target, [a, b], tiles, (size, batches), gpu.multiprocessors)
    }

    /// Returns the [grouped kernel](Self::grouped_kernel) that multiplies an m×k matrix of `T` by k×n matrices, where `size` is `[m, n, k]`
    /// and the number of rows of each group is a multiple of `rows`, chosen as in [`for_batches`](Self::for_batches) among the tiles with
    /// `rows` rows; `None` if no tile for the target and the order of A has this number of rows.
    pub fn for_groups<T: Element>(
        a: MatrixOrder,
        b: MatrixOrder,
        size: [u32; 3],
        rows: u32,
        gpu: &GpuKind,
    ) -> Option<Self> {
        let target = Self::target_of(gpu.capability);
        if target == Target::SM_90A {
            let of_rows = Self::candidates(target, a, b, rows).filter(|gemm| gemm.tile.size()[0] == rows);
            let candidates = Self::alone(of_rows);
            return Self::fastest(candidates, (size, 1), T::SIZE, gpu.multiprocessors);
        }
        let tiles = GemmTile::for_target(target).iter().copied().filter(|tile| tile.size()[0] == rows);
        tiles.clone().next()?;
        Some(Self::filling(target, [a, b], tiles, (size, 1), gpu.multiprocessors))
    }

    /// Returns the [kernel of ragged groups](Self::ragged_kernel) for an m×n result of depth k, where `size` is `[m, n, k]`, with A in
    /// rows, operands of `T`, and this number of groups: the tiles have the smallest number of rows out of 16, 64 and 128 that the target
    /// supports and that is at least the average number of rows of a group, or 128 if this average is larger. Among these tiles, the kernel
    /// is chosen as in [`for_groups`](Self::for_groups), but [`parts`](Self::parts) is always 1.
    #[must_use]
    pub fn for_ragged_groups<T: Element>(
        b: MatrixOrder,
        [m, n, k]: [u32; 3],
        groups: u32,
        gpu: &GpuKind,
    ) -> Self {
        let average = m.div_ceil(groups.max(1));
        let heights = [16, 64, 128].into_iter().filter(|&rows| rows >= average.min(128));
        // Groups do not share tiles.
        let of_rows = |rows: u32| {
            let size = [m.saturating_add(groups.saturating_mul(rows / 2)), n, k];
            let gemm = Self::for_groups::<T>(MatrixOrder::Row, b, size, rows, gpu)?;
            Some(Self { parts: 1, ..gemm })
        };
        let gemm = heights.into_iter().find_map(of_rows);
        gemm.unwrap_or(Self { b, ..Self::of_target(Self::target_of(gpu.capability), GemmTile::T64x64) })
    }

    /// Returns the kernel for sm_90a with [promoted sums](Self::promoted_kernel) that multiplies a row-major m×k matrix by a column-major
    /// k×n matrix of `T`, where `size` is `[m, n, k]`. Of the two supported tiles, the kernel uses the one that is faster according to the
    /// model of [`for_problem`](Self::for_problem).
    #[must_use]
    pub fn for_promoted<T: Element>(size: [u32; 3], gpu: &GpuKind) -> Self {
        let tiles = [GemmTile::T128x128, GemmTile::T128x192];
        let kernels = tiles.map(|tile| Self { b: MatrixOrder::Col, ..Self::new(tile) });
        Self::fastest(kernels.into_iter(), (size, 1), T::SIZE, gpu.multiprocessors).unwrap_or(kernels[0])
    }

    /// Returns whether the model predicts the speed of a tile. Rows of 160 elements of B allow only a swizzle of 64 bytes, and such tiles
    /// reached 0.73 to 1.00 of the predicted speed.
    fn is_predictable(tile: GemmTile, b: MatrixOrder) -> bool {
        b == MatrixOrder::Col || tile.size()[1].is_multiple_of(64)
    }

    /// Returns the fastest of the candidates for this number of products of operands of this number of bytes, according to the model.
    pub(super) fn fastest(
        candidates: impl Iterator<Item = Self>,
        (size, batches): ([u32; 3], u32),
        bytes: u32,
        multiprocessors: u32,
    ) -> Option<Self> {
        let time = |gemm: &Self| gemm.estimated_micros((size, batches), bytes, multiprocessors.max(1));
        let predictable = candidates.filter(|gemm| Self::is_predictable(gemm.tile, gemm.b));
        predictable.min_by(|a, b| time(a).total_cmp(&time(b)))
    }

    /// Returns this kernel, which must be for a target without `wgmma`, with [`any_size`](Self::any_size), for rows (or columns, in column
    /// order) of A and B of any length and stride, and with tiles of at most 128×128.
    #[must_use]
    pub const fn with_any_size(self) -> Self {
        let tile = match self.tile {
            GemmTile::T128x256 => GemmTile::T128x128,
            tile => tile,
        };
        Self { tile, any_size: true, ..self }
    }

    /// Returns the target of the kernels for GPUs of a compute capability.
    pub(in crate::kernels) fn target_of((major, minor): (u32, u32)) -> Target {
        match Target::newest_portable(major, minor) {
            _ if (major, minor) == (9, 0) => Target::SM_90A,
            target => target.unwrap_or(Target::SM_75),
        }
    }

    /// Returns the kernel of a target without `wgmma` for this number of products, with the largest of these tiles that occupy all
    /// multiprocessors, or with the smallest tile. `tiles` must be in ascending order of size.
    fn filling(
        target: Target,
        [a, b]: [MatrixOrder; 2],
        tiles: impl DoubleEndedIterator<Item = GemmTile> + Clone,
        ([m, n, _], batches): ([u32; 3], u32),
        multiprocessors: u32,
    ) -> Self {
        let fills =
            |tile: &GemmTile| u128::from(batches) * u128::from(tile.count(m, n)) >= multiprocessors.into();
        let smallest = tiles.clone().next().unwrap_or(GemmTile::T64x64);
        let tile = tiles.rev().find(fills);
        Self { a, b, ..Self::of_target(target, tile.unwrap_or(smallest)) }
    }

    /// Returns the candidates whose blocks share no tiles.
    fn alone(candidates: impl Iterator<Item = Self>) -> impl Iterator<Item = Self> {
        candidates.filter(|gemm| gemm.cluster == [1, 1])
    }

    /// Returns the fastest kernel of sm_90a for operands of this number of bytes according to the model.
    fn estimated(a: MatrixOrder, b: MatrixOrder, size: [u32; 3], bytes: u32, multiprocessors: u32) -> Self {
        let candidates = Self::candidates(Target::SM_90A, a, b, size[0]);
        let best = Self::fastest(candidates, (size, 1), bytes, multiprocessors);
        best.unwrap_or(Self { a, b, ..Self::new(GemmTile::T128x128) })
    }

    /// Returns the time of this number of products, without that of a launch.
    pub(super) fn estimated_micros(
        &self,
        (size, batches): ([u32; 3], u32),
        bytes: u32,
        multiprocessors: u32,
    ) -> f64 {
        let Some(cost) = COSTS.iter().find(|cost| cost.tile == self.tile) else { return f64::INFINITY };
        let [m, n, k] = size;
        let ([of_rows, of_cols], [rows, cols]) = (self.cluster, self.tile.size());
        let in_cluster = self.blocks_of_cluster();
        let clusters =
            u64::from(m.div_ceil(rows).div_ceil(of_rows)) * u64::from(n.div_ceil(cols).div_ceil(of_cols));
        let blocks = clusters.saturating_mul(u64::from(batches) * u64::from(in_cluster)) as f64;
        let resident = f64::from(resident(in_cluster, multiprocessors));
        let rounds = (blocks / resident).ceil();
        // Blocks of a cluster read the rows of a shared tile once.
        let [lines_of_a, lines_of_b] = self.lines(size, bytes);
        let lines = f64::from(rows.min(m)) * lines_of_a / f64::from(of_cols)
            + f64::from(cols) * lines_of_b / f64::from(of_rows);
        let active = blocks.min(resident) / f64::from(multiprocessors);
        let [m, n, k] = [m, n, k].map(f64::from);
        let steps = (k * f64::from(bytes) / 128.0 / f64::from(self.parts)).ceil();
        let exchange = if self.parts > 1 { EXCHANGE[0] + EXCHANGE[1] * f64::from(rows * cols) } else { 0.0 };
        // Reads and MMAs overlap, but not entirely.
        let tile = steps * cost.step.hypot(lines * LINE * active) + cost.between + exchange;
        let bytes_of_all = f64::from(batches) * (f64::from(bytes) * (m * k + k * n) + 2.0 * m * n);
        let start = if in_cluster > 1 { CLUSTER } else { 0.0 };
        let in_step = match (in_cluster, cost.between > 1.0) {
            _ if rounds <= 1.0 => 1.0,
            (0..=1, _) => 1.0,
            (3.., true) => IN_STEP[1],
            _ => IN_STEP[0],
        };
        start + in_step * (rounds * tile).hypot(bytes_of_all / BANDWIDTH)
    }

    /// Returns the average numbers of cache lines that contain 128 bytes of a row of A and of B, or of a column if the matrix is in columns:
    /// one if each of them starts at a cache line, and up to two otherwise.
    fn lines(&self, [m, n, k]: [u32; 3], bytes: u32) -> [f64; 2] {
        [self.a.leading_dimension(m, k), self.b.leading_dimension(k, n)].map(|length| {
            let past_line = u64::from(length) * u64::from(bytes) % 128;
            // Rows start at multiples of this number of bytes after the start of a line.
            let unit = 1_u64 << past_line.trailing_zeros().min(7);
            2.0 - unit as f64 / 128.0
        })
    }
}

/// Returns the number of blocks that run at the same time in clusters of this size. Clusters of more than two blocks occupy 120 of the 132
/// multiprocessors of an H100, because they run in one group of multiprocessors each, whose number is not a multiple of the size.
fn resident(in_cluster: u32, multiprocessors: u32) -> u32 {
    let usable = if in_cluster > 2 { multiprocessors - multiprocessors / 11 } else { multiprocessors };
    (usable / in_cluster * in_cluster).max(1)
}
