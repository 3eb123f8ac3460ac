//! Functions of the section "Occupancy".

use super::launch::Config;
use super::pointers::{In, Out};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::library::function_of;
use crate::driver::registry::Handle;
use crate::driver::{device, occupancy};

/// Returns the dynamic shared memory for a block size.
type SharedOf = Option<unsafe extern "C" fn(i32) -> usize>;

fn threads(n: i32) -> Fallible<u32> {
    u32::try_from(n).map_err(|_| Code::INVALID_VALUE)
}

fn blocks(out: Out<i32>, function: Handle, block: i32, dynamic_shared: usize) -> Fallible {
    out.set(occupancy::blocks(&*function_of(function)?, threads(block)?, dynamic_shared as u64)? as i32)
}

fn best(
    grid: Out<i32>,
    block: Out<i32>,
    function: Handle,
    shared_of: SharedOf,
    shared: usize,
    limit: i32,
) -> Fallible {
    let dynamic = |threads: u32| match shared_of {
        // SAFETY: the program passes a function of this type.
        Some(f) => unsafe { f(threads as i32) as u64 },
        None => shared as u64,
    };
    let (found, blocks) = occupancy::best_block(&*function_of(function)?, dynamic, threads(limit)?)?;
    grid.set(blocks as i32)?;
    block.set(found as i32)
}

entries! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(out: Out<i32>, function: Handle, block: i32, dynamic_shared: usize) {
        blocks(out, function, block, dynamic_shared)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: Out<i32>, function: Handle, block: i32, dynamic_shared: usize, _flags: u32,
    ) {
        blocks(out, function, block, dynamic_shared)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<i32>, block: Out<i32>, function: Handle, shared_of: SharedOf, dynamic_shared: usize, limit: i32,
    ) {
        best(grid, block, function, shared_of, dynamic_shared, limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<i32>, block: Out<i32>, function: Handle, shared_of: SharedOf, dynamic_shared: usize, limit: i32,
        _flags: u32,
    ) {
        best(grid, block, function, shared_of, dynamic_shared, limit)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(out: Out<usize>, function: Handle, count: i32, block: i32) {
        let function = function_of(function)?;
        let (count, block) = (threads(count)?, threads(block)?);
        if count == 0 || occupancy::blocks(&function, block, 0)? < count {
            return Err(Code::INVALID_VALUE);
        }
        let overhead = device::reserved_shared() as u32 + function.static_shared;
        let share = device::limits().shared as u32 / count;
        let most = device::limits().shared_opt_in as u32 - function.static_shared;
        out.set(share.saturating_sub(overhead).min(most) as usize)
    }

    fn cuOccupancyMaxPotentialClusterSize(out: Out<i32>, function: Handle, _config: In<Config>) {
        out.set(if function_of(function)?.allows_large_clusters() { 16 } else { 8 })
    }

    fn cuOccupancyMaxActiveClusters(out: Out<i32>, function: Handle, config: In<Config>) {
        let function = function_of(function)?;
        let config = config.get()?;
        let cluster = config.shape()?.cluster.or(function.cluster).unwrap_or([1; 3]);
        let volume = |v: [u32; 3]| v.iter().product::<u32>();
        let found = occupancy::clusters(&function, volume(config.block), config.dynamic_shared.into(), volume(cluster));
        out.set(found? as i32)
    }
}
