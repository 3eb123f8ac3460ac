//! `atom` and `red`, executed one lane at a time, in lane order.

use std::sync::atomic::Ordering::Relaxed;

use crate::arith::minmax::{Extremum, MinMaxMode, minmax};
use crate::arith::{Float, Int, Round, float};
use crate::exec::global::{Doing, common, reach};
use crate::exec::memory::{aligned, safe_addresses};
use crate::exec::shared::offsets;
use crate::lanes::{Lanes64, lanes};
use crate::machine::warp::Warp;
use crate::machine::{Cluster, Shared};
use crate::program::code::{Atom, AtomFn, D, Reg, Space};
use crate::program::spaces::{GLOBAL_START, LOCAL_WINDOW, SHARED_BITS, SHARED_WINDOW};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// The operands of one lane's atomic on one element.
struct Operands {
    b: u128,
    c: u128,
}

/// Returns the value that replaces `old`.
fn update(f: AtomFn, bits: u32, flush: bool, old: u128, o: &Operands) -> u128 {
    let (a, b) = (old as u64, o.b as u64);
    let mask = u64::MAX >> (64 - bits.min(64));
    let narrow = |value: u64| u128::from(value & mask);
    match f {
        AtomFn::And => old & o.b,
        AtomFn::Or => old | o.b,
        AtomFn::Xor => old ^ o.b,
        AtomFn::Exch => o.b,
        AtomFn::Cas => {
            if old == o.b {
                o.c
            } else {
                old
            }
        }
        AtomFn::Inc => narrow(if a >= b { 0 } else { a + 1 }),
        AtomFn::Dec => narrow(if a == 0 || a > b { b } else { a - 1 }),
        AtomFn::AddInt(_) => narrow(a.wrapping_add(b)),
        AtomFn::MinInt(int) => narrow(pick(int, a, b, false)),
        AtomFn::MaxInt(int) => narrow(pick(int, a, b, true)),
        AtomFn::AddFloat { ty, pair, ftz } => {
            let add = |a: u64, b: u64| float::add(ty, Round::Rn, ftz || flush, false, a, b);
            u128::from(halves(ty, pair, a, b, add))
        }
        AtomFn::MinFloat { ty, pair } => {
            u128::from(halves(ty, pair, a, b, |a, b| minmax(ty, Extremum::Min, MinMaxMode::default(), a, b)))
        }
        AtomFn::MaxFloat { ty, pair } => {
            u128::from(halves(ty, pair, a, b, |a, b| minmax(ty, Extremum::Max, MinMaxMode::default(), a, b)))
        }
    }
}

fn pick(int: Int, a: u64, b: u64, max: bool) -> u64 {
    if (int.value(a) < int.value(b)) == max { b } else { a }
}

fn halves(ty: Float, pair: bool, a: u64, b: u64, f: impl Fn(u64, u64) -> u64) -> u64 {
    let mask = ty.mask();
    if pair { f(a & mask, b & mask) | f(a >> 16, b >> 16) << 16 } else { f(a & mask, b & mask) }
}

/// Returns a value of up to 128 bits in a register.
fn value(warp: &Warp, reg: Reg, lane: usize) -> u128 {
    match reg {
        Reg::Q(D(d)) => u128::from(warp.regs.d(D(d))[lane]) | u128::from(warp.regs.d(D(d + 1))[lane]) << 64,
        other => u128::from(warp.regs.lane(other, lane)),
    }
}

fn set(warp: &mut Warp, reg: Reg, lane: usize, value: u128) {
    warp.regs.set_lane(reg, lane, value as u64);
    if let Reg::Q(D(d)) = reg {
        warp.regs.set_lane(Reg::D(D(d + 1)), lane, (value >> 64) as u64);
    }
}

