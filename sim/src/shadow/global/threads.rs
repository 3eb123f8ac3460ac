//! Races in global memory between the threads of one cluster.
//!
//! For each unit that the cluster writes, a cell contains the last write and the last reads by two warps. Most buffers are only read, so
//! the reads of an allocation are kept in a list until the cluster first writes to it. Lanes of the same warp are distinguished as writers
//! but not as readers.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lanes::{Lanes64, lanes};
use crate::program::code::Code;
use crate::shadow::clocks::{Clocks, Time};
use crate::shadow::global::{Manner, PAGE, Units, consecutive, for_runs};
use crate::shadow::record::{NONE, Record};

/// The maximum number of reads in the list. Beyond this number, the reads are moved to their cells.
const MOST_READS: usize = 1 << 14;

/// The number of pages of cells after which unneeded pages are reused.
const MOST_PAGES: usize = 1 << 10;

/// The executing warp and instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    pub(crate) warp: usize,
    pub(crate) pc: u32,
}

/// The other access of a race: an instruction of a warp, and the lane if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Other {
    pub(crate) warp: usize,
    pub(crate) lane: Option<usize>,
    pub(crate) pc: u32,
}

impl Other {
    fn writer(record: Record) -> Self {
        Self { warp: record.warp(), lane: Some(record.lane()), pc: record.pc() }
    }

    fn reader(record: Record) -> Self {
        Self { warp: record.warp(), lane: None, pc: record.pc() }
    }
}

/// The last accesses to [`PAGE`] units. A list is empty if no access of its kind was recorded.
#[derive(Debug, Default)]
struct Page {
    /// The last plain write of each unit, and its value.
    writes: Vec<Record>,
    values: Vec<u32>,
    /// The last strong write to each unit since its last plain write.
    strong: Vec<Record>,
    /// The last reads of each unit by two warps since its last write.
    reads: Vec<[Record; 2]>,
    /// A time after the last access.
    touched: Time,
}

impl Page {
    #[inline(always)]
    fn write(&self, unit: usize) -> Record {
        self.writes.get(unit).copied().unwrap_or(NONE)
    }

    #[inline(always)]
    fn strong(&self, unit: usize) -> Record {
        self.strong.get(unit).copied().unwrap_or(NONE)
    }

    #[inline(always)]
    fn reads(&self, unit: usize) -> [Record; 2] {
        self.reads.get(unit).copied().unwrap_or([NONE; 2])
    }

    #[inline(always)]
    fn write_by(&mut self, unit: usize, write: Record, value: u32) {
        if self.writes.is_empty() {
            self.writes = vec![NONE; PAGE];
            self.values = vec![0; PAGE];
        }
        (self.writes[unit], self.values[unit]) = (write, value);
        if let Some(strong) = self.strong.get_mut(unit) {
            *strong = NONE;
        }
        if let Some(reads) = self.reads.get_mut(unit) {
            *reads = [NONE; 2];
        }
    }

    #[inline(always)]
    fn strong_by(&mut self, unit: usize, write: Record) {
        if self.strong.is_empty() {
            self.strong = vec![NONE; PAGE];
        }
        self.strong[unit] = write;
    }

    /// Records a read, replacing a read by the same warp or a read that is ordered before it.
    #[inline]
    fn read_by(&mut self, clocks: &Clocks, unit: usize, read: Record) {
        if self.reads.is_empty() {
            self.reads = vec![[NONE; 2]; PAGE];
        }
        let reads = &mut self.reads[unit];
        let replaced = |r: &Record| r.warp() == read.warp() || clocks.knows(read.warp(), r.warp(), r.time());
        let at = reads.iter().position(replaced).unwrap_or(1);
        reads[at] = read;
    }

