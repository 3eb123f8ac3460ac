//! Unaligned rows, which may start at any element, accessed through the aligned vectors that enclose them.

use std::panic::Location;

use super::{
    element::TensorElement,
    fragment::{Fragment, in_order, words_of},
    realign::realigned,
};
use crate::ptx::{Builder, CheckedPtr, Global, Ptr, Readable, RegId, Scalar, Val, Writable};

/// The number of words per access.
pub(super) const WORDS: usize = 4;

/// A row of a matrix in global memory with an arbitrary pitch. To load a group of adjacent elements, the two aligned groups that contain it
/// are loaded and their words are shifted; a group is stored as whole vectors if it happens to be aligned. A row has at most 2³⁰ elements.
#[derive(Clone, Debug)]
pub(crate) struct UnalignedRow<'k, T: TensorElement, A> {
    /// The number of elements in the row.
    n: Val<'k, u32>,
    /// The number of elements per group.
    group: u32,
    /// The aligned group that contains the row's first element.
    start: Ptr<'k, T, Global, A>,
    /// The number of elements in the first aligned group that precede the row.
    ahead: Val<'k, u32>,
    /// The end of the row, relative to the first aligned group, or 0 for a row past the last row.
    end: Val<'k, u32>,
    /// The number of matrix elements from the start of this row on, limited to 2³¹, or 0 for a row past the last row.
    available: Val<'k, u32>,
}

/// The words of elements of `T`.
type Words<'k, T> = Vec<Val<'k, <T as TensorElement>::Word>>;

impl<'k, T: TensorElement, A> UnalignedRow<'k, T, A> {
    /// Returns row `at` of an `m`×`n` matrix with a row pitch of `pitch` elements. The row is accessed in groups of `group` elements,
    /// which must be a power of 2 and fill whole words. The caller must declare a view of the matrix with its extents, so that the launch
    /// checks the buffer.
    #[track_caller]
    pub(crate) fn new(
        matrix: Ptr<'k, T, Global, A>,
        [m, n, pitch]: [Val<'k, u32>; 3],
        at: Val<'k, u32>,
        group: u32,
    ) -> Self {
        let first = at.mul_wide(pitch);
        let ahead = first.cast::<u32>() & (group - 1);
        let start = matrix.at_wide(first & !u64::from(group - 1));
        let of_later_rows = (m - 1 - at).mul_wide(pitch);
        let available = (of_later_rows + n.cast::<u64>()).min(1 << 31).cast::<u32>();
        let [end, available] = [n + ahead, available].map(|count| at.lt(m).select(count, 0));
        Self { n, group, start, ahead, end, available }
    }

    fn kernel(&self) -> Builder<'k> {
        self.start.kernel()
    }

    /// Returns the number of elements that precede the row in the aligned group that contains its first element.
    pub(crate) fn ahead(&self) -> Val<'k, u32> {
        self.ahead
    }

    /// Returns a pointer to an element; accesses are enabled only if the element is part of the row.
    #[track_caller]
    fn element(&self, index: Val<'k, u32>) -> CheckedPtr<'k, T, Global, A> {
        self.start.at(index + self.ahead).checked(index.lt(self.n) & self.end.ne(0))
    }

    /// Returns the number of words per group.
    fn words(&self) -> usize {
        (self.group * T::SIZE / 4).max(1) as usize
    }
}

