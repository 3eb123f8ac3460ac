//! The address spaces: which generic addresses belong to which state space.

/// Each allocation has a separate range of this many address bits, so that no out-of-bounds index reaches another one.
pub(crate) const REGION_BITS: u32 = 36;

/// The lowest address of any allocation; below are the windows of the other state spaces.
pub(crate) const GLOBAL_START: u64 = 1 << REGION_BITS;

/// Generic addresses of shared memory: the window, then the block's rank in its cluster, then the offset.
pub(crate) const SHARED_WINDOW: u64 = 0x1_0000_0000;
/// Bits of an offset in one block's shared memory; above them an address holds the block's rank in its cluster.
pub(crate) const SHARED_BITS: u32 = 24;
/// Generic addresses of local memory.
pub(crate) const LOCAL_WINDOW: u64 = 0x2_0000_0000;
/// Generic addresses of kernel parameters.
pub(crate) const PARAM_WINDOW: u64 = 0x3_0000_0000;
/// Addresses of functions.
pub(crate) const FUNCTION_WINDOW: u64 = 0x4_0000_0000;
