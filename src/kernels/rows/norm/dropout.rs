//! Norms of residual sums, with dropout.

use super::{Inputs, Norm, NormFunction};
use crate::{
    kernels::rows::{RowTiling, dropout::Mask},
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
    /// Returns the kernel for residual sums with dropout; [`for_rows`](Self::for_rows) describes the parameters.
    ///
    /// The tiling is that of [`for_residual_rows`](Self::for_residual_rows), with two exceptions. Rows that would require too many
    /// registers are divided among more blocks of a cluster, or read in parts. [`resident`](RowTiling::resident) is at most 1, unless rows
    /// are copied to shared memory or at most 32 threads process a row.
    #[must_use]
    pub fn for_dropout_rows(function: NormFunction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let mut norm = Self::for_residual_rows(function, target, bytes, sizes);
        if norm.tiling.ahead == 0 && norm.tiling.threads > 32 {
            // Masks occupy registers; with fewer resident blocks, threads have more registers.
            norm.tiling.resident = norm.tiling.resident.min(1);
        }
        let RowTiling { threads, cluster, adjacent, stripes, streamed, unaligned, ahead, .. } = norm.tiling;
        if streamed || threads < 1024 || adjacent * stripes <= MOST_HELD {
            return norm;
        }
        // Masks depend on the column in the row, so blocks do not process segments.
        let is_divided =
            target.features().contains(Features::HOPPER) && cluster < 8 && !(unaligned && ahead > 0);
        let tiling = if is_divided {
            RowTiling { cluster: 2 * cluster, stripes: stripes.div_ceil(2), ..norm.tiling }
        } else {
            let stripes = MOST_HELD / adjacent;
            RowTiling { cluster: 1, stripes, streamed: true, ahead: 0, turns: 1, ..norm.tiling }
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
        Kernel::<DropoutNormArgs<X, W, Y>>::build(
            &signature,
            target,
            |k, (x, ldx, r, ldr, w, b, h, ldh, y, ldy, m, n, epsilon, p, seed, offset)| {
                self.describe::<X, W, Y>(k, "h = dropout(x) + r", " + b");
                let turns = self.tiling.turns(k, [m, n, ldy]);
                let inputs = Inputs::new(&turns, (x, ldx), w)
                    .with_bias(&turns, b)
                    .with_residual(&turns, (r, ldr), (h, ldh))
                    .with_dropout(Mask::new(p, seed, offset));
                self.emit(&turns, &inputs, (y, ldy), epsilon);
            },
        )
    }
}
