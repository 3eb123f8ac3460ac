//! The checks of every access to shared memory: whether the data was written, and whether the access is ordered.

use crate::check::undefined;
use crate::lanes::{FULL, Lanes64, lanes, mask_of};
use crate::machine::Cluster;
use crate::machine::Shared;
use crate::machine::mbarrier::in_phase;
use crate::program::code::Access;
use crate::program::code::properties::Agent;
use crate::report::Checks;
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome, Where};
use crate::shadow::place::Place;
use crate::shadow::races;
use crate::shadow::races::{AccessKind, Conflict};
use crate::shadow::undefined::Origin;
use crate::shadow::undefined::Partial;

/// The agent that performs a copy to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copier {
    /// `cp.async`.
    Thread,
    /// `st.async` or `red.async`, which copy values from registers.
    Values,
    /// The bulk copy engine, which uses the async proxy.
    Engine,
}

/// A function that returns one byte of the value that a lane is about to write.
pub(crate) type NewBytes<'a> = &'a dyn Fn(usize, usize) -> u8;

impl Cluster<'_> {
    fn checks(&self, checks: Checks) -> bool {
        self.machine.checks.intersects(checks)
    }

    /// Returns whether shared memory is checked for races.
    pub(crate) fn racing(&self) -> bool {
        self.checks(Checks::SHARED_RACES)
    }

    /// Records that the lanes of the executing warp have synchronized.
    pub(crate) fn sync_lanes(&mut self) {
        if self.racing() {
            self.shadow.races.clocks.sync_lanes(self.warp);
        }
    }

    /// Records that the live lanes of `members` have synchronized; `live` is the mask of live lanes.
    pub(crate) fn sync_members(&mut self, members: u32, live: u32) {
        if members & live == live {
            self.sync_lanes();
        } else if self.racing() {
            self.shadow.races.clocks.sync_some_lanes(self.warp, members);
        }
    }

    /// Returns the lanes in which a load reads undefined bits.
    #[inline(always)]
    pub(super) fn partial(&self, rank: usize, all: &Lanes64, bytes: u64, m: u32) -> u32 {
        let written = &self.ctas[rank].shared.written;
        if !self.checks(Checks::UNDEFINED) || written.known_defined(all, bytes as usize) {
            return 0;
        }
        self.find_partial(rank, all, bytes, m)
    }

    fn find_partial(&self, rank: usize, all: &Lanes64, bytes: u64, m: u32) -> u32 {
        let written = &self.ctas[rank].shared.written;
        let is_defined = |address: u64| {
            (0..bytes).step_by(8).all(|i| written.undefined(0, address + i, bytes.min(8)).0 == 0)
        };
        mask_of(|lane| m >> lane & 1 == 1 && !is_defined(all[lane]))
    }

    /// Checks a load of `bytes` bytes by each lane of `m` from block `rank`. The load itself reports out-of-bounds addresses. Undefined
    /// bytes are reported for the lanes of `unfollowed`, whose values are not loaded into registers.
    pub(super) fn check_load(
        &mut self,
        rank: usize,
        all: &Lanes64,
        bytes: usize,
        m: u32,
        unfollowed: u32,
        what: &str,
    ) -> Outcome<()> {
        self.visit(rank, m.trailing_zeros() as usize)?;
        let (warp, pc) = (self.warp, self.pc);
        let limit = u64::from(self.ctas[rank].shared.bytes);
        if self.racing() {
            let words = bytes == 4 && m == FULL && self.shadow.races.by_words();
            let left = if words { self.shadow.races.read_words(rank, all, warp, pc) } else { m };
            for lane in lanes(left).filter(|&lane| all[lane].saturating_add(bytes as u64) <= limit) {
                if let Some(conflict) =
                    self.shadow.races.read(rank, all[lane] as usize, bytes, warp, lane, pc)
                {
                    self.report(conflict, AccessKind::Read, lane, false)?;
                }
            }
        }
        if unfollowed != 0 && self.checks(Checks::UNINITIALIZED_SHARED) {
            let shared = &self.ctas[rank].shared;
            let bad = lanes(unfollowed)
                .filter(|&lane| all[lane].saturating_add(bytes as u64) <= limit)
                .find_map(|lane| shared.initialized(all[lane] as usize, bytes, lane, what).err());
            return bad.map_or(Ok(()), |fault| self.postpone(fault));
        }
        Ok(())
    }

    /// Checks a volatile, relaxed or acquire load, which does not race. Undefined bytes are reported for the lanes of `unfollowed`.
    pub(super) fn check_strong_load(
        &mut self,
        rank: usize,
        all: &Lanes64,
        bytes: usize,
        m: u32,
        unfollowed: u32,
    ) -> Outcome<()> {
        self.visit(rank, m.trailing_zeros() as usize)?;
        if self.checks(Checks::UNINITIALIZED_SHARED) {
            for lane in lanes(unfollowed) {
                if let Err(fault) =
                    self.ctas[rank].shared.initialized(all[lane] as usize, bytes, lane, "a load")
                {
                    self.postpone(fault)?;
                }
            }
        }
        Ok(())
    }

    /// Records a strong access by the lanes of `m` to block `rank` or, with rank 0, to global memory. Reads and writes transfer the
    /// knowledge that fences release; an access that synchronizes is itself a fence.
    pub(super) fn check_strong(
        &mut self,
        access: &Access,
        (rank, all): (usize, &Lanes64),
        m: u32,
        reads: bool,
        writes: bool,
    ) {
        if !self.checks(Checks::SHARED_RACES) {
            return;
        }
        let clocks = &mut self.shadow.races.clocks;
        if access.synchronizes {
            clocks.fence(self.warp);
        }
        let mut last = None;
        for lane in lanes(m) {
            if last.replace(all[lane]) == Some(all[lane]) {
                continue;
            }
            for address in access.words(all[lane]) {
                // Offsets in shared memory are 32-bit, and global memory begins at 2^36.
                clocks.strong(self.warp, (rank as u64) << 32 | address, reads, writes);
            }
        }
        if access.synchronizes {
            clocks.fence(self.warp);
        }
    }

    /// Checks a store of `bytes` bytes by each lane of `m` to block `rank`; `new` returns byte i of a lane's value.
    pub(super) fn check_store(
        &mut self,
        rank: usize,
        all: &Lanes64,
        bytes: usize,
        m: u32,
        kind: AccessKind,
        new: NewBytes<'_>,
    ) -> Outcome<()> {
        self.visit(rank, m.trailing_zeros() as usize)?;
        self.check_objects(rank, all, bytes, m)?;
        if !self.checks(Checks::SHARED_RACES) {
            return Ok(());
        }
        let (warp, pc) = (self.warp, self.pc);
        let words = bytes == 4 && m == FULL && kind == AccessKind::Write && self.shadow.races.by_words();
        let left = if words { self.shadow.races.write_words(rank, all, warp, pc) } else { m };
        for lane in lanes(left) {
            let start = all[lane] as usize;
            if all[lane].saturating_add(bytes as u64) > u64::from(self.ctas[rank].shared.bytes) {
                continue;
            }
            let access = races::Access { warp, lane, pc, kind };
            if let Some(conflict) = self.shadow.races.write(rank, start, bytes, access)
                && !self.harmless(&conflict, rank, (all, bytes), lane, new)
            {
                self.report(conflict, kind, lane, false)?;
            }
        }
        Ok(())
    }

    /// Reports a store that overwrites an mbarrier during a phase.
    fn check_objects(&mut self, rank: usize, all: &Lanes64, bytes: usize, m: u32) -> Outcome<()> {
        if self.shadow.mbarriers.is_empty() {
            return Ok(());
        }
        let hit = |offset: usize| {
            lanes(m).find(|&lane| (all[lane] as usize) < offset + 8 && offset < all[lane] as usize + bytes)
        };
        let (low, high) = lanes(m).fold((u64::MAX, 0), |(low, high), l| (low.min(all[l]), high.max(all[l])));
        let near = |offset: usize| offset + 8 > low as usize && offset < high as usize + bytes;
        let found = self.shadow.mbarriers.keys().filter(|place| place.rank == rank && near(place.offset));
        let found = found.filter(|place| in_phase(self, **place));
        let Some((lane, offset)) = found.filter_map(|place| Some((hit(place.offset)?, place.offset))).min()
        else {
            return Ok(());
        };
        let message = format!(
            "mbarrier misuse: a store overwrites the mbarrier at {offset:#x} in the middle of a phase"
        );
        self.note(Fault::at(FindingKind::MbarrierMisuse, lane, message))
    }

    /// Returns whether two conflicting accesses write the same values.
    fn harmless(
        &self,
        conflict: &Conflict,
        rank: usize,
        (all, bytes): (&Lanes64, usize),
        lane: usize,
        new: NewBytes<'_>,
    ) -> bool {
        let other = conflict.other;
        if !conflict.both_write {
            return false;
        }
        // The lanes of the executing instruction have not stored yet.
        let together = other.warp == self.warp && other.pc == self.pc;
        (conflict.byte..conflict.byte + self.shadow.races.unit()).all(|byte| {
            let within = |lane: usize| byte.checked_sub(all[lane] as usize).filter(|&at| at < bytes);
            let Some(at) = within(lane) else { return true };
            // If the same instruction stored there in an earlier iteration of a loop, the value is already in memory.
            let old = match within(other.lane).filter(|_| together) {
                Some(at) => Some(new(other.lane, at)),
                None => {
                    let word = self.ctas[rank].shared.words.get(byte / 4);
                    word.map(|word| (word >> (8 * (byte % 4))) as u8)
                }
            };
            old == Some(new(lane, at))
        })
    }

    /// Returns whether an access by an instruction requires a proxy fence before an access by an asynchronous engine. Data copied by
    /// `cp.async` does not require one in practice: CUTLASS and Triton only wait and synchronize before `wgmma` reads the data.
    fn wants_proxy_fence(&self, pc: u32) -> bool {
        let instr = self.machine.code.instrs.get(pc as usize);
        instr.is_none_or(|instr| instr.op.properties().agent == Agent::Thread)
    }

    /// Returns the last ordinary write of a range of bytes that no proxy fence orders before asynchronous operations.
    fn unfenced_write(&self, place: Place, bytes: usize) -> Option<races::Access> {
        let requires = |pc| self.wants_proxy_fence(pc);
        let find = || self.shadow.races.unfenced_write(place.rank, place.offset, bytes, self.warp, requires);
        self.checks(Checks::PROXY_FENCES).then(find).flatten()
    }

    /// Returns the last load whose value had not been used when the memory was released, under the same condition as
    /// [`unfenced_write`](Self::unfenced_write).
    fn unfenced_read(&self, place: Place, bytes: usize) -> Option<races::Access> {
        let requires = |pc| self.machine.code.loads_in_flight.get(pc as usize) == Some(&true);
        let find = || self.shadow.races.unfenced_read(place.rank, place.offset, bytes, self.warp, requires);
        self.checks(Checks::PROXY_FENCES).then(find).flatten()
    }

    fn report_missing_fence(
        &mut self,
        place: Place,
        other: races::Access,
        lane: usize,
        does: &str,
    ) -> Outcome<()> {
        if !self.is_news(FindingKind::MissingProxyFence, Some(other.pc)) {
            return Ok(());
        }
        let accessed = if other.kind == AccessKind::Read { "read" } else { "written" };
        let message = format!(
            "missing proxy fence: an asynchronous operation {does} shared address {:#x}, {accessed} by ordinary \
             instructions, with no fence.proxy.async between",
            place.offset
        );
        self.note(Fault::at(FindingKind::MissingProxyFence, lane, message).with(self.place_of(other)))
    }

    /// Checks a read by an asynchronous operation, which lasts until a thread waits for it. The operands of a product are read by the
    /// tensor cores of the warpgroup.
    pub(super) fn check_async_read(
        &mut self,
        place: Place,
        bytes: usize,
        lane: usize,
        product: bool,
    ) -> Outcome<()> {
        if self.checks(Checks::SHARED_RACES) {
            let reader = if product { self.shadow.races.clocks.tensor_cores(self.warp) } else { self.warp };
            let range = (place.rank, place.offset, bytes);
            if let Some(conflict) = self.shadow.races.async_read(range, reader, self.warp, lane, self.pc) {
                return self.report(conflict, AccessKind::AsyncRead, lane, true);
            }
        }
        if let Some(writer) = self.unfenced_write(place, bytes) {
            self.report_missing_fence(place, writer, lane, "reads")?;
        }
        // Undefined values that products read are propagated to the sums instead.
        if !product && self.checks(Checks::UNINITIALIZED_SHARED) {
            let shared = &self.ctas[place.rank].shared;
            if let Err(fault) = shared.initialized(place.offset, bytes, lane, "an asynchronous operation") {
                self.postpone(fault)?;
            }
        }
        Ok(())
    }

    /// Checks a copy to shared memory when it is issued.
    pub(super) fn check_copy(&mut self, place: Place, bytes: usize, lane: usize, by: Copier) -> Outcome<()> {
        let of_ordinary = || self.unfenced_write(place, bytes).or_else(|| self.unfenced_read(place, bytes));
        let unfenced = if by == Copier::Engine { of_ordinary() } else { None };
        if self.checks(Checks::SHARED_RACES) {
            let access = races::Access { warp: self.warp, lane, pc: self.pc, kind: AccessKind::Copy };
            match self.shadow.races.write(place.rank, place.offset, bytes, access) {
                // Reductions are atomic with respect to each other.
                Some(conflict) if self.is_reduction(self.pc) && self.is_reduction(conflict.other.pc) => {}
                Some(conflict) => return self.report(conflict, AccessKind::Copy, lane, by != Copier::Thread),
                None => {}
            }
        }
        match unfenced {
            Some(other) => self.report_missing_fence(place, other, lane, "overwrites"),
            None => Ok(()),
        }
    }

    /// Postpones the finding of an uninitialized value. If a race turns out to be the cause, the race is reported instead; otherwise, this
    /// finding is reported at the end.
    pub(crate) fn postpone(&mut self, fault: Box<Fault>) -> Outcome<()> {
        if !self.checks(Checks::SHARED_RACES) {
            return self.note(fault);
        }
        let (warp, pc) = (self.warp, self.pc);
        self.shadow.postponed.get_or_insert((fault, warp, pc));
        Ok(())
    }

    fn place_of(&self, access: races::Access) -> Option<Where> {
        let warp = self.shadow.races.clocks.spokesman(access.warp);
        Some(Where { warp, lane: access.lane, pc: access.pc })
    }

    /// Returns the agent that accesses memory for the instruction at `pc`.
    fn agent(&self, pc: u32) -> Agent {
        self.machine.code.instrs[pc as usize].op.properties().agent
    }

    fn is_reduction(&self, pc: u32) -> bool {
        self.machine.code.instrs[pc as usize].op.properties().reduces
    }

    /// Reports a conflict with an access of `kind`. If `bulk` is set, an asynchronous engine performs the access.
    #[cold]
    fn report(&mut self, conflict: Conflict, kind: AccessKind, lane: usize, bulk: bool) -> Outcome<()> {
        let other = conflict.other;
        let engine = other.warp == self.shadow.races.clocks.engine();
        let unwaited =
            (other.kind == AccessKind::Copy || engine || other.warp == self.shadow.races.clocks.copier())
                && matches!(kind, AccessKind::Read | AccessKind::AsyncRead);
        let kind_of = match other.kind {
            _ if unwaited => FindingKind::AsyncCopyUnwaited,
            AccessKind::AsyncRead if self.agent(other.pc) == Agent::TensorCores => FindingKind::WgmmaInFlight,
            _ if kind == AccessKind::AsyncRead && self.agent(self.pc) == Agent::TensorCores => {
                FindingKind::WgmmaInFlight
            }
            AccessKind::AsyncRead => FindingKind::AsyncProxyRace,
            _ if bulk || engine || self.agent(other.pc) == Agent::Engine => FindingKind::AsyncProxyRace,
            _ => FindingKind::SharedRace,
        };
        if !self.is_news(kind_of, Some(other.pc)) {
            return Ok(());
        }
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
                "asynchronous copy not waited for: a load of shared address {address:#x} races with a copy in flight"
            ),
            FindingKind::WgmmaInFlight => format!(
                "wgmma in flight: async proxy race at shared address {address:#x}: {} and {} with no order between them",
                verb(kind),
                verb(other.kind)
            ),
            FindingKind::AsyncProxyRace => format!(
                "async proxy race at shared address {address:#x}: {} conflicts with {}",
                verb(kind),
                verb(if engine { AccessKind::Copy } else { other.kind })
            ),
            _ => format!(
                "shared memory race at {address:#x}: {} and {} with no order between them",
                verb(kind),
                if other.kind == AccessKind::Write && self.agent(other.pc) == Agent::Copier {
                    "an asynchronous copy that only its own warp has waited for"
                } else {
                    verb(other.kind)
                }
            ),
        };
        self.note(Fault::at(kind_of, lane, message).with(self.place_of(other)))
    }
}

impl Shared {
    /// Returns a fault if any of the bytes is uninitialized. The bytes must be in bounds.
    pub(crate) fn initialized(&self, start: usize, bytes: usize, lane: usize, what: &str) -> Outcome<()> {
        let need = if bytes < 4 { !(u32::MAX << (8 * bytes)) << (8 * (start & 3)) } else { u32::MAX };
        match self.written.missing(start / 4..(start + bytes).div_ceil(4), need) {
            None => Ok(()),
            Some((word, origin)) => Err(unwritten(start, bytes, word, origin, lane, what)),
        }
    }
}

#[cold]
fn unwritten(
    start: usize,
    bytes: usize,
    word: usize,
    origin: Option<Origin>,
    lane: usize,
    what: &str,
) -> Box<Fault> {
    let at = if bytes < 4 { start } else { 4 * word };
    let reads = format!("{what} of {bytes} bytes at {start:#x} reads {at:#x}, which");
    match origin {
        None => {
            let message = format!("uninitialized shared memory: {reads} no thread has written");
            Fault::at(FindingKind::UninitializedSharedRead, lane, message)
        }
        Some(origin) => {
            Fault::at(origin.kind, lane, undefined::sentence(&origin, &reads)).with(Some(origin.at))
        }
    }
}
