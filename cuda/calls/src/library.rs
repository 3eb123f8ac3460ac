//! The driver's library.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use libloading::Library;

/// The code of a driver that is missing or lacks a function, which is that of `cudaErrorInsufficientDriver`.
pub const NO_DRIVER: u32 = 35;

/// Returns the driver's library, loaded and started by the first call.
fn library() -> Result<&'static Library, u32> {
    static LIBRARY: OnceLock<Result<Library, u32>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        // SAFETY: the driver has no requirements for being loaded.
        let library = unsafe { Library::new("libcuda.so.1") }.map_err(|_| NO_DRIVER)?;
        // SAFETY: the function has this type.
        let start =
            unsafe { library.get::<unsafe extern "C" fn(u32) -> u32>("cuInit") }.map_err(|_| NO_DRIVER)?;
        // SAFETY: the only valid flags are 0.
        match unsafe { start(0) } {
            0 => Ok(library),
            code => Err(code),
        }
    });
    library.as_ref().map_err(|code| *code)
}

/// Looks up a function of the driver. The first call loads and starts the driver.
///
/// # Errors
/// [`NO_DRIVER`], or the code with which the driver did not start.
///
/// # Safety
/// `T` is the type of a pointer to the function with this name.
pub unsafe fn function<T: Copy>(name: &str) -> Result<T, u32> {
    // SAFETY: the caller guarantees the type. The library is never unloaded.
    unsafe { library()?.get::<T>(name) }.map(|function| *function).map_err(|_| NO_DRIVER)
}

/// Informs the driver that the program has called a function that a library does not support, and that therefore returns `status`. Drivers
/// other than `warpwright-cuda` do not receive reports; the message is then printed on standard error.
pub fn report_unsupported(name: &str, status: &str) {
    type Report = unsafe extern "C" fn(*const c_char);
    let text = CString::new(name).unwrap_or_default();
    // SAFETY: the function has this type in `warpwright-cuda`, the only driver that has it.
    match unsafe { function::<Report>("warpwrightUnsupported") } {
        // SAFETY: the name is a text that ends in a NUL.
        Ok(report) => unsafe { report(text.as_ptr()) },
        Err(_) => eprintln!("warpwright: {name} is not supported; it returns {status}"),
    }
}
