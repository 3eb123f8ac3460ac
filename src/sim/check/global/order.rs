//! What clusters that communicate know of each other: happens-before through fences and strong accesses.
//!
//! A strong write (an atomic, `st.volatile`, `st.release` …) releases to its address what its cluster did before its
//! last fence; a strong read of that address acquires it. Inside a cluster everything counts as ordered: its own
//! barriers are the business of others.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Accessor, Manner};

/// Times at which accesses are made; every release advances it.
type Time = u64;

/// For each cluster the time before which its accesses are known.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    /// Known of everybody.
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
    /// Before its last fence.
    fenced: Time,
}

/// The order of clusters that take turns.
#[derive(Debug)]
pub(in crate::sim) struct Order {
    now: Time,
    agents: Vec<Agent>,
    released: HashMap<u64, Knowledge>,
}

impl Order {
    pub(super) fn new(clusters: usize) -> Self {
        Self { now: 1, agents: vec![Agent::default(); clusters], released: HashMap::new() }
    }

    /// A fence for the whole device.
    pub(in crate::sim) fn fence(&mut self, cluster: u64) {
        self.now += 1;
        self.agents[cluster as usize].fenced = self.now;
    }

    /// A strong access of an address.
    pub(in crate::sim) fn strong(
        &mut self,
        cluster: u64,
        address: u64,
        reads: bool,
        writes: bool,
        release: bool,
    ) {
        if reads && let Some(released) = self.released.get(&address) {
            self.agents[cluster as usize].known.learn(released);
        }
        if writes {
            if release {
                self.fence(cluster);
            }
            let agent = &self.agents[cluster as usize];
            let released = self.released.entry(address).or_default();
            released.learn(&agent.known);
            released.learn_of(cluster as u32, agent.fenced);
        }
    }

    /// Notes an access in its cell, and returns whom it races with.
    pub(super) fn access(&self, cell: &[AtomicU64; 4], who: Accessor, manner: Manner) -> Option<Accessor> {
        let [writer, reader] = [0, 2].map(|at| Accessor(cell[at].load(Relaxed)));
        let known = &self.agents[who.cluster() as usize].known;
        let foreign = |other: Accessor, time: Time| {
            other.0 != 0 && other.cluster() != who.cluster() && !known.covers(other.cluster() as u32, time)
        };
        let written = cell[1].load(Relaxed);
        let atomic = written & 1 == 1;
        // What an atomic wrote may be read late; equal values do no harm.
        let harmless = match manner {
            Manner::Read => atomic,
            Manner::Write => who.same_value(writer),
            Manner::Atomic => atomic,
        };
        let mut found = (!harmless && foreign(writer, written >> 1)).then_some(writer);
        if manner == Manner::Read {
            cell[2].store(who.0, Relaxed);
            cell[3].store(self.now, Relaxed);
            return found;
        }
        if manner == Manner::Write && foreign(reader, cell[3].load(Relaxed)) {
            found = found.or(Some(reader));
        }
        cell[0].store(who.0, Relaxed);
        cell[1].store(self.now << 1 | u64::from(manner == Manner::Atomic), Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> (Order, [AtomicU64; 4]) {
        (Order::new(3), Default::default())
    }

    fn who(cluster: u64) -> Accessor {
        Accessor::new(cluster, 7, 0).writing(cluster as u32)
    }

    #[test]
    fn a_flag_without_a_fence_orders_nothing() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write), None);
        order.strong(0, 64, true, true, false);
        order.strong(1, 64, true, false, false);
        assert_eq!(order.access(&cell, who(1), Manner::Read), Some(who(0)));
    }

    #[test]
    fn a_flag_behind_a_fence_orders_those_who_read_it() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write), None);
        order.fence(0);
        order.strong(0, 64, false, true, false);
        order.strong(1, 64, true, false, false);
        assert_eq!(order.access(&cell, who(1), Manner::Read), None);
        order.strong(2, 68, true, false, false);
        assert_eq!(order.access(&cell, who(2), Manner::Read), Some(who(0)));
    }

    #[test]
    fn knowledge_is_passed_on() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write), None);
        order.strong(0, 64, false, true, true);
        order.strong(1, 64, true, false, false);
        order.strong(1, 68, false, true, true);
        order.strong(2, 68, true, false, false);
        assert_eq!(order.access(&cell, who(2), Manner::Write), None);
    }

    #[test]
    fn atomics_do_not_race_with_each_other() {
        let (order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Atomic), None);
        assert_eq!(order.access(&cell, who(1), Manner::Atomic), None);
        assert_eq!(order.access(&cell, who(2), Manner::Write), Some(who(1)));
    }
}
