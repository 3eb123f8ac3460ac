//! The order of loads from shared memory.

use crate::ptx::Builder;

/// Keeps ptxas from loading what follows from shared memory before this, into registers that it does not have.
#[track_caller]
pub(super) fn load_no_further(k: Builder<'_>) {
    k.warp().sync();
}
