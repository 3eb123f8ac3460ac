//! mbarrier (PTX ISA, "mbarrier"): arrivals, transaction bytes, phases.

use crate::exec::async_copy;
use crate::exec::bulk;
use crate::exec::memory::addresses;
use crate::lanes::lanes;
use crate::machine::Cx;
use crate::machine::mbarrier::Passing;
use crate::machine::mbarrier::in_phase;
use crate::machine::mbarrier::load;
use crate::machine::mbarrier::{MAX_COUNT, State};
use crate::machine::warp::Warp;
use crate::program::code::{Arrive, Mbarrier, MbarrierFn, PhaseOperand};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome, Where};
use crate::shadow::place::Place;
use crate::shadow::races::{Access, AccessKind};

/// Runs one instruction; true if all its lanes still have to wait, so that others should go first.
pub(crate) fn execute(cx: &mut Cx<'_>, warp: &mut Warp, op: &Mbarrier, m: u32) -> Outcome<bool> {
    let all = addresses(warp, op.addr);
    let mut waiting = matches!(op.f, MbarrierFn::Test { .. });
    for lane in lanes(m) {
        let place = Place::locate(cx, op.space, lane, all[lane], 8, "an mbarrier operation")?;
        cx.visit(place.rank, lane)?;
        if !matches!(op.f, MbarrierFn::Init(_)) {
            initialized(cx, place, lane)?;
        }
        match &op.f {
            MbarrierFn::Init(count) => init(cx, place, lane, warp.regs.r(*count)[lane])?,
            MbarrierFn::Inval => {
                sound(cx, place, lane)?;
                store(cx, place, 0);
                cx.mbarriers.remove(&(place.rank, place.offset));
            }
            MbarrierFn::ExpectTx(bytes) => {
                let mut state = sound(cx, place, lane)?;
                state.tx = expect(state.tx, warp.regs.r(*bytes)[lane], lane)?;
                store(cx, place, state.pack());
            }
            MbarrierFn::CompleteTx(bytes) => complete_tx(cx, place, lane, warp.regs.r(*bytes)[lane])?,
            MbarrierFn::Arrive(op) => arrive(cx, warp, op, place, lane)?,
            MbarrierFn::Test { d, phase } => {
                let done = |state: State| match phase {
                    PhaseOperand::State(token) => state.phase != (warp.regs.d(*token)[lane] >> 63 == 1),
                    PhaseOperand::Parity(parity) => state.phase != (warp.regs.r(*parity)[lane] & 1 == 1),
                };
                let mut complete = done(sound(cx, place, lane)?);
                if !complete && bulk::pump(cx)? {
                    complete = done(sound(cx, place, lane)?);
                }
                if complete {
                    acquire(cx, place);
                }
                waiting &= !complete;
                warp.regs.put_p(*d, 1 << lane, u32::from(complete) << lane);
            }
            MbarrierFn::CopiesArrive { noinc } => {
                sound(cx, place, lane)?;
                async_copy::count(cx, warp, lane, place);
                // Without `.noinc` the arrival was added to those waited for.
                if *noinc {
                    let op =
                        Arrive { count: None, expect: None, drop: false, no_complete: false, state: None };
                    arrive(cx, warp, &op, place, lane)?;
                }
            }
        }
    }
    Ok(waiting)
}

fn store(cx: &mut Cx<'_>, place: Place, bits: u64) {
    cx.events += 1;
    let shared = &mut cx.ctas[place.rank].shared;
    shared.words[place.offset / 4] = bits as u32;
    shared.words[place.offset / 4 + 1] = (bits >> 32) as u32;
    shared.written.mark(place.offset as u64, 8);
}

/// Returns the object at an address, if one was initialized there.
fn sound(cx: &Cx<'_>, place: Place, lane: usize) -> Outcome<State> {
    let state = State::unpack(load(cx, place));
    if state.is_sound() {
        return Ok(state);
    }
    Err(misuse(lane, format!("there is no initialized mbarrier at {:#x}", place.offset)))
}

fn misuse(lane: usize, what: String) -> Box<Fault> {
    Fault::at(FindingKind::MbarrierMisuse, lane, format!("mbarrier misuse: {what}"))
}

