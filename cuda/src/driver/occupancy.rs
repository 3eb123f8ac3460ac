//! Occupancy: the number of blocks of a kernel that fit on a multiprocessor (CUDA C++ Programming Guide, "Occupancy").

use crate::code::{Code, Fallible};
use crate::driver::device;
use crate::driver::function::Function;

/// The unit in which registers are allocated to warps.
const REGISTER_UNIT: u32 = 256;

/// The unit in which shared memory is allocated to blocks, in bytes.
const SHARED_UNIT: u64 = 128;

/// Returns the number of blocks that fit on a multiprocessor.
pub(crate) fn blocks(function: &Function, threads: u32, dynamic_shared: u64) -> Fallible<u32> {
    if threads == 0 {
        return Err(Code::INVALID_VALUE);
    }
    if threads > function.max_threads || dynamic_shared > function.max_dynamic_shared().max(0) as u64 {
        return Ok(0);
    }
    let limits = device::limits();
    let warps = threads.div_ceil(32);
    let by_threads = limits.threads as u32 / 32 / warps;
    let registers = (function.registers() as u32 * 32).next_multiple_of(REGISTER_UNIT) * warps;
    let by_registers = 65536 / registers.max(1);
    let shared = u64::from(function.static_shared) + dynamic_shared + device::reserved_shared() as u64;
    let by_shared =
        (limits.shared as u64 / shared.next_multiple_of(SHARED_UNIT).max(1)).min(u32::MAX.into()) as u32;
    Ok(by_threads.min(by_registers).min(by_shared).min(limits.blocks as u32))
}

/// Returns the number of clusters that can be resident on the device simultaneously.
pub(crate) fn clusters(function: &Function, threads: u32, dynamic_shared: u64, size: u32) -> Fallible<u32> {
    let most = if function.allows_large_clusters() { 16 } else { 8 };
    if size == 0 || size > most {
        return Err(Code::INVALID_CLUSTER_SIZE);
    }
    // A cluster resides in one group of 16 to 18 multiprocessors.
    const GROUP: u32 = 16;
    let blocks = blocks(function, threads, dynamic_shared)?;
    Ok(device::limits().multiprocessors as u32 / GROUP * (GROUP * blocks / size))
}

/// Returns the block size that maximizes the number of resident threads per multiprocessor, and the number of blocks that fill the device.
pub(crate) fn best_block(
    function: &Function,
    dynamic_shared: impl Fn(u32) -> u64,
    limit: u32,
) -> Fallible<(u32, u32)> {
    let most = if limit == 0 { function.max_threads } else { limit.min(function.max_threads) };
    let mut best = (0, 0, 0);
    for threads in (32..=most).step_by(32).chain((!most.is_multiple_of(32)).then_some(most)) {
        let blocks = blocks(function, threads, dynamic_shared(threads))?;
        if blocks * threads >= best.0 {
            best = (blocks * threads, threads, blocks);
        }
    }
    Ok((best.1, best.2 * device::limits().multiprocessors as u32))
}
