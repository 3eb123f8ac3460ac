//! Rows in shared memory, stored as the same aligned groups of elements as in global memory.

use std::panic::Location;

use super::{
    element::{TensorElement, splat},
    realign::realigned,
    unaligned::WORDS,
};
use crate::ptx::{
    Builder, CopyHints, CpAsyncCache, Global, Ptr, Readable, RegId, Scalar, Shared, Space, Val,
};

/// The maximum number of bytes per copy.
const MOST_COPIED: u32 = 16;

/// The groups of adjacent elements that a thread copies. The first begins at element `first`, and the others follow at intervals of `step`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups<'k> {
    pub(crate) first: Val<'k, u32>,
    pub(crate) step: u32,
    pub(crate) count: u32,
}

impl Groups<'_> {
    /// Returns the distances from the first group, in elements.
    fn offsets(self) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |group| group * self.step)
    }
}

/// A row of a matrix in global memory that is copied in aligned groups.
pub(crate) struct RowToStage<'k, T, A> {
    matrix: Ptr<'k, T, Global, A>,
    exists: Val<'k, bool>,
    /// The row's first element in the matrix.
    start: Val<'k, u64>,
    /// The end of the row, relative to the aligned group that contains its first element.
    end: Val<'k, u32>,
    group: u32,
    /// Whether the row's groups are part of the matrix.
    is_inside: Val<'k, bool>,
}

impl<'k, T: TensorElement, A: Readable> RowToStage<'k, T, A> {
    /// Returns row `at` of an `m`×`n` matrix with a row pitch of `pitch` elements. A group has `group` elements, a power of 2, and is 4,
    /// 8, 16 or 32 bytes long. If `aligned` is true, rows begin and end with whole groups. The caller must declare a view of the matrix
    /// with these extents, so that the launch checks the buffer.
    #[track_caller]
    pub(crate) fn new(
        matrix: Ptr<'k, T, Global, A>,
        [m, n, pitch]: [Val<'k, u32>; 3],
        at: Val<'k, u32>,
        group: u32,
        aligned: bool,
    ) -> Self {
        let exists = at.lt(m);
        let start = at.mul_wide(pitch);
        let ahead = if aligned { 0.into() } else { start.cast::<u32>() & (group - 1) };
        // At least `group` rows follow, and they do not all start at the same element, so every whole group is part of the matrix.
        let is_inside = if aligned { true.into() } else { (at + group).lt(m) & pitch.ne(0) };
        Self { matrix, exists, start, end: n + ahead, group, is_inside }
    }

    /// Starts copying the groups `from` of the row, if they exist, to the groups `to` of the stage. Elements of a group past the end of the
    /// matrix become 0.
    #[track_caller]
    pub(crate) fn copy_async(&self, from: Groups<'k>, stage: &StagedRow<'k, T>, to: Groups<'k>) {
        let (k, bytes) = (self.matrix.kernel(), self.group * T::SIZE);
        if !matches!(bytes, 4 | 8 | 16 | 32) {
            k.refuse(format!("expected groups of 4, 8, 16 or 32 bytes, found {bytes}"));
            return;
        }
        let at_a_time = bytes.min(MOST_COPIED);
        let whole_groups = self.start & !u64::from(self.group - 1);
        let row = self.matrix.at_wide(whole_groups + from.first.cast::<u64>());
        let room = stage.groups.at(to.first);
        let copy = |only_valid: bool| {
            for (offset, to) in from.offsets().zip(to.offsets()) {
                let first = from.first + offset;
                let inside = self.exists & first.lt(self.end);
                for part in (0..bytes).step_by(at_a_time as usize) {
                    let valid = match only_valid {
                        true => {
                            let valid = (self.end - first).min(self.group) * T::SIZE;
                            // Parts of a group past the end of the matrix have no valid bytes.
                            (valid.max(part) - part).min(at_a_time)
                        }
                        false => at_a_time.into(),
                    };
                    let to = at_element(room, to).byte_offset(part.into());
                    let from = at_element(row, offset).byte_offset(part.into());
                    k.when(inside, || {
                        let (from, hints) = (from.checked(true), CopyHints::default());
                        to.copy_async_bytes(from, at_a_time, CpAsyncCache::Best, valid, hints);
                    });
                }
            }
        };
        k.if_else(self.is_inside, || copy(false), || copy(true));
    }
}

/// A row in shared memory.
pub(crate) struct StagedRow<'k, T> {
    /// The first group.
    groups: Ptr<'k, T, Shared>,
    /// The number of elements in the first group that precede the row.
    ahead: Val<'k, u32>,
    /// The number of elements per group.
    group: u32,
}

impl<'k, T: TensorElement> StagedRow<'k, T> {
    pub(crate) fn new(groups: Ptr<'k, T, Shared>, ahead: Val<'k, u32>, group: u32) -> Self {
        Self { groups, ahead, group }
    }

