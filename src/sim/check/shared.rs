//! What a checked run asks of every access to shared memory: was it written, and is it ordered?

use super::races::{Access, AccessKind, Conflict};
use crate::sim::exec::lanes::{Lanes64, lanes};
use crate::sim::exec::shared::Place;
use crate::sim::fault::{Fault, Outcome, Where};
use crate::sim::launch::Checks;
use crate::sim::machine::Cx;
use crate::sim::report::FindingKind;

/// The bytes that a lane is about to write.
pub(in crate::sim) type NewBytes<'a> = &'a dyn Fn(usize, usize) -> u8;

impl Cx<'_> {
    fn checks(&self, checks: Checks) -> bool {
        self.machine.checks.intersects(checks)
    }

    /// Whether races in shared memory are looked for.
    pub(in crate::sim) fn racing(&self) -> bool {
        self.checks(Checks::SHARED_RACES)
    }

    /// The lanes of the executing warp have synchronised.
    pub(in crate::sim) fn sync_lanes(&mut self) {
        if self.racing() {
            self.races.clocks.sync_lanes(self.warp);
        }
    }

    /// A load of `bytes` bytes by each lane of `m` from block `rank`. Places out of bounds are left to the load.
    pub(in crate::sim) fn check_load(
        &mut self,
        rank: usize,
        all: &Lanes64,
        bytes: usize,
        m: u32,
        what: &str,
    ) -> Outcome<()> {
        let (warp, pc) = (self.warp, self.pc);
        let limit = u64::from(self.ctas[rank].shared.bytes);
        if self.racing() {
            for lane in lanes(m).filter(|&lane| all[lane].saturating_add(bytes as u64) <= limit) {
                if let Some(conflict) = self.races.read(rank, all[lane] as usize, bytes, warp, lane, pc) {
                    return Err(self.conflict(conflict, AccessKind::Read, lane, false));
                }
            }
        }
        if self.checks(Checks::UNINITIALIZED_SHARED) {
            let shared = &self.ctas[rank].shared;
            let bad = lanes(m)
                .filter(|&lane| all[lane].saturating_add(bytes as u64) <= limit)
                .find_map(|lane| shared.initialised(all[lane] as usize, bytes, lane, what).err());
            return bad.map_or(Ok(()), |fault| self.postpone(fault));
        }
        Ok(())
    }

    /// A volatile, relaxed or acquiring load: it races with nothing, and may learn what others released.
    pub(in crate::sim) fn check_strong_load(
        &mut self,
        rank: usize,
        all: &Lanes64,
        bytes: usize,
        m: u32,
    ) -> Outcome<()> {
        if self.checks(Checks::SHARED_RACES) {
            self.races.clocks.atomic(self.warp);
        }
        if self.checks(Checks::UNINITIALIZED_SHARED) {
            for lane in lanes(m) {
                if let Err(fault) =
                    self.ctas[rank].shared.initialised(all[lane] as usize, bytes, lane, "a load")
                {
                    self.postpone(fault)?;
                }
            }
        }
        Ok(())
    }

    /// A store of `bytes` bytes by each lane of `m` to block `rank`; `new` gives byte i of a lane's value.
    pub(in crate::sim) fn check_store(
        &mut self,
        rank: usize,
        all: &Lanes64,
        bytes: usize,
        m: u32,
        kind: AccessKind,
        new: NewBytes<'_>,
    ) -> Outcome<()> {
        if !self.checks(Checks::SHARED_RACES) {
            return Ok(());
        }
        let (warp, pc) = (self.warp, self.pc);
        for lane in lanes(m) {
            let start = all[lane] as usize;
            if all[lane].saturating_add(bytes as u64) > u64::from(self.ctas[rank].shared.bytes) {
                continue;
            }
            let access = Access { warp, lane, pc, kind };
            if let Some(conflict) = self.races.write(rank, start, bytes, access)
                && !self.harmless(&conflict, rank, all, lane, new)
            {
                return Err(self.conflict(conflict, kind, lane, false));
            }
        }
        if kind == AccessKind::Atomic {
            self.races.clocks.atomic(self.warp);
        }
        Ok(())
    }

    /// Whether both write the same bytes.
    fn harmless(
        &self,
        conflict: &Conflict,
        rank: usize,
        all: &Lanes64,
        lane: usize,
        new: NewBytes<'_>,
    ) -> bool {
        let other = conflict.other;
        if !conflict.both_write {
            return false;
        }
        // Lanes of one instruction have not stored yet.
        let together = other.warp == self.warp && other.pc == self.pc;
        (conflict.byte..conflict.byte + self.races.unit()).all(|byte| {
            let Some(at) = byte.checked_sub(all[lane] as usize) else { return true };
            let old = if together {
                byte.checked_sub(all[other.lane] as usize).map(|at| new(other.lane, at))
            } else {
                let word = self.ctas[rank].shared.words.get(byte / 4);
                word.map(|word| (word >> (8 * (byte % 4))) as u8)
            };
            old == Some(new(lane, at))
        })
    }

    /// A read by an asynchronous engine, which goes on until it is waited for; true if it must be told the end.
    pub(in crate::sim) fn check_async_read(
        &mut self,
        place: Place,
        bytes: usize,
        lane: usize,
    ) -> Outcome<()> {
        if self.checks(Checks::PROXY_FENCES)
            && let Some(writer) = self.races.unfenced(place.rank, place.offset, bytes, self.warp)
        {
            let message = format!(
                "missing proxy fence: an asynchronous operation reads shared address {:#x}, written by ordinary \
                 instructions, with no fence.proxy.async between",
                place.offset
            );
            let fault = Fault::at(FindingKind::MissingProxyFence, lane, message);
            return Err(fault.with(self.place_of(writer)));
        }
        if self.checks(Checks::SHARED_RACES)
            && let Some(conflict) = self.races.async_read(place.rank, place.offset, bytes, self.warp, self.pc)
        {
            return Err(self.conflict(conflict, AccessKind::AsyncRead, lane, true));
        }
        if self.checks(Checks::UNINITIALIZED_SHARED) {
            let shared = &self.ctas[place.rank].shared;
            if let Err(fault) = shared.initialised(place.offset, bytes, lane, "an asynchronous operation") {
                self.postpone(fault)?;
            }
        }
        Ok(())
    }

    /// A copy on its way to shared memory.
    pub(in crate::sim) fn check_copy(
        &mut self,
        place: Place,
        bytes: usize,
        lane: usize,
        bulk: bool,
    ) -> Outcome<()> {
        if !self.checks(Checks::SHARED_RACES) {
            return Ok(());
        }
        let access = Access { warp: self.warp, lane, pc: self.pc, kind: AccessKind::Copy };
        match self.races.write(place.rank, place.offset, bytes, access) {
            Some(conflict) => Err(self.conflict(conflict, AccessKind::Copy, lane, bulk)),
            None => Ok(()),
        }
    }

    /// A value nobody wrote. A race may turn out to be the cause: then that is reported, else this at the end.
    pub(in crate::sim) fn postpone(&mut self, fault: Box<Fault>) -> Outcome<()> {
        if !self.checks(Checks::SHARED_RACES) {
            return Err(fault);
        }
        let (warp, pc) = (self.warp, self.pc);
        self.postponed.get_or_insert((fault, warp, pc));
        Ok(())
    }

    fn place_of(&self, access: Access) -> Option<Where> {
        Some(Where { warp: access.warp, lane: access.lane, pc: access.pc })
    }

    #[cold]
    fn conflict(&self, conflict: Conflict, kind: AccessKind, lane: usize, bulk: bool) -> Box<Fault> {
        let other = conflict.other;
        let engine = other.warp == self.races.clocks.engine();
        let unwaited = (other.kind == AccessKind::Copy || engine) && kind == AccessKind::Read;
        let kind_of = match other.kind {
            _ if unwaited => FindingKind::AsyncCopyUnwaited,
            AccessKind::AsyncRead => FindingKind::AsyncProxyRace,
            _ if bulk || engine => FindingKind::AsyncProxyRace,
            _ => FindingKind::SharedRace,
        };
        let verb = |kind: AccessKind| match kind {
            AccessKind::Read => "a load",
            AccessKind::Write => "a store",
            AccessKind::Atomic => "an atomic",
            AccessKind::Copy => "an asynchronous copy",
            AccessKind::AsyncRead => "a read by an asynchronous operation",
        };
        let address = conflict.byte;
        let message = match kind_of {
            FindingKind::AsyncCopyUnwaited => format!(
                "asynchronous copy not waited for: a load of shared address {address:#x} while a copy to it is in flight"
            ),
            FindingKind::AsyncProxyRace => format!(
                "async proxy race at shared address {address:#x}: {} conflicts with {}",
                verb(kind),
                verb(if engine { AccessKind::Copy } else { other.kind })
            ),
            _ => format!(
                "shared memory race at {address:#x}: {} and {} with no order between them",
                verb(kind),
                verb(other.kind)
            ),
        };
        Fault::at(kind_of, lane, message).with(self.place_of(other))
    }
}
