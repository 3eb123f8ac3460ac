//! The happens-before relation between clusters that communicate through fences and strong accesses.
//!
//! A strong write (an atomic, `st.volatile`, `st.release` …) to 4-byte words releases the accesses before its warp's last fence: those of
//! the warp itself, and those of other warps of the cluster that a barrier orders before the write. A strong read of these words acquires
//! the released accesses for the whole cluster. `ld.relaxed` acquires them only with the next fence.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustc_hash::FxHashMap;

use crate::shadow::clocks::Clocks;
use crate::shadow::global::{Accessor, Manner};

/// The global time of all clusters, which every fence advances.
type Time = u64;

/// The time of one cluster's own clocks.
type OwnTime = u32;

/// The number of bits of an own time.
const OWN_BITS: u32 = 28;

/// A warp of a cluster and, if races in shared memory are checked, the clocks that order the warps of the cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside<'c> {
    pub(crate) warp: usize,
    pub(crate) clocks: Option<&'c Clocks>,
}

/// The knowledge about one cluster.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The time of the cluster's last known fence.
    time: Time,
    /// The cluster's own time before which the accesses of all warps are known.
    rest: OwnTime,
    /// The warps (or the bulk copy engine) whose accesses are known up to a later time, with these times.
    more: Vec<(usize, OwnTime)>,
}

impl Known {
    fn of_warp(&self, warp: usize) -> OwnTime {
        let more = self.more.iter().find(|(of, _)| *of == warp);
        more.map_or(self.rest, |&(_, time)| time)
    }

    fn learn(&mut self, other: &Known) {
        self.time = self.time.max(other.time);
        for &(warp, time) in &other.more {
            if time > self.of_warp(warp) {
                self.more.retain(|(of, _)| *of != warp);
                self.more.push((warp, time));
            }
        }
        if other.rest > self.rest {
            self.rest = other.rest;
            self.more.retain(|(_, time)| *time > other.rest);
        }
    }
}

/// The knowledge about each cluster.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    /// The time up to which the accesses of all clusters are known.
    floor: Time,
    of: FxHashMap<u32, Known>,
}

/// The maximum number of clusters that are distinguished. Beyond this number, only the latest time of all clusters is kept.
const MAX_KNOWN: usize = 1 << 12;

/// The maximum number of cells for which several writers of the same value are known.
const MAX_EQUAL: usize = 1 << 16;

impl Knowledge {
    fn learn(&mut self, other: &Knowledge) {
        self.floor = self.floor.max(other.floor);
        for (&cluster, known) in &other.of {
            self.learn_of(cluster, known);
        }
    }

    fn learn_of(&mut self, cluster: u32, known: &Known) {
        if self.of.len() >= MAX_KNOWN {
            self.floor = self.of.drain().map(|(_, known)| known.time).fold(self.floor, Time::max);
        }
        self.of.entry(cluster).or_default().learn(known);
    }

    fn is_nothing(&self) -> bool {
        self.floor == 0 && self.of.is_empty()
    }

    fn covers(&self, other: Accessor, stamp: Stamp) -> bool {
        let known = || self.of.get(&(other.cluster() as u32));
        stamp.time() < self.floor || known().is_some_and(|known| stamp.own() < known.of_warp(other.warp()))
    }

    /// Returns whether any access by a cluster is known.
    fn includes(&self, cluster: u64) -> bool {
        self.floor > 0 || self.of.contains_key(&(cluster as u32))
    }
}

/// The time of an access.
#[derive(Clone, Copy, Debug)]
struct Stamp(u64);

impl Stamp {
    fn time(self) -> Time {
        self.0 >> OWN_BITS
    }

    fn own(self) -> OwnTime {
        (self.0 & ((1 << OWN_BITS) - 1)) as OwnTime
    }
}

#[derive(Clone, Debug, Default)]
struct Agent {
    known: Knowledge,
    /// The knowledge that relaxed loads have read since the last fence and that the next fence acquires.
    heard: Knowledge,
    /// The global time and the own time of the last fence of each warp.
    fenced: Vec<(Time, OwnTime)>,
}

