//! Rows that may begin at any element, accessed through the aligned vectors that enclose them.

use std::panic::Location;

use super::{
    element::TensorElement,
    fragment::{Fragment, in_order, words_of},
    memory::Tensor,
};
use crate::ptx::{Builder, Global, Ptr, Readable, RegId, Scalar, ShiftMode, Val, Writable};

/// The number of words per access.
pub(super) const WORDS: usize = 4;

/// A row of a matrix in global memory, at any distance from other rows. To load a group of adjacent elements, the two aligned groups that
/// contain it are loaded and their words are shifted; a group is stored in one access if it happens to be aligned. A row has at most
/// 2³⁰ elements.
#[derive(Clone, Debug)]
pub(crate) struct UnalignedRow<'k, T: TensorElement, A> {
    /// The elements, for accesses to one at a time.
    elements: Tensor<'k, Global, T, A>,
    /// The number of elements in the row.
    n: Val<'k, u32>,
    /// The number of elements per group.
    group: u32,
    /// The aligned group that contains the row's first element.
    start: Ptr<'k, T, Global, A>,
    /// The number of elements in this group that precede the row.
    ahead: Val<'k, u32>,
    /// The number of matrix elements from the start of this row on, at most 2³¹; 0 past the last row.
    available: Val<'k, u32>,
}

impl<'k, T: TensorElement, A> UnalignedRow<'k, T, A> {
    /// Returns row `at` of an `m`×`n` matrix whose rows are `pitch` elements apart, accessed in groups of `group` elements, a power of
    /// two, that fill whole words.
    #[track_caller]
    pub(crate) fn new(
        k: Builder<'k>,
        matrix: Ptr<'k, T, Global, A>,
        [m, n, pitch]: [Val<'k, u32>; 3],
        at: Val<'k, u32>,
        group: u32,
    ) -> Self {
        let elements = k.tensor_with_strides(matrix, [m, n], [pitch.into(), 1.into()]).first_mode_at(at);
        let first = at.mul_wide(pitch);
        let ahead = first.cast::<u32>() & (group - 1);
        let start = matrix.at_wide(first & !u64::from(group - 1));
        let of_later_rows = (m - 1 - at).mul_wide(pitch);
        let available = (of_later_rows + n.cast::<u64>()).min(1 << 31).cast::<u32>();
        let available = at.lt(m).select(available, 0);
        Self { elements, n, group, start, ahead, available }
    }

    fn kernel(&self) -> Builder<'k> {
        self.start.kernel()
    }

    /// Returns the number of elements that precede the row in the aligned group that contains its first element.
    pub(crate) fn ahead(&self) -> Val<'k, u32> {
        self.ahead
    }

    /// Returns the number of words per group.
    fn words(&self) -> usize {
        (self.group * T::SIZE / 4).max(1) as usize
    }
}

