//! The reason why no warp of a cluster can continue.

use crate::exec::mbarrier;
use crate::machine::warp::{Group, Wait, Warp};
use crate::program::code::{Memory, Op};
use crate::program::module::Module;
use crate::report::fault::Fault;
use crate::report::{Finding, FindingKind};
use crate::schedule::cluster::ClusterRun;

/// How a group's wait relates to the waits of other groups, in order of decreasing explanatory power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Other lanes of its warp wait at another instruction or have exited, or too few registers are available.
    Divergence,
    /// The threads for which the group waits are waiting at another instruction, or have exited.
    Missing,
    /// The group is in an endless loop.
    Spin,
    /// The threads for which the group waits are in an endless loop.
    Consequence,
}

impl ClusterRun<'_> {
    /// Returns a finding that explains why no warp can continue.
    pub(crate) fn stuck(&mut self, module: &Module) -> Box<Finding> {
        if let Some(finding) = self.postponed(module) {
            return finding;
        }
        if let Some(finding) = self.registers_stuck(module).or_else(|| self.mbarrier_stuck(module)) {
            return finding;
        }
        let (_, warp, group) = self.cause();
        let cta = &self.cluster.ctas[self.warps[warp].cta];
        let pc = self.stands_at(warp, &group);
        let mnemonic = &self.site(module, warp, pc, None).mnemonic;
        let fault = match group.wait {
            Wait::Barrier { id, .. } => {
                let (arrived, expected) = cta.barriers[usize::from(id)].standing();
                let want = if expected == 0 { cta.live } else { expected };
                Fault::new(
                    FindingKind::Deadlock,
                    format!(
                        "deadlock: barrier {id} never completes, {arrived} of {want} threads have arrived"
                    ),
                )
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
            Wait::Registers(_) | Wait::Ready => Fault::new(
                FindingKind::Deadlock,
                format!(
                    "deadlock: no thread makes progress; the loop that contains this {mnemonic} never ends (livelock)"
                ),
            ),
        };
        let mut finding = self.finding(module, warp, &(fault, pc));
        finding.notes = self.standings(module);
        finding
    }

    /// Returns a finding about a warp that waits for registers that no other warp releases.
    fn registers_stuck(&self, module: &Module) -> Option<Box<Finding>> {
        let mut groups =
            self.warps.iter().enumerate().flat_map(|(i, warp)| warp.groups.iter().map(move |g| (i, g)));
        let (warp, count, pc) = groups.find_map(|(i, group)| match group.wait {
            Wait::Registers(count) => Some((i, count, group.pc)),
            _ => None,
        })?;
        let free = self.cluster.ctas[self.warps[warp].cta].free_registers;
        let message = format!(
            "register budget exceeded: setmaxnreg.inc waits in a deadlock for {count} registers a thread, of which the warp has \
             {}; the block's pool has {free} left for its {} more",
            self.warps[warp].max_registers,
            32 * (count - self.warps[warp].max_registers.min(count)),
        );
        let mut finding = self.finding(module, warp, &(Fault::new(FindingKind::BudgetExceeded, message), pc));
        finding.notes = self.standings(module);
        Some(finding)
    }

    /// Returns a finding about a warp that polls an mbarrier without success, with the missing arrivals or bytes.
    fn mbarrier_stuck(&mut self, module: &Module) -> Option<Box<Finding>> {
        let code = self.cluster.machine.code;
        for i in 0..self.warps.len() {
            let warp = &self.warps[i];
            self.cluster.at = warp.cta;
            for group in warp.groups.iter().filter(|g| g.wait == Wait::Ready) {
                let pc = self.stands_at(i, group);
                let Op::Memory(Memory::Mbarrier(op)) = &code.instrs[pc as usize].op else { continue };
                let lane = group.mask.trailing_zeros() as usize;
                let Some((pending, tx)) = mbarrier::standing(&mut self.cluster, warp, op, lane) else {
                    continue;
                };
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

    /// Returns the instruction at which a group is stuck; in a loop, this is the instruction that polls memory.
    fn stands_at(&self, warp: usize, group: &Group) -> u32 {
        match self.spins.get(warp) {
            Some(spin) if group.wait == Wait::Ready => spin.asked_by(group).unwrap_or(group.pc),
            _ => group.pc,
        }
    }

    /// Returns the group whose wait explains the waits of the others, with the cause and its warp.
    fn cause(&self) -> (Cause, usize, Group) {
        let groups =
            self.warps.iter().enumerate().flat_map(|(i, warp)| warp.groups.iter().map(move |g| (i, *g)));
        let causes = groups.map(|(i, group)| (self.cause_of(i, &group), i, group));
        let no_group = Group { pc: 0, mask: 0, depth: 0, wait: Wait::Ready };
        causes.min_by_key(|(cause, ..)| *cause).unwrap_or((Cause::Consequence, 0, no_group))
    }

    /// Returns the most explanatory cause that this cluster provides for a deadlock.
    pub(crate) fn explains(&self) -> Cause {
        self.cause().0
    }

    fn cause_of(&self, i: usize, group: &Group) -> Cause {
        let warp = &self.warps[i];
        let cta = &self.cluster.ctas[warp.cta];
        let goes_round = |warp: &Warp| warp.groups.iter().any(|g| g.wait == Wait::Ready);
        // The number of threads in warps that are in loops and may therefore still arrive.
        let coming = |all: &dyn Fn(&Warp) -> bool| {
            let warps = self.warps.iter().filter(|w| all(w) && goes_round(w));
            warps.map(|w| w.live.count_ones()).sum::<u32>()
        };
        let missing = |missing: bool| if missing { Cause::Missing } else { Cause::Consequence };
        match group.wait {
            Wait::Ready => Cause::Spin,
            Wait::Aligned if !goes_round(warp) => Cause::Divergence,
            Wait::Aligned => Cause::Consequence,
            Wait::Registers(_) => Cause::Divergence,
            Wait::Lanes(_) | Wait::WarpBarrier(_) => missing(!goes_round(warp)),
            Wait::Cluster { .. } => missing(coming(&|_| true) == 0),
            Wait::Products(_) => missing(coming(&|w| w.cta == warp.cta) == 0),
            Wait::Barrier { id, .. } => {
                let (arrived, expected) = cta.barriers[usize::from(id)].standing();
                let all = self.cluster.machine.threads();
                let want = if expected == 0 { all } else { expected };
                let ended = expected == 0 && cta.live < all;
                missing(ended || arrived + coming(&|w| w.cta == warp.cta) < want)
            }
        }
    }

    /// Returns a description of the position of every warp.
    pub(super) fn standings(&self, module: &Module) -> Vec<String> {
        let mut notes = vec![];
        for (i, warp) in self.warps.iter().enumerate().filter(|(_, w)| w.live != 0) {
            for group in &warp.groups {
                let site = self.site(module, i, self.stands_at(i, group), None);
                let [x, y, z] = site.block;
                let how = match group.wait {
                    Wait::Ready if self.spins.is_empty() => "is",
                    Wait::Ready => "goes round",
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
