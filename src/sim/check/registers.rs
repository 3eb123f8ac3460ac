//! Registers that are used before they are written.

use crate::sim::code::Watch;
use crate::sim::fault::{Fault, Outcome};
use crate::sim::machine::Machine;
use crate::sim::report::FindingKind;
use crate::sim::warp::Warp;

/// Follows one instruction, executed by the lanes `mask` of `group`. Lanes whose guard is undefined count as
/// executing.
pub(in crate::sim) fn follow(
    machine: &Machine<'_>,
    warp: &mut Warp,
    watch: &Watch,
    group: u32,
    mask: u32,
) -> Outcome<()> {
    let undefined = |warp: &Warp, registers: &[u32]| {
        registers.iter().fold(0, |lanes, &register| lanes | !warp.defined[register as usize])
    };
    if !watch.passes_on {
        let guard = watch.guard.map_or(0, |register| !warp.defined[register as usize] & group);
        if guard != 0 {
            return Err(report(machine, warp, watch.guard.as_slice(), guard));
        }
        let lanes = undefined(warp, &watch.sinks) & mask;
        if lanes != 0 {
            return Err(report(machine, warp, &watch.sinks, lanes));
        }
        for &register in &watch.writes {
            warp.defined[register as usize] |= mask;
        }
        return Ok(());
    }
    let guard = watch.guard.map_or(0, |register| !warp.defined[register as usize] & group);
    let lanes = undefined(warp, &watch.sources) | guard;
    for &register in &watch.writes {
        let defined = &mut warp.defined[register as usize];
        *defined = (*defined & !(mask | guard)) | (mask & !lanes);
    }
    Ok(())
}

#[cold]
fn report(machine: &Machine<'_>, warp: &Warp, registers: &[u32], lanes: u32) -> Box<Fault> {
    let lane = lanes.trailing_zeros() as usize;
    let named = registers.iter().find(|&&register| warp.defined[register as usize] >> lane & 1 == 0);
    let name = named.map_or("?", |&register| &machine.code.watched[register as usize]);
    let message = format!(
        "uninitialized register: `{name}` holds a value that was never written, or computed from one"
    );
    Fault::at(FindingKind::UninitializedRegister, lane, message)
}
