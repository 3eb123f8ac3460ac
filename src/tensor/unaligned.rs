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
    /// The number of matrix elements from the start of this row onward, capped at 2³¹, or 0 for a row past the last row.
    available: Val<'k, u32>,
}

/// The groups of a row that a thread accesses.
#[derive(Clone, Debug)]
pub(crate) struct UnalignedGroups<'k> {
    /// The index of the first group's first element relative to the element `ahead` elements before the row: a multiple of the length of a
    /// group.
    pub(crate) slot: Val<'k, u32>,
    /// The distance between the groups, in elements: a multiple of the length of a group.
    pub(crate) distance: u32,
    /// The number of groups.
    pub(crate) count: u32,
    /// The number of elements by which the groups precede groups that begin with the row; less than the length of a group.
    pub(crate) ahead: Val<'k, u32>,
    /// Whether the instructions are executed only if all groups are inside the rows and the rows exist.
    pub(crate) are_inside: bool,
}

impl<'k> UnalignedGroups<'k> {
    /// Returns the index of each group's first element in the row. Negative indices are represented modulo 2³².
    #[track_caller]
    pub(crate) fn starts(&self) -> Vec<Val<'k, u32>> {
        self.each_from(self.slot - self.ahead)
    }

    /// Returns the index of each group's first element relative to the element `ahead` elements before the row.
    #[track_caller]
    fn slots(&self) -> Vec<Val<'k, u32>> {
        self.each_from(self.slot)
    }

    #[track_caller]
    fn each_from(&self, first: Val<'k, u32>) -> Vec<Val<'k, u32>> {
        (0..self.count).map(|group| first + group * self.distance).collect()
    }
}

/// The words of elements of `T`.
type Words<'k, T> = Vec<Val<'k, <T as TensorElement>::Word>>;

