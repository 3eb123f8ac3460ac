//! Dropout with random numbers that depend only on the seed, the offset, and the row and column of an element.

use super::{
    RowTiling,
    tiling::{Row, same_or},
};
use crate::{
    ptx::{BuildError, In, Kernel, Out, Target, Val},
    tensor::TensorElement,
    tiles::{Convert, DropoutRule, Striped},
};

/// The arguments of the kernel that [`Dropout::kernel`] builds: `(x, ldx, y, ldy, m, n, p, seed, offset)`. x and y are m×n, with row
/// pitches of `ldx` and `ldy` elements. See [`Dropout`] for the other arguments.
pub type DropoutArgs<X, Y> = (In<X>, u32, Out<Y>, u32, u32, u32, f32, u64, u64);

/// The number of elements that share a counter.
const WORDS: u32 = 4;

/// A kernel that applies dropout: it replaces each element with 0 with probability `p`, and multiplies the other elements by 1 / (1 − `p`).
/// `p` must be between 0 and 1.
///
/// Element (i, j) is kept if the upper 24 bits of its random word are at least `p` · 2²⁴. The random word is word j mod 4 of the result of
/// [Philox4x32-10](crate::ptx::Builder::philox4x32) for the counter (i, ⌊j / 4⌋, `offset`) and the key `seed`; 64-bit values are passed as
/// two words, low word first.
///
/// No mask is stored. To compute the gradient with respect to x, launch the kernel on the gradient with respect to y with the same `p`,
/// `seed` and `offset`. This also applies to the dropout in [`Norm::dropout_kernel`](super::Norm::dropout_kernel).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dropout {
    /// How rows are divided among threads.
    pub tiling: RowTiling,
}

impl Dropout {
    /// Returns the kernel for elements of at most `bytes` bytes. `sizes` contains the maximum row length, followed by the row pitches; see
    /// [`RowTiling::for_elements`]. In long aligned rows, each thread processes four groups instead of two; in long unaligned rows, groups
    /// are twice as wide (up to 16 elements), and each thread processes 16 elements. For 2-byte elements, each block that processes long
    /// unaligned rows consists of a single warp.
    #[must_use]
    pub fn for_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let tiling = RowTiling::for_elements(target, bytes, sizes);
        // The kernel is limited by instruction throughput. With more elements per thread, fewer instructions
        // per element determine the thread's part of a row.
        let tiling = match (tiling.streamed, tiling.unaligned) {
            (false, _) => tiling,
            (true, false) => RowTiling { stripes: 4, resident: 16, ..tiling },
            // With wide groups, a smaller fraction of the random words comes from the next lane.
            (true, true) => {
                let adjacent = (2 * tiling.adjacent).min(16);
                let (threads, resident) = if bytes == 2 { (32, 0) } else { (tiling.threads, 16) };
                RowTiling { threads, adjacent, stripes: 16 / adjacent, resident, ..tiling }
            }
        };
        Self { tiling }
    }

    /// Builds the kernel. Its name contains the types and the tiling, as in `dropout_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling.
    pub fn kernel<X, Y>(&self, target: Target) -> Result<Kernel<DropoutArgs<X, Y>>, BuildError>
    where
        X: Convert<f32>,
        Y: TensorElement,
        f32: Convert<Y>,
    {
        let parameters = "x, ldx, y, ldy, m, n, p, seed, offset";
        let signature = format!("dropout_{}{}_{}({parameters})", X::NAME, same_or::<X, Y>(), self.tiling);
        self.tiling.build::<DropoutArgs<X, Y>>(
            &signature,
            target,
            |k, (x, ldx, y, ldy, m, n, p, seed, offset)| {
                k.describe(format!("y = x, or 0 with probability p, along rows: x m×n ({})", X::NAME));
                let (row, part) = self.tiling.part_of_row(k, [m, n, ldy]);
                let (x, y, mask) = (row.of(x, ldx), row.of(y, ldy), Mask::new(p, seed, offset));
                row.in_part(part, || {
                    let x = row.load(&x, part, 0.0);
                    row.store(&y, part, &mask.applied(&row, part, &x));
                });
            },
        )
    }
}

