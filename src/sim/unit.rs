//! A cluster of blocks (usually one block): what one host thread runs from start to end.

use std::collections::HashMap;

use super::barrier::ClusterBarrier;
use super::check::counted::CountedCopies;
use super::check::races::Races;
use super::check::remote::End;
use super::code::{Memory, Op};
use super::exec::bulk::{self, BulkCopies};
use super::exec::mbarrier;
use super::exec::tensor::{Scratch, WgmmaGroups};
use super::fault::{Fault, Outcome};
use super::launch::Checks;
use super::machine::{Cta, Cx, Machine};
use super::module::Module;
use super::random::Random;
use super::report::{Counts, Finding, FindingKind, Site};
use super::run::{Faulted, Stop, run};
use super::warp::{Group, Wait, Warp};

/// Instructions of a turn spent looking that count as one of those rounds.
const LOOK: u64 = 64;

/// Instructions a warp executes before the next one has its turn.
const TURN: u64 = 2048;

/// Rounds in which nothing happens before those who wait are taken to wait for ever.
const IDLE_ROUNDS: u32 = 4_000;

/// A cluster being executed.
pub(super) struct Unit<'a> {
    cx: Cx<'a>,
    warps: Vec<Warp>,
    /// Number of the cluster in the grid.
    pub(super) index: u64,
    /// Rounds in a row in which everybody waited or looked, and nothing changed.
    idle_rounds: u32,
    /// Chooses who goes next, where a seed asks for it.
    random: Option<Random>,
    /// What was found and did not end the run.
    findings: Vec<Finding>,
}

/// How far a unit got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Finished,
    /// Some warp executed something.
    Moved,
    /// No warp could, or all have been waiting in vain for long.
    Stuck,
}

impl<'a> Unit<'a> {
    pub(super) fn new(machine: &'a Machine<'a>) -> Self {
        let cx = Cx {
            machine,
            ctas: vec![],
            at: 0,
            clock: 0,
            unit: 0,
            printed: vec![],
            cluster_barrier: ClusterBarrier::default(),
            profile: vec![],
            noted: vec![],
            scratch: Scratch::default(),
            bulk: BulkCopies::default(),
            events: 0,
            warp: 0,
            pc: 0,
            races: Races::default(),
            counted: CountedCopies::default(),
            mbarriers: HashMap::new(),
            postponed: None,
        };
        Self { cx, warps: vec![], index: 0, idle_rounds: 0, random: None, findings: vec![] }
    }

