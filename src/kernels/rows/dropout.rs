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
/// pitches of `ldx` and `ldy` elements. [`Dropout`] describes the other arguments.
pub type DropoutArgs<X, Y> = (In<X>, u32, Out<Y>, u32, u32, u32, f32, u64, u64);

/// The number of elements that share a counter.
const WORDS: u32 = 4;

/// A kernel that applies dropout: it replaces each element with 0 with probability `p`, and multiplies the other elements by 1 / (1 − `p`).
/// `p` must be from 0 to 1.
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
    /// [`RowTiling::for_elements`]. In long aligned rows, each thread has four groups instead of two.
    #[must_use]
    pub fn for_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let tiling = RowTiling::for_elements(target, bytes, sizes);
        // The kernel is limited by instructions. With more elements per thread, fewer of them determine the thread's part of a row.
        let tiling = match tiling.streamed && !tiling.unaligned {
            true => RowTiling { stripes: 4, resident: 16, ..tiling },
            false => tiling,
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
        Kernel::<DropoutArgs<X, Y>>::build(
            &signature,
            target,
            |k, (x, ldx, y, ldy, m, n, p, seed, offset)| {
                k.describe(format!("y = x, or 0 with probability p, along rows: x m×n ({})", X::NAME));
                let (row, part) = self.tiling.part_of_row(k, [m, n, ldy]);
                let x = row.load(&row.of(x, ldx), part, 0.0);
                row.store(&row.of(y, ldy), part, &Mask::new(p, seed, offset).applied(&row, part, &x));
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
        let (k, stripes) = (row.k, x.stripes());
        let start = part * stripes.length() + stripes.first();
        let offsets: Vec<u32> = stripes.offsets().collect();
        let runs = offsets.chunk_by(|a, b| a + 1 == *b);
        let is_aligned = !row.tiling.unaligned && row.tiling.adjacent.is_multiple_of(WORDS);
        let mut words = Vec::with_capacity(offsets.len());
        for run in runs {
            let (col, count) = (start + run[0], run.len() as u32);
            // There is one counter for each group of four that the run may touch. Columns before the row wrap around.
            let groups = if is_aligned { count.div_ceil(WORDS) } else { (count + WORDS - 1).div_ceil(WORDS) };
            let of_groups: Vec<_> = (0..groups)
                .flat_map(|group| {
                    let [low, high] = self.offset;
                    k.philox4x32([row.at, (col + group * WORDS) / WORDS, low, high], self.key)
                })
                .collect();
            let first = col % WORDS;
            words.extend((0..count as usize).map(|i| match is_aligned {
                true => of_groups[i],
                // The groups extend at least three words past the last word of the run.
                false => (1..WORDS as usize).fold(of_groups[i], |word, shift| {
                    first.eq(shift as u32).select(of_groups[i + shift], word)
                }),
            }));
        }
        words
    }
}
