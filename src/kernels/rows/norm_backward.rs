//! The gradients of norms.

use super::{
    NormFunction, RowTiling,
    tiling::{MOST_BLOCKS, Row, aligned_elements, same_or},
};
use crate::{
    ptx::{BuildError, Features, In, Kernel, Out, Target, Val},
    tiles::{Convert, Striped},
};

/// The arguments of the kernel that [`NormBackward::kernel`] builds: `(x, ldx, w, dy, lddy, dx, lddx, dw, db, parts, m, n, epsilon)`. x, dy
/// and dx are m×n, with row pitches of `ldx`, `lddy` and `lddx` elements. w has n elements. dw and db are contiguous `parts`×n matrices.
/// `epsilon` is the ε of [`NormFunction`].
pub type NormBackwardArgs<X, W> =
    (In<X>, u32, In<W>, In<X>, u32, Out<X>, u32, Out<f32>, Out<f32>, u32, u32, u32, f32);

/// The minimum number of blocks per multiprocessor if rows are not read ahead. The actual number is a multiple of the number of resident
/// blocks, so that the last round is full.
const BLOCKS: u32 = 4;

/// A kernel that computes the gradients of y = norm(x) · w + b: dx, and partial sums for dw and db.
///
/// Let g = dy · w and x̂ = norm(x), and let r be the square root in the denominator of norm. Then dx = (g − mean(g · x̂) · x̂) / r for
/// RMSNorm, and dx = (g − mean(g) − mean(g · x̂) · x̂) / r for LayerNorm.
///
/// Row p of the output dw contains the sums of dy · x̂ over rows p, p + `parts`, … of x. Row p of db contains the sums of dy over the same
/// rows. To obtain the gradients of w and b, add the rows with [`ColumnReduction`](super::ColumnReduction). Results depend on `parts`, but
/// not on the order in which blocks run. Rows must not be longer than the [capacity](RowTiling::capacity) of the tiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NormBackward {
    /// How rows are divided among threads. [`streamed`](RowTiling::streamed) must be false.
    pub tiling: RowTiling,
    /// The function that normalizes rows.
    pub function: NormFunction,
}

impl NormBackward {
    /// Returns the kernel for elements of at most `bytes` bytes. `sizes` contains the maximum row length, followed by the row pitches; see
    /// [`RowTiling::for_rows`].
    #[must_use]
    pub fn for_rows(function: NormFunction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let tiling = RowTiling::for_summed_rows(target, bytes, sizes);
        let is_copied = matches!(bytes, 2 | 4) && target.features().contains(Features::AMPERE);
        let fastest = match is_copied && tiling.unaligned {
            true => fastest(function, bytes, tiling, sizes),
            false => tiling,
        };
        Self { tiling: if fastest.fits_sums(target, bytes) { fastest } else { tiling }, function }
    }

    /// Returns a suitable value for the argument `parts`.
    ///
    /// `clusters` is the number of clusters that the device can run simultaneously with one block per multiprocessor; see
    /// [`KernelCache::resident_clusters`](crate::run::KernelCache::resident_clusters). If the tiling's [`cluster`](RowTiling::cluster) is
    /// 1, pass the number of multiprocessors. With a greater value of `parts`, the last clusters would start only after others have
    /// finished.
    #[must_use]
    pub fn parts(&self, clusters: u32) -> u32 {
        let RowTiling { rows, adjacent, unaligned, resident, ahead, .. } = self.tiling;
        let resident = resident.max(1);
        let resident = if ahead > 0 { resident } else { BLOCKS.div_ceil(resident).saturating_mul(resident) };
        let teams = clusters.max(1).saturating_mul(resident);
        // With this number of teams, all rows of a team begin at the same distance from an aligned element.
        let together = if unaligned && teams >= adjacent { adjacent.max(1) } else { 1 };
        (teams / together * together).saturating_mul(rows)
    }

