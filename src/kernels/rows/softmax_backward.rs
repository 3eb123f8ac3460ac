//! The gradients of softmax and of its logarithm.

use std::f32::consts::LOG2_E;

use super::{
    RowTiling,
    tiling::{MOST_BLOCKS, same_or},
};
use crate::{
    ptx::{BuildError, Features, In, Kernel, Out, Target},
    tiles::Convert,
};

/// The arguments of the kernel that [`SoftmaxBackward::kernel`] builds: `(y, ldy, dy, lddy, dx, lddx, m, n, scale)`. y, dy and dx are m×n,
/// with row pitches of `ldy`, `lddy` and `lddx` elements. `scale` must have the same value as in the forward kernel.
pub type SoftmaxBackwardArgs<Y, X> = (In<Y>, u32, In<Y>, u32, Out<X>, u32, u32, u32, f32);

/// A kernel that computes the gradient of softmax or of its logarithm. For y = softmax(`scale` · x), it computes dx = `scale` · y · (dy −
/// Σ(dy · y)) from y and dy; for y = log softmax(`scale` · x), it computes dx = `scale` · (dy − e^y · Σ dy). The sums are over the elements
/// of a row.
///
/// For masked elements of softmax (y = 0), dx is 0. For masked elements of its logarithm (y = −∞), dx is `scale` · dy.
#[doc(alias = "log_softmax")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SoftmaxBackward {
    /// How rows are divided among threads.
    pub tiling: RowTiling,
    /// Whether y is the natural logarithm of the softmax.
    pub log: bool,
}

impl SoftmaxBackward {
    /// Returns the kernel for the gradient of softmax, not of its logarithm, for elements of at most `bytes` bytes. `sizes` contains the
    /// maximum row length, followed by the row pitches; see [`RowTiling::for_rows`].
    #[must_use]
    pub fn for_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let (direct, copied) =
            (RowTiling::for_rows(target, bytes, sizes), RowTiling::for_copied_rows(target, bytes, sizes));
        let held = RowTiling::for_held_rows(target, bytes, sizes);
        let groups = direct.groups(sizes);
        let in_one_block = if bytes < 4 { 2048 } else { 4096 };
        let in_cluster =
            in_cluster(bytes, direct, groups).filter(|_| target.features().contains(Features::HOPPER));
        let fits = |tiling: &RowTiling| tiling.fits(target, bytes, 2);
        let tiling = match direct.unaligned {
            true if in_cluster.is_some() => in_cluster.unwrap_or(direct),
            true if fits(&copied) => copied,
            // With more elements per thread, a single block would have too few registers, and rows in parts would be read twice.
            false if groups > in_one_block && matches!(held.cluster, 2..=8) => {
                // Without a minimum of resident blocks, ptxas may use so few registers that some are spilled.
                RowTiling { resident: if bytes < 4 { 3 } else { 1 }, ..held }
            }
            false if copied.ahead > 0 && bytes < 4 && matches!(groups, 1153..=2048) => {
                Some(copied.copied(groups, 4, 1, 1)).filter(fits).unwrap_or(direct)
            }
            _ => direct,
        };
        Self { tiling, log: false }
    }

    /// Builds the kernel. Its name contains the types and the tiling, as in `softmax_backward_bf16_8192_by8`, or
    /// `log_softmax_backward_bf16_8192_by8` for the logarithm.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling, or for clusters on a target older than sm_90.
    pub fn kernel<Y, X>(&self, target: Target) -> Result<Kernel<SoftmaxBackwardArgs<Y, X>>, BuildError>
    where
        Y: Convert<f32>,
        X: Convert<f32>,
        f32: Convert<X>,
    {
        let (log, x) = (if self.log { "log_" } else { "" }, same_or::<Y, X>());
        let signature = format!(
            "{log}softmax_backward_{}{x}_{}(y, ldy, dy, lddy, dx, lddx, m, n, scale)",
            Y::NAME,
            self.tiling
        );
        self.tiling.build::<SoftmaxBackwardArgs<Y, X>>(
            &signature,
            target,
            |k, (y, ldy, dy, lddy, dx, lddx, m, n, scale)| {
                k.describe(format!("dx of y = {log}softmax(scale·x) along rows, from y and dy"));
                let turns = self.tiling.turns_of_segments(k, [m, n, lddx]);
                let (y, dy) = (turns.input(y, ldy), turns.input(dy, lddy));
                turns.each(&[&y, &dy], &|row| {
                    let (y, dy, dx) = (row.of_input(&y), row.of_input(&dy), row.of(dx, lddx));
                    let inputs = row.keep(|part| row.load_each([&y, &dy], part, 0.0));
                    let [sum] = row.sums(&|part| {
                        let [y, dy] = inputs(part);
                        [if self.log { dy.combined(|a, b| a + b) } else { dy.dot(&y) }]
                    });
                    row.for_parts(&|part| {
                        let [y, dy] = inputs(part);
                        let results = y.zip(&dy, |y, dy| match self.log {
                            true => k.exp2(y * LOG2_E).mad(-sum, dy) * scale,
                            false => y * (dy - sum) * scale,
                        });
                        row.store(&dx, part, &results);
                    });
                });
            },
        )
    }
}

/// Returns the fastest tiling on an H200 for long unaligned rows of `groups` groups, which are divided among the blocks of a cluster, given
/// the tiling of [`RowTiling::for_rows`]. Returns `None` for other rows.
fn in_cluster(bytes: u32, direct: RowTiling, groups: u32) -> Option<RowTiling> {
    match (bytes, groups) {
        (2, 2049..=2560) => direct.in_cluster(4, groups, 5),
        (2, 2561..=5120) | (4, 4097..=10240) => direct.in_cluster(MOST_BLOCKS, groups, 5),
        (2, 5121..=9216) => {
            let held = direct.in_cluster(MOST_BLOCKS, groups, 6)?;
            Some(RowTiling { resident: 2, ahead: 1, turns: 4, ..held })
        }
        (2, 9217..) => direct.in_cluster(MOST_BLOCKS, groups, 2),
        (4, 10241..=18432) => {
            let threads = groups.div_ceil(3 * MOST_BLOCKS).next_multiple_of(32);
            let held = RowTiling { threads, rows: 1, cluster: MOST_BLOCKS, stripes: 3, ..direct };
            Some(RowTiling { streamed: false, resident: 2, ahead: 0, turns: 1, ..held })
        }
        _ => None,
    }
}
