//! Global and constant memory.

use std::sync::atomic::Ordering::Relaxed;

use crate::exec::memory::{aligned, read, safe_addresses, write};
use crate::lanes::{Lanes64, lanes};
use crate::machine::heap::Block;
use crate::machine::memory::{Allocation, Found, same_region};
use crate::machine::view::View;
use crate::machine::warp::Warp;
use crate::machine::{Cluster, Machine};
use crate::program::code::{Access, D, R, Reg, Space};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// The kind of an access, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Load,
    Store,
    Atomic,
}

impl Doing {
    fn verb(self) -> &'static str {
        match self {
            Doing::Load => "a load",
            Doing::Store => "a store",
            Doing::Atomic => "an atomic",
        }
    }
}

/// Returns the allocation that all lanes access, or `None` if they access several, in which case each lane is executed separately.
#[inline(always)]
pub(crate) fn common<'a>(machine: &'a Machine<'_>, all: &Lanes64, bytes: u64) -> Option<&'a Allocation> {
    let (mut low, mut high) = (u64::MAX, 0);
    for &address in all {
        low = low.min(address);
        high = high.max(address);
    }
    if !same_region(low, high) {
        return None;
    }
    match machine.memory.find(low) {
        Found::Live(allocation) if high.saturating_add(bytes) <= allocation.start + allocation.size => {
            Some(allocation)
        }
        _ => None,
    }
}

/// Returns the allocation that one lane accesses.
pub(crate) fn reach<'a>(
    machine: &'a Machine<'_>,
    lane: usize,
    address: u64,
    bytes: u64,
    doing: Doing,
) -> Outcome<&'a Allocation> {
    match machine.memory.find(address) {
        Found::Live(allocation) if address.saturating_add(bytes) <= allocation.start + allocation.size => {
            if allocation.read_only && doing != Doing::Load {
                return Err(Fault::at(
                    FindingKind::ReadOnly,
                    lane,
                    format!("{} to memory at {address:#x}, which is read only", doing.verb()),
                ));
            }
            Ok(allocation)
        }
        Found::Heap(allocation, heap) => match heap.check(address, bytes) {
            Ok(()) => Ok(allocation),
            Err(block) => Err(outside_blocks(lane, address, bytes, doing, block)),
        },
        found => Err(out_of_bounds(lane, address, bytes, doing, &found)),
    }
}

#[cold]
fn out_of_bounds(lane: usize, address: u64, bytes: u64, doing: Doing, found: &Found<'_>) -> Box<Fault> {
    let verb = doing.verb();
    let message = match found {
        Found::Live(allocation) => {
            let what = match &allocation.name {
                Some(name) => format!("variable `{name}`"),
                None => "buffer".into(),
            };
            let offset = address - allocation.start;
            let (start, size) = (allocation.start, allocation.size);
            format!(
                "global memory out of bounds: {verb} of {bytes} bytes at {address:#x}, offset {offset} of the {what} \
                 of {size} bytes at {start:#x}"
            )
        }
        Found::Freed(size) => format!(
            "global memory out of bounds: {verb} of {bytes} bytes at {address:#x}, in a buffer of {size} bytes that was freed"
        ),
        Found::Unmapped => format!(
            "global memory out of bounds: {verb} of {bytes} bytes at {address:#x}, which is reserved and has no accessible memory"
        ),
        Found::Heap(..) | Found::Nothing => {
            format!(
                "global memory out of bounds: {verb} of {bytes} bytes at {address:#x}, which is in no buffer"
            )
        }
    };
    Fault::at(FindingKind::GlobalOutOfBounds, lane, message)
}

/// Returns the fault for an access to the device heap outside live blocks; `block` is the block that contains or precedes the address.
#[cold]
fn outside_blocks(lane: usize, address: u64, bytes: u64, doing: Doing, block: Option<Block>) -> Box<Fault> {
    let place = match block {
        Some(Block { start, size, live, .. }) => {
            let freed = if live { "" } else { " that was freed" };
            let offset = address - start;
            format!("offset {offset} of the device heap's block of {size} bytes at {start:#x}{freed}")
        }
        None => "which is in no block of the device heap".into(),
    };
    let message =
        format!("global memory out of bounds: {} of {bytes} bytes at {address:#x}, {place}", doing.verb());
    Fault::at(FindingKind::GlobalOutOfBounds, lane, message)
}

struct Words<'a> {
    allocation: &'a Allocation,
    parallel: bool,
}

impl View for Words<'_> {
    #[inline(always)]
    fn word(&self, address: u64, _: usize) -> u32 {
        self.allocation.words[((address - self.allocation.start) >> 2) as usize].load(Relaxed)
    }

    #[inline(always)]
    fn set(&mut self, address: u64, _: usize, mask: u32, bits: u32) {
        let word = ((address - self.allocation.start) >> 2) as usize;
        let cell = &self.allocation.words[word];
        if mask == u32::MAX {
            cell.store(bits, Relaxed);
        } else if self.parallel {
            self.allocation.store_bits(word, mask, bits);
        } else {
            cell.store((cell.load(Relaxed) & !mask) | bits, Relaxed);
        }
    }
}

