//! Error codes, and the last error of a thread.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use warpwright_cuda_calls::out;

use crate::driver;
use crate::memory_at::text;

/// A `cudaError_t`. Most codes have the values of the driver's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct Error(pub(crate) u32);

/// The result of a call. An error is never [`Error::SUCCESS`].
pub(crate) type Fallible<T = ()> = Result<T, Error>;

impl Error {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const INVALID_VALUE: Self = Self(1);
    pub(crate) const INVALID_CONFIGURATION: Self = Self(9);
    pub(crate) const INVALID_PITCH_VALUE: Self = Self(12);
    pub(crate) const INVALID_SYMBOL: Self = Self(13);
    pub(crate) const INVALID_CHANNEL_DESCRIPTOR: Self = Self(20);
    pub(crate) const INVALID_MEMCPY_DIRECTION: Self = Self(21);
    pub(crate) const INVALID_FILTER_SETTING: Self = Self(26);
    pub(crate) const INSUFFICIENT_DRIVER: Self = Self(warpwright_cuda_calls::NO_DRIVER);
    pub(crate) const MISSING_CONFIGURATION: Self = Self(52);
    pub(crate) const INVALID_DEVICE_FUNCTION: Self = Self(98);
    pub(crate) const NOT_READY: Self = Self(600);
    pub(crate) const NOT_SUPPORTED: Self = Self(801);
    pub(crate) const UNKNOWN: Self = Self(999);
}

impl From<u32> for Error {
    fn from(code: u32) -> Self {
        Self(code)
    }
}

thread_local! {
    static LAST: Cell<Error> = const { Cell::new(Error::SUCCESS) };
}

/// Calls the body of a function and stores its error for `cudaGetLastError`.
pub(crate) fn call(body: impl FnOnce() -> Fallible) -> Error {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Error::UNKNOWN));
    match result {
        Ok(()) => Error::SUCCESS,
        // The only code that is not an error.
        Err(Error::NOT_READY) => Error::NOT_READY,
        Err(error) => {
            LAST.set(error);
            error
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetLastError() -> Error {
    LAST.replace(Error::SUCCESS)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaPeekAtLastError() -> Error {
    LAST.get()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetErrorName(error: Error) -> *const c_char {
    stored(error, |error| names(error).0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetErrorString(error: Error) -> *const c_char {
    stored(Error(error.0 | DESCRIPTION), |error| names(Error(error.0 & !DESCRIPTION)).1)
}

/// Distinguishes descriptions from names in the table of strings.
const DESCRIPTION: u32 = 1 << 31;

/// Returns a string that lives as long as the process.
fn stored(key: Error, make: impl FnOnce(Error) -> String) -> *const c_char {
    static TEXTS: Mutex<Option<HashMap<Error, &'static CString>>> = Mutex::new(None);
    let made = catch_unwind(AssertUnwindSafe(|| {
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = texts.get_or_insert_default();
        let text = texts
            .entry(key)
            .or_insert_with(|| Box::leak(Box::new(CString::new(make(key)).unwrap_or_default())));
        text.as_ptr()
    }));
    made.unwrap_or(ptr::null())
}

/// The codes whose names differ from those of the driver, and the codes that only the runtime has.
const OWN: &[(u32, &str, &str)] = &[
    (0, "cudaSuccess", "no error"),
    (2, "cudaErrorMemoryAllocation", "out of memory"),
    (3, "cudaErrorInitializationError", "initialization error"),
    (4, "cudaErrorCudartUnloading", "driver shutting down"),
    (9, "cudaErrorInvalidConfiguration", "invalid configuration argument"),
    (12, "cudaErrorInvalidPitchValue", "invalid pitch argument"),
    (13, "cudaErrorInvalidSymbol", "invalid device symbol"),
    (21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"),
    (26, "cudaErrorInvalidFilterSetting", "linear filtering not supported for non-float type"),
    (35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"),
    (52, "cudaErrorMissingConfiguration", "missing launch configuration"),
    (98, "cudaErrorInvalidDeviceFunction", "invalid device function"),
    (200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"),
    (201, "cudaErrorDeviceUninitialized", "invalid device context"),
    (209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"),
    (400, "cudaErrorInvalidResourceHandle", "invalid resource handle"),
    (500, "cudaErrorSymbolNotFound", "named symbol not found"),
    (701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"),
    (719, "cudaErrorLaunchFailure", "unspecified launch failure"),
];

/// Returns the name and the description of a code.
fn names(error: Error) -> (String, String) {
    if let Some((_, name, description)) = OWN.iter().find(|(code, ..)| *code == error.0) {
        return (name.to_string(), description.to_string());
    }
    let unknown = || ("cudaErrorUnrecognized".to_string(), "unrecognized error code".to_string());
    let Ok(driver) = driver::driver() else { return unknown() };
    let (mut name, mut description) = (0, 0);
    let found = driver.cuGetErrorName(error.0, out(&mut name)).is_ok()
        && driver.cuGetErrorString(error.0, out(&mut description)).is_ok();
    match (text(name), text(description)) {
        (Ok(name), Ok(description)) if found => (camel(&name), description),
        _ => unknown(),
    }
}

/// Returns the runtime's name for a driver error code: `cudaErrorIllegalAddress` for `CUDA_ERROR_ILLEGAL_ADDRESS`.
fn camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_string() + &word[1..].to_lowercase();
    let words = name.trim_start_matches("CUDA_ERROR_").split('_').filter(|word| !word.is_empty());
    std::iter::once("cudaError".to_string()).chain(words.map(word)).collect()
}
