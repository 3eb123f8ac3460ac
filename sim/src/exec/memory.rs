//! Loads and stores: addresses, spaces, elements.

use crate::exec::global::{Doing, reach};
use crate::exec::{async_copy, atomic, bulk, global, local, matrix, shared, stack, tensormap, texture};
use crate::lanes::{Lanes64, lanes};
use crate::machine::Cluster;
use crate::machine::mbarrier::State;
use crate::machine::memory::Found;
use crate::machine::registers::Regs;
use crate::machine::view::View;
use crate::machine::warp::Warp;
use crate::program::code::{Access, Addr, Base, D, Memory, R, Reg, Space};
use crate::program::spaces::{
    FUNCTION_WINDOW, GLOBAL_START, LOCAL_WINDOW, PARAM_WINDOW, SHARED_BITS, SHARED_WINDOW,
};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};
use std::sync::atomic::Ordering::Relaxed;

/// Executes one memory instruction in the lanes of `m`, which must not be empty.
pub(crate) fn execute<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &Memory,
    m: u32,
) -> Outcome<()> {
    match op {
        Memory::LdR(access, d) => load_word::<CHECKED>(cluster, warp, access, *d, m),
        Memory::StR(access, value) if CHECKED && warp.shadow.undefined.storing != 0 => {
            store::<CHECKED>(cluster, warp, access, &[Reg::R(*value)], m)
        }
        Memory::StR(access, value) => store_word::<CHECKED>(cluster, warp, access, *value, m),
        Memory::Ld(access, d) => load::<CHECKED>(cluster, warp, access, d, m),
        Memory::St(access, values) => store::<CHECKED>(cluster, warp, access, values, m),
        Memory::FrameAddress { d, offset, generic } => {
            let window = if *generic { LOCAL_WINDOW } else { 0 };
            let base = warp.sp.map(|sp| (u64::from(sp) + window).wrapping_add_signed(*offset));
            warp.regs.put(*d, m, &base);
            Ok(())
        }
        Memory::MapReplace(op) => tensormap::replace::<CHECKED>(cluster, warp, op, m),
        Memory::MapCopy(op) => tensormap::copy::<CHECKED>(cluster, warp, op, m),
        Memory::Alloca { d, bytes, align } => stack::alloca(warp, *d, *bytes, *align, m),
        Memory::StackSave(d) => {
            stack::save(warp, *d, m);
            Ok(())
        }
        Memory::StackRestore(a) => stack::restore(warp, *a, m),
        Memory::Atom(atom) => atomic::execute::<CHECKED>(cluster, warp, atom, m),
        Memory::CpAsync(copy) => async_copy::issue::<CHECKED>(cluster, warp, copy, m),
        Memory::CpAsyncCommit => {
            async_copy::commit(warp, m);
            Ok(())
        }
        Memory::CpAsyncWait(n) => {
            async_copy::wait(cluster, warp, m, *n);
            Ok(())
        }
        Memory::CpAsyncWaitAll => {
            async_copy::wait_all(cluster, warp, m);
            Ok(())
        }
        Memory::Isspacep { space, d, a } => {
            let a = addresses(warp, Addr { base: *a, offset: 0 });
            let inside = crate::lanes::mask_of(|lane| belongs(cluster, *space, a[lane]));
            warp.regs.put_p(*d, m, inside);
            Ok(())
        }
        // Executed by the run loop, which must know whether the lanes still wait.
        Memory::Mbarrier(_) => Ok(()),
        Memory::PendingCount { d, state } => {
            let counts = warp.regs.d(*state).map(|bits| State::unpack(bits).pending);
            warp.regs.put_r(*d, m, &counts);
            Ok(())
        }
        Memory::Bulk(op) => bulk::issue(cluster, warp, op, m),
        Memory::BulkTensor(op) => bulk::issue_tensor(cluster, warp, op, m),
        Memory::TryCancel(op) => bulk::try_cancel(cluster, warp, op, m),
        Memory::StoreAsync(op) => bulk::issue_values(cluster, warp, op, m),
        Memory::BulkCommit => {
            for lane in lanes(m) {
                warp.bulk_groups[lane] += 1;
            }
            Ok(())
        }
        Memory::BulkWait(n) => bulk::wait(cluster, warp, m, *n),
        Memory::Fetch(op) => texture::fetch::<CHECKED>(cluster, warp, op, m),
        Memory::Surface(op) => texture::surface::<CHECKED>(cluster, warp, op, m),
        Memory::LdMatrix(access) => matrix::load::<CHECKED>(cluster, warp, access),
        Memory::StMatrix(access) => matrix::store::<CHECKED>(cluster, warp, access),
    }
}

