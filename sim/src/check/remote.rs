//! Accesses to the shared memory of other blocks. A block's shared memory exists only until the block exits, so each access must be ordered
//! before the exit (PTX ISA, "Cluster of Cooperative Thread Arrays").

use crate::machine::Cluster;
use crate::machine::bulk::underway_to;
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome, Where};
use crate::shadow::races::{Access, AccessKind};

impl Cluster<'_> {
    /// Records an access by a lane of the executing warp to the shared memory of block `rank`.
    pub(crate) fn visit(&mut self, rank: usize, lane: usize) -> Outcome<()> {
        if rank == self.at || !self.racing() {
            return Ok(());
        }
        let access = Access { warp: self.warp, lane, pc: self.pc, kind: AccessKind::Read };
        self.shadow.races.visit(rank, self.warp, access);
        let Some(end) = self.ctas[rank].shadow.end.at else { return Ok(()) };
        let message =
            format!("shared memory race: an access of block {rank} of the cluster, which has ended");
        self.note(Fault::at(FindingKind::SharedRace, lane, message).with(Some(end)))
    }

    /// Records that the executing warp has exited. The block exits with its last warp.
    pub(crate) fn warp_ends(&mut self) -> Outcome<()> {
        if self.ctas.len() == 1 || !self.racing() {
            return Ok(());
        }
        let rank = self.at;
        let cta = &mut self.ctas[rank];
        self.shadow.races.clocks.release(self.warp, &mut cta.shadow.end.known);
        if cta.live > 0 {
            return Ok(());
        }
        cta.shadow.end.at = Some(Where { warp: self.warp, lane: 0, pc: self.pc });
        let known = &self.ctas[rank].shadow.end.known;
        let visit = self.shadow.races.unordered_visit(rank, known).map(|a| Where {
            warp: a.warp,
            lane: a.lane,
            pc: a.pc,
        });
        let Some(visit) = visit.or_else(|| underway_to(self, rank)) else { return Ok(()) };
        let message = "shared memory race: the block ends, and another block accesses its shared memory with no order \
                       between them";
        self.note(Fault::new(FindingKind::SharedRace, message.to_string()).with(Some(visit)))
    }
}
