//! The derivatives of norms.

use super::{NormFunction, RowTiling, norm::Statistics, tiling::same_or};
use crate::{
    ptx::{BuildError, In, Kernel, Out, Target, Val},
    tiles::Convert,
};

/// `(x, ldx, w, dy, lddy, dx, lddx, dw, db, parts, m, n, epsilon)`: x, dy and dx m×n; w of n elements; dw and db `parts`×n.
pub type NormBackwardArgs<X, W> =
    (In<X>, u32, In<W>, In<X>, u32, Out<X>, u32, Out<f32>, Out<f32>, u32, u32, u32, f32);

/// The derivatives of y = norm(x) · w + b: dx, and partial sums of dw and db.
///
/// With g = dy · w and x̂ = norm(x), dx = (g − mean(g · x̂) · x̂) · scale, and for LayerNorm also minus mean(g) in the parentheses. Row `p` of
/// dw has the sums of dy · x̂, and of db those of dy, over the rows p, p + `parts`, … of x; [`ColumnReduction`](super::ColumnReduction) adds them up.
/// Results therefore depend on `parts`, but not on the order in which blocks run. The rows must fit the [tiling](RowTiling), in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NormBackward {
    /// How rows are divided among threads; rows are not read in parts.
    pub tiling: RowTiling,
    /// RMSNorm or LayerNorm.
    pub function: NormFunction,
}

impl NormBackward {
    /// Returns the kernel for elements of `bytes` bytes in rows of these sizes; see [`RowTiling::for_rows`].
    #[must_use]
    pub fn for_rows(function: NormFunction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        Self { tiling: RowTiling::for_held_rows(target, bytes, sizes), function }
    }

    /// Builds the kernel. `parts` must be a multiple of the rows of a block.
    ///
    /// # Errors
    /// For a tiling that does not exist, or that reads rows in parts, and clusters below sm_90.
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
        Kernel::<NormBackwardArgs<X, W>>::build(
            &signature,
            target,
            |k, (x, ldx, w, dy, lddy, dx, lddx, dw, db, parts, m, n, epsilon)| {
                k.describe(format!("the derivatives of {name}(x)·w + b, dw and db as parts×n partial sums"));
                if self.tiling.streamed {
                    k.refuse(
                        "expected a tiling of rows in registers, found one that reads them in parts".into(),
                    );
                }
                // The elements of a thread are the same in all rows.
                let parts = parts.multiple_of(self.tiling.rows);
                let first = self.tiling.row_of(k, [parts, n, 0.into()]);
                let weights = first.load(&first.vector(w), 0, 0.0);
                first.team.wait_for_cluster();
                let zero = first.filled(0.0);
                let per_element = Val::from(1.0) / n.cast::<f32>();
                let turns = m.ceil_div(parts);
                let sums = k.fold(turns, [zero.clone(), zero], |turn, [dws, dbs]| {
                    let row = first.moved(turn * parts + first.at, m);
                    let (x, dy) = (row.load(&row.of(x, ldx), 0, 0.0), row.load(&row.of(dy, lddy), 0, 0.0));
                    let statistics = Statistics::of(&row, self.function, &|_| x.clone(), epsilon);
                    let x = statistics.normalized(&row, 0.into(), &x);
                    let g = dy.zip(&weights, |dy, w| dy * w);
                    let [along, mean] = row.sums(&|_| {
                        let sum = match self.function {
                            NormFunction::Rms => 0.0.into(),
                            NormFunction::Layer => g.combined(|a, b| a + b),
                        };
                        [g.dot(&x), sum]
                    });
                    let (along, mean) = (along * per_element, mean * per_element);
                    let results = g.zip(&x, |g, x| (g - mean - along * x) * statistics.scale);
                    row.store(&row.of(dx, lddx), 0, &results);
                    row.team.finish_round();
                    let dws = dws.zip(&dy.zip(&x, |dy, x| dy * x), |sum, term| sum + term);
                    [dws, dbs.zip(&dy, |sum, dy| sum + dy)]
                });
                for (to, sums) in [dw, db].into_iter().zip(&sums) {
                    first.store::<f32, _>(&first.of(to, n), 0, sums);
                }
            },
        )
    }
}