    /// Makes ready to run cluster `index`, reusing what memory there is.
    pub(super) fn start(&mut self, index: u64) {
        let machine = self.cx.machine;
        let size = machine.cluster_size();
        let warps = machine.threads().div_ceil(32);
        let track = machine.checks.contains(Checks::UNINITIALIZED_SHARED);
        self.index = index;
        self.cx.clock = 0;
        self.cx.unit = index;
        self.cx.noted.clear();
        self.random = machine.seed.map(|seed| Random::new(seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        self.findings.clear();
        self.cx.printed.clear();
        self.cx.cluster_barrier = ClusterBarrier::default();
        self.cx.bulk.clear();
        self.cx.events = 0;
        self.idle_rounds = 0;
        self.cx.mbarriers.clear();
        self.cx.counted.clear();
        self.cx.postponed = None;
        if machine.checks.intersects(Checks::SHARED_RACES | Checks::PROXY_FENCES) {
            let unit = usize::from(machine.code.shared_unit);
            let products = machine.code.product_registers > 0;
            let shape = (size as usize, warps as usize);
            self.cx.races.start(shape, machine.shared_bytes as usize, unit, products);
        }
        self.cx.ctas.resize_with(size as usize, Cta::default);
        self.warps.resize_with((size * warps) as usize, Warp::default);
        for rank in 0..size {
            let cta = &mut self.cx.ctas[rank as usize];
            cta.id = machine.block_of(index, rank);
            let [gx, gy, _] = machine.grid.map(u64::from);
            cta.linear = u64::from(cta.id[0]) + gx * (u64::from(cta.id[1]) + gy * u64::from(cta.id[2]));
            cta.rank = rank;
            cta.shared.reset(machine.shared_bytes, track);
            cta.barriers = Default::default();
            cta.live = machine.threads();
            cta.registers = 0;
            cta.end = End::default();
            cta.wgmma.clear();
            cta.wgmma.extend(WgmmaGroups::of_block(warps as usize));
            for warp in 0..warps {
                self.warps[(rank * warps + warp) as usize].start(machine, cta, rank as usize, warp);
            }
        }
    }

    /// One turn of every warp.
    pub(super) fn round(&mut self, module: &Module) -> Result<Progress, Box<Finding>> {
        let mut progress = Progress::Finished;
        let events = self.cx.events;
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
            self.cx.at = warp.cta;
            let before = self.cx.clock;
            let stop = if self.cx.machine.is_unwatched() {
                run::<false>(&mut self.cx, warp, turn)
            } else {
                run::<true>(&mut self.cx, warp, turn)
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
                    // Turns too short to look in tell nothing.
                    warp.polled || turn < LOOK
                }
                Stop::Yielded | Stop::Blocked => true,
                Stop::Finished => false,
            };
            let moved = self.cx.clock > before;
            if moved {
                progress = Progress::Moved;
            } else if progress == Progress::Finished && warp.live != 0 {
                progress = Progress::Stuck;
            }
            self.tell(module);
            self.copies(module, i, bulk::pump)?;
        }
        if self.cx.clock > self.cx.machine.step_limit {
            return Err(self.step_limit(module));
        }
        self.idle_rounds = if idle && self.cx.events == events { self.idle_rounds + waited } else { 0 };
        if self.warps.iter().all(|w| w.live == 0) {
            self.copies(module, 0, bulk::finish)?;
            return match self.postponed(module) {
                Some(finding) if self.cx.machine.keep_going == 0 => Err(finding),
                Some(finding) => {
                    self.findings.push(*finding);
                    Ok(Progress::Finished)
                }
                None => Ok(Progress::Finished),
            };
        }
        if progress == Progress::Moved && self.idle_rounds > IDLE_ROUNDS {
            return Ok(Progress::Stuck);
        }
        Ok(progress)
    }

    /// The finding of a fault. What was read before anybody wrote it explains what went wrong later; a race explains both.
    fn explained(&mut self, module: &Module, warp: usize, faulted: &Faulted) -> Box<Finding> {
        let finding = self.finding(module, warp, faulted);
        if faulted.0.other.is_some() {
            return finding;
        }
        match self.postponed(module) {
            Some(earlier) if self.cx.machine.keep_going == 0 => earlier,
            Some(earlier) => {
                self.findings.push(*earlier);
                finding
            }
            None => finding,
        }
    }

    /// A read of shared memory nobody wrote, if nothing has explained it since.
    fn postponed(&mut self, module: &Module) -> Option<Box<Finding>> {
        let (fault, warp, pc) = self.cx.postponed.take()?;
        Some(self.finding(module, warp, &(fault, pc)))
    }

