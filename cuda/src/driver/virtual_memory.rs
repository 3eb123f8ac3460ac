//! Virtual memory management, in which separate calls reserve addresses, create memory, map it and make it accessible.
//!
//! Memory is stored in an in-memory file on the host, so that it can be mapped more than once. A reservation also has a range of host
//! addresses, in which mappings are adjacent just as they are for kernels.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpwright_sim::{Mapping as Mapped, Memory};

use crate::code::{Code, Fallible};
use crate::driver::context;
use crate::driver::device::Device;
use crate::driver::memory;
use crate::driver::registry::{Handle, Registry};
use crate::host::{self, File, HostPtr};

/// The granularity of addresses and sizes in bytes.
pub(crate) const GRANULARITY: u64 = 2 << 20;

/// Memory that a program can map at addresses.
#[derive(Debug)]
pub(crate) struct Physical {
    pub(crate) handle: Handle,
    pub(crate) device: Device,
    size: u64,
    contents: File,
    /// The number of references that the program has. Memory without references exists as long as it is mapped.
    owners: AtomicUsize,
    /// The number of mappings of the memory.
    mapped: AtomicUsize,
}

/// A mapping of memory at an address.
#[derive(Debug)]
struct Mapping {
    physical: Arc<Physical>,
    /// `CUmemAccess_flags` by device.
    access: BTreeMap<Device, u32>,
}

/// A range of addresses that the program has reserved.
#[derive(Debug)]
struct Reservation {
    start: u64,
    size: u64,
    host: HostPtr,
    /// The mappings by address.
    mappings: BTreeMap<u64, Mapping>,
}

static PHYSICAL: Registry<Physical> = Registry::new(12);

/// The reservations by address.
static RESERVATIONS: Mutex<BTreeMap<u64, Reservation>> = Mutex::new(BTreeMap::new());

fn reservations() -> MutexGuard<'static, BTreeMap<u64, Reservation>> {
    RESERVATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns an error unless a value is a multiple of the granularity.
