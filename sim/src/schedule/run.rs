//! Runs a warp: chooses a group of lanes, and executes the group until a new choice is required.

mod calls;
mod meet;
mod registers;
mod step;

use crate::alu;
use crate::alu::simd;
use crate::check::look;
use crate::exec::{mbarrier, memory, tensor};
use crate::machine::Cluster;
use crate::machine::warp::{Group, Wait, Warp};
use crate::program::code::{BarrierKind, Control, Memory, Op};
use crate::report::fault::{Fault, Outcome};
use crate::schedule::run::step::Step;
use crate::shadow::clocks::WARPGROUP;

/// The number of instructions after which a group that was passed over gets a turn.
pub(crate) const PATIENCE: u32 = 1 << 15;
/// The weight, in instructions, of an instruction through which lanes may communicate.
const TALK: u32 = 256;

/// The reason why a warp stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The warp has used up its turn.
    Turn,
    /// The warp yields to other warps.
    Yielded,
    /// None of the warp's lanes can continue.
    Blocked,
    /// All of the warp's lanes have exited.
    Finished,
}

/// A fault, and the instruction at which it occurred.
pub(crate) type Faulted = (Box<Fault>, u32);

/// Runs a warp for at most `turn` instructions.
pub(crate) fn run<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    turn: u64,
) -> Result<Stop, Faulted> {
    simd::on_best(Turn::<CHECKED> { cluster, warp, turn })
}

/// A turn of a warp.
struct Turn<'t, 'a, const CHECKED: bool> {
    cluster: &'t mut Cluster<'a>,
    warp: &'t mut Warp,
    turn: u64,
}

impl<const CHECKED: bool> simd::Work for Turn<'_, '_, CHECKED> {
    type Out = Result<Stop, Faulted>;

    #[inline(always)]
    fn work<const FMA: bool>(self) -> Self::Out {
        run_turn::<CHECKED, FMA>(self.cluster, self.warp, self.turn)
    }
}

#[inline(always)]
fn run_turn<const CHECKED: bool, const FMA: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    turn: u64,
) -> Result<Stop, Faulted> {
    let end = cluster.clock + turn;
    warp.polled = false;
    cluster.warp = warp.cta * cluster.machine.threads().div_ceil(32) as usize + warp.index as usize;
    loop {
        let Some(chosen) = choose(cluster, warp)? else {
            return Ok(if warp.live == 0 { Stop::Finished } else { Stop::Blocked });
        };
        let mut group = warp.groups.swap_remove(chosen);
        if cluster.clock < end {
            warp.chosen = group.mask;
        }
        let stop =
            run_group::<CHECKED, FMA>(cluster, warp, &mut group, end).map_err(|fault| (fault, group.pc))?;
        if group.mask != 0 {
            warp.groups.push(group);
        }
        if let Some(stop) = stop {
            return Ok(stop);
        }
    }
}

/// Returns whether a waiting group may continue.
fn released(cluster: &Cluster<'_>, warp: &Warp, group: &Group) -> bool {
    match group.wait {
        Wait::Ready => true,
        Wait::Lanes(needed) => needed & warp.live & !group.mask == 0,
        Wait::Aligned => warp.live & !group.mask == 0,
        Wait::WarpBarrier(mask) => {
            let there = warp.groups.iter().filter(|g| g.wait == group.wait).fold(0, |all, g| all | g.mask);
            mask & warp.live & !there == 0
        }
        Wait::Barrier { id, phase } => cluster.ctas[warp.cta].barriers[usize::from(id)].generation > phase,
        Wait::Cluster { phase } => cluster.cluster_barrier.generation > phase,
        Wait::Registers(count) => registers::available(cluster, warp, count),
        Wait::Products(groups) => {
            cluster.ctas[warp.cta].wgmma[warp.index as usize / WARPGROUP].issued(groups)
        }
    }
}

/// Returns the group to run next, if any group can run.
fn choose(cluster: &mut Cluster<'_>, warp: &mut Warp) -> Result<Option<usize>, Faulted> {
    if let [only] = &warp.groups[..]
        && only.wait == Wait::Ready
    {
        return Ok(Some(0));
    }
    for i in 0..warp.groups.len() {
        let group = warp.groups[i];
        if group.wait != Wait::Ready && released(cluster, warp, &group) {
            release(cluster, warp, i);
        }
    }
    warp.merge();
    meet::meet(cluster, warp)?;
    let ready = |g: &Group| g.wait == Wait::Ready;
    let order = |g: &Group| (u32::MAX - g.depth, g.pc);
    let Some((first, _)) =
        warp.groups.iter().enumerate().filter(|(_, g)| ready(g)).min_by_key(|(_, g)| order(g))
    else {
        return Ok(None);
    };
    if warp.impatience < PATIENCE {
        return Ok(Some(first));
    }
    // A group has waited too long. The groups other than the first now run in turn, in the same order.
    warp.impatience = 0;
    let mut waiting: Vec<usize> = (0..warp.groups.len()).filter(|&i| ready(&warp.groups[i])).collect();
    waiting.sort_by_key(|&i| order(&warp.groups[i]));
    warp.turns = warp.turns.wrapping_add(1);
    let next = 1 + warp.turns as usize % waiting.len().saturating_sub(1).max(1);
    Ok(waiting.get(next).copied().or(Some(first)))
}

