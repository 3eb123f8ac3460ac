//! Shared memory, of the own block and of others of the cluster.

use super::lanes::{Lanes64, lanes};
use super::memory::{View, aligned, read, safe_addresses, write};
use crate::sim::code::{Access, R, Reg, Space};
use crate::sim::fault::{Fault, Outcome};
use crate::sim::launch::Checks;
use crate::sim::machine::{Cx, Shared};
use crate::sim::memory::SHARED_BITS;
use crate::sim::report::Kind;
use crate::sim::warp::Warp;

impl View for Shared {
    #[inline(always)]
    fn word(&self, address: u64, _: usize) -> u32 {
        self.words[(address >> 2) as usize]
    }

    #[inline(always)]
    fn set(&mut self, address: u64, _: usize, mask: u32, bits: u32) {
        let word = &mut self.words[(address >> 2) as usize];
        *word = (*word & !mask) | (bits & mask);
    }
}

impl Shared {
    /// Refuses any address whose access ends past the end.
    #[inline(always)]
    pub(super) fn within(&self, all: &Lanes64, bytes: u64, what: &str) -> Outcome<()> {
        let limit = u64::from(self.bytes);
        let highest = all.iter().fold(0, |high, &address| high.max(address));
        if highest.saturating_add(bytes) <= limit { Ok(()) } else { Err(self.outside(all, bytes, what)) }
    }

    #[cold]
    fn outside(&self, all: &Lanes64, bytes: u64, what: &str) -> Box<Fault> {
        let limit = u64::from(self.bytes);
        let lane = all.iter().position(|&a| a.saturating_add(bytes) > limit).unwrap_or(0);
        let message = format!(
            "shared memory out of bounds: {what} of {bytes} bytes at {:#x}; the block has {limit} bytes",
            all[lane]
        );
        Fault::at(Kind::SharedOutOfBounds, lane, message)
    }

    /// Refuses reads of bytes that nobody wrote. Addresses are within bounds.
    pub(super) fn initialised(&self, all: &Lanes64, bytes: u64, m: u32, what: &str) -> Outcome<()> {
        let need = if bytes < 4 { (1u8 << bytes) - 1 } else { 15 };
        for lane in lanes(m) {
            let address = all[lane];
            let bad = (0..bytes.div_ceil(4)).find(|word| {
                let written = self.written[((address >> 2) + word) as usize];
                let need = need << (address & 3);
                written & need != need
            });
            if let Some(word) = bad {
                let at = if bytes < 4 { address } else { address + 4 * word };
                let message = format!(
                    "uninitialized shared memory: {what} of {bytes} bytes at {address:#x} reads {at:#x}, which no thread has written"
                );
                return Err(Fault::at(Kind::UninitializedSharedRead, lane, message));
            }
        }
        Ok(())
    }

    /// Notes that bytes were written.
    pub(super) fn mark(&mut self, address: u64, bytes: u64) {
        if bytes < 4 {
            self.written[(address >> 2) as usize] |= ((1 << bytes) - 1) << (address & 3);
            return;
        }
        for word in 0..bytes / 4 {
            self.written[((address >> 2) + word) as usize] = 15;
        }
    }
}

#[inline(always)]
pub(super) fn load_word<const CHECKED: bool>(
    cx: &mut Cx<'_>,
    warp: &mut Warp,
    access: &Access,
    d: R,
    m: u32,
) -> Outcome<()> {
    let all = safe_addresses(warp, access.addr, m);
    aligned(&all, 4, "a load", Space::Shared)?;
    let checks = cx.machine.checks;
    let shared = &cx.cta().shared;
    shared.within(&all, 4, "a load")?;
    if CHECKED && checks.contains(Checks::UNINITIALIZED_SHARED) {
        shared.initialised(&all, 4, m, "a load")?;
    }
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = shared.words[(all[lane] >> 2) as usize];
    }
    warp.regs.put_r(d, m, &out);
    Ok(())
}

/// Calls `f` with each block that lanes address, those lanes, and their offsets there.
fn by_block(
    cx: &mut Cx<'_>,
    space: Space,
    all: &Lanes64,
    m: u32,
    f: &mut dyn FnMut(&mut Shared, &Lanes64, u32) -> Outcome<()>,
) -> Outcome<()> {
    let own = cx.at;
    if space == Space::Shared || cx.ctas.len() == 1 {
        return f(&mut cx.ctas[own].shared, all, m);
    }
    let mut left = m;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let rank = all[first] >> SHARED_BITS;
        let same = super::lanes::mask_of(|lane| all[lane] >> SHARED_BITS == rank) & left;
        let there = std::array::from_fn(|lane| {
            let address = if same >> lane & 1 == 1 { all[lane] } else { all[first] };
            address & ((1 << SHARED_BITS) - 1)
        });
        match cx.ctas.get_mut(rank as usize) {
            Some(cta) => f(&mut cta.shared, &there, same)?,
            None => {
                let message = format!(
                    "shared memory out of bounds: {:#x} is in block {rank} of the cluster, which has {}",
                    all[first],
                    cx.ctas.len()
                );
                return Err(Fault::at(Kind::SharedOutOfBounds, first, message));
            }
        }
        left &= !same;
    }
    Ok(())
}

pub(super) fn load<const CHECKED: bool>(
    cx: &mut Cx<'_>,
    warp: &mut Warp,
    space: Space,
    access: &Access,
    d: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let bytes = u64::from(access.bytes) * u64::from(access.count);
    let check = CHECKED && cx.machine.checks.contains(Checks::UNINITIALIZED_SHARED);
    let regs = &mut warp.regs;
    by_block(cx, space, all, m, &mut |shared, all, m| {
        shared.within(all, bytes, "a load")?;
        if check {
            shared.initialised(all, bytes, m, "a load")?;
        }
        read(shared, regs, all, access, d, m);
        Ok(())
    })
}

pub(super) fn store<const CHECKED: bool>(
    cx: &mut Cx<'_>,
    warp: &mut Warp,
    space: Space,
    access: &Access,
    values: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let bytes = u64::from(access.bytes) * u64::from(access.count);
    let check = CHECKED && cx.machine.checks.contains(Checks::UNINITIALIZED_SHARED);
    let regs = &warp.regs;
    by_block(cx, space, all, m, &mut |shared, all, m| {
        shared.within(all, bytes, "a store")?;
        write(shared, regs, all, access, values, m);
        if check {
            for lane in lanes(m) {
                shared.mark(all[lane], bytes);
            }
        }
        Ok(())
    })
}
