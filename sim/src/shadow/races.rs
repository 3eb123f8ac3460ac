//! Data races in shared memory: two unordered accesses to the same bytes, at least one of them a write.

use crate::lanes::Lanes64;
use crate::shadow::clocks::{Clocks, END, Time};
use crate::shadow::place::Place;
use crate::shadow::record::{NONE, PENDING, Record};
use crate::shadow::visits::Visits;

/// The origin and the kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) warp: usize,
    pub(crate) lane: usize,
    pub(crate) pc: u32,
    pub(crate) kind: AccessKind,
}

/// The kinds of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    Write,
    Atomic,
    /// A write by a pending asynchronous copy.
    Copy,
    /// A read by a pending asynchronous operation.
    AsyncRead,
}

/// A conflict with an earlier access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) other: Access,
    /// The first byte of the unit of memory that both accesses include.
    pub(crate) byte: usize,
    /// Whether both accesses are writes, in which case equal values would be harmless.
    pub(crate) both_write: bool,
}

impl Record {
    fn access(self, kind: AccessKind) -> Access {
        Access { warp: self.warp(), lane: self.lane(), pc: self.pc(), kind }
    }
}

/// The last accesses to a unit of memory.
#[derive(Clone, Copy, Debug)]
struct LastAccesses {
    write: Record,
    /// The last read since the last write. Its flag is set if other lanes have also read the unit, as recorded in [`Shadow::reads`].
    read: Record,
}

/// The last accesses to one block's shared memory.
#[derive(Debug, Default)]
struct Shadow {
    units: Vec<LastAccesses>,
    /// Each warp's last read of each unit that several lanes have read (by warp, then by unit).
    reads: Vec<Record>,
    /// Accesses by other blocks.
    visits: Visits,
}

/// The race checker of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Races {
    pub(crate) clocks: Clocks,
    shadows: Vec<Shadow>,
    /// The size of a unit of memory in bytes (1, 2 or 4, the smallest access size of the kernel), and its logarithm.
    unit: usize,
    shift: u32,
}

/// Records a read of a unit that other lanes have read since it was written; `synced` is the time at which the warp's lanes last
/// synchronized.
#[inline(always)]
fn note_another(units: &mut [LastAccesses], reads: &mut [Record], unit: usize, mine: Record, synced: Time) {
    let count = units.len();
    let read = units[unit].read;
    if !read.flag() {
        reads[read.warp() * count + unit] = read;
    }
    let slot = &mut reads[mine.warp() * count + unit];
    let several = slot.time() >= synced && (slot.flag() || slot.lane() != mine.lane());
    *slot = mine.flagged(several);
    units[unit].read = mine.flagged(true);
}

impl Races {
    /// Resets the state for a cluster of `blocks` blocks, each with `warps` warps and `bytes` bytes of shared memory.
    pub(crate) fn start(
        &mut self,
        (blocks, warps): (usize, usize),
        bytes: usize,
        unit: usize,
        products: bool,
    ) {
        let units = bytes.div_ceil(16) * 16 / unit;
        let fits = self.unit == unit
            && self.shadows.len() == blocks
            && self.shadows.iter().all(|s| s.units.len() == units)
            && self.clocks.now() < END / 2;
        if fits {
            // Copies that were in flight when the previous cluster ended are ordered before all accesses of the new cluster.
            for shadow in &mut self.shadows {
                let pending = |r: &Record| r.time() == PENDING;
                let records = shadow.units.iter_mut().flat_map(|u| [&mut u.write, &mut u.read]);
                records.chain(&mut shadow.reads).filter(|r| pending(r)).for_each(|r| *r = NONE);
            }
        } else {
            let clocks = Clocks::new(blocks, warps, products);
            let agents = clocks.agents();
            *self = Self { clocks, unit, shift: unit.trailing_zeros(), ..Self::default() };
            self.shadows.resize_with(blocks, || Shadow {
                units: vec![LastAccesses { write: NONE, read: NONE }; units],
                reads: vec![NONE; units * agents],
                visits: Visits::default(),
            });
        }
        self.shadows.iter_mut().for_each(|shadow| shadow.visits.start(self.clocks.agents()));
        self.clocks.start();
    }

    /// Returns the size of a unit of memory in bytes.
    pub(crate) fn unit(&self) -> usize {
        self.unit
    }

    /// Returns the units of a range of bytes.
    pub(crate) fn units(&self, start: usize, bytes: usize) -> std::ops::Range<usize> {
        start >> self.shift..(start + bytes + self.unit - 1) >> self.shift
    }

