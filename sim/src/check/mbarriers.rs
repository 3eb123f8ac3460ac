//! The order that mbarriers establish. Instructions announce each use of an mbarrier here.

use crate::machine::Cluster;
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome, Where};
use crate::shadow::mbarrier::Passing;
use crate::shadow::place::Place;
use crate::shadow::races::{Access, AccessKind};

impl Cluster<'_> {
    /// Returns whether an address contains an mbarrier.
    pub(crate) fn is_mbarrier(&self, place: Place) -> bool {
        self.shadow.mbarriers.contains_key(&place)
    }

    /// Announces the initialization of an mbarrier.
    pub(crate) fn after_mbarrier_init(&mut self, place: Place, lane: usize) {
        let access = Access { warp: self.warp, lane, pc: self.pc, kind: AccessKind::Write };
        let init = self.racing().then(|| (access, self.shadow.races.clocks.now()));
        self.shadow.mbarriers.insert(place, Passing { init, ..Passing::default() });
    }

    /// Announces the invalidation of an mbarrier.
    pub(crate) fn after_mbarrier_inval(&mut self, place: Place) {
        self.shadow.mbarriers.remove(&place);
    }

    /// Announces the use of an mbarrier by a lane, which must be ordered after its initialization.
    pub(crate) fn before_mbarrier_use(&mut self, place: Place, lane: usize) -> Outcome<()> {
        let passing = self.shadow.mbarriers.get(&place);
        let Some((init, time)) = passing.and_then(|passing| passing.init) else { return Ok(()) };
        if self.shadow.races.clocks.ordered((init.warp, init.lane), time, (self.warp, lane)) {
            return Ok(());
        }
        let message = format!(
            "mbarrier misuse: nothing orders this use of the mbarrier at {:#x} after its initialization",
            place.offset
        );
        let fault = Fault::at(FindingKind::MbarrierMisuse, lane, message);
        self.note(fault.with(Some(Where { warp: init.warp, lane: init.lane, pc: init.pc })))
    }

    /// Announces an arrival by the executing warp or the copy engine; `completes` specifies whether the arrival completes the phase.
    pub(crate) fn after_mbarrier_arrival(&mut self, place: Place, engine: bool, completes: bool) {
        if !self.racing() {
            return;
        }
        let copies = completes && self.complete_counted(place);
        let clocks = &mut self.shadow.races.clocks;
        let passing = self.shadow.mbarriers.entry(place).or_default();
        if copies {
            let copier = clocks.copier();
            clocks.release_engine(copier, &mut passing.released);
        }
        if engine {
            let engine = clocks.engine();
            clocks.release_engine(engine, &mut passing.released);
        } else {
            clocks.release(self.warp, &mut passing.released);
        }
        if completes {
            passing.completed.clone_from(&passing.released);
        }
    }

    /// Announces that the executing warp has observed the completion of a phase.
    pub(crate) fn after_mbarrier_wait(&mut self, place: Place) {
        if let (true, Some(passing)) = (self.racing(), self.shadow.mbarriers.get(&place)) {
            self.shadow.races.clocks.acquire(self.warp, &passing.completed);
        }
    }
}
