//! Access to values at addresses passed by the program.

use std::ffi::CStr;
use std::ptr;

use crate::Address;
use crate::error::{Error, Fallible};

/// Stores a value at the address that the program passed.
pub(crate) fn set<T>(address: Address, value: T) -> Fallible {
    if address == 0 {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the program passes an address that is valid for writes; alignment is not assumed.
    unsafe { ptr::with_exposed_provenance_mut::<T>(address).write_unaligned(value) };
    Ok(())
}

/// Reads a value.
pub(crate) fn get<T: Copy>(address: Address) -> Fallible<T> {
    if address == 0 {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the program passes an address that is valid for reads; alignment is not assumed.
    Ok(unsafe { ptr::with_exposed_provenance::<T>(address).read_unaligned() })
}

/// Reads a NUL-terminated string.
pub(crate) fn text(address: Address) -> Fallible<String> {
    if address == 0 {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the program passes a NUL-terminated string.
    let text = unsafe { CStr::from_ptr(ptr::with_exposed_provenance(address)) };
    Ok(text.to_string_lossy().into_owned())
}
