//! A cluster of blocks (usually one block), which one host thread runs from beginning to end.

mod stuck;

use crate::exec::bulk;
use crate::machine::printed::Printed;
use crate::machine::warp::Warp;
use crate::machine::{Cluster, Machine};
use crate::program::module::Module;
use crate::report::fault::{Fault, Outcome};
use crate::report::{Counts, Finding, FindingKind, Site};
use crate::schedule::random::Random;
use crate::schedule::run::{Faulted, Stop, run};
use crate::schedule::spin;
use crate::schedule::spin::Spin;

/// The minimum number of instructions in a turn of a polling warp. Shorter turns may not reach the polling instruction.
const LOOK: u64 = 64;

/// The number of instructions that a warp executes in one turn.
const TURN: u64 = 2048;

/// The number of rounds without a change to memory before the check for progress. The number doubles after each check.
const QUIET_ROUNDS: u32 = 256;

/// The number of rounds without progress after which warps that poll memory are assumed to wait forever, even if they count their
/// iterations.
const IDLE_ROUNDS: u32 = 1 << 15;

/// A cluster being executed.
pub(crate) struct ClusterRun<'a> {
    cluster: Cluster<'a>,
    warps: Vec<Warp>,
    /// The number of consecutive rounds in which every warp waited or polled and nothing changed.
    idle_rounds: u32,
    /// The number of consecutive rounds in which memory did not change, and the number of such rounds after which to search for endless
    /// loops.
    quiet_rounds: u32,
    search_at: u32,
    /// The number of changes to memory by all clusters when this cluster last checked.
    changes: u64,
    /// The result of the search for each warp, once a search has found that no loop can end.
    spins: Vec<Spin>,
    /// The random number generator that chooses the next warp, if a seed is set.
    random: Option<Random>,
    /// Findings that did not end the run.
    findings: Vec<Finding>,
    notes: Vec<Finding>,
}

/// The progress of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Finished,
    /// At least one warp executed an instruction.
    Moved,
    /// No warp could execute an instruction, or all warps have been waiting without success for a long time.
    Stuck,
}

impl<'a> ClusterRun<'a> {
    pub(crate) fn new(machine: &'a Machine<'a>) -> Self {
        Self {
            cluster: Cluster::new(machine),
            warps: vec![],
            idle_rounds: 0,
            quiet_rounds: 0,
            search_at: QUIET_ROUNDS,
            changes: 0,
            spins: vec![],
            random: None,
            findings: vec![],
            notes: vec![],
        }
    }