pub(crate) fn execute<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    atom: &Atom,
    m: u32,
) -> Outcome<()> {
    let all = safe_addresses(warp, atom.access.addr, m);
    let total = u64::from(atom.access.bytes) * u64::from(atom.access.count);
    aligned(&all, total, "an atomic", atom.access.space)?;
    if CHECKED {
        let window = SHARED_WINDOW..LOCAL_WINDOW;
        let shared = match atom.access.space {
            Space::Generic => window.contains(&all[m.trailing_zeros() as usize & 31]),
            space => space != Space::Global,
        };
        cluster.before_atomics(shared, &all, total, m);
    }
    if let Some(done) = together::<CHECKED>(cluster, warp, atom, &all, m) {
        return done;
    }
    for lane in lanes(m) {
        one::<CHECKED>(cluster, warp, atom, &all, lane)?;
    }
    Ok(())
}

/// Executes atomics on single elements that are all in one allocation or in the block's own shared memory, and are therefore announced
/// together. Returns `None` for other atomics.
fn together<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    atom: &Atom,
    all: &Lanes64,
    m: u32,
) -> Option<Outcome<()>> {
    let bytes = u64::from(atom.access.bytes);
    if atom.access.count != 1 {
        return None;
    }
    match atom.access.space {
        Space::Shared => {
            let mut all = *all;
            offsets(cluster, &mut all);
            cluster.cta().shared.within(&all, bytes, "an atomic").ok()?;
            if CHECKED && let Err(fault) = cluster.before_shared_atomics(cluster.at, &atom.access, &all, m) {
                return Some(Err(fault));
            }
            let Shared { words, written, .. } = &mut cluster.ctas[cluster.at].shared;
            for lane in lanes(m) {
                written.mark(all[lane], bytes);
                exchange_lane(warp, atom, lane, all[lane], false, words, &mut cluster.events);
            }
        }
        Space::Global | Space::Generic => {
            let allocation =
                common(cluster.machine, all, bytes).filter(|allocation| !allocation.read_only)?;
            if CHECKED
                && let Err(fault) = cluster.before_global_atomics(&atom.access, all, m, !atom.d.is_empty())
            {
                return Some(Err(fault));
            }
            let mut words = &allocation.words[..];
            for lane in lanes(m) {
                let offset = all[lane] - allocation.start;
                exchange_lane(warp, atom, lane, offset, flushes(atom), &mut words, &mut cluster.events);
            }
        }
        _ => return None,
    }
    Some(Ok(()))
}

/// Executes one lane's update of its only element.
fn exchange_lane(
    warp: &mut Warp,
    atom: &Atom,
    lane: usize,
    offset: u64,
    flush: bool,
    words: &mut impl Words,
    events: &mut u64,
) {
    let operands =
        Operands { b: value(warp, atom.b[0], lane), c: atom.c.map_or(0, |c| value(warp, c, lane)) };
    let old = exchange(atom, offset, flush, &operands, words, events);
    if let Some(&d) = atom.d.first() {
        set(warp, d, lane, old);
    }
}

/// Returns whether subnormals are flushed: f32 additions in global memory flush them, but additions in shared memory do not (PTX ISA,
/// "atom").
fn flushes(atom: &Atom) -> bool {
    matches!(atom.f, AtomFn::AddFloat { ty: Float::F32, .. })
}

fn one<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    atom: &Atom,
    all: &Lanes64,
    lane: usize,
) -> Outcome<()> {
    let bytes = u64::from(atom.access.bytes);
    let total = bytes * u64::from(atom.access.count);
    let address = all[lane];
    let shared = match atom.access.space {
        Space::Generic => (SHARED_WINDOW..LOCAL_WINDOW).contains(&address).then(|| address - SHARED_WINDOW),
        Space::Shared | Space::SharedCluster => Some(address),
        _ => None,
    };
    if shared.is_none() && address < GLOBAL_START && (LOCAL_WINDOW..).contains(&address) {
        return Err(Fault::at(
            FindingKind::InvalidAddress,
            lane,
            format!("an atomic in local memory, at {address:#x}"),
        ));
    }
    // A result may be written to the register of a later operand, so all operands are read first.
    let mut old = [0; 8];
    for (i, old) in old.iter_mut().enumerate().take(atom.access.count.into()) {
        let operands =
            Operands { b: value(warp, atom.b[i], lane), c: atom.c.map_or(0, |c| value(warp, c, lane)) };
        let offset = bytes * i as u64;
        *old = match shared {
            Some(at) => in_shared::<CHECKED>(cluster, atom, lane, at, total, offset, &operands)?,
            None => in_global::<CHECKED>(cluster, atom, lane, address, total, offset, &operands)?,
        };
    }
    for (&d, old) in atom.d.iter().zip(old) {
        set(warp, d, lane, old);
    }
    Ok(())
}

