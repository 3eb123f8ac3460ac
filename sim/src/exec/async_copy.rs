//! `cp.async`. Data is read when the copy is issued, and appears in shared memory when a thread waits for the copy.

use crate::exec::global::{Doing, reach};
use crate::exec::memory::{aligned, safe_addresses};
use crate::exec::shared::offsets;
use crate::lanes::lanes;
use crate::machine::Cluster;
use crate::machine::async_copy::Pending;
use crate::machine::view::View;
use crate::machine::warp::Warp;
use crate::program::code::{CpAsync, Space};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};
use crate::shadow::place::Place;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) fn issue<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    copy: &CpAsync,
    m: u32,
) -> Outcome<()> {
    let mut to = safe_addresses(warp, copy.dst, m);
    offsets(cluster, &mut to);
    let from = safe_addresses(warp, copy.src, m);
    let bytes = u64::from(copy.bytes);
    aligned(&to, bytes, "the target of a cp.async", Space::Shared)?;
    cluster.cta().shared.within(&to, bytes, "the target of a cp.async")?;
    let mut sizes = [copy.bytes; 32];
    if let Some(reg) = copy.src_bytes {
        for (lane, &size) in warp.regs.r(reg).iter().enumerate() {
            if size > u32::from(copy.bytes) && m >> lane & 1 == 1 {
                let message = format!("cp.async of {bytes} bytes is told to read {size}");
                return Err(Fault::at(FindingKind::InvalidOperand, lane, message));
            }
            sizes[lane] = size.min(u32::from(copy.bytes)) as u8;
        }
    }
    if let Some((p, negated)) = copy.ignore {
        let ignored = warp.regs.predicate(p, negated);
        for lane in lanes(ignored) {
            sizes[lane] = 0;
        }
    }
    if CHECKED {
        cluster.before_copies(&to, bytes, m)?;
    }
    let copies = &mut warp.copies;
    let at = copies.spare.pop().unwrap_or_else(|| {
        copies.entries.push(Pending {
            mask: 0,
            bytes: 0,
            pc: 0,
            to: [0; 32],
            group: [0; 32],
            data: [[0; 4]; 32],
        });
        copies.entries.len() - 1
    });
    copies.pending.push(at);
    let entry = &mut copies.entries[at];
    for lane in lanes(m) {
        entry.data[lane] = fetch(cluster, lane, from[lane], u64::from(sizes[lane]), bytes)?;
    }
    if CHECKED {
        cluster.before_copied_loads(&from, &sizes, bytes, m)?;
    }
    entry.mask = m;
    entry.bytes = bytes;
    entry.pc = cluster.pc;
    entry.to = to;
    entry.group = copies.committed;
    Ok(())
}

/// Returns the bytes of one copy, with zeros after the first `size`.
fn fetch(cluster: &Cluster<'_>, lane: usize, from: u64, size: u64, bytes: u64) -> Outcome<[u32; 4]> {
    let mut data = [0; 4];
    if size == 0 {
        return Ok(data);
    }
    if !from.is_multiple_of(bytes) {
        let message = format!(
            "misaligned access: the source of a cp.async of {bytes} bytes at global address {from:#x}, which is not a multiple of {bytes}"
        );
        return Err(Fault::at(FindingKind::MisalignedAccess, lane, message));
    }
    let allocation = reach(cluster.machine, lane, from, size, Doing::Load)?;
    let start = ((from - allocation.start) / 4) as usize;
    for (i, word) in data.iter_mut().enumerate().take(size.div_ceil(4) as usize) {
        let left = size - 4 * i as u64;
        let mask = if left >= 4 { u32::MAX } else { (1 << (8 * left)) - 1 };
        *word = allocation.words[start + i].load(Relaxed) & mask;
    }
    Ok(data)
}

/// Returns the lane and the instruction of a pending copy by the lanes of `m`.
pub(crate) fn unwaited(warp: &Warp, m: u32) -> Option<(usize, u32)> {
    let entries = warp.copies.pending.iter().map(|&at| &warp.copies.entries[at]);
    entries.filter(|entry| entry.mask & m != 0).map(|e| ((e.mask & m).trailing_zeros() as usize, e.pc)).next()
}

pub(crate) fn commit(warp: &mut Warp, m: u32) {
    for lane in lanes(m) {
        warp.copies.committed[lane] += 1;
    }
}

/// Completes all but the newest `n` groups of each lane.
pub(crate) fn wait(cluster: &mut Cluster<'_>, warp: &mut Warp, m: u32, n: u32) {
    let committed = warp.copies.committed;
    let ready = |lane: usize, group| m >> lane & 1 == 1 && group < committed[lane].saturating_sub(n);
    arrive(cluster, warp, ready, false);
    if cluster.racing() {
        cluster.wait_counted(ready, n == 0);
    }
}

/// Completes all copies, whether committed or not.
pub(crate) fn wait_all(cluster: &mut Cluster<'_>, warp: &mut Warp, m: u32) {
    let ready = |lane: usize, _| m >> lane & 1 == 1;
    arrive(cluster, warp, ready, false);
    if cluster.racing() {
        cluster.wait_counted(ready, true);
    }
}

/// Makes an mbarrier count a lane's copies.
pub(crate) fn count(cluster: &mut Cluster<'_>, warp: &mut Warp, lane: usize, mbarrier: Place) {
    arrive(cluster, warp, |other, _| other == lane, true);
    cluster.after_counting(lane, mbarrier);
}

/// Completes copies for their issuing threads or, with `counted`, for threads that wait for an mbarrier.
fn arrive(cluster: &mut Cluster<'_>, warp: &mut Warp, ready: impl Fn(usize, u32) -> bool, counted: bool) {
    let mut at = 0;
    while at < warp.copies.pending.len() {
        let entry = &mut warp.copies.entries[warp.copies.pending[at]];
        let arrived =
            lanes(entry.mask).filter(|&l| ready(l, entry.group[l])).fold(0, |mask, l| mask | 1 << l);
        for lane in lanes(arrived) {
            let shared = &mut cluster.cta().shared;
            for i in 0..entry.bytes / 4 {
                shared.set(entry.to[lane] + 4 * i, lane, u32::MAX, entry.data[lane][i as usize]);
            }
            shared.written.mark(entry.to[lane], entry.bytes);
            let group = counted.then_some(entry.group[lane]);
            cluster.after_async_copy((lane, entry.pc), (entry.to[lane], entry.bytes), group);
        }
        entry.mask &= !arrived;
        if entry.mask == 0 {
            let entry = warp.copies.pending.remove(at);
            warp.copies.spare.push(entry);
        } else {
            at += 1;
        }
    }
}
