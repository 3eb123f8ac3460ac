//! The checks before instructions that access watched registers.

use crate::alu::exchange::shuffled;
use crate::check::undefined::flow;
use crate::check::undefined::sums::{self, Operands};
use crate::lanes::{FULL, lanes};
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::{Code, Memory, Op, Reg, Shfl, Tensor, Watch, Wgmma};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome, Where};
use crate::shadow::undefined::{Origin, Taint, Undefined};

/// Tracks one instruction that the lanes `mask` of `group` execute. Lanes with an undefined guard count as executing.
pub(crate) fn follow(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    watch: &Watch,
    group: u32,
    mask: u32,
) -> Outcome<()> {
    let undefined = &mut warp.shadow.undefined;
    let read = Reads {
        guard: undefined.lanes(watch.guard.as_slice()) & group,
        sources: undefined.lanes(&watch.sources) & mask,
        sinks: undefined.lanes(&watch.sinks) & mask,
    };
    if read.guard | read.sources | read.sinks == 0 {
        undefined.define(&watch.writes, mask);
        return Ok(());
    }
    follow_undefined(cluster, warp, watch, &read, mask)
}

/// The lanes in which the operands of an instruction are not fully defined.
struct Reads {
    guard: u32,
    sources: u32,
    sinks: u32,
}

#[cold]
fn follow_undefined(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    watch: &Watch,
    read: &Reads,
    mask: u32,
) -> Outcome<()> {
    let op = &cluster.machine.code.instrs[cluster.pc as usize].op;
    if let Op::Alu(alu) = op {
        flow::compute(cluster, warp, watch, alu, read.guard, mask);
        return Ok(());
    }
    let mut fault = used(cluster, &mut warp.shadow.undefined, watch.guard.as_slice(), read.guard);
    fault = fault.or_else(|| used(cluster, &mut warp.shadow.undefined, &watch.sinks, read.sinks));
    match op {
        Op::Memory(Memory::St(..) | Memory::StR(..)) => warp.shadow.undefined.storing = read.sources,
        Op::Memory(Memory::StMatrix(_)) if read.sources != 0 => warp.shadow.undefined.storing = mask,
        Op::Tensor(tensor) if mask != 0 => product(cluster, warp, watch, tensor),
        _ => warp.shadow.undefined.define(&watch.writes, mask),
    }
    fault.map_or(Ok(()), |fault| tell(cluster, fault))
}

/// Marks the sums of a product that depend on undefined registers.
fn product(cluster: &Cluster<'_>, warp: &mut Warp, watch: &Watch, tensor: &Tensor) {
    let undefined = &warp.shadow.undefined;
    let Some((lane, (_, taint))) =
        lanes(FULL).find_map(|lane| Some((lane, undefined.first(&watch.sources, lane)?)))
    else {
        return warp.shadow.undefined.define(&watch.writes, FULL);
    };
    let origin =
        Origin { padding: false, ..origin(&taint, Where { warp: cluster.warp, lane, pc: cluster.pc }) };
    let watched = &cluster.machine.code.watched;
    let of = |reg: Reg| watched.number(reg).map_or([0; 32], |number| undefined.bits(number, FULL));
    let operands = match tensor {
        Tensor::Mma(mma) => Operands::of_mma(mma, of),
        Tensor::Wgmma(wgmma) => {
            let kept = wgmma.keep.is_none_or(|(p, negated)| warp.regs.predicate(p, negated) & 1 == 1);
            Operands::of_wgmma(wgmma, kept, of)
        }
        _ => return warp.shadow.undefined.define(&watch.writes, FULL),
    };
    sums::mark(watched, &mut warp.shadow.undefined, &operands, origin);
}

/// Marks the sums of a `wgmma` that depend on undefined rows of A and columns of B in shared memory, in addition to operands in registers.
#[cold]
pub(crate) fn shared_operands(
    cluster: &Cluster<'_>,
    warp: &mut Warp,
    op: &Wgmma,
    (rows, columns): (&[bool], &[bool]),
    address: u64,
) {
    let watched = &cluster.machine.code.watched;
    let undefined = &mut warp.shadow.undefined;
    let of = |reg: Reg| watched.number(reg).map_or([0; 32], |number| undefined.bits(number, FULL));
    let mut operands = Operands::of_wgmma(op, true, of);
    operands.add(rows, columns);
    let at = Where { warp: cluster.warp, lane: 0, pc: cluster.pc };
    let kind = FindingKind::UninitializedSharedRead;
    let origin = Origin { kind, at, address: Some(address), padding: false };
    sums::mark(watched, undefined, &operands, origin);
}

