//! Instructions that determine where lanes continue, or make lanes wait.

use crate::check::undefined::{self, ShuffleAt};
use crate::check::uniform::check_uniform;
use crate::exec::warp;
use crate::exec::warp::member_mask;
use crate::exec::{async_copy, bulk};
use crate::lanes::lanes;
use crate::machine::Cluster;
use crate::machine::warp::{Group, Wait, Warp};
use crate::machine::wgmma::WgmmaGroups;
use crate::program::code::{Barrier, BarrierKind, Control, R, WarpOp};
use crate::report::Checks;
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome, Where};
use crate::schedule::run::{calls, registers};
use crate::shadow::clocks::WARPGROUP;

/// The next step after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The next instruction.
    Next,
    /// Continue at another instruction.
    Jump(u32),
    /// The group has changed; choose again.
    Choose,
    /// Continue with the next instruction after other warps have had a turn.
    Yield,
}

/// Splits the lanes of `mask` off the group, so that they wait at its instruction. The other lanes continue after it.
pub(super) fn hold(warp: &mut Warp, group: &mut Group, mask: u32, wait: Wait) -> Step {
    warp.groups.push(Group { mask, wait, ..*group });
    group.mask &= !mask;
    group.pc += 1;
    Step::Choose
}

/// Handles `.aligned` instructions. Returns `None` if the whole warp has arrived, which orders the accesses of its lanes.
pub(super) fn together(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    group: &mut Group,
    mask: u32,
) -> Option<Step> {
    let wait = converged(warp, group, mask);
    if wait.is_none() {
        cluster.sync_lanes();
    }
    wait
}

/// Handles `.aligned` accesses to shared memory. Returns `None` if the whole warp has arrived, which does not order earlier accesses of
/// other lanes (PTX ISA, "ldmatrix").
pub(super) fn converged(warp: &mut Warp, group: &mut Group, mask: u32) -> Option<Step> {
    (mask != warp.live).then(|| hold(warp, group, mask, Wait::Aligned))
}

/// Rejects matrix instructions in warps with fewer than 32 lanes, such as an incomplete last warp of a block.
pub(super) fn full_warp(mask: u32) -> Outcome<()> {
    if mask == u32::MAX {
        return Ok(());
    }
    let message =
        format!("a matrix instruction runs in lanes {mask:#010x} only; it takes all 32 lanes of a warp");
    Err(Fault::new(FindingKind::AlignedDivergence, message))
}

/// Executes an instruction that exchanges values between lanes, once its member lanes have arrived.
pub(super) fn warp_op(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    group: &mut Group,
    mask: u32,
    op: &WarpOp,
) -> Outcome<Step> {
    let (machine, number, pc) = (cluster.machine, cluster.warp, group.pc);
    let execute = |warp: &mut Warp, part: u32| {
        if let WarpOp::Shfl(op) = op
            && machine.checks.intersects(Checks::UNDEFINED)
            && machine.code.meta[pc as usize].looks(warp.shadow.undefined.spreads)
        {
            undefined::shuffle(machine.code, warp, number, &[ShuffleAt { op, pc, mask: part }]);
        }
        warp::execute(warp, op, part, machine.checks.contains(Checks::SHUFFLES))
    };
    if let Some(register) = member_mask(op) {
        let members = (register, mask, "a .sync instruction");
        return in_parts(cluster, warp, group, members, Wait::Lanes, execute);
    }
    if let WarpOp::MovMatrix(..) = op {
        if let Some(step) = together(cluster, warp, group, mask) {
            return Ok(step);
        }
        full_warp(mask)?;
    }
    execute(warp, mask)?;
    Ok(Step::Next)
}

/// Returns the value of a mask register in the first lane of `mask`, and the lanes in which the value is the same.
fn part(warp: &Warp, register: R, mask: u32) -> (u32, u32) {
    let values = warp.regs.r(register);
    let needed = values[mask.trailing_zeros() as usize & 31];
    let same = |part, lane: usize| part | u32::from(values[lane] == needed) << lane;
    (needed, lanes(mask).fold(0, same))
}