impl<'k, T: TensorElement, A> UnalignedRow<'k, T, A> {
    /// Returns row `at` of an `m`×`n` matrix with a row pitch of `pitch` elements. The row is accessed in groups of `group` elements,
    /// which must be a power of 2 and fill whole words. `ahead` must be the index of the row's first element in the matrix, modulo `group`.
    /// The caller must declare a view of the matrix with its extents, so that the launch checks the buffer.
    #[track_caller]
    pub(crate) fn new(
        matrix: Ptr<'k, T, Global, A>,
        [m, n, pitch]: [Val<'k, u32>; 3],
        at: Val<'k, u32>,
        group: u32,
        ahead: Val<'k, u32>,
    ) -> Self {
        let first = at.mul_wide(pitch);
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

    /// Returns the distance of the groups from aligned groups, in elements.
    #[track_caller]
    fn skipped(&self, groups: &UnalignedGroups<'k>) -> Val<'k, u32> {
        self.shift(groups) & (self.group - 1)
    }

    /// Returns the number of elements by which the first aligned group precedes the row, minus the number by which the given groups precede
    /// it.
    #[track_caller]
    fn shift(&self, groups: &UnalignedGroups<'k>) -> Val<'k, u32> {
        if groups.ahead.is_same(&self.ahead) { 0.into() } else { self.ahead - groups.ahead }
    }

    /// Returns the starts of aligned groups, relative to the first aligned group. Unless the groups are inside the row, their starts are
    /// used as well, so the result is derived from them to save registers.
    #[track_caller]
    fn whole(&self, groups: &UnalignedGroups<'k>) -> Vec<Val<'k, u32>> {
        match groups.are_inside {
            true => groups.slots(),
            false => {
                groups.starts().into_iter().map(|start| (start + self.ahead) & !(self.group - 1)).collect()
            }
        }
    }
}

impl<'k, T: TensorElement, A: Readable> UnalignedRow<'k, T, A> {
    /// Loads, row by row, the given groups of each row; elements outside the rows are undefined.
    ///
    /// Rows are loaded together so that all loads are issued before the first result is used.
    #[track_caller]
    pub(crate) fn load(rows: &[&Self], groups: &UnalignedGroups<'k>) -> Vec<Val<'k, T::Word>> {
        let k = rows[0].kernel();
        let _located = k.locate(Location::caller());
        // Whether the groups of every row are aligned, regardless of where the rows begin.
        let are_whole = rows.iter().map(|row| row.skipped(groups).eq(0)).reduce(|a, b| a & b);
        let are_whole = are_whole.unwrap_or(true.into());
        let each = |load: &dyn Fn(&Self) -> Words<'k, T>| rows.iter().flat_map(|row| load(row)).collect();
        let whole = || each(&|row| row.load_whole(groups));
        let shifted = || each(&|row| row.load_shifted(groups));
        let unless_crossing = |load: &dyn Fn() -> Words<'k, T>| {
            let crosses = rows.iter().map(|row| row.crosses(groups)).reduce(|a, b| a | b);
            let elements = || each(&|row| row.load_elements(groups));
            k.if_else_with(crosses.unwrap_or(false.into()), elements, load)
        };
        match groups.are_inside {
            true => k.if_else_with(are_whole, whole, || unless_crossing(&shifted)),
            false => unless_crossing(&|| k.if_else_with(are_whole, whole, shifted)),
        }
    }

    /// Returns whether a loaded group that contains elements of the matrix extends past the end of the matrix.
    #[track_caller]
    fn crosses(&self, groups: &UnalignedGroups<'k>) -> Val<'k, bool> {
        let skipped = self.skipped(groups);
        // The number of elements that are read from the start of a group on, and the last of them, relative to the end of the matrix.
        let reach = skipped.eq(0).select(self.group, 2 * self.group) - skipped;
        let past = reach - 1 - self.available;
        let crosses =
            groups.starts().into_iter().map(|start| (start + past).lt(2 * self.group)).reduce(|a, b| a | b);
        crosses.unwrap_or(false.into())
    }

    /// Loads groups element by element, for groups near the end of the matrix.
    #[track_caller]
    fn load_elements(&self, groups: &UnalignedGroups<'k>) -> Vec<Val<'k, T::Word>> {
        let values = in_order((groups.count * self.group).into());
        let fragment: Fragment<'k, T> = self.kernel().fragment(&values);
        let indices = groups.starts().into_iter().flat_map(|start| (0..self.group).map(move |i| start + i));
        for (i, index) in indices.enumerate() {
            fragment.set(i as i64, self.element(index).load());
        }
        words_of(&fragment)
    }

    /// Returns whether the aligned group at `slot`, which contains elements of the given groups, contains elements of the row.
    #[track_caller]
    fn contains(&self, groups: &UnalignedGroups<'k>, slot: Val<'k, u32>) -> Val<'k, bool> {
        if groups.are_inside { true.into() } else { slot.lt(self.end) }
    }

    /// Loads groups that are aligned.
    #[track_caller]
    fn load_whole(&self, groups: &UnalignedGroups<'k>) -> Words<'k, T> {
        let slots = self.whole(groups).into_iter();
        slots.flat_map(|slot| self.load_aligned(slot, self.contains(groups, slot))).map(Val::bits).collect()
    }

    /// Loads groups that each straddle two aligned groups.
    #[track_caller]
    fn load_shifted(&self, groups: &UnalignedGroups<'k>) -> Words<'k, T> {
        let shift = self.shift(groups);
        let skipped = shift & (self.group - 1);
        let of_group = |slot: Val<'k, u32>| {
            let first = slot + (shift & !(self.group - 1));
            let next = first + self.group;
            let mut words = self.load_aligned(first, self.contains(groups, first));
            words.extend(self.load_aligned(next, self.contains(groups, next) & skipped.ne(0)));
            realigned::<T>(words, skipped)
        };
        groups.slots().into_iter().flat_map(of_group).collect()
    }

    /// Loads the group that starts `slot` elements after the first aligned group. If a condition does not hold, all words are 0.
    #[track_caller]
    fn load_aligned(&self, slot: Val<'k, u32>, condition: Val<'k, bool>) -> Vec<Val<'k, u32>> {
        let (k, pointer) = (self.kernel(), self.start.at(slot));
        let words: Vec<RegId> = (0..self.words()).map(|_| k.fresh(u32::CLASS)).collect();
        if condition.as_constant() != Some(true) {
            words.iter().for_each(|&word| k.move_into(word, Val::from(0u32)));
        }
        for (i, words) in words.chunks(WORDS).enumerate() {
            pointer.byte_offset((i * WORDS * 4) as i64).checked(condition).load_words(words);
        }
        words.into_iter().map(|word| Val::from_reg(k.current(word), k)).collect()
    }
}

impl<'k, T: TensorElement, A: Writable> UnalignedRow<'k, T, A> {
    /// Stores the given groups of the row; elements before its start and past its end are not written. Groups that are aligned and do not
    /// extend past either end are stored as whole vectors.
    #[track_caller]
    pub(crate) fn store(&self, groups: &UnalignedGroups<'k>, words: &[Val<'k, T::Word>]) {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let is_aligned = self.skipped(groups).eq(0);
        let starts = groups.starts();
        let are_at_once: Vec<_> = match groups.are_inside {
            true => vec![is_aligned; starts.len()],
            false => {
                let has_group = self.end.ne(0) & self.n.ge(self.group);
                let (is_aligned, most) = (is_aligned & has_group, self.n - self.group);
                starts.iter().map(|start| is_aligned & start.le(most)).collect()
            }
        };
        let registers: Vec<RegId> = words.iter().map(|word| word.in_register(k)).collect();
        let each_group = || are_at_once.iter().copied().zip(registers.chunks(self.words()));
        for (&slot, (at_once, registers)) in self.whole(groups).iter().zip(each_group()) {
            let pointer = self.start.at(slot);
            for (i, registers) in registers.chunks(WORDS).enumerate() {
                pointer.byte_offset((i * WORDS * 4) as i64).checked(at_once).store_words(registers);
            }
        }
        // Few threads have elements outside the row.
        let ends = are_at_once.first().zip(are_at_once.last());
        k.if_(!ends.map_or(true.into(), |(&first, &last)| first & last), || {
            for (&start, (at_once, registers)) in starts.iter().zip(each_group()) {
                let is_inside = match groups.are_inside {
                    true => true.into(),
                    false => (start + (self.group - 1)).lt(self.n + (self.group - 1)),
                };
                k.if_(is_inside & !at_once, || {
                    for i in 0..self.group {
                        let (word, slot) = (i as usize / T::PER_WORD, i as usize % T::PER_WORD);
                        self.element(start + i).store(k.extract::<T>(registers[word], slot));
                    }
                });
            }
        });
    }
}
