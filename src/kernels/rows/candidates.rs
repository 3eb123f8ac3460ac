//! The largest elements of a row so far, in shared memory.

use super::{extremum::max_or_nan, tiling::Row};
use crate::{
    ptx::{Ptr, Shared, Val},
    tiles::{Convert, Striped},
};

/// A key that represents the rank of an element. Greater elements have greater keys; among equal elements, those with lower column indices
/// have greater keys. NaN is greater than all numbers, and −0 equals 0. No element has key 0.
#[derive(Clone, Copy)]
pub(super) struct Key<'k>(pub(super) Val<'k, u64>);

impl<'k> Key<'k> {
    /// Returns the key of element `x` in column `col`.
    #[track_caller]
    pub(super) fn new(x: Val<'k, f32>, col: Val<'k, u32>) -> Self {
        // The addition turns −0 into +0, and every NaN into the canonical one, which is positive.
        let bits = (x + 0.0).bits::<u32>();
        // The sign bit of positive numbers and all bits of negative numbers are inverted.
        let mask = (bits.bits::<i32>() >> 31).bits::<u32>() | SIGN;
        Self(Val::<u64>::pack(!col, bits ^ mask))
    }

    /// Returns a number that orders elements as keys do, regardless of their columns.
    #[track_caller]
    pub(super) fn rank(self) -> Val<'k, u32> {
        let (_, ordered) = self.0.unpack();
        ordered
    }

    /// Returns the element, or NaN for key 0.
    #[track_caller]
    pub(super) fn element(self) -> Val<'k, f32> {
        let ordered = self.rank();
        let mask = (!ordered.bits::<i32>() >> 31).bits::<u32>() | SIGN;
        (ordered ^ mask).bits()
    }

    /// Returns the column, or −1 for key 0.
    #[track_caller]
    pub(super) fn col(self) -> Val<'k, i32> {
        let (inverted, _) = self.0.unpack();
        (!inverted).bits()
    }
}

const SIGN: u32 = 1 << 31;
/// The number of elements that a thread collects at a time. The keys of more elements would occupy too many registers.
const TOGETHER: usize = 4;

/// The candidates of a row. A warp, or a block whose number of threads is a power of two, collects candidates in two slots per thread. When
/// the slots are full, the candidates are sorted, and all but the `count` largest are discarded. From then on, only elements that are
/// greater than the smallest remaining candidate are collected.
pub(super) struct Candidates<'a, 'k> {
    row: &'a Row<'k>,
    /// The slots for the keys of this row.
    keys: Ptr<'k, u64, Shared>,
    /// The number of elements that were collected, including those left without a slot.
    collected: Ptr<'k, u32, Shared>,
    count: Val<'k, u32>,
}

impl<'a, 'k> Candidates<'a, 'k> {
    /// Returns an empty set of candidates. `count` must be from 1 to the number of threads per row.
    #[track_caller]
    pub(super) fn new(row: &'a Row<'k>, count: Val<'k, u32>) -> Self {
        let (k, rows) = (row.k, row.tiling.rows);
        let slots = 2 * row.tiling.threads;
        let keys = k.shared::<u64>(rows * slots).at(row.in_block * slots);
        let collected = k.shared::<u32>(rows).at(row.in_block);
        k.when(row.thread.eq(0), || collected.store(0));
        row.team.sync();
        Self { row, keys, collected, count }
    }

    fn slots(&self) -> u32 {
        2 * self.row.tiling.threads
    }

