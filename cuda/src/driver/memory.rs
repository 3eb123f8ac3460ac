//! Device memory, and host memory that kernels access.
//!
//! All devices share one address space, so that an address identifies its device. Pinned and managed memory has the same address on the
//! host and in kernels, because it is mapped at a free address range of the simulator.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use warpwright_sim::{Memory, MemoryError};

use crate::code::{Code, Fallible};
use crate::config::config;
use crate::driver::advice;
use crate::driver::context::{self, Context};
use crate::driver::device::{self, Device};
use crate::driver::graph_memory;
use crate::driver::origin::Origin;
use crate::driver::pool::Pool;
use crate::driver::registry::Handle;
use crate::driver::virtual_memory::Physical;
use crate::host::{self, HostPtr, PAGE};
use crate::report;

/// The kind of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Memory of a device.
    Device,
    /// Host memory that has the same address in kernels, with its flags.
    Pinned(u32),
    /// Memory that has the same address on the host and on all devices.
    Managed,
    /// Registered host memory, with its host address.
    Registered(HostPtr),
    /// A variable of a module.
    Variable,
    /// Device memory that the program has mapped, and whether it is accessible.
    Mapped(bool),
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    /// The start address in kernels.
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    pub(crate) context: Handle,
    pub(crate) device: Device,
    /// The pool that the memory belongs to, or null if it does not belong to a pool.
    pub(crate) pool: Handle,
    /// The unique number of the allocation.
    pub(crate) id: u64,
    /// Whether the allocation is a module variable, which the program does not free.
    is_variable: bool,
}

impl Allocation {
    /// Returns whether host code can access the allocation.
    pub(crate) fn is_on_host(&self) -> bool {
        !matches!(self.kind, Kind::Device | Kind::Variable | Kind::Mapped(_))
    }

    /// Returns the host address of the allocation, if it has one.
    pub(crate) fn host(&self) -> Option<HostPtr> {
        match self.kind {
            Kind::Pinned(_) | Kind::Managed => Some(HostPtr(self.start as usize)),
            Kind::Registered(host) => Some(host),
            Kind::Device | Kind::Variable | Kind::Mapped(_) => None,
        }
    }
}

/// The simulator's memory. A kernel holds the lock while it runs.
static MEMORY: LazyLock<Mutex<Memory>> = LazyLock::new(|| {
    let memory = Memory::with_host_addresses();
    Mutex::new(if config().checks.records_writes() { memory.record_writes() } else { memory })
});

/// The allocations, by device address. Unlike the memory, they are available while a kernel runs.
static ALLOCATIONS: Mutex<BTreeMap<u64, Allocation>> = Mutex::new(BTreeMap::new());

/// The first address that is not shared with the host.
pub(crate) const FIRST_OF_DEVICES: u64 = 1 << 47;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Returns the simulator's memory, after waiting for a running kernel.
pub(crate) fn lock() -> MutexGuard<'static, Memory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn allocations() -> MutexGuard<'static, BTreeMap<u64, Allocation>> {
    ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn add(start: u64, size: u64, kind: Kind, context: &Context) {
    add_in(start, size, kind, context.handle, context.device, Handle::NULL);
}

fn add_in(start: u64, size: u64, kind: Kind, context: Handle, device: Device, pool: Handle) {
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    let is_variable = kind == Kind::Variable;
    allocations().insert(start, Allocation { start, size, kind, context, device, pool, id, is_variable });
}

/// Records an allocation of mapped memory at reserved addresses. It does not belong to a context.
pub(crate) fn add_mapping(start: u64, size: u64, device: Device) {
    add_in(start, size, Kind::Mapped(false), Handle::NULL, device, Handle::NULL);
}

/// Records whether memory added by [`add_mapping`] is accessible.
pub(crate) fn set_accessible(start: u64, accessible: bool) {
    if let Some(mapping) = allocations().get_mut(&start) {
        mapping.kind = Kind::Mapped(accessible);
    }
}

/// Removes memory added by [`add_mapping`].
pub(crate) fn remove_mapping(start: u64) {
    allocations().remove(&start);
}

/// Allocates memory on the current device.
pub(crate) fn alloc(bytes: usize) -> Fallible<u64> {
    let context = context::current()?;
    alloc_in(&context, bytes)
}

/// Allocates memory on the device of a context.
pub(crate) fn alloc_in(context: &Context, bytes: usize) -> Fallible<u64> {
    let start = alloc_unrecorded(context, context.device, bytes)?;
    add(start, bytes as u64, Kind::Device, context);
    Ok(start)
}

/// Allocates memory from a pool.
pub(crate) fn alloc_from(pool: &Pool, context: &Context, bytes: usize) -> Fallible<u64> {
    let start = alloc_unrecorded(context, pool.device, bytes)?;
    add_in(start, bytes as u64, Kind::Device, context.handle, pool.device, pool.handle);
    pool.add(bytes as u64);
    Ok(start)
}

/// Allocates memory that is not yet in the table of allocations.
fn alloc_unrecorded(context: &Context, device: Device, bytes: usize) -> Fallible<u64> {
    context.check()?;
    if bytes == 0 {
        return Err(Code::INVALID_VALUE);
    }
    if bytes as u64 > available(device).0 {
        return Err(Code::OUT_OF_MEMORY);
    }
    lock().try_alloc(bytes).map_err(|_| Code::OUT_OF_MEMORY)
}

/// Allocates device memory at a reserved address, or at the address of freed memory.
pub(crate) fn alloc_at(start: u64, bytes: u64, context: Handle, device: Device) -> Fallible {
    if bytes > available(device).0 {
        return Err(Code::OUT_OF_MEMORY);
    }
    lock().alloc_at(start, bytes).map_err(|_| Code::OUT_OF_MEMORY)?;
    add_in(start, bytes, Kind::Device, context, device, Handle::NULL);
    Ok(())
}

/// Allocates memory with the same address on the host and in kernels.
pub(crate) fn alloc_shared(bytes: usize, kind: Kind) -> Fallible<u64> {
    let context = context::current()?;
    context.check()?;
    if bytes == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let start =
        lock().map(bytes as u64, |address| map_words(address, bytes)).map_err(|_| Code::OUT_OF_MEMORY)?;
    add(start, bytes as u64, kind, &context);
    Ok(start)
}

/// Maps host memory at an address of the simulator, unless the address is in use.
pub(crate) fn map_words(address: u64, bytes: usize) -> Option<&'static [AtomicU32]> {
    let bytes = bytes.checked_next_multiple_of(PAGE)?;
    Some(host::map(address, bytes)?.words(bytes / 4))
}