    /// Prepares to run cluster `number`, reusing allocated memory.
    pub(crate) fn start(&mut self, number: u64) {
        let machine = self.cluster.machine;
        self.cluster.start(number);
        self.noticed();
        self.random = machine.seed.map(|seed| Random::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        self.findings.clear();
        self.notes.clear();
        let warps = machine.warps();
        self.warps.resize_with(self.cluster.ctas.len() * warps as usize, Warp::default);
        for (i, warp) in self.warps.iter_mut().enumerate() {
            let (rank, index) = (i / warps as usize, i as u32 % warps);
            warp.start(machine, &self.cluster.ctas[rank], rank, index);
        }
    }

    /// Runs one turn of every warp. `changes` counts the changes to memory by all clusters that take turns.
    pub(crate) fn round(&mut self, module: &Module, changes: &mut u64) -> Result<Progress, Box<Finding>> {
        let mut progress = Progress::Finished;
        let events = self.cluster.events;
        if self.changes != *changes {
            self.noticed();
        }
        let (mut idle, mut waited) = (true, 1);
        let count = self.warps.len();
        let first = self.random.as_mut().map_or(0, |random| random.below(count as u64) as usize);
        for i in (first..count).chain(0..first) {
            let warp = &mut self.warps[i];
            if warp.live == 0 {
                continue;
            }
            let turn = match &mut self.random {
                Some(random) => 1 << random.below(12),
                None => TURN,
            };
            self.cluster.at = warp.cta;
            let before = self.cluster.clock;
            let stop = if self.cluster.machine.is_unwatched() {
                run::<false>(&mut self.cluster, warp, turn)
            } else {
                run::<true>(&mut self.cluster, warp, turn)
            };
            let stop = match stop {
                Ok(stop) => stop,
                Err(faulted) => {
                    self.tell(module);
                    return Err(self.explained(module, i, &faulted));
                }
            };
            let warp = &self.warps[i];
            idle &= match stop {
                Stop::Turn => {
                    waited = waited.max((turn / LOOK) as u32);
                    // Turns that are too short to poll are inconclusive, and count as idle.
                    warp.polled || turn < LOOK
                }
                Stop::Yielded | Stop::Blocked => true,
                Stop::Finished => false,
            };
            let moved = self.cluster.clock > before;
            if moved {
                progress = Progress::Moved;
            } else if progress == Progress::Finished && warp.live != 0 {
                progress = Progress::Stuck;
            }
            self.tell(module);
            self.copies(module, i, bulk::pump)?;
        }
        if self.cluster.clock > self.cluster.machine.step_limit {
            return Err(self.step_limit(module));
        }
        let changed = self.cluster.events != events;
        *changes += u64::from(changed);
        self.changes = *changes;
        self.idle_rounds = if idle && !changed { self.idle_rounds + waited } else { 0 };
        if changed {
            self.noticed();
        } else {
            self.quiet_rounds += waited;
        }
        if self.warps.iter().all(|w| w.live == 0) {
            self.copies(module, 0, bulk::finish)?;
            return match self.postponed(module) {
                Some(finding) if self.cluster.machine.keep_going == 0 => Err(finding),
                Some(finding) => {
                    self.findings.push(*finding);
                    Ok(Progress::Finished)
                }
                None => Ok(Progress::Finished),
            };
        }
        if progress == Progress::Moved {
            if self.quiet_rounds >= self.search_at && self.spins.is_empty() {
                self.search_at = 2 * self.quiet_rounds;
                self.search(module, u64::from(self.quiet_rounds), false)?;
            }
            if !self.spins.is_empty() {
                return Ok(Progress::Stuck);
            }
            if self.idle_rounds > IDLE_ROUNDS {
                self.search(module, u64::from(QUIET_ROUNDS), true)?;
                return Ok(Progress::Stuck);
            }
        }
        Ok(progress)
    }

    /// Records that memory has changed, so that waiting warps may continue.
    fn noticed(&mut self) {
        self.idle_rounds = 0;
        self.quiet_rounds = 0;
        self.search_at = QUIET_ROUNDS;
        self.spins.clear();
    }

    /// Searches every warp for endless loops, and records the results if no warp can continue or `anyway` is set.
    fn search(&mut self, module: &Module, steps: u64, anyway: bool) -> Result<(), Box<Finding>> {
        let mut spins = vec![];
        for i in 0..self.warps.len() {
            let warp = &mut self.warps[i];
            self.cluster.at = warp.cta;
            let spin = spin::search(&mut self.cluster, warp, steps);
            self.tell(module);
            let spin = spin.map_err(|faulted| self.explained(module, i, &faulted))?;
            if !spin.endless && !anyway {
                return Ok(());
            }
            spins.push(spin);
        }
        self.spins = spins;
        Ok(())
    }

    /// Returns the finding that explains a fault. An uninitialized read explains later faults; a race explains both.
    fn explained(&mut self, module: &Module, warp: usize, faulted: &Faulted) -> Box<Finding> {
        let finding = self.finding(module, warp, faulted);
        if faulted.0.other.is_some() {
            return finding;
        }
        match self.postponed(module) {
            Some(earlier) if self.cluster.machine.keep_going == 0 => earlier,
            Some(earlier) => {
                self.findings.push(*earlier);
                finding
            }
            None => finding,
        }
    }

    /// Returns the first read of uninitialized shared memory, if no later finding explains it.
    fn postponed(&mut self, module: &Module) -> Option<Box<Finding>> {
        let (fault, warp, pc) = self.cluster.shadow.postponed.take()?;
        Some(self.finding(module, warp, &(fault, pc)))
    }

    /// Executes asynchronous copies. Their faults are attributed to warp `i`.
    fn copies<T>(
        &mut self,
        module: &Module,
        i: usize,
        f: impl FnOnce(&mut Cluster<'a>) -> Outcome<T>,
    ) -> Result<(), Box<Finding>> {
        match f(&mut self.cluster) {
            Ok(_) => Ok(()),
            Err(fault) => {
                let pc = self.warps[i].groups.first().map_or(0, |g| g.pc);
                Err(self.finding(module, i, &(fault, pc)))
            }
        }
    }

    /// Runs the cluster to its end, or until no warp can continue.
    pub(crate) fn run(&mut self, module: &Module) -> Result<Progress, Box<Finding>> {
        let mut changes = 0;
        self.noticed();
        loop {
            let progress = self.round(module, &mut changes)?;
            if progress != Progress::Moved {
                return Ok(progress);
            }
        }
    }

    /// Returns whether a loop waits for a value that another cluster may store to global memory.
    pub(crate) fn looks_at_global(&self) -> bool {
        self.spins.iter().any(|spin| spin.looks_at_global(self.cluster.machine.code))
    }

    /// Returns the index of the cluster in the grid.
    pub(crate) fn number(&self) -> u64 {
        self.cluster.number
    }

    /// Returns the number of events for which other clusters may be waiting.
    pub(crate) fn events(&self) -> u64 {
        self.cluster.events
    }

    /// Takes the output of device-side `printf`.
    pub(crate) fn take_printed(&mut self) -> Printed {
        std::mem::take(&mut self.cluster.printed)
    }

    /// Returns the number of warp instructions executed since the cluster started.
    pub(crate) fn warp_instructions(&self) -> u64 {
        self.cluster.clock
    }

    /// Exchanges the counts by instruction with `profile`, which is shared by clusters that take turns.
    pub(crate) fn swap_profile(&mut self, profile: &mut Vec<Counts>) {
        std::mem::swap(&mut self.cluster.profile, profile);
    }

    /// Returns whether there is output, a finding or a note.
    pub(crate) fn has_news(&self) -> bool {
        !self.cluster.printed.is_empty() || !self.findings.is_empty() || !self.notes.is_empty()
    }

    /// Returns the findings that did not end the run.
    pub(crate) fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    pub(crate) fn take_notes(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.notes)
    }

    /// Converts the violations noted during execution into findings, one per kind and instruction (or pair of instructions).
    fn tell(&mut self, module: &Module) {
        for (fault, warp, pc) in std::mem::take(&mut self.cluster.noted) {
            let finding = self.finding(module, warp, &(fault, pc));
            let list = if finding.kind.is_note() { &mut self.notes } else { &mut self.findings };
            let has_room = finding.kind.is_note() || list.len() < self.cluster.machine.keep_going;
            if has_room && !finding.is_in(list) {
                list.push(*finding);
            }
        }
    }

    fn site(&self, module: &Module, warp: usize, pc: u32, lane: Option<usize>) -> Site {
        let warp = &self.warps[warp];
        self.cluster.machine.site(module, self.cluster.ctas[warp.cta].id, warp.index, pc, lane)
    }

    fn finding(&self, module: &Module, warp: usize, (fault, pc): &Faulted) -> Box<Finding> {
        let (warp, pc, lane) = match fault.site {
            Some(site) => (site.warp, site.pc, Some(site.lane)),
            None => (warp, *pc, fault.lane),
        };
        Box::new(Finding {
            kind: fault.kind,
            message: fault.message.clone(),
            site: self.site(module, warp, pc, lane),
            other: match (fault.other, fault.elsewhere) {
                (Some(other), _) => {
                    let lane = (other.warp < self.warps.len()).then_some(other.lane);
                    Some(self.site(module, other.warp.min(self.warps.len() - 1), other.pc, lane))
                }
                (None, place) => place.map(|place| self.cluster.machine.site_of(module, place)),
            },
            notes: vec![],
        })
    }

    fn step_limit(&self, module: &Module) -> Box<Finding> {
        let limit = self.cluster.machine.step_limit;
        let message = format!(
            "step limit: a block executed more than {limit} warp instructions; the notes tell where each warp stands"
        );
        let warp = self.warps.iter().position(|w| w.live != 0).unwrap_or(0);
        let pc = self.warps[warp].groups.first().map_or(0, |g| g.pc);
        let mut finding = self.finding(module, warp, &(Fault::new(FindingKind::StepLimit, message), pc));
        finding.notes = self.standings(module);
        finding
    }
}
