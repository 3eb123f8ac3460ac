//! The largest elements of a row so far, in shared memory.

use super::{extremum::max_or_nan, tiling::Row};
use crate::{
    ptx::{Ptr, Shared, Val},
    tensor::TensorElement,
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
        (!self.inverted_col()).bits()
    }

    /// Returns the bitwise complement of the column, which orders equal elements as keys do.
    #[track_caller]
    fn inverted_col(self) -> Val<'k, u32> {
        let (inverted, _) = self.0.unpack();
        inverted
    }
}

const SIGN: u32 = 1 << 31;
/// The [rank](Key::rank) of ∞, which only NaN exceeds.
const RANK_OF_INFINITY: u32 = SIGN + 0x7f80_0000;
/// The number of elements that a thread collects at a time. The keys of more elements would occupy too many registers.
const TOGETHER: usize = 4;

/// The number of keys that are compared with a key at a time.
const COMPARED: u32 = 4;

/// The candidates of a row. A warp or a block collects candidates in two slots per thread. When the slots are full, all but the `count`
/// largest candidates are discarded. From then on, only elements that are greater than the smallest remaining candidate are collected.
pub(super) struct Candidates<'a, 'k> {
    row: &'a Row<'k>,
    /// The slots for the keys of this row.
    keys: Ptr<'k, u64, Shared>,
    /// The number of elements that were collected, including those left without a slot.
    collected: Ptr<'k, u32, Shared>,
    count: Val<'k, u32>,
    /// The number of upper bits of a rank that distinguish elements of the row's type.
    rank_bits: u32,
}

impl<'a, 'k> Candidates<'a, 'k> {
    /// Returns an empty set of candidates of a row with elements of type `X`. `count` must be between 1 and the number of threads per row.
    #[track_caller]
    pub(super) fn new<X: TensorElement>(row: &'a Row<'k>, count: Val<'k, u32>) -> Self {
        let (k, rows) = (row.k, row.tiling.rows);
        let slots = 2 * row.tiling.threads;
        let keys = k.shared::<u64>(rows * slots).at(row.in_block * slots);
        let collected = k.shared::<u32>(rows).at(row.in_block);
        k.when(row.thread.eq(0), || collected.store(0));
        row.team.sync();
        // The sign, the exponent of f32, and the mantissa of integers of 8 bits or of f16.
        let rank_bits = match X::SIZE {
            1 => 1 + 8 + 7,
            2 => 1 + 8 + 10,
            _ => u32::BITS,
        };
        Self { row, keys, collected, count, rank_bits }
    }

    fn slots(&self) -> u32 {
        2 * self.row.tiling.threads
    }

    /// Collects the largest elements of a row and sorts them. `load` returns a part of the row.
    ///
    /// If the slots cannot contain all elements to be collected from a part, the part is searched again after the smallest candidates have
    /// been discarded.
    #[track_caller]
    pub(super) fn collect<T: Convert<f32>>(&self, load: &dyn Fn(Val<'k, u32>) -> Striped<'k, T>) {
        let (k, team, parts) = (self.row.k, &self.row.team, self.row.parts());
        let part = k.var::<u32>(0);
        // The next part is loaded while this one is searched.
        let words: Vec<_> = load(0.into()).registers().iter().map(|&word| k.var::<T::Word>(word)).collect();
        // A lower bound of the keys of the `count` largest elements so far.
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
            let is_done = team.any(overflows | is_last);
            k.if_(is_done, || least.set(self.keep_largest()));
            rounds.break_if(is_done & !overflows);
            pending.set(overflows.select(left, u32::MAX));
            k.if_(!overflows, || {
                part.set(at + 1);
                words.iter().zip(next.registers()).for_each(|(word, &next)| word.set(next));
            });
        });
        self.sort();
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
        Key(self.keys.at(self.row.thread + self.row.tiling.threads).load())
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