fn init(cx: &mut Cx<'_>, place: Place, lane: usize, count: u32) -> Outcome<()> {
    if count == 0 || count > MAX_COUNT {
        return Err(misuse(
            lane,
            format!("an mbarrier for {count} arrivals; the limits are 1 and {MAX_COUNT}"),
        ));
    }
    let known = cx.mbarriers.contains_key(&(place.rank, place.offset));
    if known && in_phase(cx, place) {
        let what =
            format!("the mbarrier at {:#x} is initialized again in the middle of a phase", place.offset);
        cx.note(misuse(lane, what))?;
    }
    store(cx, place, State::new(count).pack());
    let access = Access { warp: cx.warp, lane, pc: cx.pc, kind: AccessKind::Write };
    let init = cx.racing().then(|| (access, cx.races.clocks.now()));
    cx.mbarriers.insert((place.rank, place.offset), Passing { init, ..Passing::default() });
    Ok(())
}

/// Asks the checkers whether a lane may use an mbarrier: it was initialized before.
pub(crate) fn initialized(cx: &mut Cx<'_>, place: Place, lane: usize) -> Outcome<()> {
    let passing = cx.mbarriers.get(&(place.rank, place.offset));
    let Some((init, time)) = passing.and_then(|passing| passing.init) else { return Ok(()) };
    if cx.races.clocks.ordered((init.warp, init.lane), time, (cx.warp, lane)) {
        return Ok(());
    }
    let at = place.offset;
    let fault =
        misuse(lane, format!("nothing orders this use of the mbarrier at {at:#x} after its initialization"));
    cx.note(fault.with(Some(Where { warp: init.warp, lane: init.lane, pc: init.pc })))
}

/// Passes on what the executing warp (or the copy engine) has done; `completes` if this ends the phase.
fn release(cx: &mut Cx<'_>, place: Place, engine: bool, completes: bool) {
    if !cx.racing() {
        return;
    }
    let copies = completes && cx.complete_counted(place);
    let passing = cx.mbarriers.entry((place.rank, place.offset)).or_default();
    if copies {
        let copier = cx.races.clocks.copier();
        cx.races.clocks.release_engine(copier, &mut passing.released);
    }
    if engine {
        let engine = cx.races.clocks.engine();
        cx.races.clocks.release_engine(engine, &mut passing.released);
    } else {
        cx.races.clocks.release(cx.warp, &mut passing.released);
    }
    if completes {
        passing.completed.clone_from(&passing.released);
    }
}

/// The executing warp has seen a phase complete.
fn acquire(cx: &mut Cx<'_>, place: Place) {
    if let (true, Some(passing)) = (cx.racing(), cx.mbarriers.get(&(place.rank, place.offset))) {
        cx.races.clocks.acquire(cx.warp, &passing.completed);
    }
}

/// The bytes that a phase waits for with `bytes` more (PTX ISA, "mbarrier: Tracking asynchronous operations": the
/// count stays within 2^20 - 1).
fn expect(tx: i32, bytes: u32, lane: usize) -> Outcome<i32> {
    let limit = 1 << 20;
    match i64::from(tx) + i64::from(bytes) {
        sum if sum < limit => Ok(sum as i32),
        sum => Err(misuse(lane, format!("a phase waits for {sum} bytes; the limit is {}", limit - 1))),
    }
}

/// Counts bytes that a copy brought.
pub(crate) fn complete_tx(cx: &mut Cx<'_>, place: Place, lane: usize, bytes: u32) -> Outcome<()> {
    let mut state = sound(cx, place, lane)?;
    let phase = state.phase;
    state.tx -= bytes as i32;
    state.advance();
    release(cx, place, true, state.phase != phase);
    store(cx, place, state.pack());
    Ok(())
}

fn arrive(cx: &mut Cx<'_>, warp: &mut Warp, op: &Arrive, place: Place, lane: usize) -> Outcome<()> {
    let mut state = sound(cx, place, lane)?;
    if let Some(token) = op.state {
        warp.regs.set_lane(crate::program::code::Reg::D(token), lane, state.pack());
    }
    if let Some(bytes) = op.expect {
        state.tx = expect(state.tx, warp.regs.r(bytes)[lane], lane)?;
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
    release(cx, place, false, state.phase != phase);
    store(cx, place, state.pack());
    Ok(())
}

/// What the object at a waiting lane's place still waits for.
pub(crate) fn standing(cx: &mut Cx<'_>, warp: &Warp, op: &Mbarrier, lane: usize) -> Option<(u32, i32)> {
    let address = addresses(warp, op.addr)[lane];
    let place = Place::locate(cx, op.space, lane, address, 8, "").ok()?;
    let state = State::unpack(load(cx, place));
    Some((state.pending, state.tx))
}
