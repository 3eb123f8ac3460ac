//! Finds the loads whose values may still be unused when their thread releases the memory.
//!
//! A load is complete once its value is used. Until then, an arrival at an mbarrier does not order the load before a write by an
//! asynchronous engine; a proxy fence is required (PTX ISA, "Memory Consistency Model", "Proxies"). In practice, waiting at a barrier of
//! the block orders the load, and published kernels rely on this. Arriving without waiting does not order the load.

use rustc_hash::FxHashSet;

use crate::program::analysis::watch::{Touches, successors};
use crate::program::code::properties::{Agent, InFlight};
use crate::program::code::{Alu, Code, D1, Guard, Op, R1, Reg};

/// The maximum total number of instructions visited for the loads of a kernel. Beyond this number, the remaining loads are considered
/// complete.
const MAX_STEPS: usize = 1 << 22;

/// Returns, for each instruction, whether it reads shared memory and may still be in flight when a thread arrives at an mbarrier or starts
/// an engine.
pub(crate) fn loads(code: &Code, touches: &[Touches]) -> Vec<bool> {
    let copies = code.instrs.iter().any(|instr| {
        let properties = instr.op.properties();
        properties.agent == Agent::Engine && properties.in_flight == InFlight::Released
    });
    let mut steps = MAX_STEPS;
    let is_load = |at: usize| code.instrs[at].op.properties().in_flight == InFlight::Begins;
    let mut left = |at: usize| copies && is_load(at) && is_given_away(code, touches, at, &mut steps);
    (0..code.instrs.len()).map(&mut left).collect()
}

/// Returns whether a path from the load at `at` releases the memory before it uses one of the values.
fn is_given_away(code: &Code, touches: &[Touches], at: usize, steps: &mut usize) -> bool {
    // The executed instructions, each with the registers that contain a value of the load after it.
    let mut paths: Vec<(usize, Vec<Reg>)> = vec![(at, touches[at].writes.clone())];
    let mut seen = FxHashSet::default();
    while let Some((from, values)) = paths.pop() {
        for to in successors(code, from) {
            let Some(instr) = code.instrs.get(to) else { continue };
            let Some(left) = steps.checked_sub(1) else { return false };
            *steps = left;
            let copy = copied(&instr.op).filter(|(from, _)| values.contains(from));
            let is_use = copy.is_none() && touches[to].reads.iter().any(|reg| values.contains(reg));
            match instr.op.properties().in_flight {
                _ if is_use => continue,
                InFlight::Released => return true,
                InFlight::Complete => continue,
                InFlight::Remain | InFlight::Begins => {}
            }
            let mut values = values.clone();
            if instr.guard == Guard::Always {
                values.retain(|reg| !touches[to].writes.contains(reg));
            }
            values.extend(copy.map(|(_, to)| to));
            values.sort_unstable();
            values.dedup();
            // If no register contains the value, nothing can use it, and ptxas omits the load.
            if !values.is_empty() && seen.insert((to, values.clone())) {
                paths.push((to, values));
            }
        }
    }
    false
}

/// Returns the registers of a `mov`, source first. A `mov` only renames a value and does not use it.
fn copied(op: &Op) -> Option<(Reg, Reg)> {
    match *op {
        Op::Alu(Alu::R1(R1::Mov | R1::Mov16, d, a)) => Some((Reg::R(a), Reg::R(d))),
        Op::Alu(Alu::D1(D1::Mov, d, a)) => Some((Reg::D(a), Reg::D(d))),
        _ => None,
    }
}