    /// Discards all but the `count` largest candidates. Returns a lower bound of the keys of the remaining candidates, which no discarded
    /// key reaches; 0 if no candidate was discarded.
    #[track_caller]
    fn keep_largest(&self) -> Val<'k, u64> {
        let (k, team, thread) = (self.row.k, &self.row.team, self.row.thread);
        team.sync();
        let found = self.collected.load().min(self.slots());
        let least = k.var::<u64>(0);
        k.if_(team.any(found.gt(self.count)), || {
            let own = [thread, thread + self.row.tiling.threads]
                .map(|slot| Key(self.keys.at(slot).when(slot.lt(found)).load_or(0)));
            least.set(self.smallest_kept(own));
            k.when(thread.eq(0), || self.collected.store(0));
            team.sync();
            self.append(&[0, 1].map(|i| (i as u32, own[i], own[i].0.ge(least.get().max(1)))));
        });
        team.sync();
        least.get()
    }

    /// Returns a key that exactly `count` candidates reach. `own` contains the candidates of this thread. There are more than `count`.
    #[track_caller]
    fn smallest_kept(&self, own: [Key<'k>; 2]) -> Val<'k, u64> {
        let (k, shift) = (self.row.k, u32::BITS - self.rank_bits);
        let ranks = own.map(|key| key.rank() >> shift);
        let rank =
            self.largest_reached(self.rank_bits, self.count, &|least| ranks.map(|rank| rank.ge(least)));
        let [above, equal] =
            [self.total(ranks.map(|own| own.gt(rank))), self.total(ranks.map(|own| own.eq(rank)))];
        let (kept, least) = (self.count - above, k.var::<u64>(Val::pack(0, rank << shift)));
        // Of equal elements, those with the lowest columns are kept.
        k.if_(equal.gt(kept), || {
            let cols = own.map(Key::inverted_col);
            let col = self.largest_reached(u32::BITS, kept, &|least| {
                [0, 1].map(|i| ranks[i].eq(rank) & cols[i].ge(least))
            });
            // The lower bits of ranks are ones for negative numbers and NaN.
            let (rank, ones) = (rank << shift, (1u32 << shift) - 1);
            let is_positive = (rank - SIGN).le(RANK_OF_INFINITY - SIGN);
            least.set(Val::pack(col, is_positive.select(rank, rank | ones)));
        });
        least.get()
    }

    /// Returns the largest number of `bits` bits that at least `candidates` candidates reach. `reaches` returns whether the two candidates
    /// of this thread reach a number.
    #[track_caller]
    fn largest_reached(
        &self,
        bits: u32,
        candidates: Val<'k, u32>,
        reaches: &dyn Fn(Val<'k, u32>) -> [Val<'k, bool>; 2],
    ) -> Val<'k, u32> {
        let highest = Val::from(1u32 << (bits - 1));
        self.row.k.fold(bits, Val::from(0u32), |bit, largest| {
            let next = largest | (highest >> bit);
            self.total(reaches(next)).ge(candidates).select(next, largest)
        })
    }

    /// Returns the number of candidates for which a condition is true. `own` contains the conditions of this
    /// thread's candidates.
    #[track_caller]
    fn total(&self, own: [Val<'k, bool>; 2]) -> Val<'k, u32> {
        let [first, second] = own.map(|own| self.row.team.count(own));
        first + second
    }

    /// Sorts the candidates, of which there are at most `count`, in descending order. The second slots of the threads receive them,
    /// followed by zeros.
    #[track_caller]
    fn sort(&self) {
        let (k, team, threads, thread) =
            (self.row.k, &self.row.team, self.row.tiling.threads, self.row.thread);
        let found = self.collected.load();
        let [first, second] = [thread, thread + threads].map(|slot| self.keys.at(slot));
        k.when(thread.ge(found), || first.store(0u64));
        second.store(0u64);
        team.sync();
        // The rank of a candidate is the number of larger ones.
        let own = first.load();
        let rank = k.fold(found.ceil_div(COMPARED), Val::from(0u32), |group, rank| {
            let others = (0..COMPARED).map(|i| self.keys.at(group * COMPARED + i).load());
            others.fold(rank, |rank, other| rank + other.gt(own).select(1, 0))
        });
        k.when(thread.lt(found), || self.keys.at(rank + threads).store(own));
        team.sync();
    }
}