    /// Records plain writes of `each` units by each lane, if no accesses other than older writes of the units are known. Returns whether
    /// the writes were recorded.
    #[inline(always)]
    fn write_all(
        &mut self,
        first: usize,
        each: usize,
        record: Record,
        floor: Time,
        value: impl Fn(usize, usize) -> u32,
    ) -> bool {
        if self.writes.is_empty() || !self.strong.is_empty() || !self.reads.is_empty() {
            return false;
        }
        let units = first..first + 32 * each;
        let (writes, values) = (&mut self.writes[units.clone()], &mut self.values[units]);
        if writes.iter().fold(0, |latest, write| write.time().max(latest)) >= floor {
            return false;
        }
        let lanes = writes.chunks_exact_mut(each).zip(values.chunks_exact_mut(each));
        for (lane, (writes, values)) in lanes.enumerate() {
            writes.fill(record.of_lane(lane));
            values.iter_mut().enumerate().for_each(|(i, old)| *old = value(lane, i));
        }
        true
    }
}

/// A unit: the slot of its allocation, and its index in the allocation.
type UnitId = (usize, usize);

/// A read of adjacent units.
#[derive(Clone, Debug)]
struct Read {
    slot: usize,
    units: Range<usize>,
    record: Record,
}

/// The accesses of the running cluster.
#[derive(Debug, Default)]
pub(crate) struct ThreadRaces {
    units: Units,
    /// The index of each page, by slot and index in the allocation.
    index: FxHashMap<UnitId, usize>,
    pages: Vec<Page>,
    /// Pages that can be reused, because their accesses are ordered before all future accesses.
    free: Vec<usize>,
    /// The page that was accessed last.
    last: Option<(UnitId, usize)>,
    most_pages: usize,
    /// The allocations that the cluster has written.
    written: FxHashSet<usize>,
    /// Reads of other allocations.
    reads: Vec<Read>,
    /// For units to which several unordered threads wrote the same value, all writes except the last.
    equal: FxHashMap<UnitId, Vec<Record>>,
    started: Time,
}

impl ThreadRaces {
    /// Resets the state for another cluster.
    pub(crate) fn start(&mut self, code: &Code, now: Time) {
        if now <= self.started {
            // The clocks were reset, so recorded times are meaningless.
            self.pages.clear();
        }
        self.started = now;
        self.free = (0..self.pages.len()).collect();
        self.units = Units::new(code);
        self.index.clear();
        self.last = None;
        self.most_pages = MOST_PAGES;
        self.written.clear();
        self.reads.clear();
        self.equal.clear();
    }

    /// Records that bytes now belong to another allocation of the device heap.
    pub(crate) fn forget(&mut self, address: u64, bytes: u64) {
        let (slot, units) = self.units.of(address, bytes);
        self.reads.retain(|read| {
            read.slot != slot || read.units.end <= units.start || units.end <= read.units.start
        });
        for unit in units {
            if let Some(&page) = self.index.get(&(slot, unit / PAGE)) {
                let (page, unit) = (&mut self.pages[page], unit % PAGE);
                page.write_by(unit, NONE, 0);
            }
        }
    }

    /// Checks and records plain reads of `bytes` bytes by lanes of a warp. Returns the first lane that races with a write, and the write.
    pub(crate) fn read(
        &mut self,
        clocks: &Clocks,
        all: &Lanes64,
        bytes: u64,
        m: u32,
        thread: Thread,
    ) -> Option<(usize, Other)> {
        if clocks.ended() {
            return None;
        }
        let record = Record::new(clocks.now(), thread.pc, thread.warp, 0, false);
        let mut is_written = false;
        for_runs(all, bytes, m, |run| {
            let (slot, units) = self.units.of(run.start, run.end - run.start);
            if self.written.contains(&slot) {
                is_written = true;
            } else {
                self.reads.push(Read { slot, units, record });
            }
        });
        if self.reads.len() >= MOST_READS {
            self.shorten(clocks);
        }
        if is_written { self.read_written(clocks, all, bytes, m, record) } else { None }
    }

