//! What clusters that communicate know of each other: happens-before through fences and strong accesses.
//!
//! A strong write (an atomic, `st.volatile`, `st.release` …) releases to its address what its cluster did before its
//! last fence; a strong read of that address acquires it, `ld.relaxed` only with the next fence. Inside a cluster
//! everything counts as ordered: its own barriers are the business of others.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::shadow::global::{Accessor, Manner};

/// Times at which accesses are made; every release advances it.
type Time = u64;

/// For each cluster the time before which its accesses are known.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    /// Known of all clusters.
    floor: Time,
    of: HashMap<u32, Time>,
}

/// Clusters that are kept apart; of more, only the latest time is kept, as if of all.
const MAX_KNOWN: usize = 1 << 12;

impl Knowledge {
    fn learn(&mut self, other: &Knowledge) {
        self.floor = self.floor.max(other.floor);
        for (&cluster, &time) in &other.of {
            self.learn_of(cluster, time);
        }
    }

    fn learn_of(&mut self, cluster: u32, time: Time) {
        if self.of.len() >= MAX_KNOWN {
            self.floor = self.of.drain().map(|(_, time)| time).fold(self.floor, Time::max);
        }
        let known = self.of.entry(cluster).or_insert(0);
        *known = (*known).max(time);
    }

    fn covers(&self, cluster: u32, time: Time) -> bool {
        time < self.floor || self.of.get(&cluster).is_some_and(|&known| time < known)
    }
}

#[derive(Clone, Debug, Default)]
struct Agent {
    known: Knowledge,
    /// Read by relaxed loads since the last fence, which acquires it.
    heard: Knowledge,
    /// Before its last fence.
    fenced: Time,
}

/// What a strong access does at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    No,
    /// What it learns counts from the next fence on.
    Relaxed,
    Yes,
}

/// The order of clusters that take turns.
#[derive(Debug)]
pub(crate) struct Order {
    now: Time,
    agents: Vec<Agent>,
    released: HashMap<u64, Knowledge>,
}

impl Order {
    pub(crate) fn new(clusters: usize) -> Self {
        Self { now: 1, agents: vec![Agent::default(); clusters], released: HashMap::new() }
    }

    /// A fence for the whole device.
    pub(crate) fn fence(&mut self, cluster: u64) {
        self.release(cluster);
        let agent = &mut self.agents[cluster as usize];
        let heard = std::mem::take(&mut agent.heard);
        agent.known.learn(&heard);
    }

    /// What its cluster did so far goes with its next strong writes.
    fn release(&mut self, cluster: u64) {
        self.now += 1;
        self.agents[cluster as usize].fenced = self.now;
    }

    /// A strong access of an address.
    pub(crate) fn strong(&mut self, cluster: u64, address: u64, reads: Reads, writes: bool, release: bool) {
        if let Some(released) = self.released.get(&address) {
            let agent = &mut self.agents[cluster as usize];
            match reads {
                Reads::No => {}
                Reads::Relaxed => agent.heard.learn(released),
                Reads::Yes => agent.known.learn(released),
            }
        }
        if writes {
            if release {
                self.release(cluster);
            }
            let agent = &self.agents[cluster as usize];
            let released = self.released.entry(address).or_default();
            released.learn(&agent.known);
            released.learn_of(cluster as u32, agent.fenced);
        }
    }

    /// Notes an access in its cell, and returns whom it races with.
    pub(crate) fn access(&self, cell: &[AtomicU64; 6], who: Accessor, manner: Manner) -> Option<Accessor> {
        let known = &self.agents[who.cluster() as usize].known;
        let last = |at: usize| (Accessor(cell[at].load(Relaxed)), cell[at + 1].load(Relaxed));
        let foreign = |(other, time): (Accessor, Time)| {
            let unordered = other.cluster() != who.cluster() && !known.covers(other.cluster() as u32, time);
            (other.0 != 0 && unordered).then_some(other)
        };
        let ((plain, wrote), (strong, stored), reader) = (last(0), last(2), last(4));
        // Equal values do no harm; what an atomic leaves depends on what was there.
        let differs = |other: &Accessor| !who.same_value(*other);
        let valued = stored & 1 == 1;
        let plain = || foreign((plain, wrote));
        let strong = || foreign((strong, stored >> 1));
        let found = match manner {
            // What a strong write wrote may be read late.
            Manner::Read => plain(),
            Manner::Write => plain()
                .filter(differs)
                .or_else(|| strong().filter(|other| !valued || differs(other)))
                .or_else(|| foreign(reader)),
            Manner::Strong => plain().filter(differs),
            Manner::Atomic => plain(),
            Manner::Narrow => plain().or_else(strong).or_else(|| foreign(reader)),
        };
        let (at, time) = match manner {
            Manner::Write | Manner::Narrow => (0, self.now),
            Manner::Strong | Manner::Atomic => (2, self.now << 1 | u64::from(manner == Manner::Strong)),
            Manner::Read => (4, self.now),
        };
        cell[at].store(who.0, Relaxed);
        cell[at + 1].store(time, Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> (Order, [AtomicU64; 6]) {
        (Order::new(3), Default::default())
    }

    fn who(cluster: u64) -> Accessor {
        Accessor::new(cluster, 7, 0).writing(cluster as u32)
    }

    #[test]
    fn a_flag_without_a_fence_orders_nothing() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write), None);
        order.strong(0, 64, Reads::Yes, true, false);
        order.strong(1, 64, Reads::Yes, false, false);
        assert_eq!(order.access(&cell, who(1), Manner::Read), Some(who(0)));
    }

    #[test]
    fn a_flag_behind_a_fence_orders_those_who_read_it() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write), None);
        order.fence(0);
        order.strong(0, 64, Reads::No, true, false);
        order.strong(1, 64, Reads::Yes, false, false);
        assert_eq!(order.access(&cell, who(1), Manner::Read), None);
        order.strong(2, 68, Reads::Yes, false, false);
        assert_eq!(order.access(&cell, who(2), Manner::Read), Some(who(0)));
    }

    #[test]
    fn knowledge_is_passed_on() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write), None);
        order.strong(0, 64, Reads::No, true, true);
        order.strong(1, 64, Reads::Yes, false, false);
        order.strong(1, 68, Reads::No, true, true);
        order.strong(2, 68, Reads::Yes, false, false);
        assert_eq!(order.access(&cell, who(2), Manner::Write), None);
    }

    #[test]
    fn atomics_do_not_race_with_each_other() {
        let (order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Atomic), None);
        assert_eq!(order.access(&cell, who(1), Manner::Atomic), None);
        assert_eq!(order.access(&cell, who(2), Manner::Write), Some(who(1)));
    }

    #[test]
    fn an_atomic_does_not_hide_the_plain_write_before_it() {
        let (order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write), None);
        assert_eq!(order.access(&cell, who(0), Manner::Atomic), None);
        assert_eq!(order.access(&cell, who(1), Manner::Atomic), Some(who(0)));
    }

    #[test]
    fn a_relaxed_load_acquires_with_the_next_fence() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write), None);
        order.strong(0, 64, Reads::No, true, true);
        order.strong(1, 64, Reads::Relaxed, false, false);
        assert_eq!(order.access(&cell, who(1), Manner::Read), Some(who(0)));
        order.fence(1);
        assert_eq!(order.access(&cell, who(1), Manner::Read), None);
    }

    #[test]
    fn an_atomic_of_a_block_is_none_for_others() {
        let (order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Narrow), None);
        assert_eq!(order.access(&cell, who(1), Manner::Atomic), Some(who(0)));
    }
}
