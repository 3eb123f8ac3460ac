//! The largest elements of rows.

use super::{RowTiling, candidates::Candidates, tiling::Line};
use crate::{
    ptx::{BuildError, In, Kernel, Out, Target},
    tiles::{Convert, row_major},
};

/// The arguments of the kernel that [`TopK::kernel`] builds: `(x, ldx, values, indices, m, n, count)`. x is m×n, with a row pitch of `ldx`
/// elements. `values` and `indices` are contiguous m×`count` matrices that receive the elements and their columns.
pub type TopKArgs<X> = (In<X>, u32, Out<X>, Out<i32>, u32, u32, u32);

/// A kernel that finds the `count` largest elements of each row and their columns, in descending order. `count` must be between 1 and the
/// number of threads per row.
///
/// Equal elements are ordered by ascending column. −0 equals 0 and is returned as 0. As in PyTorch, NaN is greater than all numbers. If a
/// row has fewer than `count` elements, the remaining values are NaN, and the remaining indices are −1.
///
/// Rows may have any length; they are read once, in parts. Elements that are greater than the smallest of the `count` largest elements so
/// far are collected in shared memory, in two slots per thread. When the slots are full, all but the `count` largest of the collected
/// elements are discarded. If n elements are in random order, about `count` · ln n of them are collected. In the worst case, a row in
/// ascending order, all n are collected.
#[doc(alias = "topk")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopK {
    /// How rows are divided among threads. Each row must be read in parts by a single warp or a single block, with at most 32 elements per
    /// thread.
    pub tiling: RowTiling,
}

/// The number of 16-byte groups that a thread loads at a time.
const GROUPS: u32 = 3;
/// The length of the longest row that a warp processes, in groups.
const MOST_OF_WARP: u32 = 128;
/// The number of threads in the blocks that process longer rows.
const THREADS: u32 = 256;

impl TopK {
    /// The maximum value of `count`. In larger blocks, threads would have too few registers.
    pub const MOST: u32 = 512;

    /// Returns the kernel that finds up to `count` elements of each row; `count` must be at most [`MOST`](Self::MOST). Elements are at most
    /// `bytes` bytes wide. `sizes` contains the maximum row length, followed by the row pitches; see [`RowTiling::for_rows`].
    ///
    /// For long rows, a block has at least 256 threads per row. This is fastest if there are fewer rows than blocks that fit on the device.
    #[must_use]
    pub fn for_rows(target: Target, bytes: u32, sizes: &[u32], count: u32) -> Self {
        let chosen = RowTiling::for_rows(target, bytes, sizes);
        let groups = chosen.groups(sizes);
        let least = if groups <= MOST_OF_WARP { 32 } else { THREADS };
        let threads = count.clamp(1, Self::MOST).next_power_of_two().max(least);
        let rows = if threads == 32 { 4 } else { 1 };
        // Each element of a thread is represented by a bit of a word.
        let most = if chosen.unaligned { 2 } else { GROUPS }.min(32 / chosen.adjacent.min(32));
        let stripes = groups.div_ceil(threads).clamp(1, most);
        let resident = 512 / (threads * rows);
        Self {
            tiling: RowTiling {
                threads,
                rows,
                cluster: 1,
                stripes,
                streamed: true,
                resident,
                ahead: 0,
                ..chosen
            },
        }
    }

    /// Returns the kernel for matrices with several rows per multiprocessor. It is the same as that of [`for_rows`](Self::for_rows), except
    /// that the blocks are small: while the threads of a block wait for each other, other blocks compute.
    #[must_use]
    pub fn for_many_rows(target: Target, bytes: u32, sizes: &[u32], count: u32) -> Self {
        let Self { tiling } = Self::for_rows(target, bytes, sizes, count);
        if tiling.threads <= 32 {
            return Self { tiling };
        }
        let threads = count.clamp(1, Self::MOST).next_power_of_two().max(64);
        // The elements of an unaligned group come from two aligned groups, which occupy more registers.
        let (stripes, together) = match tiling.unaligned {
            true => (if bytes < 4 { 1 } else { 2 }, if bytes > 1 { 768 } else { 512 }),
            false if bytes < 4 && tiling.groups(sizes) <= 2048 => (1, 1024),
            false => (2, 1024),
        };
        let stripes = stripes.min(tiling.groups(sizes).div_ceil(threads));
        Self { tiling: RowTiling { threads, stripes, resident: (together / threads).max(1), ..tiling } }
    }

    /// Builds the kernel. Its name contains the number of threads per row (the maximum value of `count`), the type and the tiling, as in
    /// `top_256_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling, or for one that does not meet the requirements of [`tiling`](Self::tiling).
    pub fn kernel<X>(&self, target: Target) -> Result<Kernel<TopKArgs<X>>, BuildError>
    where
        X: Convert<f32>,
        f32: Convert<X>,
    {
        let RowTiling { threads, rows, cluster, adjacent, stripes, streamed, .. } = self.tiling;
        let parameters = "x, ldx, values, indices, m, n, count";
        let signature = format!("top_{threads}_{}_{}({parameters})", X::NAME, self.tiling);
        self.tiling.build::<TopKArgs<X>>(&signature, target, |k, (x, ldx, values, indices, m, n, count)| {
            k.describe(format!(
                "the largest elements of each row of x ({}), m×n, and their columns",
                X::NAME
            ));
            let is_team = threads == 32 || threads > 32 && rows == 1;
            // Each element of a thread is represented by a bit of a word.
            if !is_team || cluster > 1 || !streamed || stripes * adjacent > u32::BITS {
                k.refuse(format!(
                    "expected a warp or a block that reads a row in parts, with up to 32 elements per thread, found {:?}",
                    self.tiling
                ));
                return;
            }
            let count = count.at_most(threads);
            let row = self.tiling.row_of(k, [m, n, ldx]);
            let candidates = Candidates::new::<X>(&row, count.max(1));
            match row.of(x, ldx) {
                Line::Aligned(x) => candidates.collect::<X>(&|part| row.stripes.load(&x, part)),
                line => candidates.collect::<f32>(&|part| row.load(&line, part, f32::NEG_INFINITY)),
            }

            let results = k.stripes(row.thread, threads, 1, 1);
            let key = candidates.sorted();
            let layout = row_major(m, count);
            let values = k.global(values, layout).row(row.at);
            results.store(&values, 0, &results.with(&[key.element()]));
            k.global(indices, layout).row(row.at).at(row.thread).store(key.col());
        })
    }
}