/// Returns whether a generic address belongs to a space.
fn belongs(cluster: &Cluster<'_>, space: Space, address: u64) -> bool {
    match space {
        Space::Global => address >= GLOBAL_START && !is_constant(cluster, address),
        Space::Const => is_constant(cluster, address),
        Space::Shared => {
            window_of(address) == Space::Shared
                && (address - SHARED_WINDOW) >> SHARED_BITS == cluster.at as u64
        }
        Space::SharedCluster => window_of(address) == Space::Shared,
        other => window_of(address) == other,
    }
}

/// Returns whether a generic address refers to a constant. Only variables have names, which distinguishes constants from host memory that
/// is mapped read-only.
fn is_constant(cluster: &Cluster<'_>, address: u64) -> bool {
    match cluster.machine.memory.find(address) {
        Found::Live(allocation) => allocation.read_only && allocation.name.is_some(),
        _ => false,
    }
}

/// Returns the space of a generic address.
fn window_of(address: u64) -> Space {
    match address {
        GLOBAL_START.. => Space::Global,
        SHARED_WINDOW..LOCAL_WINDOW => Space::Shared,
        LOCAL_WINDOW..PARAM_WINDOW => Space::Local,
        PARAM_WINDOW..FUNCTION_WINDOW => Space::Param,
        _ => Space::Global,
    }
}

/// Returns each lane's address.
#[inline(always)]
pub(crate) fn addresses(warp: &Warp, addr: Addr) -> Lanes64 {
    let offset = addr.offset as u64;
    match addr.base {
        Base::D(d) => {
            let base = warp.regs.d(d);
            std::array::from_fn(|lane| base[lane].wrapping_add(offset))
        }
        Base::R(r) => {
            let base = warp.regs.r(r);
            std::array::from_fn(|lane| u64::from(base[lane].wrapping_add(offset as u32)))
        }
        Base::Frame => warp.sp.map(|sp| u64::from(sp).wrapping_add(offset)),
    }
}

/// Returns each lane's address. Lanes outside `m` receive the first active lane's address, so that all addresses are safe to use.
#[inline(always)]
pub(crate) fn safe_addresses(warp: &Warp, addr: Addr, m: u32) -> Lanes64 {
    let mut all = addresses(warp, addr);
    if m != u32::MAX {
        let first = all[m.trailing_zeros() as usize & 31];
        for (lane, address) in all.iter_mut().enumerate() {
            if m >> lane & 1 == 0 {
                *address = first;
            }
        }
    }
    all
}

/// Rejects addresses that are not multiples of `bytes`, which must be a power of two.
#[inline(always)]
pub(crate) fn aligned(all: &Lanes64, bytes: u64, what: &str, space: Space) -> Outcome<()> {
    let any = all.iter().fold(0, |any, address| any | address);
    if any & (bytes - 1) == 0 { Ok(()) } else { Err(misaligned(all, bytes, what, space)) }
}

#[cold]
fn misaligned(all: &Lanes64, bytes: u64, what: &str, space: Space) -> Box<Fault> {
    let lane = all.iter().position(|address| address & (bytes - 1) != 0).unwrap_or(0);
    let message = format!(
        "misaligned access: {what} of {bytes} bytes at {} address {:#x}, which is not a multiple of {bytes}",
        space.name(),
        all[lane]
    );
    Fault::at(FindingKind::MisalignedAccess, lane, message)
}

