//! Accesses of other blocks' shared memory, which lasts until the block ends (PTX ISA, "Cluster of Cooperative Thread
//! Arrays"): each must be ordered before that end.

use super::clocks::{Knowledge, Time};
use super::races::{Access, AccessKind};
use crate::exec::bulk;
use crate::fault::{Fault, Outcome, Where};
use crate::machine::Cx;
use crate::report::FindingKind;

/// The end of a block.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// What those of its warps that have ended knew.
    known: Knowledge,
    /// The last instruction.
    at: Option<Where>,
}

/// The last access of a block's shared memory by each agent of other blocks.
#[derive(Debug, Default)]
pub(super) struct Visits(Vec<Option<(Time, Access)>>);

impl Visits {
    pub(super) fn start(&mut self, agents: usize) {
        self.0.clear();
        self.0.resize(agents, None);
    }

    pub(super) fn note(&mut self, agent: usize, time: Time, access: Access) {
        self.0[agent] = Some((time, access));
    }

    /// One that is not ordered before what is known.
    pub(super) fn unordered(&self, known: &[Time]) -> Option<Access> {
        let visits = self.0.iter().zip(known);
        visits.filter_map(|(visit, &known)| visit.filter(|(time, _)| *time >= known)).map(|(_, a)| a).next()
    }
}

impl Cx<'_> {
    /// A lane of the executing warp accesses the shared memory of block `rank`.
    pub(crate) fn visit(&mut self, rank: usize, lane: usize) -> Outcome<()> {
        if rank == self.at || !self.racing() {
            return Ok(());
        }
        let access = Access { warp: self.warp, lane, pc: self.pc, kind: AccessKind::Read };
        self.races.visit(rank, self.warp, access);
        let Some(end) = self.ctas[rank].end.at else { return Ok(()) };
        let message =
            format!("shared memory race: an access of block {rank} of the cluster, which has ended");
        self.note(Fault::at(FindingKind::SharedRace, lane, message).with(Some(end)))
    }

    /// The executing warp has ended; with the last one its block ends.
    pub(crate) fn warp_ends(&mut self) -> Outcome<()> {
        if self.ctas.len() == 1 || !self.racing() {
            return Ok(());
        }
        let rank = self.at;
        let cta = &mut self.ctas[rank];
        self.races.clocks.release(self.warp, &mut cta.end.known);
        if cta.live > 0 {
            return Ok(());
        }
        cta.end.at = Some(Where { warp: self.warp, lane: 0, pc: self.pc });
        let known = &self.ctas[rank].end.known;
        let visit =
            self.races.unordered_visit(rank, known).map(|a| Where { warp: a.warp, lane: a.lane, pc: a.pc });
        let Some(visit) = visit.or_else(|| bulk::underway_to(self, rank)) else { return Ok(()) };
        let message = "shared memory race: the block ends, and another block accesses its shared memory with no order \
                       between them";
        self.note(Fault::new(FindingKind::SharedRace, message.to_string()).with(Some(visit)))
    }
}
