//! Functions of the sections "Version Management" and "Driver Entry Point Access".

use crate::driver::{driver, ready};
use crate::error::Error;
use crate::memory_at::set;
use crate::{Address, entries};

/// The version of the interface: 13.0.
const VERSION: i32 = 13000;

/// `CU_GET_PROC_ADDRESS_LEGACY_STREAM` and `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

/// Returns the flags of a request. With `--default-stream per-thread`, a program need not request per-thread default streams.
fn flags_of(flags: u64, own: bool) -> u64 {
    if own && flags & LEGACY == 0 { flags | PER_THREAD } else { flags }
}

entries! {
    fn cudaDriverGetVersion(result: Address) {
        // Without a driver, the version is 0 and the call succeeds.
        match driver() {
            Ok(driver) => driver.cuDriverGetVersion(result),
            Err(Error::INSUFFICIENT_DRIVER) => set(result, 0i32),
            Err(error) => Err(error),
        }
    }

    fn cudaRuntimeGetVersion(result: Address) {
        set(result, VERSION)
    }

    fn cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz own (
        name: Address, result: Address, flags: u64, status: Address,
    ) {
        ready()?.cuGetProcAddress_v2(name, result, VERSION, flags_of(flags, own), status)
    }

    fn cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz own (
        name: Address, result: Address, version: u32, flags: u64, status: Address,
    ) {
        ready()?.cuGetProcAddress_v2(name, result, version as i32, flags_of(flags, own), status)
    }

    fn cudaProfilerStart() {
        Ok(())
    }

    fn cudaProfilerStop() {
        Ok(())
    }
}
