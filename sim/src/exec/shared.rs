//! Shared memory of the executing block and of other blocks of the cluster.

use crate::exec::memory::{aligned, read, safe_addresses, write};
use crate::lanes::{FULL, Lanes64, lanes, spread};
use crate::machine::registers::Regs;
use crate::machine::view::View;
use crate::machine::warp::Warp;
use crate::machine::{Cluster, Shared};
use crate::program::code::{Access, Base, D, R, Reg, Space};
use crate::program::spaces::{SHARED_BITS, SHARED_WINDOW};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};
use crate::shadow::WarpShadow;
use crate::shadow::place::Place;

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
    /// Rejects accesses past the end of shared memory.
    #[inline(always)]
    pub(crate) fn within(&self, all: &Lanes64, bytes: u64, what: &str) -> Outcome<()> {
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
        Fault::at(FindingKind::SharedOutOfBounds, lane, message)
    }
}

impl Place {
    /// Returns the location of `bytes` bytes at an address, which must be in bounds and a multiple of `bytes`.
    pub(crate) fn locate(
        cluster: &Cluster<'_>,
        space: Space,
        lane: usize,
        address: u64,
        bytes: u64,
        what: &str,
    ) -> Outcome<Self> {
        Self::of_range(cluster, space, lane, address, bytes, bytes, what)
    }

    /// Returns the location of `bytes` bytes at an address, which must be in bounds and a multiple of `align`.
    pub(crate) fn of_range(
        cluster: &Cluster<'_>,
        space: Space,
        lane: usize,
        address: u64,
        bytes: u64,
        align: u64,
        what: &str,
    ) -> Outcome<Self> {
        let address = if space == Space::Generic { address.wrapping_sub(SHARED_WINDOW) } else { address };
        if address % align != 0 {
            let message = format!(
                "misaligned access: {what} at shared address {address:#x}, which is not a multiple of {align}"
            );
            return Err(Fault::at(FindingKind::MisalignedAccess, lane, message));
        }
        let rank = address >> SHARED_BITS;
        let offset = address & ((1 << SHARED_BITS) - 1);
        let cta = cluster.ctas.get(usize::try_from(rank).unwrap_or(usize::MAX));
        match cta.filter(|cta| offset + bytes <= u64::from(cta.shared.bytes)) {
            Some(_) => Ok(Self { rank: rank as usize, offset: offset as usize }),
            None => {
                let message = format!("shared memory out of bounds: {what} of {bytes} bytes at {address:#x}");
                Err(Fault::at(FindingKind::SharedOutOfBounds, lane, message))
            }
        }
    }
}

/// Converts addresses in the block's own shared memory to offsets; other addresses remain far out of bounds.
#[inline(always)]
pub(crate) fn offsets(cluster: &Cluster<'_>, all: &mut Lanes64) {
    let base = (cluster.at as u64) << SHARED_BITS;
    if base != 0 {
        all.iter_mut().for_each(|address| *address = address.wrapping_sub(base));
    }
}

/// Returns the checked offset of each lane's word in the block's own shared memory. Lanes outside `m` receive the offset of the first lane
/// in `m`.
#[inline(always)]
fn word_offsets(
    cluster: &Cluster<'_>,
    warp: &Warp,
    access: &Access,
    m: u32,
    what: &str,
) -> Outcome<[u32; 32]> {
    if let (Base::R(r), 0) = (access.addr.base, cluster.at) {
        let offset = access.addr.offset as u32;
        let mut all = warp.regs.r(r).map(|base| base.wrapping_add(offset));
        if m != FULL {
            let first = all[m.trailing_zeros() as usize & 31];
            let keep = spread(m);
            for (address, keep) in all.iter_mut().zip(keep) {
                *address = (*address & keep) | (first & !keep);
            }
        }
        let (bits, highest) = all.iter().fold((0, 0), |(bits, high), &a| (bits | a, a.max(high)));
        if bits & 3 == 0 && u64::from(highest) + 4 <= u64::from(cluster.ctas[0].shared.bytes) {
            return Ok(all);
        }
    }
    let mut all = safe_addresses(warp, access.addr, m);
    aligned(&all, 4, what, Space::Shared)?;
    offsets(cluster, &mut all);
    cluster.ctas[cluster.at].shared.within(&all, 4, what)?;
    Ok(all.map(|address| address as u32))
}

