//! Calls and returns, lane by lane.

use crate::check::undefined;
use crate::exec::builtin;
use crate::lanes::lanes;
use crate::machine::Cluster;
use crate::machine::warp::{Activation, FRAME_ALIGN, Group, MAX_STACK, Saved, Warp};
use crate::program::code::{Call, Callee, Control, D, Op, P, Place, R, Reg, Slots, Target};
use crate::program::spaces::FUNCTION_WINDOW;
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome, Where};
use crate::schedule::run::step;
use crate::schedule::run::step::Step;
use crate::shadow::undefined::{Partial, Taint};

/// The maximum call depth of a thread.
const MAX_DEPTH: usize = 1 << 14;

pub(super) fn call(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    group: &mut Group,
    call: &Call,
    mask: u32,
) -> Outcome<Step> {
    let code = cluster.machine.code;
    for lane in lanes(mask) {
        let index = match call.target {
            Target::Direct(index) => index,
            Target::Indirect(register) => function_at(cluster, warp, register, lane)?,
        };
        let callee = &code.callees[index as usize];
        if let Some(function) = callee.builtin {
            builtin::call(cluster, warp, function, callee, call, lane)?;
            warp.groups.push(Group { pc: group.pc + 1, mask: 1 << lane, ..*group });
            continue;
        }
        enter(cluster, warp, lane, group.pc + 1, call, index, callee)?;
        warp.groups.push(Group {
            pc: callee.start,
            mask: 1 << lane,
            depth: group.depth + 1,
            wait: group.wait,
        });
    }
    group.mask &= !mask;
    group.pc += 1;
    warp.merge();
    Ok(Step::Choose)
}

fn function_at(cluster: &Cluster<'_>, warp: &Warp, register: D, lane: usize) -> Outcome<u32> {
    let address = warp.regs.d(register)[lane];
    let number = address.wrapping_sub(FUNCTION_WINDOW) / 16;
    let found = cluster.machine.code.callees.iter().position(|c| u64::from(c.function) == number);
    match found {
        Some(index) if address >= FUNCTION_WINDOW && address.is_multiple_of(16) => Ok(index as u32),
        _ => Err(Fault::at(
            FindingKind::InvalidAddress,
            lane,
            format!("a call through {address:#x}, which is not the address of a function"),
        )),
    }
}

/// Creates a lane's stack frame for a function and passes the arguments.
fn enter(
    cluster: &Cluster<'_>,
    warp: &mut Warp,
    lane: usize,
    return_pc: u32,
    call: &Call,
    index: u32,
    callee: &Callee,
) -> Outcome<()> {
    let depth = warp.stacks[lane].len();
    let caller = u64::from(warp.sp[lane]);
    // With `alloca`, a frame may be larger than its function's variables. Saved registers precede the frame, as in hardware.
    let saved = callee.saved.map_or(0, spilled_bytes).next_multiple_of(FRAME_ALIGN);
    let frame = (caller + u64::from(call.frame)).max(warp.top_of(lane).next_multiple_of(FRAME_ALIGN)) + saved;
    let top = frame + u64::from(callee.frame);
    if top > MAX_STACK || depth >= MAX_DEPTH {
        let message = format!(
            "local memory out of bounds: the stack overflows in `{}`, {depth} calls deep with {top} bytes",
            callee.name
        );
        return Err(Fault::at(FindingKind::LocalOutOfBounds, lane, message));
    }
    let saved = callee.saved.map(|range| Saved {
        values: save(warp, lane, range),
        taints: warp.shadow.undefined.save(&callee.watched, lane),
    });
    warp.local.forget(lane, frame, u64::from(callee.frame));
    let passed = take(cluster, warp, lane, &call.args, &callee.params);
    give(cluster, warp, lane, (&call.args, caller), (&callee.params, frame), &passed);
    let caller_used = warp.frame_of(lane);
    warp.stacks[lane].push(Activation {
        return_pc,
        caller_frame: (frame - caller) as u32,
        caller_used,
        callee: index,
        saved,
    });
    warp.sp[lane] = frame as u32;
    warp.set_frame(lane, callee.used);
    Ok(())
}

/// Reads values of up to 8 bytes, with their undefined bits, from locations in the current stack frame, in order to pass them to another
/// frame.
fn take(cluster: &Cluster<'_>, warp: &Warp, lane: usize, from: &[Place], to: &[Place]) -> Vec<(u64, Taint)> {
    let one = |(from, to): (&Place, &Place)| match (from.register(), to.register()) {
        (None, None) => (0, Taint::NONE),
        _ => (builtin::read_place(warp, lane, *from), taint_of(cluster, warp, lane, *from)),
    };
    from.iter().zip(to).map(one).collect()
}

