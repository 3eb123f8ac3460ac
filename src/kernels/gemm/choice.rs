//! The choice of a kernel for a problem.

use super::{Gemm, GemmTable, GemmTile, GpuKind, MatrixOrder, check::MOST_BLOCKS, model::Work};
use crate::{
    ptx::{Element, Features, Target},
    tiles::Schedule,
};

impl Gemm {
    /// Returns the kernels that may be the fastest for a product on a target: one kernel for each suitable combination of tile, cluster and
    /// parts. `a` and `b` are the orders of A and B, and `m` is the number of rows of the result.
    pub fn candidates(target: Target, a: MatrixOrder, b: MatrixOrder, m: u32) -> impl Iterator<Item = Self> {
        let has_wgmma = target.features().contains(Features::WGMMA);
        let few_rows = move |tile: &GemmTile| tile.size()[0] >= 64 || m <= 16 && a == MatrixOrder::Row;
        // Rows of 176 elements of B allow only a 32-byte swizzle.
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

    /// Returns the kernel for a target that multiplies row-major matrices with the given tile.
    pub(super) fn of_target(target: Target, tile: GemmTile) -> Self {
        let gemm = Self { target, ..Self::new(tile) };
        if gemm.has_wgmma() { gemm } else { Self { schedule: Schedule::grouped(8), ..gemm } }
    }

    /// Returns the kernel for the product of an m×k matrix in order `a` and a k×n matrix in order `b` on the given kind of GPU, where
    /// `size` is `[m, n, k]`. The operands have type `T`, and the result has type `D`. The kernel has no activation, and its fields
    /// `any_ldd` and `any_size` are `false`.
    ///
    /// If one of the [built-in tables](GemmTable::builtin) contains the problem, that table determines the kernel. Tables for this kind of
    /// GPU are searched first, followed by tables for other kinds of GPUs with the same compute capability and number of multiprocessors.
    ///
    /// Otherwise, on GPUs of compute capability 9.0, the target is sm_90a, and the kernel is the fastest one according to a model. The
    /// model multiplies the number of waves of tiles by the time per tile, and combines this time with the time to read all operands from
    /// memory and to write 16-bit results. The time per tile depends on the time to read operands from the L2 cache. This time is longer if
    /// rows of an operand do not begin at cache-line boundaries, and shorter if blocks of a cluster share operands. The kernel may have
    /// clusters that span several rows of tiles, which only [`kernel`](Self::kernel) and [`fused_kernel`](Self::fused_kernel) support.
    ///
    /// On other GPUs, [`Target::newest_portable`] determines the target. The tile is the largest one for which the result has at least as
    /// many tiles as the GPU has multiprocessors, or the smallest one if no tile meets this condition.
    #[must_use]
    pub fn for_problem<T: Element, D: Element>(
        a: MatrixOrder,
        b: MatrixOrder,
        size: [u32; 3],
        gpu: &GpuKind,
    ) -> Self {
        let tables = GemmTable::builtin().iter();
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

    /// Returns the [batched kernel](Self::batched_kernel) for `batches` products of an m×k matrix in order `a` and a k×n matrix in order
    /// `b`, where `size` is `[m, n, k]`. The elements of the matrices have type `T`. On GPUs of compute capability 9.0, this is the fastest
    /// kernel, according to the model of [`for_problem`](Self::for_problem), among the kernels whose blocks do not share loads of A and B.
    /// On other GPUs, the tile is chosen as in `for_problem`, but the tiles of all products are counted together.
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
            let fastest =
                Self::fastest(candidates, Work::products(size, batches), T::SIZE, gpu.multiprocessors);
            return fastest.unwrap_or(Self { a, b, ..Self::new(GemmTile::T128x128) });
        }
        let tiles = GemmTile::for_target(target).iter().copied();
        Self::filling(target, [a, b], tiles, (size, batches), gpu.multiprocessors)
    }

    /// Returns the [grouped kernel](Self::grouped_kernel) that multiplies groups of rows of an m×k matrix in order `a` by k×n matrices in
    /// order `b`, where `size` is `[m, n, k]`. The elements of the matrices have type `T`. The number of rows of each group must be a
    /// multiple of `rows`. Among the kernels whose tiles have `rows` rows, one is chosen as in [`for_batches`](Self::for_batches). Returns
    /// `None` if no kernel for the GPU and the order of A has such tiles.
    pub fn for_groups<T: Element>(
        a: MatrixOrder,
        b: MatrixOrder,
        size: [u32; 3],
        rows: u32,
        gpu: &GpuKind,
    ) -> Option<Self> {
        Self::of_height::<T>([a, b], size, rows, gpu, |_| true)
    }

    /// Returns the fastest kernel with tiles of `rows` rows and with blocks that do not share loads of A and B, among the kernels that
    /// `is_suitable` accepts. On targets without `wgmma`, `is_suitable` is ignored. Returns `None` if there is no such kernel.
    fn of_height<T: Element>(
        [a, b]: [MatrixOrder; 2],
        size: [u32; 3],
        rows: u32,
        gpu: &GpuKind,
        is_suitable: impl Fn(&Self) -> bool,
    ) -> Option<Self> {
        let target = Self::target_of(gpu.capability);
        if target == Target::SM_90A {
            let of_rows = |gemm: &Self| gemm.tile.size()[0] == rows && is_suitable(gemm);
            let candidates = Self::alone(Self::candidates(target, a, b, rows).filter(of_rows));
            return Self::fastest(candidates, Work::products(size, 1), T::SIZE, gpu.multiprocessors);
        }
        let tiles = GemmTile::for_target(target).iter().copied().filter(|tile| tile.size()[0] == rows);
        tiles.clone().next()?;
        Some(Self::filling(target, [a, b], tiles, (size, 1), gpu.multiprocessors))
    }