impl<'k, T: TensorElement, A: Readable> UnalignedRow<'k, T, A> {
    /// Loads the groups that start at these elements of the row; elements before its start and past its end are undefined.
    /// All starts are equal modulo the length of a group; negative ones wrap around at 2³².
    #[track_caller]
    pub(crate) fn load(&self, starts: &[Val<'k, u32>]) -> Vec<Val<'k, T::Word>> {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let skipped = (starts[0] + self.ahead) & (self.group - 1);
        // The end of the elements that are read, relative to the first one. All groups have the same shift.
        let reach = skipped.eq(0).select(self.group, 2 * self.group) - skipped;
        let ends = starts.iter().map(|&start| start + reach - 1);
        let crosses = ends.map(|last| (last - self.available).lt(2 * self.group)).reduce(|a, b| a | b);
        let crosses = crosses.unwrap_or(false.into());
        k.if_else_with(
            crosses,
            || self.load_elements(starts),
            || {
                // Rows of one distance are aligned with each other, wherever they begin.
                k.if_else_with(
                    skipped.eq(0),
                    || starts.iter().flat_map(|&start| self.load_whole(start)).collect(),
                    || starts.iter().flat_map(|&start| self.load_group(start, skipped)).collect(),
                )
            },
        )
    }

    /// Loads groups element by element, near the end of the matrix.
    #[track_caller]
    fn load_elements(&self, starts: &[Val<'k, u32>]) -> Vec<Val<'k, T::Word>> {
        let values = in_order((starts.len() as u32 * self.group).into());
        let fragment: Fragment<'k, T> = self.kernel().fragment(&values);
        let indices = starts.iter().flat_map(|&start| (0..self.group).map(move |i| start + i));
        for (i, index) in indices.enumerate() {
            fragment.set(i as i64, self.elements.at_coord(&[index]).load());
        }
        words_of(&fragment)
    }

    /// Loads an aligned group.
    #[track_caller]
    fn load_whole(&self, start: Val<'k, u32>) -> Vec<Val<'k, T::Word>> {
        self.load_aligned(start).into_iter().map(Val::bits).collect()
    }

    /// Loads a group that starts `skipped` elements after the start of an aligned group.
    #[track_caller]
    fn load_group(&self, start: Val<'k, u32>, skipped: Val<'k, u32>) -> Vec<Val<'k, T::Word>> {
        let mut words = self.load_aligned(start - skipped);
        words.extend(self.load_aligned(start - skipped + self.group));
        let bytes = skipped * T::SIZE;
        let mut step = self.words() / 2;
        while step > 0 {
            let is_shifted = (bytes & (4 * step as u32)).ne(0);
            words = (0..self.words() + step).map(|i| is_shifted.select(words[i + step], words[i])).collect();
            step /= 2;
        }
        let pairs = words.windows(2).take(self.words());
        let bits = (bytes & 3) * 8;
        let shifted = pairs.map(|pair| match T::SIZE {
            4.. => pair[0],
            _ => pair[1].funnel_right(pair[0], bits, ShiftMode::Wrap),
        });
        shifted.map(Val::bits).collect()
    }

    /// Loads the aligned group that starts at element `start`, if it is part of the matrix.
    #[track_caller]
    fn load_aligned(&self, start: Val<'k, u32>) -> Vec<Val<'k, u32>> {
        let k = self.kernel();
        // It ends at one of the available elements, and then begins in the group of the row's first one, or later.
        let first = (start + self.ahead) & !(self.group - 1);
        let inside = (first + (self.group - 1) - self.ahead).lt(self.available);
        let pointer = self.start.at(first);
        let words: Vec<RegId> = (0..self.words()).map(|_| k.fresh(u32::CLASS)).collect();
        words.iter().for_each(|&word| k.move_into(word, Val::from(0u32)));
        for (i, words) in words.chunks(WORDS).enumerate() {
            pointer.byte_offset((i * WORDS * 4) as i64).checked(inside).load_words(words);
        }
        words.into_iter().map(|word| Val::from_reg(k.current(word), k)).collect()
    }
}

impl<'k, T: TensorElement, A: Writable> UnalignedRow<'k, T, A> {
    /// Stores groups that start at these elements of the row; elements before its start and past its end are not written. Groups that are
    /// aligned and do not extend past either end are stored in one access.
    #[track_caller]
    pub(crate) fn store(&self, starts: &[Val<'k, u32>], words: &[Val<'k, T::Word>]) {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        for (&start, words) in starts.iter().zip(words.chunks(self.words())) {
            let registers: Vec<RegId> = words.iter().map(|word| word.in_register(k)).collect();
            let first = start + self.ahead;
            let whole = self.n.ge(self.group) & start.le(self.n - self.group);
            let at_once = whole & (first & (self.group - 1)).eq(0) & self.available.ne(0);
            let pointer = self.start.at(first & !(self.group - 1));
            for (i, registers) in registers.chunks(WORDS).enumerate() {
                pointer.byte_offset((i * WORDS * 4) as i64).checked(at_once).store_words(registers);
            }
            k.if_(!at_once, || {
                for i in 0..self.group {
                    let (word, slot) = (i as usize / T::PER_WORD, i as usize % T::PER_WORD);
                    self.elements.at_coord(&[start + i]).store(k.extract::<T>(registers[word], slot));
                }
            });
        }
    }
}