/// Returns the undefined bits of a variable in the current stack frame.
fn taint_of(cluster: &Cluster<'_>, warp: &Warp, lane: usize, place: Place) -> Taint {
    match place {
        Place::Register(reg) => {
            let register = cluster.machine.code.watched.number(reg);
            register.map_or(Taint::NONE, |register| warp.shadow.undefined.get(register, lane))
        }
        Place::Frame { offset, size } => {
            let address = u64::from(warp.sp[lane] + offset);
            undefined::of_local(cluster, warp, lane, address, size.clamp(1, 8).into())
        }
    }
}

/// Passes arguments or results: writes the values `taken` to registers and to the frame at `frame`, and copies from the frame at `source`.
fn give(
    cluster: &Cluster<'_>,
    warp: &mut Warp,
    lane: usize,
    (from, source): (&[Place], u64),
    (to, frame): (&[Place], u64),
    taken: &[(u64, Taint)],
) {
    for ((from, to), &(value, taint)) in from.iter().zip(to).zip(taken) {
        match (*from, *to) {
            (Place::Frame { offset, size }, Place::Frame { offset: to, size: room }) => {
                let (from, to) = (source + u64::from(offset), frame + u64::from(to));
                warp.local.copy(lane, from, to, size.min(room).into());
            }
            (_, Place::Register(reg)) => {
                warp.regs.set_lane(reg, lane, value);
                if let Some(register) = cluster.machine.code.watched.number(reg) {
                    warp.shadow.undefined.set(register, lane, taint);
                }
            }
            (_, Place::Frame { offset, size }) => {
                let (address, bytes) = (frame + u64::from(offset), u64::from(size.min(8)));
                for i in 0..bytes {
                    warp.local.set_byte(lane, address + i, (value >> (8 * i)) as u8);
                }
                let at = Where { warp: cluster.warp, lane, pc: cluster.pc };
                warp.local.undefine(lane, (address, bytes), taint.bits, undefined::origin(&taint, at));
            }
        }
    }
}

pub(super) fn ret(cluster: &mut Cluster<'_>, warp: &mut Warp, group: &mut Group, mask: u32) -> Outcome<Step> {
    if group.depth == 0 {
        step::exit(cluster, warp, mask)?;
        group.mask &= !mask;
        group.pc += 1;
        return Ok(Step::Choose);
    }
    for lane in lanes(mask) {
        let Some(activation) = warp.stacks[lane].pop() else { continue };
        let pc = activation.return_pc;
        leave(cluster, warp, lane, activation);
        warp.groups.push(Group { pc, mask: 1 << lane, depth: group.depth - 1, wait: group.wait });
    }
    group.mask &= !mask;
    group.pc += 1;
    warp.merge();
    Ok(Step::Choose)
}

/// Removes a lane's stack frame and passes the results to the caller.
fn leave(cluster: &Cluster<'_>, warp: &mut Warp, lane: usize, activation: Activation) {
    let code = cluster.machine.code;
    let callee = &code.callees[activation.callee as usize];
    let Op::Control(Control::Call(call)) = &code.instrs[activation.return_pc as usize - 1].op else { return };
    let frame = u64::from(warp.sp[lane]);
    let caller = frame - u64::from(activation.caller_frame);
    let passed = take(cluster, warp, lane, &callee.returns, &call.returns);
    if let (Some(range), Some(saved)) = (callee.saved, &activation.saved) {
        restore(warp, lane, range, &saved.values);
        warp.shadow.undefined.restore(&callee.watched, lane, &saved.taints);
    }
    give(cluster, warp, lane, (&callee.returns, frame), (&call.returns, caller), &passed);
    warp.sp[lane] = caller as u32;
    warp.set_frame(lane, activation.caller_used);
}

/// Returns the number of bytes of local memory that a function's 32-bit and 64-bit registers occupy when they are saved.
fn spilled_bytes((from, to): (Slots, Slots)) -> u64 {
    4 * u64::from(to.r - from.r) + 8 * u64::from(to.d - from.d)
}

/// Returns one lane's values of a function's registers.
fn save(warp: &Warp, lane: usize, (from, to): (Slots, Slots)) -> Box<[u64]> {
    let r = (from.r..to.r).map(|i| warp.regs.lane(Reg::R(R(i)), lane));
    let d = (from.d..to.d).map(|i| warp.regs.lane(Reg::D(D(i)), lane));
    let p = (from.p..to.p).map(|i| warp.regs.lane(Reg::P(P(i)), lane));
    r.chain(d).chain(p).collect()
}

fn restore(warp: &mut Warp, lane: usize, (from, to): (Slots, Slots), saved: &[u64]) {
    let r = (from.r..to.r).map(|i| Reg::R(R(i)));
    let d = (from.d..to.d).map(|i| Reg::D(D(i)));
    let p = (from.p..to.p).map(|i| Reg::P(P(i)));
    for (reg, &value) in r.chain(d).chain(p).zip(saved) {
        warp.regs.set_lane(reg, lane, value);
    }
}
