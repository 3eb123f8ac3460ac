//! Norms of residual sums, with dropout.

use super::{Inputs, Norm, NormFunction};
use crate::{
    kernels::rows::{RowTiling, dropout::Mask, tiling::MOST_BLOCKS},
    ptx::{BuildError, Features, In, Kernel, Out, Target},
    tensor::TensorElement,
    tiles::Convert,
};

/// The arguments of the kernel that [`Norm::dropout_kernel`] builds:
/// `(x, ldx, r, ldr, w, b, h, ldh, y, ldy, m, n, epsilon, p, seed, offset)`. These are the arguments of
/// [`ResidualBiasedNormArgs`](super::ResidualBiasedNormArgs), followed by the last three arguments of
/// [`DropoutArgs`](crate::kernels::DropoutArgs).
pub type DropoutNormArgs<X, W, Y> =
    (In<X>, u32, In<X>, u32, In<W>, In<W>, Out<X>, u32, Out<Y>, u32, u32, u32, f32, f32, u64, u64);

/// The maximum number of elements per thread in blocks of 1024 threads. Each thread has 64 registers, some of which masks occupy.
const MOST_HELD: u32 = 16;

impl Norm {
    /// Returns the kernel for residual sums with dropout; see [`for_rows`](Self::for_rows) for the parameters.
    ///
    /// On targets with clusters, long rows have tilings of their own. The tiling of other rows is that of
    /// [`for_residual_rows`](Self::for_residual_rows) for LayerNorm, with two exceptions. Rows that would require too many registers are
    /// divided among more blocks of a cluster, or read in parts. [`resident`](RowTiling::resident) is at most 1, unless rows are copied to
    /// shared memory or at most 32 threads process a row; for unaligned rows that are copied, it is one lower than for LayerNorm, but at
    /// least 1.
    #[must_use]
    pub fn for_dropout_rows(function: NormFunction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        // With the tilings of RMSNorm, long unaligned rows of 16-bit elements spill.
        let mut norm =
            Self { function, ..Self::for_residual_rows(NormFunction::Layer, target, bytes, sizes) };
        if let Some(tiling) = fastest(target, bytes, sizes) {
            return Self { tiling, function };
        }
        // Masks occupy registers; with fewer resident blocks, threads have more registers.
        if norm.tiling.ahead == 0 && norm.tiling.threads > 32 {
            norm.tiling.resident = norm.tiling.resident.min(1);
        } else if norm.tiling.ahead > 0 && norm.tiling.unaligned {
            norm.tiling.resident = (norm.tiling.resident - 1).max(1);
        }
        let RowTiling { threads, cluster, adjacent, stripes, streamed, unaligned, ahead, .. } = norm.tiling;
        if streamed || threads < 1024 || adjacent * stripes <= MOST_HELD {
            return norm;
        }
        // Unaligned rows in shared memory would be divided into segments, for which this number of stripes is too small.
        let is_divided =
            target.features().contains(Features::HOPPER) && cluster < 8 && !(unaligned && ahead > 0);
        let tiling = if is_divided {
            RowTiling { cluster: 2 * cluster, stripes: stripes.div_ceil(2), ..norm.tiling }
        } else {
            let stripes = MOST_HELD / adjacent;
            norm.tiling.read_in_parts(threads, stripes, norm.tiling.resident)
        };
        Self { tiling, function }
    }

    /// Builds the kernel that computes h = [dropout](crate::kernels::Dropout)(x) + r and y = norm(h) · w + b. Use the tiling of
    /// [`for_dropout_rows`](Self::for_dropout_rows); kernels with other tilings may spill registers.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn dropout_kernel<X, W, Y>(
        &self,
        target: Target,
    ) -> Result<Kernel<DropoutNormArgs<X, W, Y>>, BuildError>
    where
        X: Convert<f32>,
        W: Convert<f32>,
        Y: TensorElement,
        f32: Convert<X> + Convert<Y>,
    {
        let parameters = "x, ldx, r, ldr, w, b, h, ldh, y, ldy, m, n, epsilon, p, seed, offset";
        let signature = self.signature::<X, W, Y>("_dropout_residual_bias", parameters);
        self.tiling.build::<DropoutNormArgs<X, W, Y>>(
            &signature,
            target,
            |k, (x, ldx, r, ldr, w, b, h, ldh, y, ldy, m, n, epsilon, p, seed, offset)| {
                self.describe::<X, W, Y>(k, "h = dropout(x) + r", " + b");
                let turns = self.tiling.turns_of_segments(k, [m, n, ldy]);
                let inputs = Inputs::new(&turns, (x, ldx), w)
                    .with_bias(&turns, b)
                    .with_residual(&turns, (r, ldr), (h, ldh))
                    .with_dropout(Mask::new(p, seed, offset));
                self.emit(&turns, &inputs, (y, ldy), epsilon);
            },
        )
    }
}

/// Returns the fastest tiling on an H200 for aligned rows and for unaligned rows of f32, or `None` for rows that are too short or too long.
fn fastest(target: Target, bytes: u32, sizes: &[u32]) -> Option<RowTiling> {
    let tiling = RowTiling::for_rows(target, bytes, sizes);
    let groups = tiling.groups(sizes);
    if tiling.threads <= 32 || !matches!(bytes, 2 | 4) || !target.features().contains(Features::HOPPER) {
        return None;
    }
    let chosen = match (tiling.unaligned, bytes, groups) {
        (true, 4, ..=1152) => RowTiling { resident: 2, ..tiling.copied(groups, 3, 2, 4) },
        (true, 4, ..=2304) => RowTiling { resident: 1, ..tiling.copied(groups, 6, 2, 8) },
        (true, ..) | (false, 4, ..=1024) | (false, 2, ..=1152) => return None,
        (false, 4, ..=2048) => tiling.in_registers(groups, 2, 2048),
        (false, 4, ..=3072) => RowTiling { resident: 1, ..tiling.copied(groups, 4, 2, 2) },
        (false, 4, ..=4096) => RowTiling { resident: 1, ..tiling.copied(groups, 8, 1, 2) },
        (false, 4, _) => {
            let in_cluster = tiling.in_cluster(MOST_BLOCKS, groups, 4)?;
            RowTiling { resident: 1024 / in_cluster.threads, ..in_cluster }
        }
        (false, _, 1793..=2048) => RowTiling { resident: 1, ..tiling.copied(groups, 4, 2, 4) },
        (false, _, ..=2048) => RowTiling { resident: 1, ..tiling.copied(groups, 2, 2, 4) },
        (false, _, ..=3072 | 4097..=6144) => {
            let in_cluster = tiling.in_cluster(MOST_BLOCKS, groups, 3)?;
            RowTiling { resident: 768 / in_cluster.threads, ..in_cluster }
        }
        // ptxas spills 4 bytes, which is faster than a minimum of resident blocks.
        (false, ..) => tiling.in_cluster(MOST_BLOCKS, groups, 4)?,
    };
    chosen.fits(target, bytes, 2).then_some(chosen)
}
