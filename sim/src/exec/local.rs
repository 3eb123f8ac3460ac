//! Loads and stores of local memory.

use crate::check::undefined;
use crate::exec::memory::{read, write};
use crate::lanes::{Lanes64, lanes};
use crate::machine::Cx;
use crate::machine::warp::Warp;
use crate::program::code::{Access, Reg};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// Refuses addresses past the end of each lane's current frame.
fn in_frame(warp: &Warp, all: &Lanes64, bytes: u64, m: u32, what: &str) -> Outcome<()> {
    for lane in lanes(m) {
        let limit = u64::from(warp.sp[lane] + warp.frame_of(lane));
        if all[lane].saturating_add(bytes) > limit {
            let message = format!(
                "local memory out of bounds: {what} of {bytes} bytes at {:#x}; the thread has {limit} bytes",
                all[lane]
            );
            return Err(Fault::at(FindingKind::LocalOutOfBounds, lane, message));
        }
    }
    Ok(())
}

pub(crate) fn load<const CHECKED: bool>(
    cx: &mut Cx<'_>,
    warp: &mut Warp,
    access: &Access,
    d: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let bytes = access.size();
    in_frame(warp, all, bytes, m, "a load")?;
    if CHECKED {
        cx.count_bytes(|moved| moved.local_read += bytes * u64::from(m.count_ones()));
    }
    if CHECKED && warp.local.tracked {
        let partial = warp.local.partial(all, bytes, m);
        if partial != 0 {
            undefined::load(cx.here(), &mut warp.undefined, &warp.local, access, d, all, partial);
        }
    }
    read(&warp.local, &mut warp.regs, all, access, d, m);
    Ok(())
}

pub(crate) fn store<const CHECKED: bool>(
    cx: &mut Cx<'_>,
    warp: &mut Warp,
    access: &Access,
    values: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let bytes = access.size();
    in_frame(warp, all, bytes, m, "a store")?;
    if CHECKED {
        cx.count_bytes(|moved| moved.local_written += bytes * u64::from(m.count_ones()));
    }
    write(&mut warp.local, &warp.regs, all, access, values, m);
    if CHECKED && warp.undefined.storing & m != 0 {
        let Warp { undefined, local, .. } = warp;
        undefined::store(cx.here(), undefined, local, access, values, all, undefined.storing & m);
    }
    Ok(())
}
