//! Data races in shared memory: two accesses of the same bytes, at least one a write, with no order between them.

use super::clocks::{Clocks, END, Time};

/// Who made an access, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) struct Access {
    pub(in crate::sim) warp: usize,
    pub(in crate::sim) lane: usize,
    pub(in crate::sim) pc: u32,
    pub(in crate::sim) kind: AccessKind,
}

/// The kinds of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum AccessKind {
    Read,
    Write,
    Atomic,
    /// A write by an asynchronous copy that nobody has waited for.
    Copy,
    /// A read by an asynchronous operation that nobody has waited for.
    AsyncRead,
}

/// A conflict with an earlier access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) struct Conflict {
    pub(in crate::sim) other: Access,
    /// First byte of the unit of memory they meet at.
    pub(in crate::sim) byte: usize,
    /// Both write, so that equal values would do no harm.
    pub(in crate::sim) both_write: bool,
}

/// The time of a write that is still on its way.
const PENDING: Time = END + 1;

/// An access in 64 bits: time, instruction, warp, lane, and whether it was atomic (for writes) or several lanes'
/// (for reads). Zero is no access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record(u64);

impl Record {
    fn new(time: Time, pc: u32, warp: usize, lane: usize, flag: bool) -> Self {
        let pc = u64::from(pc.min((1 << 21) - 1));
        Record(u64::from(time) << 36 | pc << 15 | (warp as u64) << 6 | (lane as u64) << 1 | u64::from(flag))
    }

    fn time(self) -> Time {
        (self.0 >> 36) as Time
    }

    fn pc(self) -> u32 {
        (self.0 >> 15) as u32 & ((1 << 21) - 1)
    }

    fn warp(self) -> usize {
        (self.0 >> 6) as usize & 0x1ff
    }

    fn lane(self) -> usize {
        (self.0 >> 1) as usize & 31
    }

    fn flag(self) -> bool {
        self.0 & 1 == 1
    }

    fn access(self, kind: AccessKind) -> Access {
        Access { warp: self.warp(), lane: self.lane(), pc: self.pc(), kind }
    }
}

/// The last accesses of one block's shared memory.
#[derive(Debug, Default)]
struct Shadow {
    writes: Vec<Record>,
    /// By warp, then by unit of memory.
    reads: Vec<Record>,
    /// When each unit was last read by anyone.
    last_read: Vec<Time>,
}

/// The race checker of a cluster.
#[derive(Debug, Default)]
pub(in crate::sim) struct Races {
    pub(in crate::sim) clocks: Clocks,
    shadows: Vec<Shadow>,
    /// Bytes of a unit of memory: 1, 2 or 4, the smallest that the kernel accesses.
    unit: usize,
}

impl Races {
    /// Starts over for a cluster of `blocks` blocks with `warps` warps and `bytes` bytes each.
    pub(in crate::sim) fn start(&mut self, blocks: usize, warps: usize, bytes: usize, unit: usize) {
        let agents = blocks * warps + 1;
        let units = bytes.div_ceil(16) * 16 / unit;
        let fits = self.unit == unit
            && self.shadows.len() == blocks
            && self.clocks.agents() == agents
            && self.shadows.iter().all(|s| s.writes.len() == units)
            && self.clocks.now() < END / 2;
        if !fits {
            *self = Self { unit, ..Self::default() };
            self.shadows.resize_with(blocks, || Shadow {
                writes: vec![Record(0); units],
                reads: vec![Record(0); units * agents],
                last_read: vec![0; units],
            });
        } else {
            // Copies that were on their way when the last cluster ended are older than everything now.
            for shadow in &mut self.shadows {
                let records = shadow.writes.iter_mut().chain(&mut shadow.reads);
                records.filter(|r| r.time() == PENDING).for_each(|r| *r = Record(0));
                shadow.last_read.iter_mut().filter(|time| **time == PENDING).for_each(|time| *time = 0);
            }
        }
        self.clocks.start(agents - 1);
    }

    /// Bytes of a unit of memory.
    pub(in crate::sim) fn unit(&self) -> usize {
        self.unit
    }

    /// Where a warp's reads of a unit are noted.
    #[inline(always)]
    fn read_slot(&self, rank: usize, unit: usize, warp: usize) -> usize {
        warp * self.shadows[rank].writes.len() + unit
    }

    fn units(&self, start: usize, bytes: usize) -> std::ops::Range<usize> {
        start / self.unit..(start + bytes).div_ceil(self.unit)
    }