#[inline(always)]
pub(crate) fn load_word<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &Access,
    d: R,
    m: u32,
) -> Outcome<()> {
    let all = safe_addresses(warp, access.addr, m);
    aligned(&all, 4, "a load", Space::Global)?;
    let Some(allocation) = common(cluster.machine, &all, 4).filter(|_| !access.strong) else {
        return load::<CHECKED>(cluster, warp, access, &[Reg::R(d)], &all, m);
    };
    if CHECKED {
        cluster.before_global_load(access, allocation.read_only, &all, m)?;
    }
    let words = &allocation.words[..];
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = words[((all[lane] - allocation.start) >> 2) as usize].load(Relaxed);
    }
    warp.regs.put_r(d, m, &out);
    Ok(())
}

#[inline(always)]
pub(crate) fn store_word<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &Access,
    value: R,
    m: u32,
) -> Outcome<()> {
    let all = safe_addresses(warp, access.addr, m);
    aligned(&all, 4, "a store", Space::Global)?;
    let allocation = match common(cluster.machine, &all, 4) {
        Some(allocation) if !access.strong && !allocation.read_only => allocation,
        _ => return store::<CHECKED>(cluster, warp, access, &[Reg::R(value)], &all, m),
    };
    cluster.events += 1;
    let (words, values) = (&allocation.words[..], warp.regs.r(value));
    if CHECKED {
        cluster.before_global_stores(access, &all, m);
        cluster.before_global_store(access, &all, m, |lane, byte| values[lane] >> (8 * byte))?;
    }
    for lane in lanes(m) {
        words[((all[lane] - allocation.start) >> 2) as usize].store(values[lane], Relaxed);
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
    let parallel = cluster.machine.parallel;
    if let Some(allocation) = common(cluster.machine, all, bytes) {
        if CHECKED {
            cluster.before_global_load(access, allocation.read_only, all, m)?;
        }
        read(&Words { allocation, parallel }, &mut warp.regs, all, access, d, m);
        return Ok(());
    }
    if CHECKED {
        cluster.before_global_loads(access, all, m);
    }
    for lane in lanes(m) {
        let allocation = reach(cluster.machine, lane, all[lane], bytes, Doing::Load)?;
        if CHECKED {
            cluster.before_global_lane_load(access, all, lane)?;
        }
        read(&Words { allocation, parallel }, &mut warp.regs, &[all[lane]; 32], access, d, 1 << lane);
    }
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
    let parallel = cluster.machine.parallel;
    cluster.events += 1;
    if CHECKED {
        cluster.before_global_stores(access, all, m);
    }
    let regs = &warp.regs;
    let value = |lane: usize, byte: u64| stored_word(regs, access, values, lane, byte);
    match common(cluster.machine, all, bytes) {
        Some(allocation) if !allocation.read_only => {
            if CHECKED {
                cluster.before_global_store(access, all, m, value)?;
            }
            if parallel && access.bytes == 2 && access.count == 1 && m == u32::MAX {
                return store_halves(allocation, &warp.regs, all, values[0]);
            }
            write(&mut Words { allocation, parallel }, &warp.regs, all, access, values, m);
        }
        _ => {
            for lane in lanes(m) {
                let allocation = reach(cluster.machine, lane, all[lane], bytes, Doing::Store)?;
                if CHECKED {
                    cluster.before_global_store(access, all, 1 << lane, value)?;
                }
                write(&mut Words { allocation, parallel }, &warp.regs, all, access, values, 1 << lane);
            }
        }
    }
    Ok(())
}

/// Returns the bits that a lane stores, starting at a byte offset in its elements.
fn stored_word(
    regs: &crate::machine::registers::Regs,
    access: &Access,
    values: &[Reg],
    lane: usize,
    byte: u64,
) -> u32 {
    let element = u64::from(access.bytes);
    let bits = match values[(byte / element) as usize] {
        Reg::Q(D(d)) if byte % element >= 8 => regs.d(D(d + 1))[lane],
        reg => regs.lane(reg, lane),
    };
    (bits >> (8 * (byte % element % 8))) as u32
}

/// Executes the 16-bit stores of a full warp. Neighbors that form a word are stored together.
fn store_halves(
    allocation: &Allocation,
    regs: &crate::machine::registers::Regs,
    all: &Lanes64,
    value: Reg,
) -> Outcome<()> {
    let values = regs.get(value);
    let mut lane = 0;
    while lane < 32 {
        let offset = all[lane] - allocation.start;
        let word = (offset >> 2) as usize;
        let half = values[lane] as u32 & 0xffff;
        if offset & 3 == 0 && lane < 31 && all[lane + 1] == all[lane] + 2 {
            allocation.words[word].store(half | (values[lane + 1] as u32) << 16, Relaxed);
            lane += 2;
        } else {
            let shift = 8 * (offset & 3) as u32;
            allocation.store_bits(word, 0xffff << shift, half << shift);
            lane += 1;
        }
    }
    Ok(())
}