    /// Checks and records reads of allocations, including those that the cluster has written.
    fn read_written(
        &mut self,
        clocks: &Clocks,
        all: &Lanes64,
        bytes: u64,
        m: u32,
        record: Record,
    ) -> Option<(usize, Other)> {
        let mut found = None;
        for lane in lanes(m) {
            let (slot, units) = self.units.of(all[lane], bytes);
            if !self.written.contains(&slot) {
                continue;
            }
            for unit in units {
                let other = self.read_unit(clocks, (slot, unit), record, lane);
                found = found.or(other.map(|other| (lane, other)));
            }
        }
        found
    }

    #[inline]
    fn read_unit(&mut self, clocks: &Clocks, unit: UnitId, record: Record, lane: usize) -> Option<Other> {
        let floor = clocks.floor(record.warp());
        let mine = record.of_lane(lane);
        let at = unit.1 % PAGE;
        let page = self.page(clocks, unit);
        let write = page.write(at);
        if write.time() >= floor && !write.same_thread(mine) {
            let ordered = clocks.ordered((write.warp(), write.lane()), write.time(), (mine.warp(), lane));
            if !ordered {
                // A thread may read back what it wrote, even if others write the same value.
                let wrote = self.equal.get(&unit).is_some_and(|all| all.iter().any(|w| w.same_thread(mine)));
                return (!wrote).then(|| Other::writer(write));
            }
        }
        page.read_by(clocks, at, record);
        None
    }

    /// Drops the listed reads that are no longer needed or, if most are still needed, moves the reads to their cells.
    #[cold]
    fn shorten(&mut self, clocks: &Clocks) {
        let oldest = clocks.oldest();
        self.reads.retain(|read| read.record.time() >= oldest);
        if self.reads.len() >= MOST_READS / 2 {
            self.settle(clocks, |_| true);
        }
    }

    /// Moves the listed reads of some allocations to their cells.
    fn settle(&mut self, clocks: &Clocks, of: impl Fn(usize) -> bool) {
        let (moved, kept) = std::mem::take(&mut self.reads).into_iter().partition(|read| of(read.slot));
        self.reads = kept;
        let moved: Vec<Read> = moved;
        for Read { slot, units, record } in moved {
            for unit in units {
                self.page(clocks, (slot, unit)).read_by(clocks, unit % PAGE, record);
            }
        }
    }

    /// Checks and records writes or atomics of `bytes` bytes by lanes of a warp; `value` returns the word at a byte offset in a lane's
    /// value. Returns the first lane that races with an access, and the access.
    #[inline]
    pub(crate) fn write(
        &mut self,
        clocks: &Clocks,
        all: &Lanes64,
        bytes: u64,
        m: u32,
        thread: Thread,
        manner: Manner,
        value: impl Fn(usize, u64) -> u32,
    ) -> Option<(usize, Other)> {
        if clocks.ended() {
            return None;
        }
        let record = Record::new(clocks.now(), thread.pc, thread.warp, 0, false);
        let (floor, strong, shift) = (clocks.floor(thread.warp), manner != Manner::Write, self.units.shift);
        let geometry = self.units;
        let value = |lane: usize, unit: usize| geometry.part(value(lane, (unit as u64) << shift));
        if !strong && consecutive(all, bytes, m) {
            let (slot, units) = geometry.of(all[0], 32 * bytes);
            let (at, each) = (units.start % PAGE, (bytes >> shift) as usize);
            if each > 0 && at + 32 * each <= PAGE {
                self.note_written(clocks, slot);
                let page = self.page(clocks, (slot, units.start));
                if page.write_all(at, each, record, floor, value) {
                    return None;
                }
            }
        }
        let mut found = None;
        let mut last = usize::MAX;
        for lane in lanes(m) {
            let (slot, units) = self.units.of(all[lane], bytes);
            if slot != last {
                last = slot;
                self.note_written(clocks, slot);
            }
            let mine = record.of_lane(lane);
            for unit in units.clone() {
                let (at, value) = (unit % PAGE, value(lane, unit - units.start));
                let page = self.page(clocks, (slot, unit));
                let ordered = |other: Record| other.time() < floor || other.same_thread(mine);
                let after_write = ordered(page.write(at));
                if after_write && strong {
                    page.strong_by(at, mine);
                    continue;
                }
                let read = || page.reads(at).map(Record::time);
                if after_write && ordered(page.strong(at)) && read()[0].max(read()[1]) < floor {
                    page.write_by(at, mine, value);
                    continue;
                }
                let other = self.write_beside(clocks, (slot, unit), mine, value, manner);
                found = found.or(other.map(|other| (lane, other)));
            }
        }
        found
    }