fn check_granularity(value: u64) -> Fallible {
    if value != 0 && value.is_multiple_of(GRANULARITY) { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

impl Physical {
    pub(crate) fn create(device: Device, size: u64) -> Fallible<Handle> {
        check_granularity(size)?;
        if size > memory::available(device).0 {
            return Err(Code::OUT_OF_MEMORY);
        }
        let contents = File::create(size).ok_or(Code::OUT_OF_MEMORY)?;
        let (owners, mapped) = (AtomicUsize::new(1), AtomicUsize::new(0));
        Ok(PHYSICAL.add(|handle| Self { handle, device, size, contents, owners, mapped }).handle)
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        let found = PHYSICAL.get(handle).ok().filter(|physical| physical.owners.load(Ordering::Relaxed) > 0);
        found.ok_or(Code::INVALID_VALUE)
    }

    /// Drops a reference of the program.
    pub(crate) fn release(handle: Handle) -> Fallible {
        Self::of(handle)?.owners.fetch_sub(1, Ordering::Relaxed);
        remove_unused(&reservations());
        Ok(())
    }

    /// Returns the memory at an address with a new reference.
    pub(crate) fn retain_at(address: u64) -> Fallible<Handle> {
        let all = reservations();
        let (_, mapping) = mapping_at(&all, address)?;
        mapping.physical.owners.fetch_add(1, Ordering::Relaxed);
        Ok(mapping.physical.handle)
    }

    /// Returns the number of bytes of a device that are in use.
    pub(crate) fn used_of(device: Device) -> u64 {
        PHYSICAL.select(|physical| physical.device == device).iter().map(|physical| physical.size).sum()
    }

    /// Returns a description of each memory object that the program has not released.
    pub(crate) fn leaks() -> impl Iterator<Item = String> {
        let kept = PHYSICAL.select(|physical| physical.owners.load(Ordering::Relaxed) > 0);
        kept.into_iter().map(|physical| format!("{} bytes of cuMemCreate", physical.size))
    }
}

/// Removes memory that has neither references nor mappings.
fn remove_unused(all: &BTreeMap<u64, Reservation>) {
    let is_mapped = |physical: &Physical| {
        let mut mappings = all.values().flat_map(|reservation| reservation.mappings.values());
        mappings.any(|mapping| mapping.physical.handle == physical.handle)
    };
    PHYSICAL.remove_all(|physical| physical.owners.load(Ordering::Relaxed) == 0 && !is_mapped(physical));
}

/// Returns the mapping that contains an address, and the address at which it starts.
fn mapping_at(all: &BTreeMap<u64, Reservation>, address: u64) -> Fallible<(u64, &Mapping)> {
    let reservation = all.range(..=address).next_back().map(|(_, reservation)| reservation);
    let found = reservation.and_then(|reservation| reservation.mappings.range(..=address).next_back());
    let found = found.filter(|(start, mapping)| address - **start < mapping.physical.size);
    found.map(|(start, mapping)| (*start, mapping)).ok_or(Code::INVALID_VALUE)
}

/// Returns the reservation that contains a range of addresses.
fn reservation_of(all: &mut BTreeMap<u64, Reservation>, range: Range<u64>) -> Fallible<&mut Reservation> {
    let found = all.range_mut(..=range.start).next_back().map(|(_, reservation)| reservation);
    found.filter(|found| range.end <= found.start + found.size).ok_or(Code::INVALID_VALUE)
}

fn range_of(start: u64, size: u64) -> Fallible<Range<u64>> {
    check_granularity(start)?;
    check_granularity(size)?;
    Ok(start..start.checked_add(size).ok_or(Code::INVALID_VALUE)?)
}

/// Reserves addresses. An address that the program requests is ignored, as the manual allows.
pub(crate) fn reserve(size: u64, align: u64) -> Fallible<u64> {
    check_granularity(size)?;
    if align != 0 && !align.is_power_of_two() {
        return Err(Code::INVALID_VALUE);
    }
    let host = host::reserve(size as usize).ok_or(Code::OUT_OF_MEMORY)?;
    let start = memory::lock().reserve(size).map_err(|_| Code::OUT_OF_MEMORY)?;
    reservations().insert(start, Reservation { start, size, host, mappings: BTreeMap::new() });
    Ok(start)
}

/// Frees a reservation without mappings.
pub(crate) fn free(start: u64, size: u64) -> Fallible {
    let mut all = reservations();
    let found = all.get(&start).filter(|found| found.size == size && found.mappings.is_empty());
    let host = found.ok_or(Code::INVALID_VALUE)?.host;
    memory::lock().unreserve(start, size).map_err(|_| Code::INVALID_VALUE)?;
    host::unmap(host, size as usize);
    all.remove(&start);
    Ok(())
}

/// Maps memory at reserved addresses, which remain inaccessible.
pub(crate) fn map(start: u64, size: u64, offset: u64, handle: Handle) -> Fallible {
    let range = range_of(start, size)?;
    let physical = Physical::of(handle)?;
    // The manual requires an offset of 0 and a mapping of the whole memory object.
    if offset != 0 || size != physical.size {
        return Err(Code::INVALID_VALUE);
    }
    let mut all = reservations();
    let reservation = reservation_of(&mut all, range)?;
    let before = reservation.mappings.range(..start + size).next_back();
    if before.is_some_and(|(at, mapping)| at + mapping.physical.size > start) {
        return Err(Code::INVALID_VALUE);
    }
    host::attach(reservation.host_of(start), &physical.contents, size as usize).ok_or(Code::OUT_OF_MEMORY)?;
    physical.mapped.fetch_add(1, Ordering::Relaxed);
    memory::add_mapping(start, size, physical.device);
    reservation.mappings.insert(start, Mapping { physical, access: BTreeMap::new() });
    Ok(())
}

/// Waits for operations that may access memory that is about to become inaccessible.
fn finish_work() {
    // The memory becomes inaccessible even if an operation fails.
    if let Ok(context) = context::current() {
        context.drain();
    }
}

/// Unmaps whole mappings, after all work is complete.
pub(crate) fn unmap(start: u64, size: u64) -> Fallible {
    let range = range_of(start, size)?;
    finish_work();
    let mut all = reservations();
    let reservation = reservation_of(&mut all, range.clone())?;
    for at in reservation.whole(range)? {
        reservation.mappings.remove(&at);
        memory::remove_mapping(at);
    }
    reservation.publish()?;
    host::detach(reservation.host_of(start), size as usize).ok_or(Code::UNKNOWN)?;
    remove_unused(&all);
    Ok(())
}

/// Sets whether and how a device can access whole mappings.
pub(crate) fn set_access(start: u64, size: u64, device: Device, access: u32) -> Fallible {
    let range = range_of(start, size)?;
    if access != READ_WRITE {
        finish_work();
    }
    let mut all = reservations();
    let reservation = reservation_of(&mut all, range.clone())?;
    for at in reservation.whole(range)? {
        if let Some(mapping) = reservation.mappings.get_mut(&at) {
            mapping.access.insert(device, access);
            memory::set_accessible(at, mapping.highest_access() != NONE);
        }
    }
    reservation.publish()?;
    initialize_shared(&all)
}

/// Marks memory that is mapped more than once as initialized, because writes through one mapping are not recorded for the others.
fn initialize_shared(all: &BTreeMap<u64, Reservation>) -> Fallible {
    let mut memory = memory::lock();
    let mappings = all.values().flat_map(|reservation| &reservation.mappings);
    let shared = mappings.filter(|(_, mapping)| {
        mapping.physical.mapped.load(Ordering::Relaxed) > 1 && mapping.highest_access() != NONE
    });
    let mut initialize = |(at, mapping): (&u64, &Mapping)| memory.assume_written(*at, mapping.physical.size);
    shared.into_iter().try_for_each(&mut initialize).map_err(|_| Code::UNKNOWN)
}

/// Returns the access of a device to the memory at an address.
pub(crate) fn access(address: u64, device: Device) -> Fallible<u32> {
    let all = reservations();
    let (_, mapping) = mapping_at(&all, address)?;
    Ok(mapping.access.get(&device).copied().unwrap_or(NONE))
}

/// `CUmemAccess_flags`.
const NONE: u32 = 0;
const READ: u32 = 1;
pub(crate) const READ_WRITE: u32 = 3;

impl Mapping {
    /// Returns the highest access that any device has, which the simulator grants to all devices.
    fn highest_access(&self) -> u32 {
        self.access.values().copied().max().unwrap_or(NONE)
    }
}

impl Reservation {
    fn host_of(&self, address: u64) -> HostPtr {
        self.host.offset(address - self.start)
    }

    /// Returns the addresses of the mappings that exactly fill a range.
    fn whole(&self, range: Range<u64>) -> Fallible<Vec<u64>> {
        let mut next = range.start;
        let found: Vec<u64> = self.mappings.range(range.clone()).map(|(at, _)| *at).collect();
        for at in &found {
            if *at != next {
                return Err(Code::INVALID_VALUE);
            }
            next += self.mappings[at].physical.size;
        }
        if next == range.end { Ok(found) } else { Err(Code::INVALID_VALUE) }
    }

    /// Informs the simulator of the memory that kernels can now access. Adjacent mappings are merged.
    fn publish(&self) -> Fallible {
        let mut runs: Vec<(Range<u64>, bool)> = vec![];
        for (&at, mapping) in &self.mappings {
            let access = mapping.highest_access();
            if access == NONE {
                continue;
            }
            let (end, read_only) = (at + mapping.physical.size, access == READ);
            match runs.last_mut() {
                Some((last, only)) if last.end == at && *only == read_only => last.end = end,
                _ => runs.push((at..end, read_only)),
            }
        }
        let mapped: Vec<Mapped> =
            runs.into_iter().flat_map(|(run, read_only)| self.mapped(run, read_only)).collect();
        memory::lock().remap(self.start, self.size, &mapped).map_err(|_| Code::UNKNOWN)
    }

    /// Splits a run of memory into mappings for the simulator, which must not cross multiples of its address range.
    fn mapped(&self, run: Range<u64>, read_only: bool) -> impl Iterator<Item = Mapped> {
        let next = |start: u64| (start / Memory::RANGE + 1) * Memory::RANGE;
        let starts = std::iter::successors(Some(run.start), move |start| {
            Some(next(*start)).filter(|start| *start < run.end)
        });
        starts.map(move |start| {
            let bytes = next(start).min(run.end) - start;
            Mapped { start, words: self.host_of(start).words(bytes as usize / 4), read_only }
        })
    }
}