/// Reads the elements of each lane into registers. The addresses must have been checked.
#[inline(always)]
pub(crate) fn read<V: View>(view: &V, regs: &mut Regs, all: &Lanes64, access: &Access, d: &[Reg], m: u32) {
    for (i, &reg) in d.iter().enumerate() {
        let offset = u64::from(access.bytes) * i as u64;
        match (access.bytes, reg) {
            (4, Reg::R(r)) => {
                let out = std::array::from_fn(|lane| view.word(all[lane] + offset, lane));
                regs.put_r(r, m, &out);
            }
            (16, Reg::Q(low)) => {
                for half in 0..2 {
                    let at = offset + 8 * u64::from(half);
                    let out = std::array::from_fn(|lane| double(view, all[lane] + at, lane));
                    regs.put_d(crate::program::code::D(low.0 + half), m, &out);
                }
            }
            (8, reg) => {
                let out = std::array::from_fn(|lane| double(view, all[lane] + offset, lane));
                regs.put(reg, m, &out);
            }
            (bytes, reg) => {
                let out = std::array::from_fn(|lane| {
                    let address = all[lane] + offset;
                    let word = view.word(address & !3, lane);
                    extend(word >> (8 * (address & 3)), bytes, access)
                });
                regs.put(reg, m, &out);
            }
        }
    }
}

/// Returns a narrow element as it is stored in the destination register.
fn extend(word: u32, bytes: u8, access: &Access) -> u64 {
    let value = match (bytes, access.signed) {
        (1, true) => word as i8 as u64,
        (1, false) => u64::from(word as u8),
        (2, true) => word as i16 as u64,
        (2, false) => u64::from(word as u16),
        (_, true) => word as i32 as u64,
        (_, false) => u64::from(word),
    };
    if access.half { value & 0xffff } else { value }
}

fn double<V: View>(view: &V, address: u64, lane: usize) -> u64 {
    u64::from(view.word(address, lane)) | u64::from(view.word(address + 4, lane)) << 32
}

/// Writes the elements of each lane from registers. The addresses must have been checked.
pub(crate) fn write<V: View>(
    view: &mut V,
    regs: &Regs,
    all: &Lanes64,
    access: &Access,
    values: &[Reg],
    m: u32,
) {
    for (i, &reg) in values.iter().enumerate() {
        let offset = u64::from(access.bytes) * i as u64;
        match (access.bytes, reg) {
            (4, Reg::R(r)) => {
                let words = regs.r(r);
                for lane in lanes(m) {
                    view.set(all[lane] + offset, lane, u32::MAX, words[lane]);
                }
            }
            (16, Reg::Q(low)) => {
                for half in 0..2 {
                    let at = offset + 8 * u64::from(half);
                    let words = regs.d(crate::program::code::D(low.0 + half));
                    for lane in lanes(m) {
                        set_double(view, all[lane] + at, lane, words[lane]);
                    }
                }
            }
            (8, reg) => {
                let words = regs.get(reg);
                for lane in lanes(m) {
                    set_double(view, all[lane] + offset, lane, words[lane]);
                }
            }
            (bytes, reg) => {
                let words = regs.get(reg);
                let mask = u32::MAX >> (32 - 8 * u32::from(bytes));
                for lane in lanes(m) {
                    let address = all[lane] + offset;
                    let shift = 8 * (address & 3);
                    view.set(address & !3, lane, mask << shift, (words[lane] as u32 & mask) << shift);
                }
            }
        }
    }
}

fn set_double<V: View>(view: &mut V, address: u64, lane: usize, value: u64) {
    view.set(address, lane, u32::MAX, value as u32);
    view.set(address + 4, lane, u32::MAX, (value >> 32) as u32);
}

fn load_word<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &Access,
    d: R,
    m: u32,
) -> Outcome<()> {
    match access.space {
        Space::Shared => shared::load_word::<CHECKED>(cluster, warp, access, d, m),
        Space::Global => global::load_word::<CHECKED>(cluster, warp, access, d, m),
        _ => load::<CHECKED>(cluster, warp, access, &[Reg::R(d)], m),
    }
}