    /// Builds the kernel. The argument `parts` of a launch must be a multiple of the tiling's [`rows`](RowTiling::rows).
    ///
    /// # Errors
    /// Returns an error for an invalid tiling, for a tiling that reads rows in parts, or for clusters on a target older than sm_90.
    pub fn kernel<X, W>(&self, target: Target) -> Result<Kernel<NormBackwardArgs<X, W>>, BuildError>
    where
        X: Convert<f32>,
        W: Convert<f32>,
        f32: Convert<X> + Convert<f32>,
    {
        let (name, w) = (self.function.name(), same_or::<X, W>());
        let signature = format!(
            "{name}_backward_{}{w}_{}(x, ldx, w, dy, lddy, dx, lddx, dw, db, parts, m, n, epsilon)",
            X::NAME,
            self.tiling
        );
        self.tiling.build::<NormBackwardArgs<X, W>>(
            &signature,
            target,
            |k, (x, ldx, w, dy, lddy, dx, lddx, dw, db, parts, m, n, epsilon)| {
                k.describe(format!("the gradients of {name}(x)·w + b, dw and db as parts×n partial sums"));
                if self.tiling.streamed {
                    k.refuse(
                        "expected a tiling of rows in registers, found one that reads them in parts".into(),
                    );
                }
                // Each thread processes the same columns of all rows.
                let parts = parts.multiple_of(self.tiling.rows);
                let turns = self.tiling.turns_in_parts(k, parts, [m, n, lddx]);
                let (x, dy, w) = (turns.input(x, ldx), turns.input(dy, lddy), turns.weights(w));
                let parts_of_row = 0..turns.first.tiling.parts_at_a_time();
                let zeros: Vec<_> = parts_of_row.clone().map(|_| turns.first.filled(0.0)).collect();
                // Two versions of the code would spill registers.
                let is_full =
                    self.function == NormFunction::Rms && self.tiling.stripes * self.tiling.adjacent >= 32;
                let reciprocal = || Val::from(1.0) / n.cast::<f32>();
                // Rows are reloaded if there are few registers; keeping the reciprocal in a register would then cause spills.
                let kept = (!turns.first.is_reloaded()).then(reciprocal);
                let sums = turns.fold(&[&x, &dy], [zeros.clone(), zeros], |row, [dws, dbs]| {
                    let dx = row.moved_to(row.of(dx, lddx));
                    let row = &match dx.is_in_place() {
                        Some(in_place) if !is_full => row.aligned_if(in_place),
                        _ => row.in_one_version(),
                    };
                    let (lines, per_element) =
                        ([row.of_input(&x), row.of_input(&dy)], kept.unwrap_or_else(reciprocal));
                    let parts: Parts<'_, '_> = Box::new(row.keep(|part| {
                        let [x, dy] = row.load_each(lines.each_ref(), part, 0.0);
                        let g = dy.zip(&row.of_weights(&w, part), |dy, w| dy * w);
                        [x, dy, g]
                    }));
                    let (moments, parts) = match self.function {
                        NormFunction::Rms => (Moments::about_zero(row, per_element, &parts), parts),
                        NormFunction::Layer if X::SIZE == 2 && is_reduction_slow(row) => {
                            (Moments::in_one_pass(row, per_element, &parts, row.typical(&x)), parts)
                        }
                        NormFunction::Layer => Moments::in_two_passes(row, per_element, parts),
                    };
                    // Rows past the last one must add 0, even if ε is 0.
                    let scale = row.at.lt(row.m).select(k.rsqrt(moments.variance + epsilon), 0.0);
                    let along = -(moments.along * scale) * scale;
                    let center = -moments.g_mean * scale;
                    let sums = row.by_alignment(|| {
                        let of_parts = (0u32..).zip(dws.iter().zip(&dbs)).map(|(part, (dw, db))| {
                            let [x, dy, g] = parts(part.into());
                            let x = match moments.x_mean {
                                None => x.map(|x| x * scale),
                                Some(mean) => x.map(|x| (x - mean) * scale),
                            };
                            let results = g.zip(&x, |g, x| g.mad(scale, x.mad(along, center)));
                            row.store_moved(&dx, part.into(), &results);
                            (dy.mad(&x, dw), db.zip(&dy, |sum, dy| sum + dy))
                        });
                        let (dws, dbs): (Vec<_>, Vec<_>) = of_parts.unzip();
                        [dws, dbs]
                    });
                    row.finish_moved(&dx);
                    sums
                });
                let row = turns.first.of_rows(parts);
                for (to, sums) in [dw, db].into_iter().zip(&sums) {
                    let to = row.of(to, n);
                    parts_of_row
                        .clone()
                        .zip(sums)
                        .for_each(|(part, sums)| row.store::<f32, _>(&to, part, sums));
                }
            },
        )
    }
}

/// Returns whether a second reduction takes longer than loading a few elements. This is the case if the blocks of a cluster exchange
/// results, or if aligned rows are loaded again for the reduction.
fn is_reduction_slow(row: &Row<'_>) -> bool {
    row.tiling.cluster > 1 || row.is_reloaded() && !row.tiling.unaligned
}

