//! Records of `cp.async` copies that an mbarrier counts.

use std::collections::HashMap;

use crate::shadow::clocks::Time;
use crate::shadow::place::Place;
use crate::shadow::races::Access;

/// One copy of one thread.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) to: Place,
    pub(crate) bytes: usize,
    pub(crate) pc: u32,
    /// The copy's group, for `cp.async.wait_group`.
    pub(crate) group: u32,
    /// The mbarriers that count the copy.
    pub(crate) mbarriers: Vec<Place>,
}

/// The counted copies of a cluster that no thread can yet have observed to be complete.
#[derive(Debug, Default)]
pub(crate) struct CountedCopies {
    /// The copies, by warp and lane.
    pub(crate) threads: HashMap<(usize, usize), Vec<Copy>>,
    /// The time at which the last copies of each warp completed with a phase.
    pub(crate) completed: HashMap<usize, Time>,
}

impl CountedCopies {
    /// Adds a copy by a lane.
    pub(crate) fn add(&mut self, by: Access, group: u32, to: Place, bytes: usize) {
        let copies = self.threads.entry((by.warp, by.lane)).or_default();
        copies.push(Copy { to, bytes, pc: by.pc, group, mbarriers: vec![] });
    }

    /// Records that an mbarrier counts all copies that the thread has started.
    pub(crate) fn count(&mut self, warp: usize, lane: usize, mbarrier: Place) {
        for copy in self.threads.get_mut(&(warp, lane)).into_iter().flatten() {
            if !copy.mbarriers.contains(&mbarrier) {
                copy.mbarriers.push(mbarrier);
            }
        }
    }
}