fn store_word<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &Access,
    value: R,
    m: u32,
) -> Outcome<()> {
    match access.space {
        Space::Shared => shared::store_word::<CHECKED>(cluster, warp, access, value, m),
        Space::Global => global::store_word::<CHECKED>(cluster, warp, access, value, m),
        _ => store::<CHECKED>(cluster, warp, access, &[Reg::R(value)], m),
    }
}

/// Calls `f` for each space to which generic addresses of the lanes of `m` belong, with the space, these lanes, and their addresses in the
/// space.
fn by_space(all: &Lanes64, m: u32, mut f: impl FnMut(Space, u32, &Lanes64) -> Outcome<()>) -> Outcome<()> {
    let first = window_of(all[m.trailing_zeros() as usize & 31]);
    let same = crate::lanes::mask_of(|lane| window_of(all[lane]) == first) & m;
    let window = match first {
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Param => PARAM_WINDOW,
        _ => 0,
    };
    let start = all[same.trailing_zeros() as usize & 31];
    let there = std::array::from_fn(|lane| {
        let address = if same >> lane & 1 == 1 { all[lane] } else { start };
        address.wrapping_sub(window)
    });
    let space = if first == Space::Shared { Space::SharedCluster } else { first };
    f(space, same, &there)?;
    if same == m { Ok(()) } else { by_space(all, m & !same, f) }
}

fn load<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &Access,
    d: &[Reg],
    m: u32,
) -> Outcome<()> {
    let all = safe_addresses(warp, access.addr, m);
    if access.space == Space::Generic {
        return by_space(&all, m, |space, m, all| {
            load_from::<CHECKED>(cluster, warp, space, access, d, all, m)
        });
    }
    load_from::<CHECKED>(cluster, warp, access.space, access, d, &all, m)
}

fn load_from<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    space: Space,
    access: &Access,
    d: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let total = access.size();
    aligned(all, total, "a load", space)?;
    match space {
        Space::Shared | Space::SharedCluster => {
            shared::load::<CHECKED>(cluster, warp, space, access, d, all, m)
        }
        Space::Local => local::load::<CHECKED>(cluster, warp, access, d, all, m),
        Space::Param => {
            if CHECKED {
                cluster.before_param_load(access, m);
            }
            let view = Params::reach(cluster, all, total)?;
            read(&view, &mut warp.regs, all, access, d, m);
            Ok(())
        }
        _ => global::load::<CHECKED>(cluster, warp, access, d, all, m),
    }
}

/// Loads one element of `bytes` bytes for each lane of `m` into `temporary`, for instructions that move whole matrices.
pub(crate) fn load_elements<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    space: Space,
    bytes: u8,
    all: &Lanes64,
    temporary: D,
    m: u32,
) -> Outcome<()> {
    let access = element(space, bytes);
    let regs = [Reg::D(temporary)];
    if space == Space::Generic {
        return by_space(all, m, |space, m, all| {
            load_from::<CHECKED>(cluster, warp, space, &access, &regs, all, m)
        });
    }
    load_from::<CHECKED>(cluster, warp, space, &access, &regs, all, m)
}

/// Stores one element of `bytes` bytes for each lane of `m` from `temporary`.
pub(crate) fn store_elements<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    space: Space,
    bytes: u8,
    all: &Lanes64,
    temporary: D,
    m: u32,
) -> Outcome<()> {
    let access = element(space, bytes);
    let regs = [Reg::D(temporary)];
    if space == Space::Generic {
        return by_space(all, m, |space, m, all| {
            store_to::<CHECKED>(cluster, warp, space, &access, &regs, all, m)
        });
    }
    store_to::<CHECKED>(cluster, warp, space, &access, &regs, all, m)
}

fn element(space: Space, bytes: u8) -> Access {
    let addr = Addr { base: Base::Frame, offset: 0 };
    Access {
        space,
        bytes,
        count: 1,
        signed: false,
        half: false,
        float: false,
        strong: false,
        synchronizes: false,
        relaxed: false,
        meets_blocks: false,
        addr,
    }
}

