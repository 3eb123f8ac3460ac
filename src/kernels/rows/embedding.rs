//! Embedding tables: selection of rows by index, and addition to the selected rows.

use super::RowTiling;
use crate::{
    ptx::{BuildError, Features, In, InOut, Kernel, Out, Target, Val},
    tiles::{Convert, row_major},
};

/// The number of f32 elements that a vector addition adds.
const VECTOR: usize = 4;

/// The arguments of the kernel that [`Embedding::kernel`] builds: `(table, ldt, indices, y, ldy, rows, m, n)`. The table is `rows`×n and y
/// is m×n, with row pitches of `ldt` and `ldy` elements. There are m indices.
pub type GatherArgs<X> = (In<X>, u32, In<i32>, Out<X>, u32, u32, u32, u32);

/// The arguments of the kernel that [`Embedding::add_kernel`] builds: `(x, ldx, indices, table, ldt, rows, m, n)`. x is m×n and the table
/// is `rows`×n, with row pitches of `ldx` and `ldt` elements. There are m indices.
pub type ScatterAddArgs<X> = (In<X>, u32, In<i32>, InOut<f32>, u32, u32, u32, u32);

/// Kernels for embedding tables. [`kernel`](Self::kernel) selects rows of a table (y = table\[indices\]). [`add_kernel`](Self::add_kernel)
/// adds rows to a table (table\[indices\] += x), as required for the gradient of the table.
///
/// For an out-of-bounds index, the row of y is filled with zeros, and the row of x is ignored. Sums are computed in f32. If an index occurs
/// more than once, the order of the additions varies, so the last bits of the sums can differ from run to run.
#[doc(alias = "index_select")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Embedding {
    /// How rows are divided among threads.
    pub tiling: RowTiling,
}

impl Embedding {
    /// Returns the kernels for elements of at most `bytes` bytes. `sizes` contains the maximum row length, followed by the row pitches. The
    /// tiling is that of [`RowTiling::for_elements`], except that warps process long unaligned rows in parts, with five groups per thread.
    #[must_use]
    pub fn for_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        Self { tiling: RowTiling::for_separate_rows(target, bytes, sizes) }
    }

    /// Returns the kernel that adds rows; see [`for_rows`](Self::for_rows) for the parameters. Adjacent threads add to adjacent groups of
    /// 16 bytes or, if rows are unaligned, to adjacent elements.
    #[must_use]
    pub fn for_added_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let tiling = RowTiling::for_elements(target, bytes, sizes);
        let adjacent = if tiling.unaligned { 1 } else { tiling.adjacent.min(VECTOR as u32) };
        let stripes = tiling.stripes * tiling.adjacent / adjacent;
        Self { tiling: RowTiling { adjacent, unaligned: false, stripes, ..tiling } }
    }

    /// Builds the kernel that computes y = table\[indices\]. Its name contains the type and the tiling, as in `gather_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling.
    #[doc(alias = "gather")]
    pub fn kernel<X>(&self, target: Target) -> Result<Kernel<GatherArgs<X>>, BuildError>
    where
        X: Convert<f32>,
        f32: Convert<X>,
    {
        let parameters = "table, ldt, indices, y, ldy, rows, m, n";
        let signature = format!("gather_{}_{}({parameters})", X::NAME, self.tiling);
        self.tiling.build::<GatherArgs<X>>(
            &signature,
            target,
            |k, (table, ldt, indices, y, ldy, rows, m, n)| {
                k.describe(format!("y = table[indices] ({}): y m×n", X::NAME));
                let (row, part) = self.tiling.part_of_row(k, [m, n, ldy]);
                let index = row.element(indices).load().cast::<u32>();
                let selected = row.moved(index, rows);
                let (x, y) = (selected.load(&selected.of(table, ldt), part, 0.0), row.of(y, ldy));
                row.in_part(part, || row.store(&y, part, &x));
            },
        )
    }

    /// Builds the kernel that computes table\[indices\] += x. Its name contains the type and the tiling, as in `scatter_add_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    #[doc(alias = "index_add")]
    pub fn add_kernel<X: Convert<f32>>(
        &self,
        target: Target,
    ) -> Result<Kernel<ScatterAddArgs<X>>, BuildError> {
        let parameters = "x, ldx, indices, table, ldt, rows, m, n";
        let signature = format!("scatter_add_{}_{}({parameters})", X::NAME, self.tiling);
        self.tiling.build::<ScatterAddArgs<X>>(
            &signature,
            target,
            |k, (x, ldx, indices, table, ldt, rows, m, n)| {
                k.describe(format!("table[indices] += x ({}), where x is m×n", X::NAME));
                let (row, part) = self.tiling.part_of_row(k, [m, n, ldx]);
                let exists = row.at.lt(m);
                let index = row.element(indices).load().cast::<u32>();
                let x = row.load(&row.of(x, ldx), part, 0.0);
                // Aligned groups of f32 are added in one instruction.
                let vectors = target.features().contains(Features::HOPPER) && !self.tiling.unaligned;
                let together = if vectors && self.tiling.adjacent >= VECTOR as u32 { VECTOR } else { 1 };
                let ldt = ldt.multiple_of(together as u32);
                let sums = k.global(table, row_major(rows, n).with_row_stride(ldt)).row(index);
                let start = part * x.stripes().length();
                x.for_each_group(together, |col, group| {
                    let col = start + col;
                    let to = sums.at(col).when(exists & col.lt(row.n));
                    match <[Val<'_, f32>; VECTOR]>::try_from(group) {
                        Ok(group) => to.in_groups_of(VECTOR as u64).reduction().add_vector(group),
                        Err(_) => to.reduction().add(group[0]),
                    }
                });
            },
        )
    }
}