/// Lets a group continue after its wait.
fn release(cluster: &mut Cluster<'_>, warp: &mut Warp, index: usize) {
    let group = warp.groups[index];
    match group.wait {
        Wait::Barrier { id, phase } => {
            let (reduction, _) = cluster.ctas[warp.cta].barriers[usize::from(id)].result(phase);
            cluster.after_barrier(warp.cta, usize::from(id), phase);
            if let Op::Control(Control::Barrier(barrier)) = &cluster.machine.code.instrs[group.pc as usize].op
            {
                let all = |yes: bool| if yes { u32::MAX } else { 0 };
                match barrier.kind {
                    BarrierKind::Popc(d, ..) => warp.regs.put_r(d, group.mask, &[reduction.popc; 32]),
                    BarrierKind::And(d, ..) => warp.regs.put_p(d, group.mask, all(reduction.and)),
                    BarrierKind::Or(d, ..) => warp.regs.put_p(d, group.mask, all(reduction.or)),
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                }
            }
            warp.groups[index].pc += 1;
        }
        Wait::Cluster { .. } => {
            cluster.after_cluster_barrier();
            warp.groups[index].pc += 1;
        }
        Wait::Products(groups) => {
            step::products_done(cluster, warp, groups);
            warp.groups[index].pc += 1;
        }
        Wait::WarpBarrier(mask) => {
            cluster.sync_members(mask, warp.live);
            for g in warp.groups.iter_mut().filter(|g| g.wait == group.wait) {
                g.pc += 1;
                g.wait = Wait::Ready;
            }
        }
        Wait::Registers(count) => {
            registers::take(cluster, warp, count);
            warp.groups[index].pc += 1;
        }
        Wait::Ready | Wait::Lanes(_) | Wait::Aligned => {}
    }
    warp.groups[index].wait = Wait::Ready;
}

/// Executes one group until it exits, waits, meets another group or splits, or until the turn is over. The remaining lanes stay in `group`.
/// A result of `Some` ends the warp's turn.
#[inline(always)]
fn run_group<const CHECKED: bool, const FMA: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    group: &mut Group,
    end: u64,
) -> Outcome<Option<Stop>> {
    let code = cluster.machine.code;
    let alone = warp.groups.is_empty();
    // The position of the next group that this one would reach.
    let meeting = warp
        .groups
        .iter()
        .filter(|g| g.wait.is_open() && g.depth == group.depth && g.pc > group.pc)
        .map(|g| g.pc)
        .min()
        .unwrap_or(u32::MAX);
    loop {
        if cluster.clock >= end {
            return Ok(Some(Stop::Turn));
        }
        let instr = &code.instrs[group.pc as usize];
        let mask = match instr.guard {
            crate::program::code::Guard::Always => group.mask,
            crate::program::code::Guard::If(p) => group.mask & warp.regs.p(p),
            crate::program::code::Guard::Unless(p) => group.mask & !warp.regs.p(p),
        };
        let at = group.pc;
        cluster.clock += 1;
        cluster.pc = group.pc;
        if CHECKED {
            if let Some(counts) = cluster.profile.get_mut(group.pc as usize) {
                counts.warp_instructions += 1;
                counts.thread_instructions += u64::from(mask.count_ones());
            }
            let meta = &code.meta[group.pc as usize];
            if let Some(asked) = &meta.look
                && meta.looks(warp.shadow.undefined.spreads)
            {
                look::look(cluster, warp, asked, group.mask, mask)?;
            }
        }
        let step = match &instr.op {
            _ if mask == 0 => Step::Next,
            Op::Alu(op) => {
                if FMA {
                    alu::execute::<true>(&mut warp.regs, op, mask, cluster.clock);
                } else {
                    alu::execute_portably(&mut warp.regs, op, mask, cluster.clock);
                }
                Step::Next
            }
            Op::Memory(op @ (Memory::LdMatrix(_) | Memory::StMatrix(_))) => {
                match step::converged(warp, group, mask) {
                    Some(step) => step,
                    None => {
                        step::full_warp(mask)?;
                        memory::execute::<CHECKED>(cluster, warp, op, mask)?;
                        Step::Next
                    }
                }
            }
            Op::Memory(Memory::Mbarrier(op)) => {
                let waiting = mbarrier::execute(cluster, warp, op, mask)?;
                if waiting { Step::Yield } else { Step::Next }
            }
            Op::Memory(op) => {
                memory::execute::<CHECKED>(cluster, warp, op, mask)?;
                if instr.meets_lanes {
                    warp.polled = true;
                    warp.impatience = warp.impatience.saturating_add(if alone { 0 } else { TALK });
                }
                Step::Next
            }
            Op::Tensor(op) => match step::together(cluster, warp, group, mask) {
                Some(step) => step,
                None => {
                    step::full_warp(mask)?;
                    tensor::execute::<CHECKED>(cluster, warp, op)?;
                    Step::Next
                }
            },
            Op::Warp(op) => step::warp_op(cluster, warp, group, mask, op)?,
            Op::Control(op) => step::control(cluster, warp, group, op, mask)?,
        };
        if CHECKED
            && mask != 0
            && let Some(tracer) = &cluster.machine.tracer
            && (step != Step::Choose || matches!(instr.op, Op::Control(_)))
        {
            tracer.executed(cluster, warp, at, mask);
        }
        match step {
            Step::Next => group.pc += 1,
            Step::Jump(to) => {
                group.pc = to;
                if !alone {
                    warp.impatience = warp.impatience.saturating_add(1);
                    return Ok(None);
                }
            }
            Step::Choose => return Ok(None),
            Step::Yield => {
                group.pc += 1;
                warp.impatience = if alone { 0 } else { PATIENCE };
                return Ok(Some(Stop::Yielded));
            }
        }
        if group.pc >= meeting {
            return Ok(None);
        }
        if !alone {
            warp.impatience = warp.impatience.saturating_add(1);
            if warp.impatience >= PATIENCE {
                return Ok(None);
            }
        }
    }
}
