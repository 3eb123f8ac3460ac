//! The order of loads from shared memory.

use crate::ptx::Builder;

/// Prevents ptxas from moving later loads from shared memory ahead of this point, where no registers are available for their results.
#[track_caller]
pub(super) fn load_no_further(k: Builder<'_>) {
    k.warp().sync();
}
