//! `setmaxnreg`, with which the warps of a block exchange registers through the block's pool (PTX ISA, "setmaxnreg").

use crate::machine::Cluster;
use crate::machine::warp::{Group, Wait, Warp};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};
use crate::schedule::run::step::{Step, hold};

/// The number of lanes of a warp; each lane has its own registers.
const LANES: u32 = 32;

/// Executes `setmaxnreg.inc` (`more`) or `.dec` for a whole warp.
pub(super) fn request(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    group: &mut Group,
    mask: u32,
    count: u32,
    more: bool,
) -> Outcome<Step> {
    if cluster.machine.checks.is_empty() {
        return Ok(Step::Next);
    }
    let has = warp.max_registers;
    // Without `.maxnreg`, ptxas chooses the initial number of registers per thread.
    if warp.knows_registers && (if more { count < has } else { count > has }) {
        let (which, how) = if more { ("inc", "fewer") } else { ("dec", "more") };
        let message =
            format!("setmaxnreg.{which} to {count} registers, which are {how} than the {has} the thread has");
        cluster.note(Fault::new(FindingKind::InvalidOperand, message))?;
    }
    warp.knows_registers = true;
    if !available(cluster, warp, count) {
        return Ok(hold(warp, group, mask, Wait::Registers(count)));
    }
    take(cluster, warp, count);
    Ok(Step::Next)
}

/// Returns whether the block's pool has the registers that a warp requires.
pub(super) fn available(cluster: &Cluster<'_>, warp: &Warp, count: u32) -> bool {
    LANES * count.saturating_sub(warp.max_registers) <= cluster.ctas[warp.cta].free_registers
}

/// Sets a warp's new number of registers.
pub(super) fn take(cluster: &mut Cluster<'_>, warp: &mut Warp, count: u32) {
    let free = &mut cluster.ctas[warp.cta].free_registers;
    *free = (*free + LANES * warp.max_registers).saturating_sub(LANES * count);
    warp.max_registers = count;
    cluster.events += 1;
}
