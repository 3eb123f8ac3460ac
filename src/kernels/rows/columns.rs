//! Reductions of columns.

use super::{RowTiling, reduction::Reduction};
use crate::{
    ptx::{BuildError, In, Kernel, Out, Target},
    tiles::Convert,
};

/// The number of rows that a thread loads at a time.
const TOGETHER: u32 = 4;

/// The arguments of the kernel that [`ColumnReduction::kernel`] builds: `(x, ldx, y, ldy, parts, m, n)`. x is m×n and y is `parts`×n, with
/// row pitches of `ldx` and `ldy` elements.
pub type ColumnReductionArgs<X> = (In<X>, u32, Out<f32>, u32, u32, u32, u32);

/// A kernel that reduces the columns of x: row p of y contains the results for rows p, p + `parts`, p + 2 · `parts`, … of x.
///
/// To reduce a tall matrix on all multiprocessors, launch the kernel twice: first with a large value of `parts`, and then with `parts` = 1
/// on the result of the first launch. Do not combine means in this way unless m is a multiple of the first value of `parts`. Results do not
/// depend on the order in which blocks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnReduction {
    /// How rows are divided among threads.
    pub tiling: RowTiling,
    /// The function that reduces columns.
    pub function: Reduction,
}

impl ColumnReduction {
    /// Returns the kernel for elements of at most `bytes` bytes. `sizes` contains the maximum row length, followed by the row pitches; see
    /// [`RowTiling::for_elements`].
    #[must_use]
    pub fn for_rows(function: Reduction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let tiling = RowTiling { rows: 1, ..RowTiling::for_elements(target, bytes, sizes) };
        Self { tiling: RowTiling { threads: 256, stripes: 1, streamed: true, ..tiling }, function }
    }

    /// Builds the kernel. Its name contains the function, the type and the tiling, as in `column_sum_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling.
    pub fn kernel<X: Convert<f32>>(
        &self,
        target: Target,
    ) -> Result<Kernel<ColumnReductionArgs<X>>, BuildError> {
        let name = self.function.name();
        let signature = format!("column_{name}_{}_{}(x, ldx, y, ldy, parts, m, n)", X::NAME, self.tiling);
        Kernel::<ColumnReductionArgs<X>>::build(&signature, target, |k, (x, ldx, y, ldy, parts, m, n)| {
            k.describe(format!("the {name} of each column of an m×n matrix, in parts"));
            let (first, part) = self.tiling.part_of_row(k, [parts, n, ldy]);
            let (neutral, combine) = (self.function.neutral(), self.function.combine());
            let nothing = first.filled(neutral);
            let rows = (m.max(first.at) - first.at).ceil_div(parts);
            let load = |at| {
                let row = first.moved(at, m);
                row.load(&row.of(x, ldx), part, neutral).map(|x| self.function.term(x))
            };
            let own = |turn| load(first.at + parts * turn);
            let whole = rows / TOGETHER;
            let total = k.fold(whole, nothing, |turn, total| {
                let loaded: Vec<_> = (0..TOGETHER).map(|i| own(turn * TOGETHER + i)).collect();
                loaded.iter().fold(total, |total, x| total.zip(x, &combine))
            });
            let rest = whole * TOGETHER;
            let total = k.fold(rows - rest, total, |turn, total| total.zip(&own(rest + turn), &combine));
            let results = total.map(|total| self.function.result(k, total, rows));
            first.store::<f32, _>(&first.of(y, ldy), part, &results);
        })
    }
}
