//! Loads from and stores to local memory.

use crate::exec::memory::{read, write};
use crate::lanes::{Lanes64, lanes};
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::{Access, Reg};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// Rejects addresses past the end of each lane's current frame.
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
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &Access,
    d: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let bytes = access.size();
    in_frame(warp, all, bytes, m, "a load")?;
    if CHECKED {
        cluster.before_local_load(&mut warp.shadow.undefined, &warp.local, access, d, all, m);
    }
    read(&warp.local, &mut warp.regs, all, access, d, m);
    Ok(())
}

pub(crate) fn store<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &Access,
    values: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let bytes = access.size();
    in_frame(warp, all, bytes, m, "a store")?;
    write(&mut warp.local, &warp.regs, all, access, values, m);
    if CHECKED {
        cluster.after_local_store(warp, access, values, all, m);
    }
    Ok(())
}
