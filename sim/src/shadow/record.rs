//! 64-bit records of memory accesses.

use crate::shadow::clocks::{END, Time};

/// The time of a write that is still in flight.
pub(crate) const PENDING: Time = END + 1;

/// An access in 64 bits: time (28), instruction (20), warp or engine (10), lane (5), and a flag that indicates whether a write was atomic
/// or whether several lanes have read. Zero represents no access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record(u64);

impl Record {
    #[inline(always)]
    pub(crate) fn new(time: Time, pc: u32, warp: usize, lane: usize, flag: bool) -> Self {
        let pc = u64::from(pc.min((1 << 20) - 1));
        Record(u64::from(time) << 36 | pc << 16 | (warp as u64) << 6 | (lane as u64) << 1 | u64::from(flag))
    }

    /// Returns the same access by another lane, instead of lane 0.
    #[inline(always)]
    pub(crate) fn of_lane(self, lane: usize) -> Self {
        Record(self.0 | (lane as u64) << 1)
    }

    #[inline(always)]
    pub(crate) fn time(self) -> Time {
        (self.0 >> 36) as Time
    }

    #[inline(always)]
    pub(crate) fn pc(self) -> u32 {
        (self.0 >> 16) as u32 & ((1 << 20) - 1)
    }

    #[inline(always)]
    pub(crate) fn warp(self) -> usize {
        (self.0 >> 6) as usize & 0x3ff
    }

    #[inline(always)]
    pub(crate) fn lane(self) -> usize {
        (self.0 >> 1) as usize & 31
    }

    #[inline(always)]
    pub(crate) fn flag(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns whether both accesses are by the same lane, and neither is still in flight.
    #[inline(always)]
    pub(crate) fn same_thread(self, other: Record) -> bool {
        (self.0 ^ other.0) & 0xfffe == 0 && self.time() != PENDING && self != NONE
    }

    #[inline(always)]
    pub(crate) fn flagged(self, flag: bool) -> Record {
        Record(self.0 & !1 | u64::from(flag))
    }
}

/// No access.
pub(crate) const NONE: Record = Record(0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shadow::clocks::Clocks;

    #[test]
    fn a_record_holds_the_agents_of_the_largest_cluster() {
        let last = Clocks::new(16, 32, true).agents() - 1;
        for flag in [false, true] {
            let record = Record::new(PENDING, 1 << 19, last, 31, flag);
            let parts = (record.time(), record.pc(), record.warp(), record.lane(), record.flag());
            assert_eq!(parts, (PENDING, 1 << 19, last, 31, flag));
        }
    }
}
