//! Copies of `cp.async` that an mbarrier counts (PTX ISA, "cp.async.mbarrier.arrive"): they are complete for those who wait
//! for the mbarrier's phase, and for the thread that waits for its own copies.

use std::collections::HashMap;

use super::clocks::Time;
use super::races::{Access, AccessKind};
use crate::exec::shared::Place;
use crate::machine::Cx;

/// One copy of one thread.
#[derive(Debug)]
struct Copy {
    to: Place,
    bytes: usize,
    pc: u32,
    /// Its group, for `cp.async.wait_group`.
    group: u32,
    /// The mbarriers that count it.
    mbarriers: Vec<Place>,
}

/// The counted copies of a cluster that nobody could have waited for yet.
#[derive(Debug, Default)]
pub(crate) struct CountedCopies {
    /// By warp and lane.
    threads: HashMap<(usize, usize), Vec<Copy>>,
    /// When the last copies of each warp completed with a phase.
    completed: HashMap<usize, Time>,
}

impl CountedCopies {
    pub(crate) fn clear(&mut self) {
        self.threads.clear();
        self.completed.clear();
    }

    /// A copy that a lane made.
    pub(crate) fn add(&mut self, by: Access, group: u32, to: Place, bytes: usize) {
        let copies = self.threads.entry((by.warp, by.lane)).or_default();
        copies.push(Copy { to, bytes, pc: by.pc, group, mbarriers: vec![] });
    }

    /// From now on an mbarrier counts all that the thread has copied.
    pub(crate) fn count(&mut self, warp: usize, lane: usize, mbarrier: Place) {
        for copy in self.threads.get_mut(&(warp, lane)).into_iter().flatten() {
            if !copy.mbarriers.contains(&mbarrier) {
                copy.mbarriers.push(mbarrier);
            }
        }
    }
}

impl Cx<'_> {
    /// A phase of an mbarrier completes, and with it the copies that it counts; true if there are any.
    pub(crate) fn complete_counted(&mut self, mbarrier: Place) -> bool {
        let copier = self.races.clocks.copier();
        let now = self.races.clocks.now();
        let mut any = false;
        for (&(warp, lane), copies) in &mut self.counted.threads {
            for copy in copies.extract_if(.., |copy| copy.mbarriers.contains(&mbarrier)) {
                let access = Access { warp, lane, pc: copy.pc, kind: AccessKind::Copy };
                self.races.settle(copy.to, copy.bytes, access, copier);
                self.counted.completed.insert(warp, now);
                any = true;
            }
        }
        if any {
            self.races.clocks.work(copier);
        }
        any
    }

    /// The executing warp has waited for those copies of its own for which `ready` holds, of lane and group; `all` if those are
    /// all of some lane.
    pub(crate) fn wait_counted(&mut self, ready: impl Fn(usize, u32) -> bool, all: bool) {
        let warp = self.warp;
        for (&(_, lane), copies) in self.counted.threads.iter_mut().filter(|((of, _), _)| *of == warp) {
            for copy in copies.extract_if(.., |copy| ready(lane, copy.group)) {
                let access = Access { warp, lane, pc: copy.pc, kind: AccessKind::Copy };
                self.races.settle(copy.to, copy.bytes, access, warp);
            }
        }
        if let (true, Some(&time)) = (all, self.counted.completed.get(&warp)) {
            let copier = self.races.clocks.copier();
            self.races.clocks.learn(warp, copier, time + 1);
        }
    }
}
