//! A cluster of blocks (usually one block): what one host thread runs from start to end.

use super::barrier::ClusterBarrier;
use super::exec::tensor::Scratch;
use super::fault::Fault;
use super::launch::Checks;
use super::machine::{Cta, Cx, Machine};
use super::module::Module;
use super::report::{Counts, Finding, Kind, Site, SourceLocation};
use super::run::{Faulted, Stop, run};
use super::warp::{Group, Wait, Warp};

/// Instructions a warp executes before the next one has its turn.
const TURN: u64 = 2048;

/// A cluster being executed.
pub(super) struct Unit<'a> {
    cx: Cx<'a>,
    warps: Vec<Warp>,
    /// Number of the cluster in the grid.
    pub(super) index: u64,
}

/// How far a unit got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Finished,
    /// Some warp executed something.
    Moved,
    /// No warp could.
    Stuck,
}

impl<'a> Unit<'a> {
    pub(super) fn new(machine: &'a Machine<'a>) -> Self {
        let cx = Cx {
            machine,
            ctas: vec![],
            at: 0,
            clock: 0,
            printed: vec![],
            cluster_barrier: ClusterBarrier::default(),
            counts: Counts::default(),
            scratch: Scratch::default(),
        };
        Self { cx, warps: vec![], index: 0 }
    }

    /// Makes ready to run cluster `index`, reusing what memory there is.
    pub(super) fn start(&mut self, index: u64) {
        let machine = self.cx.machine;
        let size = machine.cluster_size();
        let clusters = machine.clusters().map(u64::from);
        let origin =
            [index % clusters[0], index / clusters[0] % clusters[1], index / clusters[0] / clusters[1]];
        let warps = machine.threads().div_ceil(32);
        let track = machine.checks.contains(Checks::UNINITIALIZED_SHARED);
        self.index = index;
        self.cx.clock = 0;
        self.cx.counts = Counts::default();
        self.cx.printed.clear();
        self.cx.cluster_barrier = ClusterBarrier::default();
        self.cx.ctas.resize_with(size as usize, Cta::default);
        self.warps.resize_with((size * warps) as usize, Warp::default);
        for rank in 0..size {
            let [x, y, _] = machine.cluster;
            let within = [rank % x, rank / x % y, rank / x / y];
            let cta = &mut self.cx.ctas[rank as usize];
            cta.id = std::array::from_fn(|i| origin[i] as u32 * machine.cluster[i] + within[i]);
            let [gx, gy, _] = machine.grid.map(u64::from);
            cta.linear = u64::from(cta.id[0]) + gx * (u64::from(cta.id[1]) + gy * u64::from(cta.id[2]));
            cta.rank = rank;
            cta.shared.reset(machine.shared_bytes, track);
            cta.barriers = Default::default();
            cta.live = machine.threads();
            for warp in 0..warps {
                self.warps[(rank * warps + warp) as usize].start(machine, cta, rank as usize, warp);
            }
        }
    }