/// Checks that the mask of an instruction includes all lanes that execute the instruction.
fn belong(needed: u32, mask: u32, what: &str) -> Outcome<()> {
    let stranger = mask & !needed;
    if stranger == 0 {
        return Ok(());
    }
    let lane = stranger.trailing_zeros() as usize;
    let message = format!("lane {lane} runs {what} whose member mask {needed:#010x} leaves it out");
    Err(Fault::at(FindingKind::SyncMask, lane, message))
}

/// Executes an instruction once for each set of lanes that specify the same members. Incomplete sets wait.
fn in_parts(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    group: &mut Group,
    (register, mask, what): (R, u32, &str),
    wait: impl Fn(u32) -> Wait,
    mut run: impl FnMut(&mut Warp, u32) -> Outcome<()>,
) -> Outcome<Step> {
    let (whole, mut rest) = (*group, mask);
    while rest != 0 {
        let (needed, part) = part(warp, register, rest);
        belong(needed, part, what)?;
        if needed & warp.live & !part == 0 {
            cluster.sync_members(needed, warp.live);
            run(warp, part)?;
        } else {
            warp.groups.push(Group { mask: part, wait: wait(needed), ..whole });
            group.mask &= !part;
        }
        rest &= !part;
    }
    if group.mask == whole.mask {
        return Ok(Step::Next);
    }
    group.pc += 1;
    Ok(Step::Choose)
}

/// Returns the value of a register, which must be the same in all lanes of `mask`.
fn uniform(warp: &Warp, register: R, mask: u32, what: &str) -> Outcome<u32> {
    let values = warp.regs.r(register);
    let first = values[mask.trailing_zeros() as usize & 31];
    match lanes(mask).find(|&lane| values[lane] != first) {
        None => Ok(first),
        Some(lane) => Err(Fault::at(
            FindingKind::SyncMask,
            lane,
            format!("{what} differs between lanes that run together: {:#x} and {first:#x}", values[lane]),
        )),
    }
}

pub(super) fn control(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    group: &mut Group,
    op: &Control,
    mask: u32,
) -> Outcome<Step> {
    match op {
        Control::Branch(to) => {
            if mask != group.mask {
                cluster.count_divergence();
            }
            Ok(branch(warp, group, mask, *to))
        }
        Control::BranchIndexed(index, targets) => {
            let index = *warp.regs.r(*index);
            for lane in lanes(mask) {
                let Some(&pc) = targets.get(index[lane] as usize) else {
                    let message = format!("brx.idx with index {} of {} targets", index[lane], targets.len());
                    return Err(Fault::at(FindingKind::InvalidOperand, lane, message));
                };
                warp.groups.push(Group { pc, mask: 1 << lane, ..*group });
            }
            group.mask &= !mask;
            group.pc += 1;
            warp.merge();
            Ok(Step::Choose)
        }
        Control::Call(call) => calls::call(cluster, warp, group, call, mask),
        Control::Return => calls::ret(cluster, warp, group, mask),
        Control::Exit => {
            exit(cluster, warp, mask)?;
            group.mask &= !mask;
            group.pc += 1;
            Ok(Step::Choose)
        }
        Control::Trap => Err(Fault::at(FindingKind::Trap, mask.trailing_zeros() as usize, "trap")),
        Control::Breakpoint => {
            Err(Fault::at(FindingKind::Trap, mask.trailing_zeros() as usize, "brkpt without a debugger"))
        }
        Control::Barrier(barrier) => barrier_step(cluster, warp, group, barrier, mask),
        Control::WarpSync(register) => {
            let members = (*register, mask, "bar.warp.sync");
            in_parts(cluster, warp, group, members, Wait::WarpBarrier, |_, _| Ok(()))
        }
        Control::ClusterArrive { aligned, relaxed } => {
            if *aligned && let Some(step) = together(cluster, warp, group, mask) {
                return Ok(step);
            }
            let live = cluster.ctas.iter().map(|cta| cta.live).sum();
            cluster.events += 1;
            cluster.before_cluster_barrier(*relaxed);
            let phase = cluster.cluster_barrier.arrive(mask.count_ones(), live);
            for lane in lanes(mask) {
                warp.cluster_phase[lane] = phase;
            }
            Ok(Step::Next)
        }
        Control::ClusterWait { aligned } => {
            if *aligned && let Some(step) = together(cluster, warp, group, mask) {
                return Ok(step);
            }
            let phase = lanes(mask).map(|lane| warp.cluster_phase[lane]).max().unwrap_or(0);
            Ok(hold(warp, group, mask, Wait::Cluster { phase }))
        }
        Control::Fence(scope) => {
            cluster.after_fence(*scope);
            Ok(Step::Next)
        }
        Control::ProxyFence => {
            cluster.after_proxy_fence();
            Ok(Step::Next)
        }
        Control::WgmmaCommit => Ok(together(cluster, warp, group, mask).unwrap_or_else(|| {
            wgmma_groups(cluster, warp).commit(warp.index);
            warp.shadow.products.commit();
            cluster.events += 1;
            Step::Next
        })),
        Control::WgmmaWait(n) => {
            if let Some(step) = together(cluster, warp, group, mask) {
                return Ok(step);
            }
            warp.shadow.products.wait(*n);
            let groups = wgmma_groups(cluster, warp);
            let expected = groups.expected(warp.index, *n);
            if !groups.issued(expected) {
                return Ok(hold(warp, group, mask, Wait::Products(expected)));
            }
            products_done(cluster, warp, expected);
            Ok(Step::Next)
        }
        Control::WgmmaFence => Ok(together(cluster, warp, group, mask).unwrap_or_else(|| {
            warp.shadow.products.fence();
            Step::Next
        })),
        Control::MaxRegisters { count, more } => match together(cluster, warp, group, mask) {
            Some(step) => Ok(step),
            None => registers::request(cluster, warp, group, mask, *count, *more),
        },
        Control::Yield => Ok(Step::Yield),
        Control::Uniform(op) => check_uniform(cluster, warp, op, mask).map(|()| Step::Next),
        Control::GridWait => {
            cluster.after_grid_wait();
            Ok(Step::Next)
        }
        Control::Hint => Ok(Step::Next),
    }
}

