//! Functions of the sections "Version Management" and "Driver Entry Point Access".

use crate::driver::{driver, ready};
use crate::error::Error;
use crate::memory_at::set;
use crate::{Address, entries};

/// The version of the interface: 13.0.
const VERSION: i32 = 13000;

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

    fn cudaGetDriverEntryPoint(name: Address, result: Address, flags: u64, status: Address) {
        ready()?.cuGetProcAddress_v2(name, result, VERSION, flags, status)
    }

    fn cudaGetDriverEntryPointByVersion(name: Address, result: Address, version: u32, flags: u64, status: Address) {
        ready()?.cuGetProcAddress_v2(name, result, version as i32, flags, status)
    }

    fn cudaProfilerStart() {
        Ok(())
    }

    fn cudaProfilerStop() {
        Ok(())
    }
}
