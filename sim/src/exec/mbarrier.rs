//! `mbarrier` instructions (PTX ISA, "mbarrier"): arrivals, transaction bytes and phases.

use crate::exec::async_copy;
use crate::exec::bulk;
use crate::exec::memory::addresses;
use crate::lanes::lanes;
use crate::machine::Cluster;
use crate::machine::mbarrier::in_phase;
use crate::machine::mbarrier::load;
use crate::machine::mbarrier::{MAX_COUNT, State};
use crate::machine::warp::Warp;
use crate::program::code::{Arrive, Mbarrier, MbarrierFn, PhaseOperand};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};
use crate::shadow::place::Place;

/// Executes one instruction. Returns whether all its lanes must continue to wait, in which case other warps should run first.
pub(crate) fn execute(cluster: &mut Cluster<'_>, warp: &mut Warp, op: &Mbarrier, m: u32) -> Outcome<bool> {
    let all = addresses(warp, op.addr);
    let mut waiting = matches!(op.f, MbarrierFn::Test { .. });
    for lane in lanes(m) {
        let place = Place::locate(cluster, op.space, lane, all[lane], 8, "an mbarrier operation")?;
        cluster.visit(place.rank, lane)?;
        if !matches!(op.f, MbarrierFn::Init(_)) {
            cluster.before_mbarrier_use(place, lane)?;
        }
        match &op.f {
            MbarrierFn::Init(count) => init(cluster, place, lane, warp.regs.r(*count)[lane])?,
            MbarrierFn::Inval => {
                sound(cluster, place, lane)?;
                store(cluster, place, 0);
                cluster.after_mbarrier_inval(place);
            }
            MbarrierFn::ExpectTx(bytes) => {
                let mut state = sound(cluster, place, lane)?;
                state.tx = counted(state.tx, warp.regs.r(*bytes)[lane].into(), lane)?;
                store(cluster, place, state.pack());
            }
            MbarrierFn::CompleteTx(bytes) => complete_tx(cluster, place, lane, warp.regs.r(*bytes)[lane])?,
            MbarrierFn::Arrive(op) => arrive(cluster, warp, op, place, lane)?,
            MbarrierFn::Test { d, phase } => {
                let done = |state: State| match phase {
                    PhaseOperand::State(token) => state.phase != (warp.regs.d(*token)[lane] >> 63 == 1),
                    PhaseOperand::Parity(parity) => state.phase != (warp.regs.r(*parity)[lane] & 1 == 1),
                };
                let mut complete = done(sound(cluster, place, lane)?);
                if !complete && bulk::pump(cluster)? {
                    complete = done(sound(cluster, place, lane)?);
                }
                if complete {
                    cluster.after_mbarrier_wait(place);
                }
                waiting &= !complete;
                warp.regs.put_p(*d, 1 << lane, u32::from(complete) << lane);
            }
            MbarrierFn::CopiesArrive { noinc } => {
                sound(cluster, place, lane)?;
                async_copy::count(cluster, warp, lane, place);
                // Without `.noinc`, the arrival is first added to the pending count, so it has no net effect.
                if *noinc {
                    let op =
                        Arrive { count: None, expect: None, drop: false, no_complete: false, state: None };
                    arrive(cluster, warp, &op, place, lane)?;
                }
            }
        }
    }
    Ok(waiting)
}

fn store(cluster: &mut Cluster<'_>, place: Place, bits: u64) {
    cluster.events += 1;
    let shared = &mut cluster.ctas[place.rank].shared;
    shared.words[place.offset / 4] = bits as u32;
    shared.words[place.offset / 4 + 1] = (bits >> 32) as u32;
    shared.written.mark(place.offset as u64, 8);
}

/// Returns the mbarrier object at an address, or a fault if the bits cannot represent one.
fn sound(cluster: &Cluster<'_>, place: Place, lane: usize) -> Outcome<State> {
    let state = State::unpack(load(cluster, place));
    if state.is_sound() {
        return Ok(state);
    }
    Err(misuse(lane, format!("there is no initialized mbarrier at {:#x}", place.offset)))
}