    /// Returns the [ragged kernel](Self::ragged_kernel) that multiplies `groups` groups of rows of a row-major m×k matrix by k×n matrices
    /// in order `b`. The elements of the matrices have type `T`. A tile has 16, 64 or 128 rows on GPUs of compute capability 9.0, and 64 or
    /// 128 rows on other GPUs. The smallest of these numbers that is at least the average number of rows per group is used, or 128 if the
    /// average is greater than 128. Among the kernels with such tiles, one is chosen as in [`for_groups`](Self::for_groups), but
    /// [`parts`](Self::parts) is always 1.
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
            Self::of_height::<T>([MatrixOrder::Row, b], size, rows, gpu, |gemm| gemm.parts == 1)
        };
        let gemm = heights.into_iter().find_map(of_rows);
        gemm.unwrap_or(Self { b, ..Self::of_target(Self::target_of(gpu.capability), GemmTile::T64x64) })
    }

    /// Returns the sm_90a kernel with [promoted sums](Self::promoted_kernel) that multiplies a row-major m×k matrix by a column-major k×n
    /// matrix with elements of type `T`, where `size` is `[m, n, k]`. Its tile is the faster of the two supported tiles according to the
    /// model of [`for_problem`](Self::for_problem).
    #[must_use]
    pub fn for_promoted<T: Element>(size: [u32; 3], gpu: &GpuKind) -> Self {
        let tiles = [GemmTile::T128x128, GemmTile::T128x192];
        let kernels = tiles.map(|tile| Self { b: MatrixOrder::Col, ..Self::new(tile) });
        let fastest =
            Self::fastest(kernels.into_iter(), Work::products(size, 1), T::SIZE, gpu.multiprocessors);
        fastest.unwrap_or(kernels[0])
    }

    /// Returns the candidate that is fastest for `work` according to the model, where `bytes` is the size of an operand element. Returns
    /// `None` if the model does not predict the time of any candidate.
    fn fastest(
        candidates: impl Iterator<Item = Self>,
        work: Work,
        bytes: u32,
        multiprocessors: u32,
    ) -> Option<Self> {
        let times =
            candidates.filter_map(|gemm| Some((gemm, gemm.estimated_micros(work, bytes, multiprocessors)?)));
        times.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(gemm, _)| gemm)
    }

    /// Returns this kernel with the most similar tile that [`gated_kernel`](Self::gated_kernel) supports,
    /// without clusters, and with [`parts`](Self::parts) = 1.
    #[must_use]
    pub fn for_gated_products(self) -> Self {
        let has_wgmma = self.target == Target::SM_90A;
        let tile = match self.tile {
            tile if tile.size()[0] <= 64 && has_wgmma => GemmTile::T64x128,
            GemmTile::T128x256 if !has_wgmma => GemmTile::T128x256,
            _ => GemmTile::T128x128,
        };
        Self { tile, cluster: [1, 1], parts: 1, ..self }
    }

    /// Returns this kernel with [`any_size`](Self::any_size) set to `true`, so that rows (or columns, if column-major) of A and B may have
    /// any length and stride. A 128×256 tile is replaced with a 128×128 tile. The target must not have `wgmma`.
    #[must_use]
    pub const fn with_any_size(self) -> Self {
        let tile = match self.tile {
            GemmTile::T128x256 => GemmTile::T128x128,
            tile => tile,
        };
        Self { tile, any_size: true, ..self }
    }

    /// Returns the target of the kernels for GPUs of the given compute capability.
    pub(in crate::kernels) fn target_of((major, minor): (u32, u32)) -> Target {
        match Target::newest_portable(major, minor) {
            _ if (major, minor) == (9, 0) => Target::SM_90A,
            target => target.unwrap_or(Target::SM_75),
        }
    }

    /// Returns the kernel for `batches` products on a target without `wgmma`. Its tile is the largest of `tiles` for which there are at
    /// least as many tiles as multiprocessors; if there is no such tile, it is the smallest one. `tiles` must be in ascending order of
    /// size.
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

    /// Returns the candidates whose blocks do not share loads of A and B.
    fn alone(candidates: impl Iterator<Item = Self>) -> impl Iterator<Item = Self> {
        candidates.filter(|gemm| gemm.cluster == [1, 1])
    }

    /// Returns the fastest sm_90a kernel according to the model, where `bytes` is the size of an operand element.
    fn estimated(a: MatrixOrder, b: MatrixOrder, size: [u32; 3], bytes: u32, multiprocessors: u32) -> Self {
        let candidates = Self::candidates(Target::SM_90A, a, b, size[0]);
        let best = Self::fastest(candidates, Work::products(size, 1), bytes, multiprocessors);
        best.unwrap_or(Self { a, b, ..Self::new(GemmTile::T128x128) })
    }
}