/// Means over a row, where g = dy · w.
struct Moments<'k> {
    /// The mean of x; `None` if x has been centered.
    x_mean: Option<Val<'k, f32>>,
    g_mean: Val<'k, f32>,
    /// The mean of (x − mean(x))².
    variance: Val<'k, f32>,
    /// The mean of g · (x − mean(x)).
    along: Val<'k, f32>,
}

/// A function that returns x, dy and g for a part of a row; they are 0 outside the row.
type Parts<'f, 'k> = Box<dyn Fn(Val<'k, u32>) -> [Striped<'k, f32>; 3] + 'f>;

impl<'k> Moments<'k> {
    /// Computes moments about 0, without subtracting means.
    #[track_caller]
    fn about_zero(row: &Row<'k>, per_element: Val<'k, f32>, parts: &Parts<'_, 'k>) -> Self {
        let [variance, along] = row.means(per_element, &|part| {
            let [x, _, g] = parts(part);
            [x.dot(&x), g.dot(&x)]
        });
        Self { x_mean: None, g_mean: 0.0.into(), variance, along }
    }

    /// Computes the means of x and g first, and then the moments about them. Returns the moments, and the parts with x centered.
    #[track_caller]
    fn in_two_passes<'f>(
        row: &'f Row<'k>,
        per_element: Val<'k, f32>,
        parts: Parts<'f, 'k>,
    ) -> (Self, Parts<'f, 'k>) {
        let [x_mean, g_mean] = row.means(per_element, &|part| {
            let [x, _, g] = parts(part);
            [x, g].map(|values| values.combined(|a, b| a + b))
        });
        let centered: Parts<'f, 'k> = Box::new(row.keep(move |part| {
            let [x, dy, g] = parts(part);
            [row.deviations(part, &x, x_mean), dy, g]
        }));
        (Self { g_mean, ..Self::about_zero(row, per_element, &centered) }, centered)
    }

    /// Computes all moments in one pass, from deviations from `typical`, a value near the elements of the row.
    ///
    /// The variance is the difference between the mean square of these deviations and the square of their mean. Its relative error is
    /// therefore the error of the mean square times the ratio of the mean square to the variance. If `typical` is within a few standard
    /// deviations of the mean, this ratio is small, and the precision suffices for 16-bit types. If `typical` is one of the elements, the
    /// ratio is at most about the number of elements.
    #[track_caller]
    fn in_one_pass(
        row: &Row<'k>,
        per_element: Val<'k, f32>,
        parts: &Parts<'_, 'k>,
        typical: Val<'k, f32>,
    ) -> Self {
        let [mean, square, g_mean, along] = row.means(per_element, &|part| {
            let [x, _, g] = parts(part);
            let x = row.deviations(part, &x, typical);
            [x.combined(|a, b| a + b), x.dot(&x), g.combined(|a, b| a + b), g.dot(&x)]
        });
        // Rounding errors can make the difference negative; NaN remains NaN.
        let variance = square - mean * mean;
        let variance = variance.lt(0.0).select(0.0, variance);
        Self { x_mean: Some(typical + mean), g_mean, variance, along: along - mean * g_mean }
    }
}

/// Returns the fastest tiling for the gradients of unaligned rows on an H200 or, for long rows, an H100, given the tiling of
/// [`RowTiling::for_summed_rows`].
fn fastest(function: NormFunction, bytes: u32, tiling: RowTiling, sizes: &[u32]) -> RowTiling {
    let groups = tiling.groups(sizes);
    // Copies to shared memory are at least 4 bytes wide; copies of single 32-bit elements are slower.
    let are_copied = aligned_elements(sizes) > 1;
    if tiling.cluster > 1 {
        return match (function, bytes) {
            (_, 2) => in_segments(function, tiling, sizes),
            (NormFunction::Layer, _) if !are_copied => layer_of_odd_words(tiling, sizes),
            _ => in_cluster(tiling, sizes),
        };
    }
    let narrow = |elements, together| tiling.narrow(sizes, elements, together).copied_ahead(1);
    match (function, bytes, groups) {
        (_, _, ..=64) => tiling,
        (_, 4, ..=2049) if are_copied => {
            let narrow = narrow(16, 288);
            RowTiling { resident: narrow.resident.min(4), ..narrow }
        }
        (NormFunction::Layer, 4, 769..=1152) => {
            RowTiling { resident: 2, ..tiling.in_registers(groups, 6, 1) }.copied_ahead(1)
        }
        (_, 2, ..=256) if are_copied => narrow(16, 512),
        (NormFunction::Layer, 2, 257..=768) if are_copied => narrow(24, 384),
        (NormFunction::Layer, 2, 769..=1025) if are_copied => narrow(32, 256),
        (NormFunction::Rms, 2, 769..=1025) if are_copied => narrow(16, 512),
        (_, 2, 1026..=2112) if are_copied => narrow(24, 1),
        // This applies without clusters; with clusters, such rows are divided among blocks.
        (NormFunction::Rms, 2, 1281..=1536) => tiling.in_registers(groups, 3, 512).copied_ahead(1),
        _ => tiling,
    }
}