    /// A read of `bytes` bytes at `start` of block `rank`.
    #[inline(always)]
    pub(in crate::sim) fn read(
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
        let range = self.units(start, bytes);
        let (now, floor) = (self.clocks.now(), self.clocks.floor(warp));
        let lanes_synced = self.clocks.lanes_synced(warp);
        for unit in range {
            let at = self.read_slot(rank, unit, warp);
            let shadow = &mut self.shadows[rank];
            let write = shadow.writes[unit];
            let before = shadow.reads[at];
            let several = before.time() >= lanes_synced && (before.flag() || before.lane() != lane);
            shadow.reads[at] = Record::new(now, pc, warp, lane, several);
            shadow.last_read[unit] = now;
            if write.time() >= floor
                && let Some(conflict) = self.unordered_write(write, unit, warp, lane, AccessKind::Read)
            {
                return Some(conflict);
            }
        }
        None
    }

    /// A write, or an atomic update. It is noted even if it conflicts.
    #[inline(always)]
    pub(in crate::sim) fn write(
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
        let range = self.units(start, bytes);
        let floor = self.clocks.floor(warp);
        let mut found = None;
        for unit in range {
            let shadow = &mut self.shadows[rank];
            let (write, read) = (shadow.writes[unit], shadow.last_read[unit]);
            let time = if kind == AccessKind::Copy { PENDING } else { self.clocks.now() };
            shadow.writes[unit] = Record::new(time, pc, warp, lane, kind == AccessKind::Atomic);
            if found.is_none() && read >= floor {
                found = self.unordered_read(rank, unit, warp, lane);
            }
            if found.is_none() && write.time() >= floor {
                found = self.unordered_write(write, unit, warp, lane, kind);
            }
        }
        found
    }

    /// The conflict with an earlier write, if nothing orders it.
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
            write.lane() == lane || self.clocks.lanes_know(warp, write.time())
        } else {
            self.clocks.knows(warp, write.warp(), write.time())
        };
        if ordered || write.0 == 0 || (write.flag() && kind == AccessKind::Atomic) {
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

    /// The conflict with an earlier read, if nothing orders it.
    #[cold]
    fn unordered_read(&self, rank: usize, unit: usize, warp: usize, lane: usize) -> Option<Conflict> {
        let agents = self.clocks.agents();
        for other in 0..agents {
            let read = self.shadows[rank].reads[self.read_slot(rank, unit, other)];
            let ordered = if other == warp {
                (read.lane() == lane && !read.flag()) || self.clocks.lanes_know(warp, read.time())
            } else {
                self.clocks.knows(warp, other, read.time())
            };
            if !ordered && read.0 != 0 {
                let pending = read.time() == PENDING;
                let other = read.access(if pending { AccessKind::AsyncRead } else { AccessKind::Read });
                return Some(Conflict { other, byte: unit * self.unit, both_write: false });
            }
        }
        None
    }

    /// A read that goes on until [`Races::read_done`].
    pub(in crate::sim) fn async_read(
        &mut self,
        rank: usize,
        start: usize,
        bytes: usize,
        warp: usize,
        pc: u32,
    ) -> Option<Conflict> {
        let found = self.read(rank, start, bytes, warp, 0, pc);
        for unit in self.units(start, bytes) {
            let at = self.read_slot(rank, unit, warp);
            self.shadows[rank].reads[at] = Record::new(PENDING, pc, warp, 0, true);
            self.shadows[rank].last_read[unit] = PENDING;
        }
        found
    }

    /// The end of a read by an asynchronous operation.
    pub(in crate::sim) fn read_done(&mut self, rank: usize, start: usize, bytes: usize, warp: usize) {
        let now = self.clocks.now();
        for unit in self.units(start, bytes) {
            let at = self.read_slot(rank, unit, warp);
            let shadow = &mut self.shadows[rank];
            let record = shadow.reads[at];
            if record.time() == PENDING {
                shadow.reads[at] = Record::new(now, record.pc(), warp, 0, true);
                shadow.last_read[unit] = now;
            }
        }
    }

    /// A copy into shared memory has arrived: from now on it is an ordinary write of `access`.
    pub(in crate::sim) fn arrived(&mut self, rank: usize, start: usize, bytes: usize, access: Access) {
        let range = self.units(start, bytes);
        if access.warp == self.clocks.engine() {
            self.clocks.use_engine();
        }
        let record = Record::new(self.clocks.now(), access.pc, access.warp, access.lane, false);
        self.shadows[rank].writes[range].fill(record);
    }

    /// The last ordinary write of some bytes that no proxy fence lets the asynchronous engine see.
    pub(in crate::sim) fn unfenced(
        &self,
        rank: usize,
        start: usize,
        bytes: usize,
        warp: usize,
    ) -> Option<Access> {
        let engine = self.clocks.engine();
        let range = self.units(start, bytes);
        let records = self.shadows[rank].writes[range].iter();
        records
            .filter(|r| r.0 != 0 && r.warp() != engine && r.time() != PENDING)
            .find(|r| !self.clocks.proxy_fenced(warp, r.warp(), r.time()))
            .map(|r| r.access(AccessKind::Write))
    }
}