fn wgmma_groups<'c>(cluster: &'c mut Cluster<'_>, warp: &Warp) -> &'c mut WgmmaGroups {
    &mut cluster.ctas[warp.cta].wgmma[warp.index as usize / WARPGROUP]
}

/// Records that the warp has waited for the first `groups` groups of products, each of which belongs to the whole warpgroup.
pub(super) fn products_done(cluster: &mut Cluster<'_>, warp: &Warp, groups: u32) {
    if !cluster.racing() || cluster.machine.code.product_registers == 0 {
        return;
    }
    let read = wgmma_groups(cluster, warp).finished(groups);
    cluster.after_products(read);
}

fn branch(warp: &mut Warp, group: &mut Group, mask: u32, to: u32) -> Step {
    if mask == group.mask {
        return Step::Jump(to);
    }
    warp.groups.push(Group { pc: to, mask, ..*group });
    group.mask &= !mask;
    group.pc += 1;
    Step::Choose
}

/// Reports lanes that exit with pending asynchronous work.
fn leaked(cluster: &mut Cluster<'_>, warp: &Warp, mask: u32) -> Outcome<()> {
    if !cluster.machine.checks.contains(Checks::LEAKED_GROUPS) {
        return Ok(());
    }
    let copy = async_copy::unwaited(warp, mask).map(|(lane, pc)| ("cp.async", lane, pc));
    let bulk = || bulk::unwaited(cluster, warp, mask).map(|(lane, pc)| ("cp.async.bulk", lane, pc));
    let product = || warp.shadow.products.unwaited().map(|pc| ("wgmma.mma_async", 0, pc));
    let Some((what, lane, pc)) = copy.or_else(bulk).or_else(product) else { return Ok(()) };
    let message =
        format!("asynchronous group leaked: the thread ends with a {what} that it has not waited for");
    let fault = Fault::at(FindingKind::AsyncGroupLeaked, lane, message);
    let other = Where { warp: cluster.warp, lane, pc };
    cluster.note(fault.with(Some(other)))
}