    fn kernel(&self) -> Builder<'k> {
        self.groups.kernel()
    }

    /// Returns the number of elements that precede the row in the first group.
    pub(crate) fn ahead(&self) -> Val<'k, u32> {
        self.ahead
    }

    /// Loads the groups `own` of an aligned row, which this thread must have copied. `inside` is called with the index of each group;
    /// groups for which it returns false are filled with `fill`.
    #[track_caller]
    pub(crate) fn load_own(
        &self,
        own: Groups<'k>,
        inside: impl Fn(u32) -> Val<'k, bool>,
        fill: T,
    ) -> Vec<Val<'k, T::Word>> {
        let from = self.groups.at(own.first);
        let fill = Val::from(splat(fill));
        let load = |(group, offset)| self.load_group(at_element(from, offset), inside(group), fill);
        (0..).zip(own.offsets()).flat_map(load).collect()
    }

    /// Replaces the elements of the groups `own` that precede the row or follow its last element with zeros. This thread must have copied
    /// the groups before `end`, the end of the row relative to the first group.
    #[track_caller]
    pub(crate) fn clear_outside(&self, own: Groups<'k>, end: Val<'k, u32>) {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let is_whole = |first: Val<'k, u32>| first.ge(self.ahead) & (first + self.group).le(end);
        let last = own.first + (own.count - 1) * own.step;
        // Few threads have such elements.
        k.if_(!(is_whole(own.first) & is_whole(last)), || {
            for offset in own.offsets() {
                let first = own.first + offset;
                let (group, is_empty) = (at_element(self.groups.at(own.first), offset), first.ge(end));
                let zeros: Vec<RegId> =
                    (0..self.group * T::SIZE / 4).map(|_| k.fresh(T::Word::CLASS)).collect();
                zeros.iter().for_each(|&word| k.move_into(word, Val::from(splat(T::from_mem_bits(0)))));
                for (i, words) in (0..).zip(zeros.chunks(WORDS)) {
                    group.byte_offset(i * 4 * WORDS as i64).checked(is_empty).store_words(words);
                }
                k.if_(!(is_empty | is_whole(first)), || {
                    for i in 0..self.group {
                        let is_outside = (first + i).lt(self.ahead) | (first + i).ge(end);
                        at_element(group, i).checked(is_outside).store(T::Reg::from_bits(0));
                    }
                });
            }
        });
    }

    /// Loads groups of a row; outside the row, the stage must [contain zeros](Self::clear_outside). The groups may be unaligned: each is
    /// assembled from the one or two aligned groups that contain it, and all must be equally far from an aligned group. If they are
    /// aligned, they must be groups of the stage. `groups.first` may be negative, represented modulo 2³². `end` is the end of the row
    /// relative to the first group.
    #[track_caller]
    pub(crate) fn load_row(&self, groups: Groups<'k>, end: Val<'k, u32>) -> Vec<Val<'k, T::Word>> {
        self.load_if_or(groups, |_| true.into(), |whole| whole.lt(end))
    }

    /// Loads groups like [`load_row`](Self::load_row), but from a stage with only the first `end` elements written; aligned groups after
    /// them are read as 0.
    #[track_caller]
    pub(crate) fn load_anywhere(&self, groups: Groups<'k>, end: Val<'k, u32>) -> Vec<Val<'k, T::Word>> {
        let is_written = |whole: Val<'k, u32>| whole.lt(end);
        self.load_if_or(groups, is_written, is_written)
    }

    /// Loads groups that may be unaligned. An aligned group of the stage is loaded if a condition on its first element holds: `if_aligned`
    /// if the groups to be loaded are aligned, and `otherwise` if not.
    #[track_caller]
    fn load_if_or(
        &self,
        groups: Groups<'k>,
        if_aligned: impl Fn(Val<'k, u32>) -> Val<'k, bool>,
        otherwise: impl Fn(Val<'k, u32>) -> Val<'k, bool>,
    ) -> Vec<Val<'k, T::Word>> {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let first = groups.first + self.ahead;
        let skipped = first & (self.group - 1);
        let whole = first & !(self.group - 1);
        let from = self.groups.at(whole);
        let load =
            |offset, condition| self.load_group(at_element(from, offset), condition, Val::<u32>::from(0));
        k.if_else_with(
            skipped.eq(0),
            || {
                let of_group = |offset| load(offset, if_aligned(whole + offset));
                groups.offsets().flat_map(of_group).map(Val::bits).collect()
            },
            || {
                let load = |offset| load(offset, otherwise(whole + offset));
                let two = |offset| [load(offset), load(offset + self.group)].concat();
                groups.offsets().flat_map(|offset| realigned::<T>(two(offset), skipped)).collect()
            },
        )
    }

    /// Loads a whole group if a condition holds; otherwise, returns words that are all `fill`.
    #[track_caller]
    fn load_group<W: Scalar>(
        &self,
        from: Ptr<'k, T, Shared>,
        condition: Val<'k, bool>,
        fill: Val<'k, W>,
    ) -> Vec<Val<'k, W>> {
        let k = self.kernel();
        let words: Vec<RegId> = (0..self.group * T::SIZE / 4).map(|_| k.fresh(W::CLASS)).collect();
        if condition.as_constant() != Some(true) {
            words.iter().for_each(|&word| k.move_into(word, fill));
        }
        for (i, words) in (0..).zip(words.chunks(WORDS)) {
            from.byte_offset(i * 4 * WORDS as i64).checked(condition).load_words(words);
        }
        words.into_iter().map(|word| Val::from_reg(k.current(word), k)).collect()
    }

    /// Stores whole groups.
    #[track_caller]
    pub(crate) fn store_groups(&self, own: Groups<'k>, words: &[Val<'k, T::Word>]) {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let to = self.groups.at(own.first);
        let words: Vec<RegId> = words.iter().map(|word| word.in_register(k)).collect();
        let per_group = (self.group * T::SIZE / 4) as usize;
        for (offset, words) in own.offsets().zip(words.chunks(per_group)) {
            for (i, words) in (0..).zip(words.chunks(WORDS)) {
                let part = at_element(to, offset).byte_offset(i * 4 * WORDS as i64);
                part.checked(true).store_words(words);
            }
        }
    }
}

/// Returns a pointer advanced by `offset` elements, without emitting instructions.
fn at_element<'k, T: TensorElement, S: Space, A>(pointer: Ptr<'k, T, S, A>, offset: u32) -> Ptr<'k, T, S, A> {
    pointer.byte_offset(i64::from(offset) * i64::from(T::SIZE))
}