fn store<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &Access,
    values: &[Reg],
    m: u32,
) -> Outcome<()> {
    let all = safe_addresses(warp, access.addr, m);
    let stored = if access.space == Space::Generic {
        by_space(&all, m, |space, m, all| store_to::<CHECKED>(cluster, warp, space, access, values, all, m))
    } else {
        store_to::<CHECKED>(cluster, warp, access.space, access, values, &all, m)
    };
    warp.shadow.undefined.storing = 0;
    stored
}

fn store_to<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    space: Space,
    access: &Access,
    values: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let total = access.size();
    aligned(all, total, "a store", space)?;
    if CHECKED {
        cluster.before_leaving(warp, space, access, values, m)?;
    }
    match space {
        Space::Shared | Space::SharedCluster => {
            shared::store::<CHECKED>(cluster, warp, space, access, values, all, m)
        }
        Space::Local => local::store::<CHECKED>(cluster, warp, access, values, all, m),
        Space::Param => Err(Fault::at(
            FindingKind::ReadOnly,
            m.trailing_zeros() as usize,
            "a store to kernel parameters, which are read only",
        )),
        _ => global::store::<CHECKED>(cluster, warp, access, values, all, m),
    }
}

/// The space of kernel parameters, which are the same for every lane.
struct Params<'a> {
    words: &'a [u32],
}

impl<'a> Params<'a> {
    fn reach(cluster: &'a Cluster<'_>, all: &Lanes64, bytes: u64) -> Outcome<Self> {
        let limit = u64::from(cluster.machine.code.param_bytes);
        match all.iter().position(|&address| address.saturating_add(bytes) > limit) {
            None => Ok(Self { words: &cluster.machine.params }),
            Some(lane) => Err(Fault::at(
                FindingKind::ParamOutOfBounds,
                lane,
                format!(
                    "param space out of bounds: a load of {bytes} bytes at offset {} of {limit} bytes of parameters",
                    all[lane]
                ),
            )),
        }
    }
}

impl View for Params<'_> {
    fn word(&self, address: u64, _: usize) -> u32 {
        self.words.get((address / 4) as usize).copied().unwrap_or(0)
    }

    fn set(&mut self, _: u64, _: usize, _: u32, _: u32) {}
}

/// Returns one byte at a generic address.
pub(crate) fn generic_byte(cluster: &Cluster<'_>, warp: &Warp, lane: usize, address: u64) -> Outcome<u8> {
    match address {
        SHARED_WINDOW..LOCAL_WINDOW => {
            let (rank, offset) =
                ((address - SHARED_WINDOW) >> SHARED_BITS, address & ((1 << SHARED_BITS) - 1));
            let shared = cluster.ctas.get(rank as usize).map(|cta| &cta.shared);
            match shared.filter(|s| offset < u64::from(s.bytes)) {
                Some(shared) => Ok((shared.words[(offset / 4) as usize] >> (8 * (offset % 4))) as u8),
                None => Err(Fault::at(
                    FindingKind::SharedOutOfBounds,
                    lane,
                    format!("shared memory out of bounds: a load of 1 bytes at {offset:#x}"),
                )),
            }
        }
        LOCAL_WINDOW..PARAM_WINDOW => Ok(warp.local.byte(address - LOCAL_WINDOW, lane)),
        PARAM_WINDOW..FUNCTION_WINDOW => {
            let at = address - PARAM_WINDOW;
            let word = cluster
                .machine
                .params
                .get((at / 4) as usize)
                .filter(|_| at < u64::from(cluster.machine.code.param_bytes));
            match word {
                Some(word) => Ok((word >> (8 * (at % 4))) as u8),
                None => Err(Fault::at(
                    FindingKind::ParamOutOfBounds,
                    lane,
                    format!("param space out of bounds: a load of 1 bytes at offset {at}"),
                )),
            }
        }
        _ => {
            let allocation = reach(cluster.machine, lane, address, 1, Doing::Load)?;
            let at = address - allocation.start;
            Ok((allocation.words[(at / 4) as usize].load(Relaxed) >> (8 * (at % 4))) as u8)
        }
    }
}