/// Records a finding. An uninitialized read of shared memory may later turn out to be caused by a race.
pub(crate) fn tell(cluster: &mut Cluster<'_>, fault: Box<Fault>) -> Outcome<()> {
    if fault.kind == FindingKind::UninitializedSharedRead {
        cluster.postpone(fault)
    } else {
        cluster.note(fault)
    }
}

/// Reports a use of registers that are undefined in the lanes of `mask`, if this kind of finding is checked. Afterward, the registers are
/// considered defined.
fn used(
    cluster: &Cluster<'_>,
    undefined: &mut Undefined,
    registers: &[u32],
    mask: u32,
) -> Option<Box<Fault>> {
    let taints = lanes(mask).filter_map(|lane| Some((lane, undefined.first(registers, lane)?)));
    let fault = taints.into_iter().find_map(|(lane, (register, taint))| {
        misuse(cluster, lane, &taint, &format!("`{}`", cluster.machine.code.watched.name(register)))
    });
    undefined.define(registers, mask);
    fault
}

/// Returns the finding for a use of an undefined value, if this kind of finding is checked.
pub(crate) fn misuse(cluster: &Cluster<'_>, lane: usize, taint: &Taint, what: &str) -> Option<Box<Fault>> {
    let here = Where { warp: cluster.warp, lane, pc: cluster.pc };
    let origin = origin(taint, here);
    let Origin { kind, at, .. } = origin;
    if !cluster.machine.checks.contains(kind.check()) {
        return None;
    }
    let fault = Fault::at(kind, lane, sentence(&origin, what));
    Some(match kind {
        // Usually, another thread has not written the bytes yet, so the first location is the read.
        FindingKind::UninitializedSharedRead => fault.reported_at(at).with(Some(here)),
        _ => fault.with((at.pc != cluster.pc).then_some(at)),
    })
}

/// Returns the message about the use of an undefined value.
pub(crate) fn sentence(origin: &Origin, used: &str) -> String {
    match origin.kind {
        FindingKind::UninitializedLocalRead => {
            format!("uninitialized local memory: {used} comes from bytes that the thread has not written")
        }
        FindingKind::UninitializedSharedRead => {
            let address = origin.address.map_or("an address".into(), |address| format!("{address:#x}"));
            format!("uninitialized shared memory: {used} comes from {address}, which no thread has written")
        }
        _ => format!(
            "uninitialized register: {used} holds a value that was never written, or computed from one"
        ),
    }
}

/// Returns the origin of undefined bits. For a register that was never written, this is the instruction `at`.
pub(crate) fn origin(taint: &Taint, at: Where) -> Origin {
    let here = Origin { kind: FindingKind::UninitializedRegister, at, address: None, padding: false };
    taint.origin.unwrap_or(here)
}

/// A shuffle at one position in the PTX text, and the lanes that execute it.
pub(crate) struct ShuffleAt<'c> {
    pub(crate) op: &'c Shfl,
    pub(crate) pc: u32,
    pub(crate) mask: u32,
}

/// Propagates undefined bits through a shuffle, which lanes may execute at different positions in the PTX text. The undefined bits of a
/// result are those of the value in its source lane.
pub(crate) fn shuffle(code: &Code, warp: &mut Warp, number: usize, parts: &[ShuffleAt<'_>]) {
    let sent = |lane: usize| {
        let part = parts.iter().find(|part| part.mask >> lane & 1 == 1)?;
        let taint = warp.shadow.undefined.get(code.watched.number(Reg::R(part.op.a))?, lane);
        let at = Where { warp: number, lane, pc: part.pc };
        Some(Taint { origin: Some(origin(&taint, at)), ..taint })
    };
    let sent: [Taint; 32] = std::array::from_fn(|lane| sent(lane).unwrap_or(Taint::NONE));
    for part in parts {
        let Some(d) = code.watched.number(Reg::R(part.op.d)) else { continue };
        let (from, _) = shuffled(&warp.regs, part.op);
        lanes(part.mask).for_each(|lane| warp.shadow.undefined.set(d, lane, sent[from[lane]]));
    }
}
