//! Access to values at addresses passed by the program.

use std::ptr;

use crate::Address;

/// Stores a value at an address that the program passed, unless the address is null.
pub(crate) fn set<T>(address: Address, value: T) -> Option<()> {
    if address == 0 {
        return None;
    }
    // SAFETY: the program passes an address that is valid for writes; alignment is not assumed.
    unsafe { ptr::with_exposed_provenance_mut::<T>(address).write_unaligned(value) };
    Some(())
}

/// Reads a value, unless the address is null.
pub(crate) fn get<T: Copy>(address: Address) -> Option<T> {
    // SAFETY: the program passes an address that is valid for reads; alignment is not assumed.
    (address != 0).then(|| unsafe { ptr::with_exposed_provenance::<T>(address).read_unaligned() })
}
