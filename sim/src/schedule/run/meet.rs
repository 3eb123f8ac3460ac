//! The execution of a `.sync` instruction by lanes at several positions of the text.

use crate::exec::warp;
use crate::machine::Cluster;
use crate::machine::warp::{Wait, Warp};
use crate::program::code::{Op, WarpOp};
use crate::report::Checks;
use crate::schedule::run::Faulted;

/// Executes the instructions whose lanes have all arrived. The lanes must execute the same instruction with the same qualifiers and mask
/// (PTX ISA, "shfl.sync"), but not necessarily the same line: both sides of a branch may contain a copy of it.
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
        let parts: Vec<(&WarpOp, u32)> = (warp.groups.iter().filter(|g| waits(g)))
            .filter_map(|g| Some((op(g.pc).filter(|op| warp::same(first, op))?, g.mask)))
            .collect();
        let there = parts.iter().fold(0, |all, (_, mask)| all | mask);
        if needed & warp.live & !there != 0 {
            continue;
        }
        cluster.sync_members(needed, warp.live);
        let strict = cluster.machine.checks.contains(Checks::SHUFFLES);
        warp::execute_parts(warp, &parts, strict).map_err(|fault| (fault, warp.groups[i].pc))?;
        for group in warp.groups.iter_mut().filter(|g| g.mask & there != 0) {
            group.pc += 1;
            group.wait = Wait::Ready;
        }
    }
    Ok(())
}
