//! The execution of a `.sync` instruction by lanes at several positions in the PTX text.

use crate::check::undefined::{self, ShuffleAt};
use crate::exec::warp;
use crate::machine::Cluster;
use crate::machine::warp::{Wait, Warp};
use crate::program::code::{Op, WarpOp};
use crate::report::Checks;
use crate::schedule::run::Faulted;

/// Executes the instructions whose lanes have all arrived. The lanes must execute the same instruction with the same qualifiers and mask
/// (PTX ISA, "shfl.sync"), but not necessarily on the same line: both sides of a branch may contain a copy of the instruction.
pub(super) fn meet(cluster: &mut Cluster<'_>, warp: &mut Warp) -> Result<(), Faulted> {
    let code = cluster.machine.code;
    let op = |pc: u32| match &code.instrs[pc as usize].op {
        Op::Warp(op) => Some(op),
        _ => None,
    };
    for i in 0..warp.groups.len() {
        let Wait::Lanes(needed) = warp.groups[i].wait else { continue };
        let Some(first) = op(warp.groups[i].pc) else { continue };
        let waits = |g: &crate::schedule::run::Group| g.wait == Wait::Lanes(needed);
        let parts: Vec<Part<'_>> = (warp.groups.iter().filter(|g| waits(g)))
            .filter_map(|g| Some((op(g.pc).filter(|op| warp::same(first, op))?, g.pc, g.mask)))
            .collect();
        let there = parts.iter().fold(0, |all, (.., mask)| all | mask);
        if needed & warp.live & !there != 0 {
            continue;
        }
        cluster.sync_members(needed, warp.live);
        propagate(cluster, warp, &parts);
        let strict = cluster.machine.checks.contains(Checks::SHUFFLES);
        let ops: Vec<(&WarpOp, u32)> = parts.iter().map(|&(op, _, mask)| (op, mask)).collect();
        warp::execute_parts(warp, &ops, strict).map_err(|fault| (fault, warp.groups[i].pc))?;
        if let Some(tracer) = &cluster.machine.tracer {
            parts.iter().for_each(|&(_, pc, mask)| tracer.executed(cluster, warp, pc, mask));
        }
        for group in warp.groups.iter_mut().filter(|g| g.mask & there != 0) {
            group.pc += 1;
            group.wait = Wait::Ready;
        }
    }
    Ok(())
}

/// An instruction, its position, and the lanes that have arrived there.
type Part<'c> = (&'c WarpOp, u32, u32);

/// Propagates undefined bits if the instructions are shuffles.
fn propagate(cluster: &Cluster<'_>, warp: &mut Warp, parts: &[Part<'_>]) {
    let code = cluster.machine.code;
    let spreads = |&(_, pc, _): &Part<'_>| code.meta[pc as usize].looks(warp.shadow.undefined.spreads);
    if !cluster.machine.checks.intersects(Checks::UNDEFINED) || !parts.iter().any(spreads) {
        return;
    }
    let shuffles: Vec<_> = parts.iter().filter_map(shuffle).collect();
    undefined::shuffle(code, warp, cluster.warp, &shuffles);
}

fn shuffle<'c>(&(op, pc, mask): &Part<'c>) -> Option<ShuffleAt<'c>> {
    match op {
        WarpOp::Shfl(op) => Some(ShuffleAt { op, pc, mask }),
        _ => None,
    }
}