impl Agent {
    /// Returns the knowledge that a strong write of a warp releases.
    fn released(&self, inside: Inside<'_>) -> Option<Known> {
        let time = self.fenced.iter().map(|(time, _)| *time).max()?;
        let Some(clocks) = inside.clocks else {
            let rest = self.fenced.iter().map(|(_, own)| *own).max()?;
            return Some(Known { time, rest, more: vec![] });
        };
        let fenced = |warp: usize| self.fenced.get(warp).map_or(0, |(_, own)| *own);
        let mine = fenced(inside.warp);
        let released = |warp: usize| {
            if warp == inside.warp {
                return mine;
            }
            // The accesses of the other warp are released by a fence of either warp.
            let known = clocks.known(inside.warp, warp);
            let theirs = fenced(warp);
            known.min(mine).max(if theirs <= known { theirs } else { 0 })
        };
        let engine = clocks.engine();
        let agents = (0..clocks.warps()).chain(clocks.has_worked(engine).then_some(engine));
        let rest = agents.clone().map(released).min()?;
        let more = agents.map(|warp| (warp, released(warp))).filter(|(_, own)| *own > rest);
        let more: Vec<_> = more.collect();
        (rest > 0 || !more.is_empty()).then_some(Known { time, rest, more })
    }
}

/// The effect of a strong access at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    No,
    /// A relaxed read. The next fence acquires its knowledge.
    Relaxed,
    Yes,
}

/// The order of clusters that take turns.
#[derive(Debug)]
pub(crate) struct Order {
    now: Time,
    agents: Vec<Agent>,
    /// The released knowledge, by address. Writes that no fence precedes release nothing.
    released: FxHashMap<u64, Knowledge>,
    /// For cells to which several unordered clusters wrote the same value, all writers except the last.
    equal: FxHashMap<usize, Vec<Accessor>>,
}

impl Order {
    pub(crate) fn new(clusters: usize) -> Self {
        let agents = vec![Agent::default(); clusters];
        Self { now: 1, agents, released: FxHashMap::default(), equal: FxHashMap::default() }
    }

    /// Records a fence for the whole device.
    pub(crate) fn fence(&mut self, cluster: u64, inside: Inside<'_>) {
        self.release(cluster, inside);
        let agent = &mut self.agents[cluster as usize];
        let heard = std::mem::take(&mut agent.heard);
        agent.known.learn(&heard);
    }

    /// Records that the next strong writes of the warp release its accesses so far.
    fn release(&mut self, cluster: u64, inside: Inside<'_>) {
        self.now += 1;
        let own = self.own(inside.clocks);
        let fenced = &mut self.agents[cluster as usize].fenced;
        if fenced.len() <= inside.warp {
            fenced.resize(inside.warp + 1, (0, 0));
        }
        fenced[inside.warp] = (self.now, own);
    }

    /// Returns a cluster's own time: the time of its clocks or, without clocks, the global time.
    fn own(&self, clocks: Option<&Clocks>) -> OwnTime {
        clocks.map_or_else(|| self.now.min((1 << OWN_BITS) - 1) as OwnTime, Clocks::now)
    }

    /// Records a strong access to an address.
    pub(crate) fn strong(
        &mut self,
        cluster: u64,
        inside: Inside<'_>,
        address: u64,
        reads: Reads,
        writes: bool,
        release: bool,
    ) {
        if reads != Reads::No
            && !self.released.is_empty()
            && let Some(released) = self.released.get(&address)
        {
            let agent = &mut self.agents[cluster as usize];
            match reads {
                Reads::No => {}
                Reads::Relaxed => agent.heard.learn(released),
                Reads::Yes => agent.known.learn(released),
            }
        }
        if writes {
            if release {
                self.release(cluster, inside);
            }
            let agent = &self.agents[cluster as usize];
            if agent.fenced.is_empty() && agent.known.is_nothing() {
                return;
            }
            let released = self.released.entry(address).or_default();
            released.learn(&agent.known);
            if let Some(known) = agent.released(inside) {
                released.learn_of(cluster as u32, &known);
            }
        }
    }