/// Makes host memory of the program accessible to kernels.
pub(crate) fn register(host: HostPtr, bytes: usize) -> Fallible {
    let context = context::current()?;
    if host.is_null() || bytes == 0 {
        return Err(Code::INVALID_VALUE);
    }
    if registered(host).is_some() {
        return Err(Code::HOST_MEMORY_ALREADY_REGISTERED);
    }
    // The words that contain the bytes. Both ends of the words are in pages that also contain some of the bytes.
    let (start, end) = (host.0 & !3, (host.0 + bytes).next_multiple_of(4));
    let words = HostPtr(start).words((end - start) / 4);
    let address = lock().register_host(words);
    add(address, (end - start) as u64, Kind::Registered(HostPtr(start)), &context);
    Ok(())
}

/// Returns the registered allocation that contains a host address.
fn registered(host: HostPtr) -> Option<Allocation> {
    let inside = |a: &&Allocation| matches!(a.kind, Kind::Registered(at) if (at.0..at.0 + a.size as usize).contains(&host.0));
    allocations().values().find(inside).copied()
}

pub(crate) fn unregister(host: HostPtr) -> Fallible {
    let found = registered(host).ok_or(Code::HOST_MEMORY_NOT_REGISTERED)?;
    release(&found);
    Ok(())
}

/// Frees device or managed memory, after all work on it is complete.
pub(crate) fn free(address: u64) -> Fallible {
    if address == 0 {
        return Ok(());
    }
    let context = context::current()?;
    let is_of_graph = graph_memory::size(address).is_some();
    if is_of_graph {
        // A pending graph may allocate this memory.
        graph_memory::submit_free(address).map_err(|_| unknown(address))?;
        context.drain();
    }
    let found = allocations().get(&address).copied();
    let found =
        found.filter(|a| matches!(a.kind, Kind::Device | Kind::Managed)).ok_or_else(|| unknown(address))?;
    if !is_of_graph {
        // As in NVIDIA's driver, pending operations are completed first. The memory is freed even if one of them fails.
        context.drain();
    }
    release(&found);
    context.check()
}

/// Frees memory without waiting.
pub(crate) fn free_now(address: u64) -> Fallible {
    let found = allocations().get(&address).copied().ok_or(Code::INVALID_VALUE)?;
    release(&found);
    Ok(())
}

/// Frees memory allocated by [`alloc_shared`].
pub(crate) fn free_pinned(host: HostPtr) -> Fallible {
    if host.is_null() {
        return Ok(());
    }
    let found = allocations().get(&(host.0 as u64)).copied();
    let found = found.filter(|a| matches!(a.kind, Kind::Pinned(_))).ok_or(Code::INVALID_VALUE)?;
    context::current()?.drain();
    release(&found);
    Ok(())
}

