//! The sixteen barriers of a block (PTX ISA, "Parallel Synchronization Instructions: bar, barrier").

use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};
use crate::shadow::clocks::{Knowledge, Time};

/// The result of `bar.red` for the threads of a completed phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) popc: u32,
    pub(crate) and: bool,
    pub(crate) or: bool,
}

const EMPTY: Reduction = Reduction { popc: 0, and: true, or: false };

/// One barrier.
#[derive(Clone, Debug)]
pub(crate) struct BarrierState {
    /// The number of threads that have arrived in this phase, and the required number (0 for all threads of the block).
    arrived: u32,
    expected: u32,
    pub(crate) generation: u64,
    reduction: Reduction,
    /// The mask of the warps of the block that have arrived in this phase.
    pub(crate) warps: u32,
    /// The accesses of the threads that have arrived in this phase, and the accesses that these threads follow.
    pub(crate) released: Knowledge,
    /// Completed phases that some threads have not yet observed.
    finished: Vec<Finished>,
}

/// A completed phase.
#[derive(Clone, Debug)]
struct Finished {
    phase: u64,
    reduction: Reduction,
    warps: u32,
    released: Knowledge,
}

impl Default for BarrierState {
    fn default() -> Self {
        Self {
            arrived: 0,
            expected: 0,
            generation: 0,
            reduction: EMPTY,
            warps: 0,
            released: vec![],
            finished: vec![],
        }
    }
}

impl BarrierState {
    /// Records the arrival of threads. `expected` is the thread count of the instruction (0 for all threads), and `all` is the number of
    /// threads in the block. Returns the phase in which the threads arrived and, if their arrival completes a barrier for all threads, the
    /// number of threads.
    pub(crate) fn arrive(
        &mut self,
        threads: u32,
        expected: u32,
        all: u32,
        votes: Option<(u32, u32)>,
    ) -> Outcome<(u64, Option<u32>)> {
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
        Ok((phase, self.check(all)))
    }

    /// Completes the phase if all threads have arrived; `all` is the number of threads for which a barrier without a thread count waits.
    /// Returns the number of threads if the barrier was for all threads.
    pub(crate) fn check(&mut self, all: u32) -> Option<u32> {
        let want = if self.expected == 0 { all } else { self.expected };
        if self.arrived == 0 || self.arrived < want {
            return None;
        }
        let for_all = (self.expected == 0).then_some(self.arrived);
        let (phase, reduction) = (self.generation, self.reduction);
        let released = std::mem::take(&mut self.released);
        let warps = std::mem::take(&mut self.warps);
        self.finished.push(Finished { phase, reduction, warps, released });
        // No thread still waits for a phase this old, because later phases could not have completed without it.
        if self.finished.len() > 64 {
            self.finished.remove(0);
        }
        self.generation += 1;
        self.arrived = 0;
        self.expected = 0;
        self.reduction = EMPTY;
        for_all
    }

    /// Returns the result of a completed phase, and the knowledge of its threads.
    pub(crate) fn result(&self, phase: u64) -> (Reduction, &[Time]) {
        let finished = self.finished.iter().find(|f| f.phase == phase);
        finished.map_or((EMPTY, &[]), |f| (f.reduction, &f.released))
    }

    /// Returns the warps that arrived in the last completed phase, and their knowledge.
    pub(crate) fn last_completed(&mut self) -> Option<(u32, &mut Knowledge)> {
        self.finished.last_mut().map(|finished| (finished.warps, &mut finished.released))
    }

    /// Returns the number of threads that have arrived, and the required number (0 for all threads).
    pub(crate) fn standing(&self) -> (u32, u32) {
        (self.arrived, self.expected)
    }
}

/// The barrier of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterBarrier {
    arrived: u32,
    pub(crate) generation: u64,
    /// The knowledge of the threads that arrived in this phase, and in the last phase.
    pub(crate) released: Knowledge,
    pub(crate) completed: Knowledge,
}

impl ClusterBarrier {
    /// Records the arrival of threads; the phase completes when `all` live threads of the cluster have arrived.
    pub(crate) fn arrive(&mut self, threads: u32, all: u32) -> u64 {
        let phase = self.generation;
        self.arrived += threads;
        self.check(all);
        phase
    }

    pub(crate) fn check(&mut self, all: u32) {
        if self.arrived > 0 && self.arrived >= all {
            self.arrived = 0;
            self.generation += 1;
            self.completed.clone_from(&self.released);
        }
    }
}