impl<'k, T: TensorElement, A: Readable> UnalignedRow<'k, T, A> {
    /// Loads, row by row, the groups that start at the elements `starts` of each row; elements outside the rows are undefined. All starts
    /// must be equal modulo the length of a group and in ascending order; negative starts are represented modulo 2³².
    ///
    /// Rows are loaded together so that all loads are issued before the first result is used.
    #[track_caller]
    pub(crate) fn load(rows: &[&Self], starts: &[Val<'k, u32>]) -> Vec<Val<'k, T::Word>> {
        let k = rows[0].kernel();
        let _located = k.locate(Location::caller());
        let crosses = rows.iter().map(|row| row.crosses(starts)).reduce(|a, b| a | b);
        // Whether the groups of every row are aligned, regardless of where the rows begin.
        let are_whole = rows.iter().map(|row| row.skipped(starts).eq(0)).reduce(|a, b| a & b);
        let each = |load: &dyn Fn(&Self) -> Words<'k, T>| rows.iter().flat_map(|row| load(row)).collect();
        let groups = |load: &dyn Fn(&Self, Val<'k, u32>) -> Words<'k, T>| -> Words<'k, T> {
            each(&|row| starts.iter().flat_map(|&start| load(row, start)).collect())
        };
        k.if_else_with(
            crosses.unwrap_or(false.into()),
            || each(&|row| row.load_elements(starts)),
            || {
                k.if_else_with(
                    are_whole.unwrap_or(true.into()),
                    || groups(&|row, start| row.load_whole(start)),
                    || groups(&|row, start| row.load_group(start, row.skipped(starts))),
                )
            },
        )
    }

    /// Returns the shift of groups, in elements.
    #[track_caller]
    fn skipped(&self, starts: &[Val<'k, u32>]) -> Val<'k, u32> {
        (starts[0] + self.ahead) & (self.group - 1)
    }

    /// Returns whether a loaded group that contains elements of the matrix extends past the end of the matrix.
    #[track_caller]
    fn crosses(&self, starts: &[Val<'k, u32>]) -> Val<'k, bool> {
        let skipped = self.skipped(starts);
        // The number of elements that are read from the start of a group on, and the last of them, relative to the end of the matrix.
        let reach = skipped.eq(0).select(self.group, 2 * self.group) - skipped;
        let past = reach - 1 - self.available;
        let crosses = starts.iter().map(|&start| (start + past).lt(2 * self.group)).reduce(|a, b| a | b);
        crosses.unwrap_or(false.into())
    }

    /// Loads groups element by element, for groups near the end of the matrix.
    #[track_caller]
    fn load_elements(&self, starts: &[Val<'k, u32>]) -> Vec<Val<'k, T::Word>> {
        let values = in_order((starts.len() as u32 * self.group).into());
        let fragment: Fragment<'k, T> = self.kernel().fragment(&values);
        let indices = starts.iter().flat_map(|&start| (0..self.group).map(move |i| start + i));
        for (i, index) in indices.enumerate() {
            fragment.set(i as i64, self.element(index).load());
        }
        words_of(&fragment)
    }

    /// Loads an aligned group.
    #[track_caller]
    fn load_whole(&self, start: Val<'k, u32>) -> Vec<Val<'k, T::Word>> {
        self.load_aligned(start, true.into()).into_iter().map(Val::bits).collect()
    }

    /// Loads a group that starts `skipped` elements after the start of an aligned group.
    #[track_caller]
    fn load_group(&self, start: Val<'k, u32>, skipped: Val<'k, u32>) -> Vec<Val<'k, T::Word>> {
        let mut words = self.load_aligned(start - skipped, true.into());
        words.extend(self.load_aligned(start - skipped + self.group, skipped.ne(0)));
        realigned::<T>(words, skipped)
    }

    /// Loads the aligned group that starts at element `start`, if a condition holds and it contains elements of the row.
    #[track_caller]
    fn load_aligned(&self, start: Val<'k, u32>, condition: Val<'k, bool>) -> Vec<Val<'k, u32>> {
        let k = self.kernel();
        let first = (start + self.ahead) & !(self.group - 1);
        let inside = first.lt(self.end) & condition;
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
    /// Stores groups that start at the elements `starts` of the row; elements before its start and past its end are not written. Groups
    /// that are aligned and do not extend past either end are stored as whole vectors.
    #[track_caller]
    pub(crate) fn store(&self, starts: &[Val<'k, u32>], words: &[Val<'k, T::Word>]) {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let is_aligned = ((starts[0] + self.ahead) & (self.group - 1)).eq(0) & self.end.ne(0);
        let most = self.n - self.group;
        let is_aligned = is_aligned & self.n.ge(self.group);
        let at_once = |start: Val<'k, u32>| is_aligned & start.le(most);
        let registers: Vec<RegId> = words.iter().map(|word| word.in_register(k)).collect();
        let groups = || starts.iter().copied().zip(registers.chunks(self.words()));
        for (start, registers) in groups() {
            let pointer = self.start.at((start + self.ahead) & !(self.group - 1));
            for (i, registers) in registers.chunks(WORDS).enumerate() {
                pointer.byte_offset((i * WORDS * 4) as i64).checked(at_once(start)).store_words(registers);
            }
        }
        let last = starts.last().copied().unwrap_or(starts[0]);
        k.if_(!(at_once(starts[0]) & at_once(last)), || {
            for (start, registers) in groups() {
                let is_inside = (start + (self.group - 1)).lt(self.n + (self.group - 1));
                k.if_(is_inside & !at_once(start), || {
                    for i in 0..self.group {
                        let (word, slot) = (i as usize / T::PER_WORD, i as usize % T::PER_WORD);
                        self.element(start + i).store(k.extract::<T>(registers[word], slot));
                    }
                });
            }
        });
    }
}
