//! Finds the loads whose values nothing has used when their thread gives the memory away.
//!
//! A load is over once its value is used. Until then an mbarrier's arrival does not order it before a write by an asynchronous engine:
//! that takes a proxy fence (PTX ISA, "Memory Consistency Model", "Proxies"). Waiting at a barrier of the block orders it in practice, and
//! published kernels count on that; arriving there without waiting does not.

use rustc_hash::FxHashSet;

use crate::program::analysis::watch::{Touches, successors};
use crate::program::code::{Alu, BarrierKind, Code, Control, MbarrierFn, Memory, Op, R1, Reg};

/// Instructions after a load beyond which it counts as over.
const REACH: usize = 512;

/// The instructions that read shared memory and may still be in flight when an mbarrier is arrived at or an engine is started.
pub(crate) fn loads(code: &Code, touches: &[Touches]) -> Vec<bool> {
    let copies = code.instrs.iter().any(|instr| starts_copy(&instr.op));
    let left = |at: usize| copies && is_load(&code.instrs[at].op) && is_given_away(code, touches, at);
    (0..code.instrs.len()).map(left).collect()
}

/// Whether a path from the load at `at` gives memory away before it uses one of the values.
fn is_given_away(code: &Code, touches: &[Touches], at: usize) -> bool {
    // `mov` gives a value another name, and uses it no more than that.
    let mut values: Vec<Reg> = touches[at].writes.clone();
    let mut seen: FxHashSet<usize> = [at].into_iter().collect();
    let mut work = vec![at];
    while let Some(from) = work.pop().filter(|_| seen.len() < REACH) {
        for to in successors(code, from) {
            let Some(instr) = code.instrs.get(to).filter(|_| seen.insert(to)) else { continue };
            let reads = touches[to].reads.iter().any(|reg| values.contains(reg));
            match &instr.op {
                op if starts_copy(op) || arrives(op) => return true,
                Op::Control(Control::Barrier(barrier)) if barrier.kind == BarrierKind::Arrive => return true,
                Op::Control(Control::Barrier(_)) => continue,
                Op::Alu(Alu::R1(R1::Mov, d, _)) if reads => values.push(Reg::R(*d)),
                _ if reads => continue,
                _ => {}
            }
            work.push(to);
        }
    }
    false
}

fn is_load(op: &Op) -> bool {
    matches!(op, Op::Memory(Memory::Ld(..) | Memory::LdR(..) | Memory::LdMatrix(_)))
}

fn arrives(op: &Op) -> bool {
    matches!(op, Op::Memory(Memory::Mbarrier(mbarrier)) if matches!(mbarrier.f, MbarrierFn::Arrive(_)))
}

fn starts_copy(op: &Op) -> bool {
    matches!(op, Op::Memory(Memory::Bulk(_) | Memory::BulkTensor(_)))
}