    /// Lets asynchronous copies happen; what goes wrong there is laid to warp `i`.
    fn copies<T>(
        &mut self,
        module: &Module,
        i: usize,
        f: impl FnOnce(&mut Cx<'a>) -> Outcome<T>,
    ) -> Result<(), Box<Finding>> {
        match f(&mut self.cx) {
            Ok(_) => Ok(()),
            Err(fault) => {
                let pc = self.warps[i].groups.first().map_or(0, |g| g.pc);
                Err(self.finding(module, i, &(fault, pc)))
            }
        }
    }

    /// Runs to the end.
    pub(super) fn finish(&mut self, module: &Module) -> Result<(), Box<Finding>> {
        loop {
            match self.round(module)? {
                Progress::Finished => return Ok(()),
                Progress::Moved => {}
                Progress::Stuck => return Err(self.stuck(module)),
            }
        }
    }

    /// What device-side printf wrote.
    pub(super) fn take_printed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.cx.printed)
    }

    /// Warp instructions executed since the cluster started.
    pub(super) fn warp_instructions(&self) -> u64 {
        self.cx.clock
    }

    /// Exchanges the counts by instruction with `profile`: clusters that take turns share one.
    pub(super) fn swap_profile(&mut self, profile: &mut Vec<Counts>) {
        std::mem::swap(&mut self.cx.profile, profile);
    }

    /// Whether something was printed or found.
    pub(super) fn has_news(&self) -> bool {
        !self.cx.printed.is_empty() || !self.findings.is_empty()
    }

    /// What was found and did not end the run.
    pub(super) fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// Turns what was noted while executing into findings, one for each place.
    fn tell(&mut self, module: &Module) {
        for (fault, warp, pc) in std::mem::take(&mut self.cx.noted) {
            let finding = self.finding(module, warp, &(fault, pc));
            let limit = self.cx.machine.keep_going;
            if self.findings.len() < limit && !self.findings.iter().any(|old| old.same_place(&finding)) {
                self.findings.push(*finding);
            }
        }
    }

    fn site(&self, module: &Module, warp: usize, pc: u32, lane: Option<usize>) -> Site {
        let warp = &self.warps[warp];
        self.cx.machine.site(module, self.cx.ctas[warp.cta].id, warp.index, pc, lane)
    }

    fn finding(&self, module: &Module, warp: usize, (fault, pc): &Faulted) -> Box<Finding> {
        Box::new(Finding {
            kind: fault.kind,
            message: fault.message.clone(),
            site: self.site(module, warp, *pc, fault.lane),
            other: match (fault.other, fault.elsewhere) {
                (Some(other), _) => {
                    let lane = (other.warp < self.warps.len()).then_some(other.lane);
                    Some(self.site(module, other.warp.min(self.warps.len() - 1), other.pc, lane))
                }
                (None, place) => place.map(|place| self.cx.machine.site_of(module, place)),
            },
            notes: vec![],
        })
    }

    fn step_limit(&self, module: &Module) -> Box<Finding> {
        let limit = self.cx.machine.step_limit;
        let message = format!("step limit: a block executed more than {limit} warp instructions");
        let warp = self.warps.iter().position(|w| w.live != 0).unwrap_or(0);
        let pc = self.warps[warp].groups.first().map_or(0, |g| g.pc);
        let mut finding = self.finding(module, warp, &(Fault::new(FindingKind::StepLimit, message), pc));
        finding.notes = self.standings(module);
        finding
    }

    /// Why nobody can go on.
    pub(super) fn stuck(&mut self, module: &Module) -> Box<Finding> {
        if let Some(finding) = self.postponed(module).or_else(|| self.mbarrier_stuck(module)) {
            return finding;
        }
        let (warp, group) = self.first_waiting();
        let threads = self.cx.machine.threads();
        let cta = &self.cx.ctas[self.warps[warp].cta];
        let ended = threads - cta.live;
        let mnemonic = &self.site(module, warp, group.pc, None).mnemonic;
        let fault = match group.wait {
            Wait::Barrier { id, .. } => {
                let (arrived, expected) = cta.barriers[usize::from(id)].standing();
                let want = if expected == 0 { threads } else { expected };
                if ended > 0 && expected == 0 {
                    Fault::new(
                        FindingKind::DivergentBarrier,
                        format!(
                            "divergent barrier: {arrived} threads wait at barrier {id}, {ended} of the block have ended"
                        ),
                    )
                } else {
                    Fault::new(
                        FindingKind::Deadlock,
                        format!(
                            "deadlock: barrier {id} never completes, {arrived} of {want} threads have arrived"
                        ),
                    )
                }
            }
            Wait::Aligned if mnemonic.starts_with("bar") => Fault::new(
                FindingKind::DivergentBarrier,
                format!(
                    "divergent barrier: only lanes {:#010x} of the warp come to this {mnemonic}",
                    group.mask
                ),
            ),
            Wait::Aligned => Fault::new(
                FindingKind::AlignedDivergence,
                format!(
                    "{mnemonic} under divergence: only lanes {:#010x} of the warp come to it",
                    group.mask
                ),
            ),
            Wait::Lanes(mask) | Wait::WarpBarrier(mask) => Fault::new(
                FindingKind::Deadlock,
                format!("deadlock: lanes {:#010x} wait at {mnemonic} for lanes {mask:#010x}", group.mask),
            ),
            Wait::Cluster { .. } => {
                Fault::new(FindingKind::Deadlock, "deadlock: the cluster barrier never completes".to_string())
            }
            Wait::Products(_) => Fault::new(
                FindingKind::Deadlock,
                "deadlock: wgmma waits for a warp of the warpgroup that has not issued its part".to_string(),
            ),
            Wait::Ready => {
                Fault::new(FindingKind::Deadlock, "deadlock: no thread makes progress".to_string())
            }
        };
        let mut finding = self.finding(module, warp, &(fault, group.pc));
        finding.notes = self.standings(module);
        finding
    }

    /// A warp that keeps asking an mbarrier in vain, and what that waits for.
    fn mbarrier_stuck(&mut self, module: &Module) -> Option<Box<Finding>> {
        let code = self.cx.machine.code;
        for i in 0..self.warps.len() {
            let warp = &self.warps[i];
            self.cx.at = warp.cta;
            for group in warp.groups.iter().filter(|g| g.wait == Wait::Ready && g.pc > 0) {
                // A group that gave up its turn stands behind the instruction that made it.
                let pc = group.pc - 1;
                let Op::Memory(Memory::Mbarrier(op)) = &code.instrs[pc as usize].op else { continue };
                let lane = group.mask.trailing_zeros() as usize;
                let Some((pending, tx)) = mbarrier::standing(&mut self.cx, warp, op, lane) else { continue };
                let message = format!(
                    "mbarrier never completes: the phase waits for {pending} more arrivals and {tx} more bytes"
                );
                let fault = Fault::at(FindingKind::MbarrierNeverCompletes, lane, message);
                let mut finding = self.finding(module, i, &(fault, pc));
                finding.notes = self.standings(module);
                return Some(finding);
            }
        }
        None
    }

    fn first_waiting(&self) -> (usize, Group) {
        let of = |i: usize| self.warps[i].groups.iter().find(|g| g.wait != Wait::Ready).map(|g| (i, *g));
        // Divergence inside a warp explains more than the barrier others wait at.
        let divergent =
            |i: usize| self.warps[i].groups.iter().find(|g| g.wait == Wait::Aligned).map(|g| (i, *g));
        let all = 0..self.warps.len();
        all.clone()
            .find_map(divergent)
            .or_else(|| all.clone().find_map(of))
            .or_else(|| all.clone().find_map(|i| self.warps[i].groups.first().map(|group| (i, *group))))
            .unwrap_or((0, Group { pc: 0, mask: 0, depth: 0, wait: Wait::Ready }))
    }

    /// Where every warp stands.
    fn standings(&self, module: &Module) -> Vec<String> {
        let mut notes = vec![];
        for (i, warp) in self.warps.iter().enumerate().filter(|(_, w)| w.live != 0) {
            for group in &warp.groups {
                let site = self.site(module, i, group.pc, None);
                let [x, y, z] = site.block;
                let how = match group.wait {
                    Wait::Ready => "is",
                    _ => "waits",
                };
                notes.push(format!(
                    "block ({x}, {y}, {z}), warp {}, lanes {:#010x} {how} at {}:{} ({})",
                    site.warp, group.mask, site.file, site.line, site.mnemonic
                ));
                if notes.len() == 64 {
                    notes.push("… and others".into());
                    return notes;
                }
            }
        }
        notes
    }
}
