//! The sixteen barriers of a block (PTX ISA, "Parallel Synchronization Instructions: bar, barrier").

use super::check::clocks::{Knowledge, Time};
use super::fault::{Fault, Outcome};
use super::report::FindingKind;

/// What the threads of one completed phase are told by `bar.red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reduction {
    pub(super) popc: u32,
    pub(super) and: bool,
    pub(super) or: bool,
}

const EMPTY: Reduction = Reduction { popc: 0, and: true, or: false };

/// One barrier.
#[derive(Clone, Debug)]
pub(super) struct BarrierState {
    /// Threads that have arrived in this phase, and how many it takes; 0 for all of the block.
    arrived: u32,
    expected: u32,
    pub(super) generation: u64,
    reduction: Reduction,
    /// What those who arrived in this phase have done and know.
    pub(super) released: Knowledge,
    /// Completed phases with threads that have not looked yet.
    finished: Vec<Finished>,
}

/// A completed phase.
#[derive(Clone, Debug)]
struct Finished {
    phase: u64,
    reduction: Reduction,
    released: Knowledge,
}

impl Default for BarrierState {
    fn default() -> Self {
        Self { arrived: 0, expected: 0, generation: 0, reduction: EMPTY, released: vec![], finished: vec![] }
    }
}

impl BarrierState {
    /// Some threads arrive: `expected` is what the instruction says (0 for all), `all` the threads of the block.
    /// Returns the phase they arrived in.
    pub(super) fn arrive(
        &mut self,
        threads: u32,
        expected: u32,
        all: u32,
        votes: Option<(u32, u32)>,
    ) -> Outcome<u64> {
        if self.arrived > 0 && self.expected != expected {
            let say = |n: u32| if n == 0 { "all threads".to_string() } else { format!("{n} threads") };
            return Err(Fault::new(
                FindingKind::DivergentBarrier,
                format!(
                    "divergent barrier: {} are expected here, {} by those who already wait, which ends in a deadlock",
                    say(expected),
                    say(self.expected)
                ),
            ));
        }
        self.expected = expected;
        self.arrived += threads;
        if let Some((yes, voters)) = votes {
            self.reduction.popc += yes;
            self.reduction.and &= yes == voters;
            self.reduction.or |= yes > 0;
        }
        let phase = self.generation;
        self.check(all);
        Ok(phase)
    }

    /// Completes the phase if nobody is missing; `all` are the threads that an unnumbered barrier waits for.
    pub(super) fn check(&mut self, all: u32) {
        let want = if self.expected == 0 { all } else { self.expected };
        if self.arrived == 0 || self.arrived < want {
            return;
        }
        let (phase, reduction) = (self.generation, self.reduction);
        let released = std::mem::take(&mut self.released);
        self.finished.push(Finished { phase, reduction, released });
        // Nobody is still waiting for a phase this old: whoever did would have blocked the ones since.
        if self.finished.len() > 64 {
            self.finished.remove(0);
        }
        self.generation += 1;
        self.arrived = 0;
        self.expected = 0;
        self.reduction = EMPTY;
    }

    /// The result of a completed phase, and what its threads knew.
    pub(super) fn result(&self, phase: u64) -> (Reduction, &[Time]) {
        let finished = self.finished.iter().find(|f| f.phase == phase);
        finished.map_or((EMPTY, &[]), |f| (f.reduction, &f.released))
    }

    /// Threads that have arrived, and the number that is waited for (0 for all).
    pub(super) fn standing(&self) -> (u32, u32) {
        (self.arrived, self.expected)
    }
}

/// The barrier of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct ClusterBarrier {
    arrived: u32,
    pub(super) generation: u64,
    /// What those who arrived in this phase know, and in the last one.
    pub(super) released: Knowledge,
    pub(super) completed: Knowledge,
}

impl ClusterBarrier {
    /// Threads arrive; the phase completes when `all` live threads of the cluster have.
    pub(super) fn arrive(&mut self, threads: u32, all: u32) -> u64 {
        let phase = self.generation;
        self.arrived += threads;
        self.check(all);
        phase
    }

    pub(super) fn check(&mut self, all: u32) {
        if self.arrived > 0 && self.arrived >= all {
            self.arrived = 0;
            self.generation += 1;
            self.completed.clone_from(&self.released);
        }
    }
}
