//! Reductions of columns.

use std::array;

use super::{RowTiling, reduction::Reduction, tiling::Row};
use crate::{
    ptx::{BuildError, In, Kernel, Out, Target, Val},
    tiles::{Convert, Striped},
};

/// The number of rows that a thread loads at a time.
const TOGETHER: u32 = 4;
/// The number of threads per block.
const THREADS: u32 = 256;
/// The maximum number of threads that load the same aligned row.
const ACROSS: u32 = 16;
/// The number of groups above which twice as many threads load the same unaligned row of 32-bit elements.
const LONG_ROW: u32 = 1536;
/// The minimum number of rows per part.
const ROWS_OF_PART: u32 = 64;
/// The number of blocks for each multiprocessor in the launch that reduces parts of columns of aligned rows.
const BLOCKS: u32 = 5;
/// The same for unaligned rows.
const UNALIGNED_BLOCKS: u32 = 4;

/// The arguments of the kernel that [`ColumnReduction::kernel`] builds: `(x, ldx, y, ldy, parts, m, n)`. x is m×n and y is `parts`×n, with
/// row pitches of `ldx` and `ldy` elements.
pub type ColumnReductionArgs<X> = (In<X>, u32, Out<f32>, u32, u32, u32, u32);

/// A kernel that reduces the columns of x: row p of y contains the results for rows p, p + `parts`, p + 2 · `parts`, … of x.
///
/// To reduce a tall matrix on all multiprocessors, launch the kernel twice: first with the value of `parts` that [`parts`](Self::parts)
/// returns, and then with `parts` = 1 on the result of the first launch. With a different value of `parts`, means can be combined in this
/// way only if m is a multiple of that value. Results do not depend on the order in which blocks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnReduction {
    /// How rows are divided among threads. The [`rows`](RowTiling::rows) sets of threads in a block all process the same columns.
    pub tiling: RowTiling,
    /// The function that reduces columns.
    pub function: Reduction,
}

impl ColumnReduction {
    /// Returns the kernel for elements of at most `bytes` bytes. `sizes` contains the maximum row length, followed by the row pitches; see
    /// [`RowTiling::for_elements`].
    #[must_use]
    pub fn for_rows(function: Reduction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let chosen = RowTiling::for_elements(target, bytes, sizes);
        let groups = chosen.groups(sizes);
        let threads = match chosen.unaligned && (bytes < 4 || groups > LONG_ROW) {
            true => 2 * ACROSS,
            false => groups.clamp(ACROSS / 2, ACROSS).next_power_of_two(),
        };
        let (rows, stripes) = (THREADS / threads, 1);
        let tiling = RowTiling { threads, rows, stripes, streamed: true, resident: 0, ..chosen };
        Self { tiling, function }
    }

    /// Returns the value of `parts` for which the first of two launches for an m×n matrix occupies `multiprocessors` multiprocessors. If
    /// this value is 1, a single launch reduces the matrix.
    #[must_use]
    pub fn parts(&self, multiprocessors: u32, [m, n]: [u32; 2]) -> u32 {
        let across = n.div_ceil(self.tiling.own_slots()).max(1);
        // The second launch reads much less than the first.
        let most = m / ROWS_OF_PART;
        let blocks = if self.tiling.unaligned { UNALIGNED_BLOCKS } else { BLOCKS };
        let parts = blocks.saturating_mul(multiprocessors).div_ceil(across).min(most).max(1);
        // Means can be combined only if all parts have the same number of rows.
        let is_valid = |parts: &u32| self.function != Reduction::Mean || m.is_multiple_of(*parts);
        // All unaligned rows of a part begin at the same distance from an aligned element if this divides the number of parts.
        let together = if self.tiling.unaligned { self.tiling.adjacent } else { 1 };
        let together = (1..=parts / together).rev().map(|parts| parts * together).find(is_valid);
        together.or_else(|| (1..=parts).rev().find(is_valid)).unwrap_or(1)
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
        self.tiling.build::<ColumnReductionArgs<X>>(&signature, target, |k, (x, ldx, y, ldy, parts, m, n)| {
            k.describe(format!("the {name} of each column of an m×n matrix, in parts"));
            let (first, part) = self.tiling.part_of_one_row(k, [parts, n, ldx]);
            let neutral = self.function.neutral();
            let rows = (m.max(first.at) - first.at).ceil_div(parts);
            // The sets of threads take turns loading rows.
            let (sets, set) = (self.tiling.rows, first.in_block);
            let own_rows = (rows.max(set) - set).ceil_div(sets);
            let at = |turn| first.at + parts * (turn * sets + set);
            let whole = own_rows / TOGETHER;
            // All rows that are loaded exist.
            let several = |are_alike: bool| {
                k.fold(whole, first.filled(neutral), |turn, total| {
                    let rows: [_; TOGETHER as usize] = array::from_fn(|i| {
                        let at = at(turn * TOGETHER + i as u32);
                        let row = if are_alike { first.moved_alike(at, m) } else { first.moved(at, m) };
                        row.of(x, ldx)
                    });
                    self.combined(total, &first.load_each(rows.each_ref(), part, neutral))
                })
            };
            let total = match self.tiling.unaligned {
                false => several(false),
                // Whether all rows begin at the same distance from an aligned element.
                true => k.if_else_with(
                    ((parts * ldx) & (self.tiling.adjacent - 1)).eq(0),
                    || first.in_part(part, || several(true)),
                    || several(false),
                ),
            };
            let rest = whole * TOGETHER;
            let total = k.fold(own_rows - rest, total, |turn, total| {
                let row = first.moved(at(rest + turn), m).of(x, ldx);
                self.combined(total, &[first.load(&row, part, neutral)])
            });
            self.of_all_sets(&first, total, &|total| {
                let results = total.map(|total| self.function.result(k, total, rows));
                first.store::<f32, _>(&first.of(y, ldy), part, &results);
            });
        })
    }

    /// Combines the results for the columns of a thread with elements of further rows.
    #[track_caller]
    fn combined<'k>(&self, total: Striped<'k, f32>, rows: &[Striped<'k, f32>]) -> Striped<'k, f32> {
        let terms = rows.iter().map(|x| x.map(|x| self.function.term(x)));
        terms.fold(total, |total, x| total.zip(&x, self.function.combine()))
    }

    /// Passes the combined results of all sets of threads to `store`, in one of these sets.
    #[track_caller]
    fn of_all_sets<'k>(&self, row: &Row<'k>, own: Striped<'k, f32>, store: &dyn Fn(Striped<'k, f32>)) {
        let RowTiling { threads, rows: sets, .. } = self.tiling;
        if sets == 1 {
            return store(own);
        }
        let (k, count) = (row.k, own.registers().len() as u32);
        let results = k.shared::<f32>(sets * count * threads).at(row.thread);
        // Adjacent threads access adjacent elements.
        let of_set = |set: Val<'k, u32>| (0..count).map(move |i| results.at((set * count + i) * threads));
        k.when(row.in_block.ne(0), || {
            of_set(row.in_block).zip(own.registers()).for_each(|(at, &value)| at.store(value));
        });
        k.this_block().sync();
        k.if_(row.in_block.eq(0), || {
            let others = (1..sets).map(|set| {
                let loaded: Vec<_> = of_set(set.into()).map(|at| at.load()).collect();
                own.stripes().with(&loaded)
            });
            store(others.fold(own.clone(), |total, x| total.zip(&x, self.function.combine())));
        });
    }
}