    /// Collects the largest elements of a row and sorts them. `load` returns a part of the row.
    ///
    /// If the slots cannot contain all elements to be collected from a part, the part is searched again after the candidates have been
    /// sorted.
    #[track_caller]
    pub(super) fn collect<T: Convert<f32>>(&self, load: &dyn Fn(Val<'k, u32>) -> Striped<'k, T>) {
        let (k, team, parts) = (self.row.k, &self.row.team, self.row.parts());
        let part = k.var::<u32>(0);
        // The next part is loaded while this one is searched.
        let words: Vec<_> = load(0.into()).registers().iter().map(|&word| k.var::<T::Word>(word)).collect();
        // The key of the smallest of the `count` largest elements so far.
        let least = k.var::<u64>(0);
        // A bit for each element of this thread that has not been collected in an earlier round.
        let pending = k.var::<u32>(u32::MAX);
        k.loop_(|rounds| {
            let at = part.get();
            let own: Vec<_> = words.iter().map(|word| word.get()).collect();
            let next = load(at + 1);
            let (left, overflows) = self.collect_part::<T>(at, &own, least.get(), pending.get());
            let overflows = team.any(overflows);
            let is_last = (at + 1).ge(parts);
            let sorts = team.any(overflows | is_last);
            k.if_(sorts, || least.set(self.sort()));
            rounds.break_if(sorts & !overflows);
            pending.set(overflows.select(left, u32::MAX));
            k.if_(!overflows, || {
                part.set(at + 1);
                words.iter().zip(next.registers()).for_each(|(word, &next)| word.set(next));
            });
        });
    }

    /// Collects the `pending` elements of part `part` whose keys are greater than `least`. Returns a bit for each element that was left
    /// without a slot, and whether the warp had such elements.
    #[track_caller]
    fn collect_part<T: Convert<f32>>(
        &self,
        part: Val<'k, u32>,
        words: &[Val<'k, T::Word>],
        least: Val<'k, u64>,
        pending: Val<'k, u32>,
    ) -> (Val<'k, u32>, Val<'k, bool>) {
        let (k, stripes) = (self.row.k, self.row.stripes);
        let together = T::PER_WORD.max(TOGETHER.min(self.row.tiling.adjacent as usize));
        let start = part * stripes.length() + stripes.first();
        let offsets: Vec<u32> = stripes.offsets().collect();
        let (left, overflows) = (k.var::<u32>(0), k.var::<u32>(0));
        let floor = Key(least).element();
        let groups = words.chunks(together / T::PER_WORD).zip(offsets.chunks(together));
        for ((words, offsets), first) in groups.zip((0..).step_by(together)) {
            let mut x = T::convert_words(words);
            x.truncate(offsets.len());
            let all = u32::MAX >> (u32::BITS - x.len() as u32) << first;
            let largest = x.iter().copied().reduce(max_or_nan).expect("a group has elements");
            // If an element is NaN, the comparison is false, so that the elements are considered.
            let bits = largest.lt(floor).select(0, pending & all);
            k.if_(k.warp().any(bits.ne(0)), || {
                let elements: Vec<_> = (first..)
                    .zip(x.iter().zip(offsets))
                    .map(|(bit, (&x, &offset))| {
                        let col = start + offset;
                        let key = Key::new(x, col);
                        (bit, key, (bits & (1 << bit)).ne(0) & col.lt(self.row.n) & key.0.gt(least))
                    })
                    .collect();
                let (without_slots, overflow) = self.append(&elements);
                left.update(|left| left | without_slots);
                overflows.update(|any| any | overflow);
            });
        }
        (left.get(), overflows.get().ne(0))
    }

    /// Returns the candidate whose rank equals the index of this thread. [`collect`](Self::collect) must have been executed.
    #[track_caller]
    pub(super) fn sorted(&self) -> Key<'k> {
        Key(self.keys.at(self.row.thread).load())
    }

    /// Appends the elements of all lanes whose conditions are true. Each entry of `elements` consists of the index of the element's bit,
    /// its key and its condition. Returns a bit for each element of this lane that was left without a slot, and a value that is nonzero if
    /// the warp had such elements.
    #[track_caller]
    fn append(&self, elements: &[(u32, Key<'k>, Val<'k, bool>)]) -> (Val<'k, u32>, Val<'k, u32>) {
        let (k, warp) = (self.row.k, self.row.k.warp());
        let ones = elements.iter().map(|(_, _, is_collected)| is_collected.select(1, 0));
        let own = ones.reduce(|a: Val<'k, u32>, b| a + b).expect("a group has elements");
        let up_to = warp.inclusive_scan(own);
        let total = warp.broadcast(up_to, 31);
        let first = k.var::<u32>(0);
        k.when(k.lane().rank().eq(0), || first.set(self.collected.atomic().add(total)));
        let first = warp.broadcast(first.get(), 0);
        let slots = self.slots();
        let start = (first + up_to - own, Val::from(0));
        let (_, left) = elements.iter().fold(start, |(slot, left), (bit, key, is_collected)| {
            let has_slot = slot.lt(slots);
            k.when(*is_collected & has_slot, || self.keys.at(slot).store(key.0));
            let bit: Val<'k, u32> = (*is_collected & !has_slot).select(1 << bit, 0);
            (slot + is_collected.select(Val::<u32>::from(1), 0), left | bit)
        });
        (left, (first + total).gt(slots).select(1, 0))
    }

    /// Sorts the candidates in descending order and discards all but the first `count`. Returns the key of the last remaining candidate, or
    /// 0 if there are fewer than `count`.
    #[track_caller]
    fn sort(&self) -> Val<'k, u64> {
        let (k, slots, threads, thread) =
            (self.row.k, self.slots(), self.row.tiling.threads, self.row.thread);
        self.row.team.sync();
        let found = self.collected.load().min(slots);
        for slot in [thread, thread + threads] {
            k.when(slot.ge(found), || self.keys.at(slot).store(0u64));
        }
        self.row.team.sync();
        // This is a bitonic sort, which merges pairs of runs, sorted in opposite directions, into sorted runs of `size` keys. The steps are
        // loops, because ptxas keeps the addresses of unrolled steps in registers.
        k.for_(1..slots.ilog2() + 1, |exponent| {
            let size = Val::from(1u32) << exponent;
            k.for_(exponent, |step| {
                let stride = size >> (step + 1);
                self.compare(size, stride);
                // If the slots of a pair are at most 32 apart, all pairs of a warp are in the warp's own slots.
                let next = stride.eq(1).select(size, stride);
                k.if_else(next.gt(32), || self.row.team.sync(), || k.warp().sync());
            });
        });
        let least = self.keys.at(self.count - 1).load();
        self.row.team.sync();
        k.when(thread.eq(0), || self.collected.store(found.min(self.count)));
        self.row.team.sync();
        least
    }

    /// Orders this thread's pair of keys, which are `stride` slots apart, in a run of `size` keys.
    #[track_caller]
    fn compare(&self, size: Val<'k, u32>, stride: Val<'k, u32>) {
        let thread = self.row.thread;
        let low = thread * 2 - (thread & (stride - 1));
        let is_descending = (low & size).eq(0);
        let [low, high] = [low, low + stride].map(|slot| self.keys.at(slot));
        let (a, b) = (low.load(), high.load());
        let (larger, smaller) = (a.max(b), a.min(b));
        low.store(is_descending.select(larger, smaller));
        high.store(is_descending.select(smaller, larger));
    }
}
