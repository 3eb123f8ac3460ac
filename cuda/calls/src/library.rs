//! The driver library.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use libloading::Library;

/// The error code for a missing driver, or for a driver that lacks a required function: `cudaErrorInsufficientDriver`.
pub const NO_DRIVER: u32 = 35;

/// Returns the driver library, which the first call loads and initializes.
fn library() -> Result<&'static Library, u32> {
    static LIBRARY: OnceLock<Result<Library, u32>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        // SAFETY: loading the driver has no preconditions.
        let library = unsafe { Library::new("libcuda.so.1") }.map_err(|_| NO_DRIVER)?;
        // SAFETY: the function has this type.
        let start =
            unsafe { library.get::<unsafe extern "C" fn(u32) -> u32>("cuInit") }.map_err(|_| NO_DRIVER)?;
        // SAFETY: 0 is the only valid value of the flags.
        match unsafe { start(0) } {
            0 => Ok(library),
            code => Err(code),
        }
    });
    library.as_ref().map_err(|code| *code)
}

/// Looks up the driver function `name`. The first call loads and initializes the driver.
///
/// # Errors
/// Returns [`NO_DRIVER`] if the driver or the function is missing, or the driver's error code if its initialization fails.
///
/// # Safety
/// `T` must be the function-pointer type of this function.
pub unsafe fn function<T: Copy>(name: &str) -> Result<T, u32> {
    // SAFETY: the caller guarantees the type. The library is never unloaded.
    unsafe { library()?.get::<T>(name) }.map(|function| *function).map_err(|_| NO_DRIVER)
}

/// Reports that the program has called the unsupported function `name`, which returns `status`. The driver `warpwright-cuda` receives the
/// report; with any other driver, a message is printed to standard error.
pub fn report_unsupported(name: &str, status: &str) {
    type Report = unsafe extern "C" fn(*const c_char);
    let text = CString::new(name).unwrap_or_default();
    // SAFETY: the function has this type in `warpwright-cuda`, the only driver that has it.
    match unsafe { function::<Report>("warpwrightUnsupported") } {
        // SAFETY: the name is NUL-terminated.
        Ok(report) => unsafe { report(text.as_ptr()) },
        Err(_) => eprintln!("warpwright: {name} is not supported; it returns {status}"),
    }
}