    /// Records the reads (one word per lane) that are known to be ordered after the last writes, and returns the lanes of the other reads.
    /// Units must be words.
    #[inline(always)]
    pub(crate) fn read_words(&mut self, rank: usize, all: &Lanes64, warp: usize, pc: u32) -> u32 {
        let base = Record::new(self.clocks.now(), pc, warp, 0, false);
        let (floor, oldest) = (self.clocks.floor(warp), self.clocks.oldest());
        let synced = self.clocks.lanes_synced(warp);
        let Shadow { units, reads, .. } = &mut self.shadows[rank];
        let mut left = 0;
        let mut next = 0;
        while next < 32 {
            let (lane, unit) = (next, (all[next] >> 2) as usize);
            let mine = base.of_lane(lane);
            next += 1;
            let Some(slot) = units.get_mut(unit) else { continue };
            let LastAccesses { write, read } = *slot;
            if write.time() >= floor && !write.same_thread(mine) {
                left |= 1 << lane;
                continue;
            }
            if (read.same_thread(mine) && !read.flag()) || read.time() < oldest {
                slot.read = mine;
            } else {
                note_another(units, reads, unit, mine, synced);
            }
            if write.time() < floor {
                // Of adjacent lanes that read the same word, only the last is kept.
                while next < 32 && (all[next] >> 2) as usize == unit {
                    next += 1;
                }
                if next - lane > 1 {
                    let last = base.of_lane(next - 1).flagged(true);
                    reads[warp * units.len() + unit] = last;
                    units[unit].read = last;
                }
            }
        }
        left
    }

    /// Records writes in the same way as [`read_words`](Self::read_words) records reads.
    #[inline(always)]
    pub(crate) fn write_words(&mut self, rank: usize, all: &Lanes64, warp: usize, pc: u32) -> u32 {
        let base = Record::new(self.clocks.now(), pc, warp, 0, false);
        let floor = self.clocks.floor(warp);
        let units = &mut self.shadows[rank].units[..];
        let mut left = 0;
        for lane in 0..32 {
            let mine = base.of_lane(lane);
            let Some(slot) = units.get_mut((all[lane] >> 2) as usize) else { continue };
            let LastAccesses { write, read } = *slot;
            let ordered = |other: Record| other.time() < floor || (other.same_thread(mine) && !other.flag());
            if ordered(read) && ordered(write) {
                *slot = LastAccesses { write: mine, read: NONE };
            } else {
                left |= 1 << lane;
            }
        }
        left
    }

    /// Returns whether lanes that access whole words may be checked together.
    #[inline(always)]
    pub(crate) fn by_words(&self) -> bool {
        self.unit == 4 && !self.clocks.ended()
    }

