//! The order of loads from shared memory.

use crate::ptx::Builder;

/// Prevents ptxas from moving later loads from shared memory before this point, where registers for their results are not available.
#[track_caller]
pub(super) fn load_no_further(k: Builder<'_>) {
    k.warp().sync();
}
