//! The AdamW optimizer.

use super::RowTiling;
use crate::{
    ptx::{BuildError, In, InOut, Kernel, Target, Val},
    tiles::Convert,
};

/// The arguments of the kernel that [`AdamW::kernel`] builds:
/// `(p, g, mean, square, ld, m, n, learning_rate, beta1, beta2, epsilon, weight_decay, correction1, correction2)`. p contains the
/// parameters, g the gradients, and `mean` and `square` the moving averages of the gradients and of their squares. All four are m×n, with a
/// row pitch of `ld` elements. See [`AdamW`] for the other arguments.
pub type AdamWArgs<P, G> =
    (InOut<P>, In<G>, InOut<f32>, InOut<f32>, u32, u32, u32, f32, f32, f32, f32, f32, f32, f32);

/// A kernel that performs one step of AdamW in place (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", algorithm 2):
///
/// - mean = β₁ · mean + (1 − β₁) · g, and square = β₂ · square + (1 − β₂) · g²;
/// - p = p − η · λ · p − η · (mean / c₁) / (√(square / c₂) + ε), where η is `learning_rate`, λ is `weight_decay`, and c₁ = 1 − β₁ᵗ and
///   c₂ = 1 − β₂ᵗ are the arguments `correction1` and `correction2` in step t.
///
/// Arithmetic is performed in f32, and p is rounded once. A contiguous tensor may be treated as a matrix with rows of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdamW {
    /// How rows are divided among threads.
    pub tiling: RowTiling,
}

impl AdamW {
    /// Returns the kernel for the given row sizes. `sizes` contains the maximum row length, followed by the row pitch; see
    /// [`RowTiling::for_elements`]. If a size is not a multiple of 4 elements, the kernel accesses one element at a time.
    #[must_use]
    pub fn for_rows(target: Target, sizes: &[u32]) -> Self {
        let tiling = match RowTiling::for_elements(target, 4, sizes) {
            // Aligned groups could contain elements of other rows, which other blocks write.
            RowTiling { unaligned: true, .. } => RowTiling {
                threads: 256,
                rows: 1,
                cluster: 1,
                adjacent: 1,
                unaligned: false,
                stripes: 8,
                streamed: true,
                resident: 0,
                ahead: 0,
                turns: 1,
            },
            aligned => aligned,
        };
        Self { tiling }
    }

    /// Builds the kernel. Its name contains the types of p and g, and the tiling, as in `adamw_f32_f32_any_by4`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling, or for a tiling with [unaligned](RowTiling::unaligned) rows.
    pub fn kernel<P, G>(&self, target: Target) -> Result<Kernel<AdamWArgs<P, G>>, BuildError>
    where
        P: Convert<f32>,
        G: Convert<f32>,
        f32: Convert<P>,
    {
        let parameters = "p, g, mean, square, ld, m, n, learning_rate, beta1, beta2, epsilon, weight_decay, correction1, correction2";
        let signature = format!("adamw_{}_{}_{}({parameters})", P::NAME, G::NAME, self.tiling);
        self.tiling.build::<AdamWArgs<P, G>>(
            &signature,
            target,
            |k, (p, g, mean, square, ld, m, n, rate, beta1, beta2, epsilon, decay, correction1, correction2)| {
                k.describe(format!("a step of AdamW: parameters {}, gradients {}", P::NAME, G::NAME));
                if self.tiling.unaligned {
                    k.refuse("expected a tiling of aligned rows, found a tiling of unaligned rows".into());
                }
                let (row, part) = self.tiling.part_of_row(k, [m, n, ld]);
                let (ps, means, squares) = (row.of(p, ld), row.of(mean, ld), row.of(square, ld));
                let g = row.load(&row.of(g, ld), part, 0.0);
                let (p, mean) = (row.load(&ps, part, 0.0), row.load(&means, part, 0.0));
                let square = row.load(&squares, part, 0.0);
                let one = Val::from(1.0f32);
                let mean = mean.zip(&g, |mean, g| beta1.mad(mean, (one - beta1) * g));
                let square = square.zip(&g, |square, g| beta2.mad(square, (one - beta2) * (g * g)));
                let (step, shrink) = (rate / correction1, one - rate * decay);
                let per_root = one / k.sqrt(correction2);
                let change =
                    mean.zip(&square, |mean, square| step * mean / k.sqrt(square).mad(per_root, epsilon));
                let p = p.zip(&change, |p, change| p.mad(shrink, -change));
                row.store(&ps, part, &p);
                row.store::<f32, _>(&means, part, &mean);
                row.store::<f32, _>(&squares, part, &square);
            },
        )
    }
}