fn release(allocation: &Allocation) {
    allocations().remove(&allocation.start);
    Pool::remove(allocation.pool, allocation.size);
    advice::forget(&(allocation.start..allocation.start + allocation.size));
    // Succeeds, because the table contains only memory that the simulator knows.
    let _ = lock().free(allocation.start);
    if matches!(allocation.kind, Kind::Pinned(_) | Kind::Managed) {
        host::unmap(HostPtr(allocation.start as usize), (allocation.size as usize).next_multiple_of(PAGE));
    }
}

/// Frees all memory that was allocated in a context.
pub(crate) fn free_all(context: Handle) {
    let gone: Vec<Allocation> = allocations().values().filter(|a| a.context == context).copied().collect();
    gone.iter().for_each(release);
}

/// Records a module variable. A variable that the host can access is recorded as managed memory.
pub(crate) fn add_variable(start: u64, size: u64, context: &Context) {
    let kind = if start < FIRST_OF_DEVICES { Kind::Managed } else { Kind::Variable };
    add(start, size, kind, context);
    if let Some(variable) = allocations().get_mut(&start) {
        variable.is_variable = true;
    }
}

/// Returns the allocation that contains a device or host address.
pub(crate) fn find(address: u64) -> Option<Allocation> {
    let found = allocations().range(..=address).next_back().map(|(_, a)| *a);
    let found = found.filter(|a| address - a.start < a.size);
    found.or_else(|| registered(HostPtr(address as usize)))
}

/// Returns the allocation that contains a device address; [`find`] also accepts host addresses.
pub(crate) fn find_device(address: u64) -> Option<Allocation> {
    find(address).filter(|a| address.wrapping_sub(a.start) < a.size)
}

/// Returns the number of bytes that operations may access starting at a device address, across adjacent mappings.
pub(crate) fn room(address: u64) -> Option<u64> {
    const MAPPED: Kind = Kind::Mapped(true);
    let Some(found) = find_device(address).filter(|a| a.kind != Kind::Mapped(false)) else {
        return graph_memory::room(address);
    };
    let mut end = found.start + found.size;
    if found.kind == MAPPED {
        let all = allocations();
        while let Some(next) = all.get(&end).filter(|next| next.kind == MAPPED) {
            end += next.size;
        }
    }
    Some(end - address)
}

/// Returns a description of an address: its offset in an allocation.
pub(crate) fn describe(address: u64) -> String {
    match find_device(address) {
        Some(Allocation { start, size, .. }) => {
            format!(
                "{address:#x}, offset {} of the allocation of {size} bytes at {start:#x}",
                address - start
            )
        }
        None => format!("{address:#x}"),
    }
}

/// Returns the error for an address that is not in an allocation. Reports a finding if the allocation was freed.
pub(crate) fn unknown(address: u64) -> Code {
    if let Err(error @ MemoryError::Freed { .. }) = lock().read(address, &mut [0]) {
        report_freed(&error, &Origin::here());
    }
    Code::INVALID_VALUE
}

/// Converts the result of an operation's access to memory. An error means that the memory was freed after the operation was queued; the
/// error is reported.
pub(crate) fn accessed<T>(origin: &Origin, result: Result<T, MemoryError>) -> Fallible<T> {
    result.map_err(|error| {
        report_freed(&error, origin);
        Code::ILLEGAL_ADDRESS
    })
}

/// Reports an access to memory that was freed.
pub(crate) fn report_freed(error: &MemoryError, origin: &Origin) {
    let message = format!("use after free: {error}");
    report::update(|run| run.host_finding("use_after_free", message, &[("the access", origin)]));
}

/// Returns the free and the total memory of a device in bytes.
pub(crate) fn available(device: Device) -> (u64, u64) {
    let total = device::MEMORY as u64;
    let counts = |a: &&Allocation| a.device == device && matches!(a.kind, Kind::Device | Kind::Variable);
    let used: u64 = allocations().values().filter(counts).map(|a| a.size).sum();
    (total.saturating_sub(used + Physical::used_of(device)), total)
}

/// Returns descriptions of the memory that the program has not freed.
pub(crate) fn leaks() -> Vec<String> {
    let all = allocations();
    let is_kept =
        |a: &&Allocation| matches!(a.kind, Kind::Device | Kind::Pinned(_) | Kind::Managed) && !a.is_variable;
    let kept = all.values().filter(is_kept);
    let describe =
        |a: &Allocation| format!("{} bytes at {:#x}, allocation {} ({:?})", a.size, a.start, a.id, a.kind);
    kept.map(describe).chain(Physical::leaks()).collect()
}