/// Returns the fastest tiling for the gradients of unaligned rows of 16-bit elements that do not fit in a block: the tiling in segments
/// with the fewest empty groups.
fn in_segments(function: NormFunction, tiling: RowTiling, sizes: &[u32]) -> RowTiling {
    // The number of blocks per cluster, of elements per thread and of threads per block, and the maximum number of threads per
    // multiprocessor. More elements per thread require more registers.
    let ways: &[_] = match function {
        NormFunction::Rms => &[
            (4, 24, 128..=128, 640),
            // With 224 and 256 threads, blocks spill 4 bytes per thread.
            (8, 24, 96..=320, 640),
            // These blocks spill 104 bytes per thread, but are faster than alternatives without spills.
            (8, 24, 352..=352, 704),
            (8, 32, 96..=160, 512),
            (8, 16, 128..=256, 800),
            (4, 16, 128..=224, 800),
        ],
        NormFunction::Layer => {
            &[(4, 24, 96..=160, 640), (4, 32, 96..=160, 512), (8, 24, 96..=320, 640), (8, 32, 96..=160, 512)]
        }
    };
    let ways = ways.iter().filter_map(|(cluster, elements, of_block, together)| {
        let segments = tiling.in_segments(sizes, *cluster, elements / tiling.adjacent, *together)?;
        of_block.contains(&segments.threads).then_some(segments)
    });
    // The longest rows are loaded directly into registers.
    let direct = || {
        tiling
            .in_cluster(MOST_BLOCKS, tiling.groups(sizes), 3)
            .map(|direct| RowTiling { resident: 1, ..direct })
    };
    ways.min_by_key(|way| way.capacity()).or_else(direct).unwrap_or(tiling)
}

/// Returns the fastest tiling in clusters for the gradients of LayerNorm with rows of 32-bit elements and odd sizes. Rows are divided into
/// segments, unless many groups of long rows would be empty.
fn layer_of_odd_words(tiling: RowTiling, sizes: &[u32]) -> RowTiling {
    let n = sizes.first().copied().unwrap_or(1);
    let are_full = |segments: &RowTiling| segments.threads <= 192 && segments.capacity() <= n / 8 * 9;
    let is_faster = |segments: &RowTiling| n < 17_000 || are_full(segments);
    let segments = tiling.in_segments(sizes, 8, 6, 384).filter(is_faster);
    segments.unwrap_or_else(|| in_cluster(tiling, sizes))
}

/// Returns the fastest tiling for the gradients of unaligned rows of 32-bit elements that do not fit in a block. Its groups are so narrow
/// that every row starts at a group boundary, and as few groups as possible are empty.
fn in_cluster(tiling: RowTiling, sizes: &[u32]) -> RowTiling {
    let adjacent = aligned_elements(sizes).min(tiling.adjacent);
    let is_even = adjacent > 1;
    let narrow = RowTiling { adjacent, unaligned: false, cluster: 8, ..tiling };
    let groups = narrow.groups(sizes);
    // The number of elements per thread, and the maximum number of threads per multiprocessor.
    let ways = [(16, 512), (24, 384)].into_iter().filter_map(|(elements, together)| {
        let threads = groups.div_ceil(narrow.cluster * elements / adjacent).next_multiple_of(32);
        let stripes = groups.div_ceil(narrow.cluster * threads);
        let resident = (together / threads).clamp(1, if is_even { 3 } else { 4 });
        let ahead = if is_even { 2 } else { 0 };
        (threads <= 512).then_some(RowTiling { threads, stripes, resident, ahead, ..narrow })
    });
    ways.min_by_key(|way| way.capacity()).unwrap_or(tiling)
}