    /// Checks and records a read of `bytes` bytes at `start` of block `rank`.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        rank: usize,
        start: usize,
        bytes: usize,
        warp: usize,
        lane: usize,
        pc: u32,
    ) -> Option<Conflict> {
        if self.clocks.ended() {
            return None;
        }
        let mine = Record::new(self.clocks.now(), pc, warp, lane, false);
        let floor = self.clocks.floor(warp);
        for unit in self.units(start, bytes) {
            let slot = &mut self.shadows[rank].units[unit];
            let LastAccesses { write, read } = *slot;
            if read.same_thread(mine) && !read.flag() || read.time() < self.clocks.oldest() {
                slot.read = mine;
            } else {
                self.another_read(rank, unit, mine);
            }
            if write.time() >= floor
                && !write.same_thread(mine)
                && let Some(conflict) = self.unordered_write(write, unit, warp, lane, AccessKind::Read)
            {
                return Some(conflict);
            }
        }
        None
    }

    /// Records a read of a unit that other lanes have read since it was written.
    fn another_read(&mut self, rank: usize, unit: usize, mine: Record) {
        let synced = self.clocks.lanes_synced(mine.warp());
        let Shadow { units, reads, .. } = &mut self.shadows[rank];
        note_another(units, reads, unit, mine, synced);
    }

    /// Checks and records a write or an atomic update. The access is recorded even if it conflicts.
    #[inline(always)]
    pub(crate) fn write(
        &mut self,
        rank: usize,
        start: usize,
        bytes: usize,
        access: Access,
    ) -> Option<Conflict> {
        if self.clocks.ended() {
            return None;
        }
        let Access { warp, lane, pc, kind } = access;
        let time = if kind == AccessKind::Copy { PENDING } else { self.clocks.now() };
        let mine = Record::new(time, pc, warp, lane, kind == AccessKind::Atomic);
        let floor = self.clocks.floor(warp);
        let mut found = None;
        for unit in self.units(start, bytes) {
            let slot = &mut self.shadows[rank].units[unit];
            let LastAccesses { write, read } = *slot;
            *slot = LastAccesses { write: mine, read: NONE };
            if read.time() >= floor && (read.flag() || !read.same_thread(mine)) && found.is_none() {
                found = self.unordered_read(rank, unit, read, warp, lane);
            }
            if write.time() >= floor && !write.same_thread(mine) && found.is_none() {
                found = self.unordered_write(write, unit, warp, lane, kind);
            }
        }
        found
    }

    /// Returns the conflict with an earlier write, if the accesses are not ordered.
    #[cold]
    fn unordered_write(
        &self,
        write: Record,
        unit: usize,
        warp: usize,
        lane: usize,
        kind: AccessKind,
    ) -> Option<Conflict> {
        let pending = write.time() == PENDING;
        let ordered = if pending {
            false
        } else if write.warp() == warp {
            self.clocks.lanes_know(warp, write.lane(), lane, write.time())
        } else {
            self.clocks.knows(warp, write.warp(), write.time())
        };
        if ordered || write == NONE || (write.flag() && kind == AccessKind::Atomic) {
            return None;
        }
        let earlier = match (pending, write.flag()) {
            (true, _) => AccessKind::Copy,
            (_, true) => AccessKind::Atomic,
            _ => AccessKind::Write,
        };
        let both_write = kind == AccessKind::Write && earlier == AccessKind::Write;
        Some(Conflict { other: write.access(earlier), byte: unit * self.unit, both_write })
    }

    /// Returns the last write of a unit if it was a strong write by another lane of the warp and is not ordered before the current accesses
    /// of `lane`.
    pub(crate) fn unordered_strong_write(
        &self,
        rank: usize,
        unit: usize,
        warp: usize,
        lane: usize,
    ) -> Option<Access> {
        let write = self.shadows[rank].units.get(unit)?.write;
        let ordered =
            || self.clocks.ended() || self.clocks.lanes_know(warp, write.lane(), lane, write.time());
        (write.flag() && write.warp() == warp && !ordered()).then(|| write.access(AccessKind::Atomic))
    }

    /// Returns the conflict with an earlier read, if the accesses are not ordered; `last` is the last read.
    #[cold]
    fn unordered_read(
        &self,
        rank: usize,
        unit: usize,
        last: Record,
        warp: usize,
        lane: usize,
    ) -> Option<Conflict> {
        let shadow = &self.shadows[rank];
        let mut all = (0..self.clocks.agents()).map(|other| shadow.reads[other * shadow.units.len() + unit]);
        let unordered = |read: &Record| {
            let ordered = if read.warp() == warp {
                match read.flag() {
                    true => self.clocks.several_lanes_known(warp, lane, read.time()),
                    false => self.clocks.lanes_know(warp, read.lane(), lane, read.time()),
                }
            } else {
                self.clocks.knows(warp, read.warp(), read.time())
            };
            !ordered && *read != NONE
        };
        let found = if last.flag() { all.find(unordered) } else { Some(last).filter(unordered) };
        found.map(|read| {
            let of_engine = read.time() == PENDING || read.warp() > self.clocks.copier();
            let kind = if of_engine { AccessKind::AsyncRead } else { AccessKind::Read };
            Conflict { other: read.access(kind), byte: unit * self.unit, both_write: false }
        })
    }

    /// Checks and records a read by `reader` that a lane of `warp` starts. The read lasts until [`Races::read_done`] is called.
    pub(crate) fn async_read(
        &mut self,
        (rank, start, bytes): (usize, usize, usize),
        reader: usize,
        warp: usize,
        lane: usize,
        pc: u32,
    ) -> Option<Conflict> {
        if self.clocks.ended() {
            return None;
        }
        let mine = Record::new(self.clocks.now(), pc, warp, lane, false);
        let pending = Record::new(PENDING, pc, reader, lane, true);
        let floor = self.clocks.floor(warp);
        let mut found = None;
        for unit in self.units(start, bytes) {
            let shadow = &mut self.shadows[rank];
            let units = shadow.units.len();
            let LastAccesses { write, read } = shadow.units[unit];
            if !read.flag() {
                shadow.reads[read.warp() * units + unit] = read;
            }
            shadow.reads[reader * units + unit] = pending;
            shadow.units[unit].read = pending;
            if found.is_none() && write.time() >= floor && !write.same_thread(mine) {
                found = self.unordered_write(write, unit, warp, lane, AccessKind::Read);
            }
        }
        found
    }

    /// Records the end of an asynchronous read by `reader`, for which a thread has waited.
    pub(crate) fn read_done(&mut self, rank: usize, start: usize, bytes: usize, reader: usize) {
        let now = self.clocks.now();
        for unit in self.units(start, bytes) {
            let shadow = &mut self.shadows[rank];
            let slot = reader * shadow.units.len() + unit;
            let record = shadow.reads[slot];
            if record.time() == PENDING {
                let done = Record::new(now, record.pc(), reader, record.lane(), false);
                shadow.reads[slot] = done;
                shadow.units[unit].read = done.flagged(true);
            }
        }
    }

    /// Records that a copy to shared memory has arrived. It is then an ordinary write by `access`.
    pub(crate) fn arrived(&mut self, rank: usize, start: usize, bytes: usize, access: Access) {
        if access.warp == self.clocks.engine() {
            self.clocks.work(access.warp);
        }
        let write = Record::new(self.clocks.now(), access.pc, access.warp, access.lane, false);
        let range = self.units(start, bytes);
        self.shadows[rank].units[range].iter_mut().for_each(|unit| unit.write = write);
    }

    /// Records an access to the shared memory of block `rank` by an agent of another block.
    pub(crate) fn visit(&mut self, rank: usize, agent: usize, access: Access) {
        self.shadows[rank].visits.note(agent, self.clocks.now(), access);
    }

    /// Returns an access to block `rank` by another block that is not included in `known`.
    pub(crate) fn unordered_visit(&self, rank: usize, known: &[Time]) -> Option<Access> {
        if self.clocks.ended() { None } else { self.shadows[rank].visits.unordered(known) }
    }

    /// Records that a pending copy is complete. It is then an ordinary write by `agent`.
    pub(crate) fn settle(&mut self, to: Place, bytes: usize, copy: Access, agent: usize) {
        let pending = Record::new(PENDING, copy.pc, copy.warp, copy.lane, false);
        let write = Record::new(self.clocks.now(), copy.pc, agent, copy.lane, false);
        let range = self.units(to.offset, bytes);
        let units = self.shadows[to.rank].units[range].iter_mut();
        units.filter(|unit| unit.write == pending).for_each(|unit| unit.write = write);
    }

    /// Returns the last ordinary write to a range of bytes that requires a fence according to `requires` and that no proxy fence orders
    /// before the asynchronous accesses of `warp`.
    pub(crate) fn unfenced_write(
        &self,
        rank: usize,
        start: usize,
        bytes: usize,
        warp: usize,
        requires: impl Fn(u32) -> bool,
    ) -> Option<Access> {
        let range = self.units(start, bytes);
        let mut writes = self.shadows[rank].units[range].iter().map(|unit| unit.write);
        let found = writes.find(|&write| self.is_unfenced(write, warp) && requires(write.pc()));
        found.map(|write| write.access(AccessKind::Write))
    }

    /// Returns a read since the last write that no proxy fence orders, subject to the same conditions as for
    /// [`unfenced_write`](Self::unfenced_write).
    pub(crate) fn unfenced_read(
        &self,
        rank: usize,
        start: usize,
        bytes: usize,
        warp: usize,
        requires: impl Fn(u32) -> bool,
    ) -> Option<Access> {
        let Shadow { units, reads, .. } = &self.shadows[rank];
        let unfenced = |read: &Record| self.is_unfenced(*read, warp) && requires(read.pc());
        let found = self.units(start, bytes).find_map(|unit| {
            let LastAccesses { write, read: last } = units[unit];
            let is_later = |read: &Record| write.time() == PENDING || read.time() >= write.time();
            if !last.flag() {
                return Some(last).filter(unfenced);
            }
            let mut all = (0..self.clocks.warps()).map(|reader| reads[reader * units.len() + unit]);
            all.find(|read| is_later(read) && unfenced(read))
        });
        found.map(|read| read.access(AccessKind::Read))
    }

    /// Returns whether an access was made by a warp itself and is not ordered by a proxy fence before the current accesses of `warp`.
    fn is_unfenced(&self, record: Record, warp: usize) -> bool {
        let by_engine = record.warp() >= self.clocks.engine() || record.time() == PENDING;
        record != NONE && !by_engine && !self.clocks.proxy_fenced(warp, record.warp(), record.time())
    }
}
