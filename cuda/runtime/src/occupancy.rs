//! Functions of the section "Occupancy".

use warpwright_cuda_calls::address_of;

use crate::driver::ready;
use crate::execution::driver_config;
use crate::registry::function;
use crate::{Address, entries};

entries! {
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(result: Address, kernel: Address, block: i32, shared: usize) {
        ready()?.cuOccupancyMaxActiveBlocksPerMultiprocessor(result, function(kernel)?, block, shared)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        result: Address, kernel: Address, block: i32, shared: usize, _flags: u32,
    ) {
        ready()?.cuOccupancyMaxActiveBlocksPerMultiprocessor(result, function(kernel)?, block, shared)
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(result: Address, kernel: Address, blocks: i32, block: i32) {
        ready()?.cuOccupancyAvailableDynamicSMemPerBlock(result, function(kernel)?, blocks, block)
    }

    fn cudaOccupancyMaxPotentialClusterSize(result: Address, kernel: Address, config: Address) {
        let mut config = driver_config(config, false)?;
        ready()?.cuOccupancyMaxPotentialClusterSize(result, function(kernel)?, address_of(&mut config))
    }

    fn cudaOccupancyMaxActiveClusters(result: Address, kernel: Address, config: Address) {
        let mut config = driver_config(config, false)?;
        ready()?.cuOccupancyMaxActiveClusters(result, function(kernel)?, address_of(&mut config))
    }
}