/// Reads, updates and writes an element; `get` and `put` access its words.
fn exchange(
    atom: &Atom,
    offset: u64,
    flush: bool,
    o: &Operands,
    words: &mut impl Words,
    events: &mut u64,
) -> u128 {
    let bytes = u64::from(atom.access.bytes);
    let bits = 8 * bytes as u32;
    if bytes < 4 {
        let shift = 8 * (offset & 3) as u32;
        let word = words.get(offset >> 2);
        let old = u128::from(word >> shift & 0xffff);
        let new = update(atom.f, bits, flush, old, o) as u32 & 0xffff;
        words.put(offset >> 2, (word & !(0xffff << shift)) | new << shift);
        *events += u64::from(u128::from(new) != old);
        return old;
    }
    let old = (0..bytes / 4).fold(0, |old, i| old | u128::from(words.get((offset >> 2) + i)) << (32 * i));
    let new = update(atom.f, bits, flush, old, o);
    for i in 0..bytes / 4 {
        words.put((offset >> 2) + i, (new >> (32 * i)) as u32);
    }
    *events += u64::from(new != old);
    old
}

/// Words of memory that only one host thread accesses.
trait Words {
    fn get(&self, index: u64) -> u32;
    fn put(&mut self, index: u64, word: u32);
}

impl Words for Vec<u32> {
    fn get(&self, index: u64) -> u32 {
        self[index as usize]
    }

    fn put(&mut self, index: u64, word: u32) {
        self[index as usize] = word;
    }
}

impl Words for &[std::sync::atomic::AtomicU32] {
    fn get(&self, index: u64) -> u32 {
        self[index as usize].load(Relaxed)
    }

    fn put(&mut self, index: u64, word: u32) {
        self[index as usize].store(word, Relaxed);
    }
}

fn in_shared<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    atom: &Atom,
    lane: usize,
    at: u64,
    total: u64,
    offset: u64,
    o: &Operands,
) -> Outcome<u128> {
    let rank = (at >> SHARED_BITS) as usize;
    let blocks = cluster.ctas.len();
    let Some(cta) = cluster.ctas.get_mut(rank) else {
        let message = format!(
            "shared memory out of bounds: {at:#x} is in block {rank} of the cluster, which has {blocks}"
        );
        return Err(Fault::at(FindingKind::SharedOutOfBounds, lane, message));
    };
    let address = at & ((1 << SHARED_BITS) - 1);
    let mut all = [address; 32];
    all[lane] = address;
    cta.shared.within(&all, total, "an atomic").map_err(|fault| on_lane(fault, lane))?;
    if CHECKED {
        cluster.before_shared_atomics(rank, &atom.access, &all, 1 << lane)?;
    }
    let shared = &mut cluster.ctas[rank].shared;
    shared.written.mark(address + offset, atom.access.bytes.into());
    Ok(exchange(atom, address + offset, false, o, &mut shared.words, &mut cluster.events))
}

fn on_lane(mut fault: Box<Fault>, lane: usize) -> Box<Fault> {
    fault.lane = Some(lane);
    fault
}

fn in_global<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    atom: &Atom,
    lane: usize,
    address: u64,
    total: u64,
    offset: u64,
    o: &Operands,
) -> Outcome<u128> {
    let allocation = reach(cluster.machine, lane, address, total, Doing::Atomic)?;
    if CHECKED && offset == 0 {
        cluster.before_global_atomics(&atom.access, &[address; 32], 1 << lane, !atom.d.is_empty())?;
    }
    let mut words = &allocation.words[..];
    Ok(exchange(atom, address - allocation.start + offset, flushes(atom), o, &mut words, &mut cluster.events))
}