fn misuse(lane: usize, what: String) -> Box<Fault> {
    Fault::at(FindingKind::MbarrierMisuse, lane, format!("mbarrier misuse: {what}"))
}

fn init(cluster: &mut Cluster<'_>, place: Place, lane: usize, count: u32) -> Outcome<()> {
    if count == 0 || count > MAX_COUNT {
        return Err(misuse(
            lane,
            format!("an mbarrier for {count} arrivals; the limits are 1 and {MAX_COUNT}"),
        ));
    }
    if cluster.is_mbarrier(place) && in_phase(cluster, place) {
        let what =
            format!("the mbarrier at {:#x} is initialized again in the middle of a phase", place.offset);
        cluster.note(misuse(lane, what))?;
    }
    store(cluster, place, State::new(count).pack());
    cluster.after_mbarrier_init(place, lane);
    Ok(())
}

/// Returns the updated number of bytes for which a phase waits. The number must stay within ±(2^20 - 1) (PTX ISA, "mbarrier: Tracking
/// asynchronous operations"); it is negative if copies complete before their bytes are expected.
fn counted(tx: i32, change: i64, lane: usize) -> Outcome<i32> {
    let limit = (1 << 20) - 1;
    match i64::from(tx) + change {
        sum if sum > limit => {
            Err(misuse(lane, format!("a phase waits for {sum} bytes; the limit is {limit}")))
        }
        sum if sum < -limit => {
            let what =
                format!("{} bytes are complete that the phase does not expect; the limit is {limit}", -sum);
            Err(misuse(lane, what))
        }
        sum => Ok(sum as i32),
    }
}

/// Counts the bytes that a copy has written.
pub(crate) fn complete_tx(cluster: &mut Cluster<'_>, place: Place, lane: usize, bytes: u32) -> Outcome<()> {
    let mut state = sound(cluster, place, lane)?;
    let phase = state.phase;
    state.tx = counted(state.tx, -i64::from(bytes), lane)?;
    state.advance();
    cluster.after_mbarrier_arrival(place, true, state.phase != phase);
    store(cluster, place, state.pack());
    Ok(())
}

fn arrive(cluster: &mut Cluster<'_>, warp: &mut Warp, op: &Arrive, place: Place, lane: usize) -> Outcome<()> {
    let mut state = sound(cluster, place, lane)?;
    if let Some(token) = op.state {
        warp.regs.set_lane(crate::program::code::Reg::D(token), lane, state.pack());
    }
    if let Some(bytes) = op.expect {
        state.tx = counted(state.tx, warp.regs.r(bytes)[lane].into(), lane)?;
    }
    let count = op.count.map_or(1, |count| warp.regs.r(count)[lane]);
    if count > state.pending || count == 0 {
        let pending = state.pending;
        return Err(misuse(lane, format!("{count} arrivals where the phase waits for {pending} more")));
    }
    state.pending -= count;
    if op.drop {
        state.expected = state.expected.saturating_sub(count);
    }
    if op.no_complete && state.pending == 0 {
        return Err(misuse(lane, "an arrival with .noComplete completes the phase".into()));
    }
    let phase = state.phase;
    state.advance();
    cluster.after_mbarrier_arrival(place, false, state.phase != phase);
    store(cluster, place, state.pack());
    Ok(())
}

/// Returns the number of arrivals and the number of bytes that the mbarrier polled by a lane still requires.
pub(crate) fn standing(
    cluster: &mut Cluster<'_>,
    warp: &Warp,
    op: &Mbarrier,
    lane: usize,
) -> Option<(u32, i32)> {
    let address = addresses(warp, op.addr)[lane];
    let place = Place::locate(cluster, op.space, lane, address, 8, "").ok()?;
    let state = State::unpack(load(cluster, place));
    Some((state.pending, state.tx))
}