/// The elements that are kept.
#[derive(Clone, Copy)]
pub(super) struct Mask<'k> {
    rule: DropoutRule<'k>,
    key: [Val<'k, u32>; 2],
    offset: [Val<'k, u32>; 2],
}

impl<'k> Mask<'k> {
    #[track_caller]
    pub(super) fn new(p: Val<'k, f32>, seed: Val<'k, u64>, offset: Val<'k, u64>) -> Self {
        let halves = |(low, high)| [low, high];
        Self { rule: DropoutRule::new(p), key: halves(seed.unpack()), offset: halves(offset.unpack()) }
    }

    /// Returns `x`, which is part `part` of a row, after dropout.
    #[track_caller]
    pub(super) fn applied(
        &self,
        row: &Row<'k>,
        part: Val<'k, u32>,
        x: &Striped<'k, f32>,
    ) -> Striped<'k, f32> {
        let words = self.words(row, part, x);
        let elements: Vec<_> =
            x.registers().iter().zip(words).map(|(&x, word)| self.rule.applied(x, word)).collect();
        x.stripes().with(&elements)
    }

    /// Returns the random word of each element.
    #[track_caller]
    fn words(&self, row: &Row<'k>, part: Val<'k, u32>, x: &Striped<'k, f32>) -> Vec<Val<'k, u32>> {
        let stripes = x.stripes();
        let start = row.first_column() + part * stripes.length() + stripes.first();
        let offsets: Vec<u32> = stripes.offsets().collect();
        let runs: Vec<_> = offsets.chunk_by(|a, b| a + 1 == *b).collect();
        let RowTiling { threads, adjacent, unaligned, .. } = row.tiling;
        let groups = |run: &[u32], count: u32| -> Vec<_> {
            let col = start + run[0];
            (0..count).flat_map(|group| self.group(row, (col + group * WORDS) / WORDS)).collect()
        };
        if !unaligned && adjacent.is_multiple_of(WORDS) {
            return runs.iter().flat_map(|run| groups(run, run.len() as u32 / WORDS)).collect();
        }
        // Columns before the row wrap around.
        let shifted = |run: &[u32], words| shifted(words, (start + run[0]) % WORDS, run.len());
        // A run may extend into the first group of the next lane's run. For the last lane, each lane computes the words of one run.
        if threads >= 32 && adjacent.is_multiple_of(WORDS) && runs.len() <= 32 {
            let own: Vec<_> = runs.iter().map(|run| groups(run, run.len() as u32 / WORDS)).collect();
            let following = self.of_next_lane(row, start, &runs, &own);
            let all = own.into_iter().zip(following).map(|(own, next)| [own, next].concat());
            return runs.iter().zip(all).flat_map(|(run, words)| shifted(run, words)).collect();
        }
        let most = |run: &[u32]| (run.len() as u32 + WORDS - 1).div_ceil(WORDS);
        runs.iter().flat_map(|run| shifted(run, groups(run, most(run)))).collect()
    }

    /// Returns the random words of group `group` of a row.
    #[track_caller]
    fn group(&self, row: &Row<'k>, group: Val<'k, u32>) -> [Val<'k, u32>; 4] {
        let [low, high] = self.offset;
        row.k.philox4x32([row.at, group, low, high], self.key)
    }

    /// Returns, for each run of adjacent elements, the words that follow those in `own`. They are the first words of the next lane. For the
    /// last lane of a warp, each lane computes the words of one run.
    #[track_caller]
    fn of_next_lane(
        &self,
        row: &Row<'k>,
        start: Val<'k, u32>,
        runs: &[&[u32]],
        own: &[Vec<Val<'k, u32>>],
    ) -> Vec<Vec<Val<'k, u32>>> {
        let (warp, lane, adjacent) = (row.k.warp(), row.k.lane().rank(), row.tiling.adjacent);
        let (count, distance) = (runs.len() as u32, runs.get(1).map_or(0, |run| run[0]));
        let after_last = start + (Val::from(32) - lane) * adjacent + (lane % count) * distance;
        let of_last = self.group(row, after_last / WORDS);
        let following = |run: usize| {
            (0..WORDS as usize - 1).map(move |i| {
                let of_next = warp.shfl_down(own[run][i], 1);
                let of_last = warp.shfl_idx(of_last[i], run as u32);
                lane.eq(31).select(of_last, of_next)
            })
        };
        (0..own.len()).map(|run| following(run).collect()).collect()
    }
}

/// Returns `count` words, starting with word `by` of `words`, where `by` is less than [`WORDS`].
#[track_caller]
fn shifted<'k>(mut words: Vec<Val<'k, u32>>, by: Val<'k, u32>, count: usize) -> Vec<Val<'k, u32>> {
    for step in [2, 1] {
        let is_shifted = (by & step as u32).ne(0);
        words = (0..count + step - 1).map(|i| is_shifted.select(words[i + step], words[i])).collect();
    }
    words
}