    /// Records that the cluster writes to an allocation, and moves earlier reads of the allocation to their pages.
    #[inline]
    fn note_written(&mut self, clocks: &Clocks, slot: usize) {
        if self.written.insert(slot) {
            self.settle(clocks, |of| of == slot);
        }
    }

    /// Checks and records a write of a unit to which other threads may have made unordered accesses.
    fn write_beside(
        &mut self,
        clocks: &Clocks,
        unit: UnitId,
        mine: Record,
        value: u32,
        manner: Manner,
    ) -> Option<Other> {
        let (page, at) = (self.page(clocks, unit), unit.1 % PAGE);
        let (write, strong, reads) = (page.write(at), page.strong(at), page.reads(at));
        let old = page.values.get(at).copied();
        match manner {
            Manner::Write => page.write_by(at, mine, value),
            _ => page.strong_by(at, mine),
        }
        let me = (mine.warp(), mine.lane());
        let unordered = |&other: &Record| {
            let from = (other.warp(), other.lane());
            other != NONE && !other.same_thread(mine) && !clocks.ordered(from, other.time(), me)
        };
        let writer = Some(write).filter(unordered);
        // The result of an atomic depends on the previous value.
        let equal = Some(value) == old && matches!(manner, Manner::Write | Manner::Strong);
        if let Some(writer) = writer.filter(|_| !equal) {
            return Some(Other::writer(writer));
        }
        if manner == Manner::Write {
            if unordered(&strong) {
                return Some(Other::writer(strong));
            }
            // Reads by another warp race, unless that warp itself wrote the same value.
            let reader = reads.into_iter().filter(unordered).find(|reader| {
                reader.warp() != mine.warp() && writer.is_none_or(|writer| writer.warp() != reader.warp())
            });
            if reader.is_some() {
                return reader.map(Other::reader);
            }
            if let Some(writer) = writer {
                self.note_equal(clocks, unit, writer);
            }
        }
        None
    }

    /// Records an earlier, unordered write of the same value.
    fn note_equal(&mut self, clocks: &Clocks, unit: UnitId, writer: Record) {
        let all = self.equal.entry(unit).or_default();
        if all.last().is_some_and(|last| last.time() < clocks.oldest()) {
            all.clear();
        }
        all.push(writer);
    }

    /// Returns the page of a unit.
    #[inline(always)]
    fn page(&mut self, clocks: &Clocks, (slot, unit): UnitId) -> &mut Page {
        let key = (slot, unit / PAGE);
        let page = match self.last {
            Some((last, page)) if last == key => page,
            _ => self.another_page(clocks, key),
        };
        &mut self.pages[page]
    }

    /// Returns the index of a page. The page is allocated at the first access.
    fn another_page(&mut self, clocks: &Clocks, key: UnitId) -> usize {
        if let Some((_, left)) = self.last {
            self.pages[left].touched = clocks.now();
        }
        let page = self.index.get(&key).copied().unwrap_or_else(|| {
            if self.index.len() >= self.most_pages {
                self.release(clocks.oldest());
            }
            let page = self.free.pop().unwrap_or_else(|| {
                self.pages.push(Page::default());
                self.pages.len() - 1
            });
            self.index.insert(key, page);
            page
        });
        self.last = Some((key, page));
        page
    }

    /// Frees the pages whose accesses are ordered before all future accesses.
    #[cold]
    fn release(&mut self, oldest: Time) {
        let Self { index, pages, free, .. } = self;
        index.retain(|_, &mut page| {
            let needed = pages[page].touched >= oldest;
            if !needed {
                free.push(page);
            }
            needed
        });
        self.most_pages = MOST_PAGES.max(2 * self.index.len());
    }
}
