//! `alloca`, `stacksave` and `stackrestore`, which use the end of the current stack frame.

use crate::lanes::{Lanes64, lanes};
use crate::machine::warp::{MAX_STACK, Warp};
use crate::program::code::Reg;
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// Allocates bytes after the frame of each lane of `m`, and writes their local address to `d`.
pub(crate) fn alloca(warp: &mut Warp, d: Reg, bytes: Reg, align: u32, m: u32) -> Outcome<()> {
    let bytes = warp.regs.get(bytes);
    let mut places: Lanes64 = [0; 32];
    for lane in lanes(m) {
        let place = warp.top_of(lane).next_multiple_of(u64::from(align));
        let top = place.saturating_add(bytes[lane]);
        if top > MAX_STACK {
            let bytes = bytes[lane];
            let message =
                format!("local memory out of bounds: an `alloca` of {bytes} bytes overflows the stack");
            return Err(Fault::at(FindingKind::LocalOutOfBounds, lane, message));
        }
        warp.local.forget(lane, place, bytes[lane]);
        warp.set_top(lane, top);
        places[lane] = place;
    }
    warp.regs.put(d, m, &places);
    Ok(())
}

/// Writes the end of each lane's frame to `d`.
pub(crate) fn save(warp: &mut Warp, d: Reg, m: u32) {
    let tops = std::array::from_fn(|lane| warp.top_of(lane));
    warp.regs.put(d, m, &tops);
}

/// Frees all bytes allocated since the saved position.
pub(crate) fn restore(warp: &mut Warp, a: Reg, m: u32) -> Outcome<()> {
    let saved = warp.regs.get(a);
    for lane in lanes(m) {
        let here = u64::from(warp.sp[lane])..=warp.top_of(lane);
        if !here.contains(&saved[lane]) {
            let message =
                format!("`stackrestore` of {:#x}, which `stacksave` did not give here", saved[lane]);
            return Err(Fault::at(FindingKind::InvalidOperand, lane, message));
        }
        warp.set_top(lane, saved[lane]);
    }
    Ok(())
}