    /// Records an access in its cell, and returns the access with which it races, if any.
    pub(crate) fn access(
        &mut self,
        cell: &[AtomicU64; 8],
        who: Accessor,
        manner: Manner,
        clocks: Option<&Clocks>,
    ) -> Option<Accessor> {
        // The clocks no longer order accesses, so all accesses would be reported.
        if clocks.is_some_and(Clocks::ended) {
            return None;
        }
        let key = cell.as_ptr() as usize;
        let known = &self.agents[who.cluster() as usize].known;
        let last = |at: usize| (Accessor(cell[at].load(Relaxed)), cell[at + 1].load(Relaxed));
        let foreign = |(other, stamp): (Accessor, u64)| {
            let unordered = other.cluster() != who.cluster() && !known.covers(other, Stamp(stamp));
            (other.0 != 0 && unordered).then_some(other)
        };
        let ((plain, wrote), (strong, stored), (reader, read)) = (last(0), last(2), last(4));
        // Writes of equal values are harmless, but the result of an atomic depends on the previous value.
        let differs = |other: &Accessor| !who.same_value(*other);
        let valued = stored & 1 == 1;
        let plain_by_others = || foreign((plain, wrote));
        let last_strong = || foreign((strong, stored >> 1));
        // A plain read of a location that another cluster updates atomically is assumed to be intentional unless the reader has acquired
        // something from that cluster.
        let awaited = || {
            let [last, earlier] = [(strong, stored), last(6)].map(|(other, stored)| {
                let is_awaited = stored & 1 == 0 && known.includes(other.cluster());
                foreign((other, stored >> 1)).filter(|_| is_awaited)
            });
            last.or(earlier)
        };
        // A cluster may read back what it wrote, even if others write the same value.
        let wrote_equal = |reader: Accessor| {
            let same = |writer: &Accessor| writer.cluster() == reader.cluster() && writer.same_value(plain);
            self.equal.get(&key).is_some_and(|writers| writers.iter().any(same))
        };
        let unlike = |reader: &Accessor| {
            let own = || plain.cluster() == reader.cluster() && read >= wrote || wrote_equal(*reader);
            !(plain.same_value(who) && own())
        };
        let found = match manner {
            Manner::Read => plain_by_others().filter(|_| !wrote_equal(who)).or_else(awaited),
            Manner::Write => plain_by_others()
                .filter(differs)
                .or_else(|| last_strong().filter(|other| !valued || differs(other)))
                .or_else(|| foreign((reader, read)).filter(unlike)),
            Manner::Strong => plain_by_others().filter(differs),
            Manner::Atomic => plain_by_others(),
            Manner::Narrow => plain_by_others().or_else(last_strong).or_else(|| foreign((reader, read))),
        };
        if manner == Manner::Write {
            match plain_by_others() {
                Some(writer) if found.is_none() && self.equal.len() < MAX_EQUAL => {
                    self.equal.entry(key).or_default().push(writer);
                }
                _ if plain.same_value(who) => {}
                _ => {
                    self.equal.remove(&key);
                }
            }
        }
        let stamp = self.now << OWN_BITS | Time::from(self.own(clocks));
        let (at, time) = match manner {
            Manner::Write | Manner::Narrow => (0, stamp),
            Manner::Strong | Manner::Atomic => (2, stamp << 1 | u64::from(manner == Manner::Strong)),
            Manner::Read => (4, stamp),
        };
        if at == 2 && strong.cluster() != who.cluster() {
            cell[6].store(strong.0, Relaxed);
            cell[7].store(stored, Relaxed);
        }
        cell[at].store(who.0, Relaxed);
        cell[at + 1].store(time, Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Inside<'_> = Inside { warp: 0, clocks: None };

    fn order() -> (Order, [AtomicU64; 8]) {
        (Order::new(4), Default::default())
    }

    fn who(cluster: u64) -> Accessor {
        Accessor::new(cluster, 7, 0).writing(cluster as u32)
    }

    #[test]
    fn a_flag_without_a_fence_orders_nothing() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write, None), None);
        order.strong(0, ONE, 64, Reads::Yes, true, false);
        order.strong(1, ONE, 64, Reads::Yes, false, false);
        assert_eq!(order.access(&cell, who(1), Manner::Read, None), Some(who(0)));
    }

    #[test]
    fn a_flag_after_a_fence_orders_its_readers() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write, None), None);
        order.fence(0, ONE);
        order.strong(0, ONE, 64, Reads::No, true, false);
        order.strong(1, ONE, 64, Reads::Yes, false, false);
        assert_eq!(order.access(&cell, who(1), Manner::Read, None), None);
        order.strong(2, ONE, 68, Reads::Yes, false, false);
        assert_eq!(order.access(&cell, who(2), Manner::Read, None), Some(who(0)));
    }

    #[test]
    fn ordering_is_transitive() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write, None), None);
        order.strong(0, ONE, 64, Reads::No, true, true);
        order.strong(1, ONE, 64, Reads::Yes, false, false);
        order.strong(1, ONE, 68, Reads::No, true, true);
        order.strong(2, ONE, 68, Reads::Yes, false, false);
        assert_eq!(order.access(&cell, who(2), Manner::Write, None), None);
    }

    #[test]
    fn atomics_do_not_race_with_each_other() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Atomic, None), None);
        assert_eq!(order.access(&cell, who(1), Manner::Atomic, None), None);
        assert_eq!(order.access(&cell, who(2), Manner::Write, None), Some(who(1)));
    }

    #[test]
    fn an_atomic_does_not_hide_the_preceding_plain_write() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write, None), None);
        assert_eq!(order.access(&cell, who(0), Manner::Atomic, None), None);
        assert_eq!(order.access(&cell, who(1), Manner::Atomic, None), Some(who(0)));
    }

    #[test]
    fn a_relaxed_load_acquires_with_the_next_fence() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Write, None), None);
        order.strong(0, ONE, 64, Reads::No, true, true);
        order.strong(1, ONE, 64, Reads::Relaxed, false, false);
        assert_eq!(order.access(&cell, who(1), Manner::Read, None), Some(who(0)));
        order.fence(1, ONE);
        assert_eq!(order.access(&cell, who(1), Manner::Read, None), None);
    }

    #[test]
    fn clusters_read_back_words_written_by_several_clusters() {
        let (mut order, cell) = order();
        let five = |cluster| Accessor::new(cluster, 7, 0).writing(5);
        for cluster in 0..3 {
            assert_eq!(order.access(&cell, five(cluster), Manner::Write, None), None);
            assert_eq!(order.access(&cell, who(0), Manner::Read, None), None);
        }
        assert_eq!(order.access(&cell, who(3), Manner::Read, None), Some(five(2)));
        assert_eq!(order.access(&cell, five(1), Manner::Write, None), Some(who(3)));
    }

    #[test]
    fn an_atomic_of_block_scope_is_not_atomic_for_other_blocks() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Narrow, None), None);
        assert_eq!(order.access(&cell, who(1), Manner::Atomic, None), Some(who(0)));
    }

    #[test]
    fn a_fence_of_one_warp_releases_another_only_after_a_barrier() {
        let warp = |cluster, warp| Accessor::new(cluster, 7, warp);
        for barrier in [false, true] {
            let (mut order, cell) = order();
            let mut clocks = Clocks::new(1, 2, false);
            clocks.start();
            assert_eq!(order.access(&cell, warp(0, 1), Manner::Atomic, Some(&clocks)), None);
            if barrier {
                let mut object = vec![];
                clocks.release(1, &mut object);
                clocks.acquire(0, &object);
            }
            clocks.fence(0);
            order.fence(0, Inside { warp: 0, clocks: Some(&clocks) });
            order.strong(0, Inside { warp: 0, clocks: Some(&clocks) }, 64, Reads::Yes, true, false);
            order.strong(1, ONE, 64, Reads::Yes, true, false);
            let found = order.access(&cell, warp(1, 0), Manner::Read, None);
            assert_eq!(found, (!barrier).then_some(warp(0, 1)));
        }
    }

    #[test]
    fn an_unordered_read_of_an_atomic_counter_is_not_a_race() {
        let (mut order, cell) = order();
        assert_eq!(order.access(&cell, who(0), Manner::Atomic, None), None);
        assert_eq!(order.access(&cell, who(1), Manner::Atomic, None), None);
        assert_eq!(order.access(&cell, who(1), Manner::Read, None), None);
    }
}
