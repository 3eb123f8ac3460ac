//! Completed asynchronous copies.

use crate::machine::Cluster;
use crate::machine::bulk::{End, Transfer};
use crate::report::fault::{Outcome, Where};
use crate::shadow::place::Place;
use crate::shadow::races::{Access, AccessKind};

impl Cluster<'_> {
    /// Announces that an asynchronous engine has performed a copy.
    pub(crate) fn after_transfer(&mut self, transfer: &Transfer) -> Outcome<()> {
        if self.racing() {
            self.record_transfer(transfer);
        }
        if transfer.global_read.runs.is_empty() {
            return Ok(());
        }
        // Findings concern the instruction that issued the copy.
        let executing = (self.at, self.warp, self.pc);
        (self.warp, self.pc) = transfer.issuer;
        self.at = self.block_of(self.warp);
        let read = &transfer.global_read;
        let site = Where { warp: self.warp, lane: read.lane, pc: self.pc };
        let outcome = self.check_engine_global_read(read).map_err(|fault| fault.reported_at(site));
        (self.at, self.warp, self.pc) = executing;
        outcome
    }

    fn record_transfer(&mut self, transfer: &Transfer) {
        let (warp, pc) = transfer.issuer;
        let bytes = transfer.bytes as usize;
        for &to in &transfer.to {
            if let End::Shared(place) = to {
                let engine = self.shadow.races.clocks.engine();
                let access = Access { warp: engine, lane: 0, pc, kind: AccessKind::Write };
                self.shadow.races.arrived(place.rank, place.offset, bytes, access);
                if self.block_of(warp) != place.rank {
                    self.shadow.races.visit(place.rank, engine, Access { warp, ..access });
                }
            }
        }
        if let End::Shared(place) = transfer.from {
            self.shadow.races.read_done(place.rank, place.offset, bytes, warp);
        }
    }

    /// Announces that a `cp.async` copy by a lane of the executing warp has arrived in the shared memory of its block. `group` is the
    /// copy's group if an mbarrier counts the copy.
    pub(crate) fn after_async_copy(&mut self, (lane, pc): (usize, u32), to: (u64, u64), group: Option<u32>) {
        if !self.racing() {
            return;
        }
        let access = Access { warp: self.warp, lane, pc, kind: AccessKind::Write };
        let (rank, offset, bytes) = (self.at, to.0 as usize, to.1 as usize);
        match group {
            Some(group) => self.shadow.counted.add(access, group, Place { rank, offset }, bytes),
            None => self.shadow.races.arrived(rank, offset, bytes, access),
        }
    }

    /// Announces that an mbarrier counts a lane's copies.
    pub(crate) fn after_counting(&mut self, lane: usize, mbarrier: Place) {
        if self.racing() {
            self.shadow.counted.count(self.warp, lane, mbarrier);
        }
    }
}
