//! Memory that graph nodes allocate. Its address is determined when the node is added. The memory exists from the execution of the node
//! until another node or a call frees it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::code::{Code, Fallible};
use crate::driver::context::Context;
use crate::driver::device::Device;
use crate::driver::memory;
use crate::driver::operation::Operation;
use crate::driver::registry::Handle;

/// The memory of a node.
#[derive(Clone, Copy, Debug)]
struct Plan {
    size: u64,
    context: Handle,
    device: Device,
    /// Whether the memory will be allocated when all submitted operations are complete.
    allocated: bool,
}

/// The memory of nodes, by address.
static PLANS: Mutex<BTreeMap<u64, Plan>> = Mutex::new(BTreeMap::new());

/// The peak number of bytes allocated on each device since the program last reset it.
static HIGH: Mutex<BTreeMap<Device, u64>> = Mutex::new(BTreeMap::new());

fn plans() -> MutexGuard<'static, BTreeMap<u64, Plan>> {
    PLANS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn high() -> MutexGuard<'static, BTreeMap<Device, u64>> {
    HIGH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the address of the memory for a new node.
pub(crate) fn plan(context: &Context, size: u64) -> Fallible<u64> {
    if size == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let start = memory::lock().reserve(size).map_err(|_| Code::OUT_OF_MEMORY)?;
    let plan = Plan { size, context: context.handle, device: context.device, allocated: false };
    plans().insert(start, plan);
    Ok(start)
}

/// Returns the number of bytes from an address to the end of the node memory that contains it.
pub(crate) fn room(address: u64) -> Option<u64> {
    let all = plans();
    let (start, plan) = all.range(..=address).next_back()?;
    plan.size.checked_sub(address - start).filter(|&room| room > 0)
}

/// Returns the size of the node memory that starts at an address.
pub(crate) fn size(start: u64) -> Option<u64> {
    plans().get(&start).map(|plan| plan.size)
}

/// Records that an operation of a graph is submitted. Memory that it allocates must be free, unless the graph frees it first.
pub(crate) fn submit(operation: &Operation, frees_before: bool) -> Fallible {
    match operation {
        Operation::Alloc(start, _) => {
            let mut all = plans();
            let plan = all.get_mut(start).ok_or(Code::INVALID_VALUE)?;
            if plan.allocated && !frees_before {
                return Err(Code::INVALID_VALUE);
            }
            plan.allocated = true;
            Ok(())
        }
        // Memory that was not allocated by a node was checked when the node was added.
        Operation::Free(start) if size(*start).is_some() => submit_free(*start),
        _ => Ok(()),
    }
}

/// Records that a submitted operation frees the memory of a node.
pub(crate) fn submit_free(start: u64) -> Fallible {
    let mut all = plans();
    let plan = all.get_mut(&start).filter(|plan| plan.allocated).ok_or(Code::INVALID_VALUE)?;
    plan.allocated = false;
    Ok(())
}

/// Allocates the memory of a node. Memory that an earlier launch left allocated is freed first.
pub(crate) fn allocate(start: u64) -> Fallible {
    let Some(plan) = plans().get(&start).copied() else { return Ok(()) };
    if memory::find_device(start).is_some() {
        memory::free_now(start)?;
    }
    memory::alloc_at(start, plan.size, plan.context, plan.device)?;
    let used = used(plan.device);
    let mut high = high();
    let most = high.entry(plan.device).or_insert(0);
    *most = used.max(*most);
    Ok(())
}

/// Returns the number of bytes that nodes have allocated on a device.
pub(crate) fn used(device: Device) -> u64 {
    let all = plans();
    let live =
        all.iter().filter(|(start, plan)| plan.device == device && memory::find_device(**start).is_some());
    live.map(|(_, plan)| plan.size).sum()
}

/// Returns the peak number of bytes allocated on a device.
pub(crate) fn most_used(device: Device) -> u64 {
    high().get(&device).copied().unwrap_or(0)
}

/// Resets the peak number of bytes allocated on a device.
pub(crate) fn reset_most_used(device: Device) {
    high().insert(device, used(device));
}
