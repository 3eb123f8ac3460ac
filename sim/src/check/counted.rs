//! `cp.async` copies that an mbarrier counts (PTX ISA, "cp.async.mbarrier.arrive"). They are complete for threads that wait for the
//! mbarrier's phase, and for the issuing thread if it waits for its own copies.

use crate::machine::Cluster;
use crate::shadow::place::Place;
use crate::shadow::races::{Access, AccessKind};

impl Cluster<'_> {
    /// Completes a phase of an mbarrier and the copies that it counts. Returns whether there were any such copies.
    pub(crate) fn complete_counted(&mut self, mbarrier: Place) -> bool {
        let copier = self.shadow.races.clocks.copier();
        let now = self.shadow.races.clocks.now();
        let mut any = false;
        for (&(warp, lane), copies) in &mut self.shadow.counted.threads {
            for copy in copies.extract_if(.., |copy| copy.mbarriers.contains(&mbarrier)) {
                let access = Access { warp, lane, pc: copy.pc, kind: AccessKind::Copy };
                self.shadow.races.settle(copy.to, copy.bytes, access, copier);
                self.shadow.counted.completed.insert(warp, now);
                any = true;
            }
        }
        if any {
            self.shadow.races.clocks.work(copier);
        }
        any
    }

    /// Records that the executing warp has waited for those of its copies that `ready` selects by lane and group. `all` specifies whether
    /// these are all copies of a lane.
    pub(crate) fn wait_counted(&mut self, ready: impl Fn(usize, u32) -> bool, all: bool) {
        let warp = self.warp;
        for (&(_, lane), copies) in self.shadow.counted.threads.iter_mut().filter(|((of, _), _)| *of == warp)
        {
            for copy in copies.extract_if(.., |copy| ready(lane, copy.group)) {
                let access = Access { warp, lane, pc: copy.pc, kind: AccessKind::Copy };
                self.shadow.races.settle(copy.to, copy.bytes, access, warp);
            }
        }
        if let (true, Some(&time)) = (all, self.shadow.counted.completed.get(&warp)) {
            let copier = self.shadow.races.clocks.copier();
            self.shadow.races.clocks.learn(warp, copier, time + 1);
        }
    }
}
