//! Volatile accesses to shared memory by lanes of one warp. Before sm_70, lanes ran in lockstep, and kernels relied on this.

use crate::lanes::{Lanes64, lanes};
use crate::machine::Cluster;
use crate::program::code::{Memory, Op};
use crate::report::fault::{Fault, Outcome, Where};
use crate::report::{Checks, FindingKind};

impl Cluster<'_> {
    fn volatile_races(&self) -> bool {
        self.machine.checks.contains(Checks::SHARED_RACES | Checks::VOLATILE_RACES)
    }

    /// Checks a volatile load of `bytes` bytes by each lane of `m` from block `rank`.
    pub(super) fn check_volatile_load(
        &mut self,
        rank: usize,
        all: &Lanes64,
        bytes: usize,
        m: u32,
    ) -> Outcome<()> {
        if !self.volatile_races() {
            return Ok(());
        }
        let mut found = None;
        for lane in lanes(m) {
            for unit in self.shadow.races.units(all[lane] as usize, bytes) {
                let writer = self.shadow.races.unordered_strong_write(rank, unit, self.warp, lane);
                let writer = writer.filter(|writer| self.is_volatile(writer.pc));
                found = found.or_else(|| Some((lane, "loads", "stores", unit, writer?.lane, writer?.pc)));
                let at = (self.warp, rank, unit);
                self.shadow.volatile_reads.read(&self.shadow.races.clocks, at, lane, self.pc);
            }
        }
        self.volatile_race(found)
    }

    /// Checks a volatile store.
    pub(super) fn check_volatile_store(
        &mut self,
        rank: usize,
        all: &Lanes64,
        bytes: usize,
        m: u32,
    ) -> Outcome<()> {
        if !self.volatile_races() {
            return Ok(());
        }
        let found = lanes(m).find_map(|lane| {
            self.shadow.races.units(all[lane] as usize, bytes).find_map(|unit| {
                let at = (self.warp, rank, unit);
                let (reader, pc) =
                    self.shadow.volatile_reads.unordered(&self.shadow.races.clocks, at, lane)?;
                Some((lane, "stores", "loads", unit, reader, pc))
            })
        });
        self.volatile_race(found)
    }

    fn volatile_race(&mut self, found: Option<(usize, &str, &str, usize, usize, u32)>) -> Outcome<()> {
        let Some((lane, does, did, unit, other, pc)) = found else { return Ok(()) };
        if !self.is_news(FindingKind::VolatileRace, Some(pc)) {
            return Ok(());
        }
        let address = unit * self.shadow.races.unit();
        let message = format!(
            "volatile race at shared address {address:#x}: lane {lane} {does} what lane {other} of its warp {did}, with no bar.warp.sync \
             between; since sm_70 the lanes of a warp do not run in lockstep"
        );
        let other = Where { warp: self.warp, lane: other, pc };
        self.note(Fault::at(FindingKind::VolatileRace, lane, message).with(Some(other)))
    }

    fn is_volatile(&self, pc: u32) -> bool {
        match self.machine.code.instrs.get(pc as usize).map(|instr| &instr.op) {
            Some(Op::Memory(Memory::StR(access, _) | Memory::St(access, _))) => access.is_volatile(),
            _ => false,
        }
    }
}
