//! Detection of loops that a warp cannot leave while memory does not change.
//!
//! A lane that returns to an instruction with the same registers, call stack and local memory, and has only read memory that did not
//! change, repeats the same steps forever. A long computation is never mistaken for such a loop, because its registers change.

use crate::lanes::lanes;
use crate::machine::Cluster;
use crate::machine::local::Local;
use crate::machine::registers::Regs;
use crate::machine::warp::{Activation, Group, Wait, Warp};
use crate::program::code::{Alu, Code, Memory, Op, Space};
use crate::schedule::run::{Faulted, PATIENCE, Stop, run};

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Spin {
    /// Whether every lane repeats a loop or waits.
    pub(crate) endless: bool,
    /// The instruction with which each lane polls memory, if any.
    asks: [Option<u32>; 32],
}

impl Spin {
    /// Returns the instruction with which the lanes of a group repeatedly poll memory.
    pub(crate) fn asked_by(&self, group: &Group) -> Option<u32> {
        lanes(group.mask).find_map(|lane| self.asks[lane])
    }

    /// Returns whether a loop reads global memory.
    pub(crate) fn looks_at_global(&self, code: &Code) -> bool {
        self.asks.iter().flatten().any(|&pc| match &code.instrs[pc as usize].op {
            Op::Memory(Memory::Ld(access, _) | Memory::LdR(access, _)) => {
                matches!(access.space, Space::Global | Space::Generic)
            }
            _ => false,
        })
    }
}

/// A state of a warp to which its lanes may return.
struct Start {
    groups: Vec<Group>,
    regs: Regs,
    local: Local,
    stacks: Vec<Vec<Activation>>,
}

impl Start {
    fn of(warp: &Warp) -> Self {
        let (groups, stacks) = (warp.groups.clone(), warp.stacks.clone());
        Self { groups, regs: warp.regs.clone(), local: warp.local.clone(), stacks }
    }

    /// Returns the lanes of `mask` that have returned to this state.
    fn back(&self, warp: &Warp, mask: u32) -> u32 {
        let there =
            |now: &Group, then: &Group| (now.pc, now.depth, now.wait) == (then.pc, then.depth, then.wait);
        let mut back = 0;
        for now in warp.groups.iter().filter(|g| g.mask & mask != 0) {
            let then = self.groups.iter().filter(|then| there(now, then));
            back |= then.fold(0, |all, then| all | then.mask) & now.mask & mask;
        }
        if back == 0 {
            return 0;
        }
        back &= !self.regs.differs(&warp.regs);
        if back == 0 {
            return 0;
        }
        back &= !self.local.differs(&warp.local);
        lanes(back)
            .filter(|&lane| self.stacks[lane] == warp.stacks[lane])
            .fold(0, |all, lane| all | 1 << lane)
    }

    /// Returns the lanes that waited.
    fn waiting(&self) -> u32 {
        waiting(&self.groups)
    }
}

fn waiting(groups: &[Group]) -> u32 {
    groups.iter().filter(|g| g.wait != Wait::Ready).fold(0, |all, g| all | g.mask)
}

/// Runs a warp for up to `steps` instructions, alternating between its groups, to determine whether its lanes return to an earlier state. A
/// change to memory ends the search.
pub(crate) fn search(cluster: &mut Cluster<'_>, warp: &mut Warp, steps: u64) -> Result<Spin, Faulted> {
    let code = cluster.machine.code;
    let mut spin = Spin { endless: false, asks: [None; 32] };
    let events = cluster.events;
    let mut start = Start::of(warp);
    let (mut ran, mut back) = (0, 0);
    // The reference state is replaced after 8, 16, 32 … steps, so that it is eventually a state in the loop (Brent's algorithm).
    let (mut age, mut limit) = (0, 8);
    for step in 0..steps {
        warp.impatience = if step % 2 == 1 { PATIENCE } else { 0 };
        let before = cluster.clock;
        let stop = match cluster.machine.is_unwatched() {
            true => run::<false>(cluster, warp, 1)?,
            false => run::<true>(cluster, warp, 1)?,
        };
        let moved = cluster.clock != before;
        let op = &code.instrs[cluster.pc as usize].op;
        let timed = moved && matches!(op, Op::Alu(Alu::Clock(..)));
        if cluster.events != events || timed {
            return Ok(spin);
        }
        if moved {
            ran |= warp.chosen;
            let awaits = op.properties().awaits;
            if awaits > 0 {
                for lane in lanes(warp.chosen) {
                    let known =
                        spin.asks[lane].map_or(0, |pc| code.instrs[pc as usize].op.properties().awaits);
                    if awaits >= known {
                        spin.asks[lane] = Some(cluster.pc);
                    }
                }
            }
            // Lanes that exchange values must return to the state after the exchange.
            if matches!(op, Op::Warp(_)) {
                back &= !warp.chosen;
            }
            back |= start.back(warp, warp.chosen);
        }
        let waited = start.waiting() & waiting(&warp.groups) & !ran;
        if warp.live & !(back | waited) == 0 {
            spin.endless = true;
            return Ok(spin);
        }
        if stop == Stop::Blocked && !moved {
            return Ok(spin);
        }
        age += 1;
        if age == limit {
            (age, limit) = (0, 2 * limit);
            (start, ran, back) = (Start::of(warp), 0, 0);
        }
    }
    Ok(spin)
}