/// Ends lanes.
pub(super) fn exit(cluster: &mut Cluster<'_>, warp: &mut Warp, mask: u32) -> Outcome<()> {
    leaked(cluster, warp, mask)?;
    warp.live &= !mask;
    if warp.live == 0 {
        wgmma_groups(cluster, warp).end(warp.index);
    }
    cluster.events += 1;
    let cta = &mut cluster.ctas[warp.cta];
    cta.live -= mask.count_ones();
    let completed =
        cta.barriers.iter_mut().enumerate().filter_map(|(id, barrier)| Some((id, barrier.check(cta.live)?)));
    let completed: Vec<(usize, u32)> = completed.collect();
    for (id, arrived) in completed {
        barrier_completed(cluster, warp.cta, id, arrived)?;
    }
    let live = cluster.ctas.iter().map(|cta| cta.live).sum();
    cluster.cluster_barrier.check(live);
    if warp.live == 0 { cluster.warp_ends() } else { Ok(()) }
}

/// Records that a barrier for all threads of a block has completed, which orders their earlier accesses before all later ones.
fn barrier_completed(cluster: &mut Cluster<'_>, cta: usize, id: usize, arrived: u32) -> Outcome<()> {
    cluster.barrier_completes(cta, id);
    ended_before(cluster, cta, id, arrived)
}

/// Records the threads that exited before a barrier for all threads. The hardware counts them as arrived.
fn ended_before(cluster: &mut Cluster<'_>, cta: usize, id: usize, arrived: u32) -> Outcome<()> {
    let ended = cluster.machine.threads() - cluster.ctas[cta].live;
    if ended == 0 || !cluster.machine.checks.contains(Checks::BARRIERS) {
        return Ok(());
    }
    let message = format!(
        "exited before a barrier: {arrived} threads wait at barrier {id}, {ended} of the block have ended; the others go on without \
         them"
    );
    cluster.note(Fault::new(FindingKind::ExitedBeforeBarrier, message))
}

fn barrier_step(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    group: &mut Group,
    barrier: &Barrier,
    mask: u32,
) -> Outcome<Step> {
    if barrier.aligned
        && let Some(step) = together(cluster, warp, group, mask)
    {
        return Ok(step);
    }
    let id = uniform(warp, barrier.id, mask, "the barrier's number")?;
    if id > 15 {
        return Err(Fault::new(
            FindingKind::InvalidOperand,
            format!("barrier {id}: a block has barriers 0 to 15"),
        ));
    }
    let expected = match barrier.threads {
        None => 0,
        Some(register) => uniform(warp, register, mask, "the barrier's thread count")?,
    };
    if expected % 32 != 0 || (barrier.threads.is_some() && expected == 0) {
        let message = format!("a barrier for {expected} threads: the count is a positive multiple of 32");
        return Err(Fault::new(FindingKind::InvalidOperand, message));
    }
    // An aligned barrier with a thread count counts whole warps.
    let threads = if barrier.threads.is_some() && barrier.aligned { 32 } else { mask.count_ones() };
    let votes = match barrier.kind {
        BarrierKind::Popc(_, p, negated)
        | BarrierKind::And(_, p, negated)
        | BarrierKind::Or(_, p, negated) => {
            Some(((warp.regs.predicate(p, negated) & mask).count_ones(), mask.count_ones()))
        }
        BarrierKind::Sync | BarrierKind::Arrive => None,
    };
    cluster.events += 1;
    cluster.before_barrier(warp.cta, id as usize);
    let cta = &mut cluster.ctas[warp.cta];
    let barrier_state = &mut cta.barriers[id as usize];
    barrier_state.warps |= 1 << warp.index;
    let (phase, completed) = barrier_state.arrive(threads, expected, cta.live, votes)?;
    if let Some(arrived) = completed {
        barrier_completed(cluster, warp.cta, id as usize, arrived)?;
    }
    if barrier.kind == BarrierKind::Arrive {
        return Ok(Step::Next);
    }
    Ok(hold(warp, group, mask, Wait::Barrier { id: id as u8, phase }))
}