    /// One turn of every warp.
    pub(super) fn round(&mut self, module: &Module) -> Result<Progress, Box<Finding>> {
        let mut progress = Progress::Finished;
        for i in 0..self.warps.len() {
            let warp = &mut self.warps[i];
            if warp.live == 0 {
                continue;
            }
            self.cx.at = warp.cta;
            let before = self.cx.clock;
            let stop = if self.cx.machine.checks.is_empty() {
                run::<false>(&mut self.cx, warp, TURN)
            } else {
                run::<true>(&mut self.cx, warp, TURN)
            };
            let moved = self.cx.clock > before;
            match stop {
                Err((fault, pc)) => return Err(self.finding(module, i, &(fault, pc))),
                Ok(Stop::Finished) if progress != Progress::Moved => {
                    progress = if moved { Progress::Moved } else { progress };
                }
                Ok(_) if moved => progress = Progress::Moved,
                Ok(_) if progress == Progress::Finished => progress = Progress::Stuck,
                Ok(_) => {}
            }
        }
        if self.cx.clock > self.cx.machine.step_limit {
            return Err(self.step_limit(module));
        }
        Ok(if self.warps.iter().all(|w| w.live == 0) { Progress::Finished } else { progress })
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

    pub(super) fn counts(&self) -> Counts {
        Counts { warp_instructions: self.cx.clock, ..self.cx.counts }
    }

    fn site(&self, module: &Module, warp: usize, pc: u32, lane: Option<usize>) -> Site {
        let code = self.cx.machine.code;
        let warp = &self.warps[warp];
        let meta = &code.meta[(pc as usize).min(code.meta.len() - 1)];
        let source = code.locs.get(meta.loc as usize).map(|loc| SourceLocation {
            file: module.source_file(loc.file).unwrap_or("?").to_string(),
            line: loc.line,
            column: loc.column,
        });
        let thread = lane.map(|lane| self.cx.machine.thread(warp.index * 32 + lane as u32));
        Site {
            kernel: code.entry.to_string(),
            block: self.cx.ctas[warp.cta].id,
            thread,
            warp: warp.index,
            lane: lane.map(|lane| lane as u32),
            line: meta.line,
            column: meta.column,
            mnemonic: code.mnemonics[meta.mnemonic as usize].to_string(),
            source,
            file: module.file().to_string(),
            text: module.line(meta.line).to_string(),
        }
    }

    fn finding(&self, module: &Module, warp: usize, (fault, pc): &Faulted) -> Box<Finding> {
        Box::new(Finding {
            kind: fault.kind,
            message: fault.message.clone(),
            site: self.site(module, warp, *pc, fault.lane),
            notes: vec![],
        })
    }

    fn step_limit(&self, module: &Module) -> Box<Finding> {
        let limit = self.cx.machine.step_limit;
        let message = format!("step limit: a block executed more than {limit} warp instructions");
        let warp = self.warps.iter().position(|w| w.live != 0).unwrap_or(0);
        let pc = self.warps[warp].groups.first().map_or(0, |g| g.pc);
        let mut finding = self.finding(module, warp, &(Fault::new(Kind::StepLimit, message), pc));
        finding.notes = self.standings(module);
        finding
    }

    /// Why nobody can go on.
    pub(super) fn stuck(&self, module: &Module) -> Box<Finding> {
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
                        Kind::DivergentBarrier,
                        format!(
                            "divergent barrier: {arrived} threads wait at barrier {id}, {ended} of the block have ended"
                        ),
                    )
                } else {
                    Fault::new(
                        Kind::Deadlock,
                        format!(
                            "deadlock: barrier {id} never completes, {arrived} of {want} threads have arrived"
                        ),
                    )
                }
            }
            Wait::Aligned if mnemonic.starts_with("bar") => Fault::new(
                Kind::DivergentBarrier,
                format!(
                    "divergent barrier: only lanes {:#010x} of the warp come to this {mnemonic}",
                    group.mask
                ),
            ),
            Wait::Aligned => Fault::new(
                Kind::AlignedDivergence,
                format!(
                    "{mnemonic} under divergence: only lanes {:#010x} of the warp come to it",
                    group.mask
                ),
            ),
            Wait::Lanes(mask) | Wait::WarpBarrier(mask) => Fault::new(
                Kind::Deadlock,
                format!("deadlock: lanes {:#010x} wait at {mnemonic} for lanes {mask:#010x}", group.mask),
            ),
            Wait::Cluster { .. } => {
                Fault::new(Kind::Deadlock, "deadlock: the cluster barrier never completes".to_string())
            }
            Wait::Ready => Fault::new(Kind::Deadlock, "deadlock: no thread makes progress".to_string()),
        };
        let mut finding = self.finding(module, warp, &(fault, group.pc));
        finding.notes = self.standings(module);
        finding
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