#[inline(always)]
pub(crate) fn load_word<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &Access,
    d: R,
    m: u32,
) -> Outcome<()> {
    let all = word_offsets(cluster, warp, access, m, "a load")?;
    if CHECKED {
        cluster.before_shared_load(
            &mut warp.shadow.undefined,
            cluster.at,
            access,
            &[Reg::R(d)],
            &all.map(u64::from),
            m,
        )?;
    }
    let words = &cluster.cta().shared.words[..];
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = words[(all[lane] >> 2) as usize];
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
    let all = word_offsets(cluster, warp, access, m, "a store")?;
    let values = warp.regs.r(value);
    cluster.events += 1;
    if CHECKED {
        let new = |lane: usize, i: usize| (values[lane] >> (8 * i)) as u8;
        cluster.before_shared_store(cluster.at, access, &all.map(u64::from), m, &new)?;
    }
    let shared = &mut cluster.cta().shared;
    if m == FULL {
        for lane in 0..32 {
            shared.words[(all[lane] >> 2) as usize] = values[lane];
        }
    } else {
        for lane in lanes(m) {
            shared.words[(all[lane] >> 2) as usize] = values[lane];
        }
    }
    shared.written.mark_words(&all);
    Ok(())
}

/// Calls `f` for each block that lanes address, with the block, the offsets in its shared memory, and these lanes.
fn by_block<'a>(
    cluster: &mut Cluster<'a>,
    space: Space,
    all: &Lanes64,
    m: u32,
    f: &mut dyn FnMut(&mut Cluster<'a>, usize, &Lanes64, u32) -> Outcome<()>,
) -> Outcome<()> {
    let own = cluster.at;
    if space == Space::Shared || cluster.ctas.len() == 1 {
        let mut all = *all;
        offsets(cluster, &mut all);
        return f(cluster, own, &all, m);
    }
    let mut left = m;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let rank = all[first] >> SHARED_BITS;
        let same = crate::lanes::mask_of(|lane| all[lane] >> SHARED_BITS == rank) & left;
        let there = std::array::from_fn(|lane| {
            let address = if same >> lane & 1 == 1 { all[lane] } else { all[first] };
            address & ((1 << SHARED_BITS) - 1)
        });
        if rank >= cluster.ctas.len() as u64 {
            let message = format!(
                "shared memory out of bounds: {:#x} is in block {rank} of the cluster, which has {}",
                all[first],
                cluster.ctas.len()
            );
            return Err(Fault::at(FindingKind::SharedOutOfBounds, first, message));
        }
        f(cluster, rank as usize, &there, same)?;
        left &= !same;
    }
    Ok(())
}

pub(crate) fn load<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    space: Space,
    access: &Access,
    d: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let bytes = access.size();
    let Warp { regs, shadow: WarpShadow { undefined, .. }, .. } = warp;
    by_block(cluster, space, all, m, &mut |cluster, rank, all, m| {
        cluster.ctas[rank].shared.within(all, bytes, "a load")?;
        if CHECKED {
            cluster.before_shared_load(undefined, rank, access, d, all, m)?;
        }
        read(&cluster.ctas[rank].shared, regs, all, access, d, m);
        Ok(())
    })
}

pub(crate) fn store<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    space: Space,
    access: &Access,
    values: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let bytes = access.size();
    let regs = &warp.regs;
    cluster.events += 1;
    by_block(cluster, space, all, m, &mut |cluster, rank, all, m| {
        cluster.ctas[rank].shared.within(all, bytes, "a store")?;
        if CHECKED {
            let element = usize::from(access.bytes);
            let new = |lane: usize, i: usize| byte_of(regs, values[i / element], lane, i % element);
            cluster.before_shared_store(rank, access, all, m, &new)?;
        }
        let shared = &mut cluster.ctas[rank].shared;
        write(shared, regs, all, access, values, m);
        for lane in lanes(m) {
            shared.written.mark(all[lane], bytes);
        }
        if CHECKED {
            cluster.after_shared_store(&warp.shadow.undefined, rank, access, values, all, m);
        }
        Ok(())
    })
}

/// Returns byte `i` of a lane's register.
fn byte_of(regs: &Regs, reg: Reg, lane: usize, i: usize) -> u8 {
    let value = match reg {
        Reg::Q(D(d)) if i >= 8 => regs.d(D(d + 1))[lane],
        other => regs.lane(other, lane),
    };
    (value >> (8 * (i % 8))) as u8
}
