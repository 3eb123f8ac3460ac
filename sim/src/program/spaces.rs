//! The generic addresses of each state space.

/// The number of bits of an offset in an allocation's address range. The range is so large that an out-of-bounds index does not reach
/// another allocation.
pub(crate) const REGION_BITS: u32 = 36;

/// The lowest address of any allocation; the windows of the other state spaces are below.
pub(crate) const GLOBAL_START: u64 = 1 << REGION_BITS;

/// Generic addresses of shared memory consist of the window, the block's rank in its cluster, and the offset.
pub(crate) const SHARED_WINDOW: u64 = 0x1_0000_0000;
/// The number of bits of an offset in one block's shared memory. The bits above contain the block's rank in its cluster.
pub(crate) const SHARED_BITS: u32 = 24;
/// Generic addresses of local memory.
pub(crate) const LOCAL_WINDOW: u64 = 0x2_0000_0000;
/// Generic addresses of kernel parameters.
pub(crate) const PARAM_WINDOW: u64 = 0x3_0000_0000;
/// Addresses of functions.
pub(crate) const FUNCTION_WINDOW: u64 = 0x4_0000_0000;
