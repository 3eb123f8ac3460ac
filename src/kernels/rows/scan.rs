//! Cumulative sums along rows.

use super::{PointwiseArgs, RowTiling, tiling::same_or};
use crate::{
    ptx::{BuildError, Kernel, Target, Val},
    tensor::TensorElement,
    tiles::Convert,
};

/// A kernel for cumulative sums along rows: yⱼ is the sum of the elements of x in the columns before column j or, if
/// [`inclusive`](Self::inclusive) is true, up to and including column j.
///
/// Sums are computed in f32, in an order that depends only on the tiling, and each result is rounded once. Rows may have any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CumulativeSum {
    /// How rows are divided among threads. Each row must be processed by a single warp or a single block, with
    /// [`stripes`](RowTiling::stripes) = 1.
    pub tiling: RowTiling,
    /// Whether yⱼ includes the element of column j.
    pub inclusive: bool,
}

impl CumulativeSum {
    /// Returns the kernel for elements of at most `bytes` bytes. `sizes` contains the maximum row length, followed by the row pitches; see
    /// [`RowTiling::for_rows`].
    #[must_use]
    pub fn for_rows(inclusive: bool, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let chosen = RowTiling::for_rows(target, bytes, sizes);
        // Without a minimum for unaligned rows, fewer blocks would be resident.
        let (threads, rows, resident) = match chosen.groups(sizes) {
            _ if chosen.threads <= 32 => (32, 8, 0),
            ..=384 if chosen.unaligned && bytes > 1 => (64, 1, 32),
            _ if chosen.unaligned => (128, 1, if bytes > 1 { 16 } else { 8 }),
            ..=1024 => (128, 1, 8),
            _ => (256, 1, 4),
        };
        let tiling = RowTiling { threads, rows, cluster: 1, stripes: 1, streamed: true, resident, ..chosen };
        Self { tiling, inclusive }
    }

    /// Builds the kernel. Its name contains the types and the tiling, as in `cumsum_bf16_any_by8` or, if [`inclusive`](Self::inclusive) is
    /// false, `cumsum_before_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling, or for one that does not meet the requirements of [`tiling`](Self::tiling).
    #[doc(alias = "cumsum")]
    pub fn kernel<X, Y>(&self, target: Target) -> Result<Kernel<PointwiseArgs<X, Y>>, BuildError>
    where
        X: Convert<f32>,
        Y: TensorElement,
        f32: Convert<Y>,
    {
        let (form, y) = (if self.inclusive { "" } else { "_before" }, same_or::<X, Y>());
        let signature = format!("cumsum{form}_{}{y}_{}(x, ldx, y, ldy, m, n)", X::NAME, self.tiling);
        self.tiling.build::<PointwiseArgs<X, Y>>(&signature, target, |k, (x, ldx, y, ldy, m, n)| {
            let RowTiling { threads, rows, cluster, stripes, .. } = self.tiling;
            k.describe(format!("y = sums along rows of x ({}), m×n", X::NAME));
            if cluster > 1 || stripes > 1 || threads < 32 || threads > 32 && rows > 1 {
                k.refuse(format!(
                    "expected a warp or a block for a row, and one group for a thread, found {:?}",
                    self.tiling
                ));
            }
            let row = self.tiling.row_of(k, [m, n, ldy]);
            let (x, y) = (row.of(x, ldx), row.of(y, ldy));
            k.fold(row.parts(), Val::from(0.0f32), |part, before| {
                let mut sum = Val::from(0.0f32);
                let loaded = row.in_part(part, || row.load(&x, part, 0.0));
                let own = loaded.scanned(|x| {
                    let before = sum;
                    sum = sum + x;
                    if self.inclusive { sum } else { before }
                });
                let (of_others, total) = match threads {
                    32 => (k.warp().exclusive_scan(sum), k.warp().sum(sum)),
                    _ => (k.this_block().exclusive_scan(sum), k.this_block().sum(sum)),
                };
                let ahead = before + of_others;
                let sums = own.map(|sum| ahead + sum);
                row.in_part(part, || row.store(&y, part, &sums));
                before + total
            });
        })
    }
}
