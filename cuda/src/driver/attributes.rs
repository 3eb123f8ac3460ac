//! Device attributes (`CUdevice_attribute`).

use crate::code::{Code, Fallible};
use crate::config::config;
use crate::driver::device::{self, Device};

/// Returns the value of an attribute, or 0 for attributes of unsupported features.
#[rustfmt::skip]
pub(crate) fn attribute(device: Device, attribute: i32) -> Fallible<i32> {
    let limits = device::limits();
    let (major, minor) = config().arch.capability();
    let clusters = i32::from((major, minor) >= (9, 0));
    Ok(match attribute {
        1 => 1024,                             // MAX_THREADS_PER_BLOCK
        2 | 3 => 1024,                         // MAX_BLOCK_DIM_X, _Y
        4 => 64,                               // MAX_BLOCK_DIM_Z
        5 => i32::MAX,                         // MAX_GRID_DIM_X
        6 | 7 => 65535,                        // MAX_GRID_DIM_Y, _Z
        8 => 48 << 10,                         // MAX_SHARED_MEMORY_PER_BLOCK
        9 => 64 << 10,                         // TOTAL_CONSTANT_MEMORY
        10 => 32,                              // WARP_SIZE
        11 => i32::MAX,                        // MAX_PITCH
        12 => 65536,                           // MAX_REGISTERS_PER_BLOCK
        13 => 1_500_000,                       // CLOCK_RATE in kHz
        14 => 512,                             // TEXTURE_ALIGNMENT
        15 => 1,                               // GPU_OVERLAP
        16 => limits.multiprocessors,          // MULTIPROCESSOR_COUNT
        19 => 1,                               // CAN_MAP_HOST_MEMORY
        30 => 512,                             // SURFACE_ALIGNMENT
        31 => 1,                               // CONCURRENT_KERNELS
        33 => device.ordinal() + 1,            // PCI_BUS_ID
        36 => 2_000_000,                       // MEMORY_CLOCK_RATE in kHz
        37 => 5120,                            // GLOBAL_MEMORY_BUS_WIDTH
        38 => limits.l2,                       // L2_CACHE_SIZE
        39 => limits.threads,                  // MAX_THREADS_PER_MULTIPROCESSOR
        40 => 2,                               // ASYNC_ENGINE_COUNT
        41 => 1,                               // UNIFIED_ADDRESSING
        51 => 32,                              // TEXTURE_PITCH_ALIGNMENT
        75 => major as i32,                    // COMPUTE_CAPABILITY_MAJOR
        76 => minor as i32,                    // COMPUTE_CAPABILITY_MINOR
        78 => 1,                               // STREAM_PRIORITIES_SUPPORTED
        79 | 80 => 1,                          // GLOBAL_L1_CACHE_SUPPORTED, LOCAL_L1_CACHE_SUPPORTED
        81 => limits.shared,                   // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
        82 => 65536,                           // MAX_REGISTERS_PER_MULTIPROCESSOR
        83 => 1,                               // MANAGED_MEMORY
        87 => 2,                               // SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
        89 => 1,                               // CONCURRENT_MANAGED_ACCESS
        90 => 1,                               // COMPUTE_PREEMPTION_SUPPORTED
        92..=94 => 1,                          // CAN_USE_STREAM_MEM_OPS_V1, _64_BIT_STREAM_MEM_OPS_V1, _WAIT_VALUE_NOR_V1
        95 => 1,                               // COOPERATIVE_LAUNCH
        97 => limits.shared_opt_in,            // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        99 => 1,                               // HOST_REGISTER_SUPPORTED
        102 => 1,                              // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
        106 => limits.blocks,                  // MAX_BLOCKS_PER_MULTIPROCESSOR
        111 => device::reserved_shared(),      // RESERVED_SHARED_MEMORY_PER_BLOCK
        115 => 1,                              // MEMORY_POOLS_SUPPORTED
        120 => clusters,                       // CLUSTER_LAUNCH
        122 | 123 => 1,                        // CAN_USE_64_BIT_STREAM_MEM_OPS, CAN_USE_STREAM_WAIT_VALUE_NOR
        127 => clusters,                        // TENSOR_MAP_ACCESS_SUPPORTED
        134 => -1,                             // HOST_NUMA_ID
        ..=147 if attribute > 0 => 0,
        _ => return Err(Code::INVALID_VALUE),
    })
}
