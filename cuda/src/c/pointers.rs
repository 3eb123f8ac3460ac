//! Arguments that are addresses.

use std::ffi::{CStr, c_char};
use std::slice;
use std::sync::Arc;

use crate::code::{Code, Fallible};
use crate::driver::operation::{HostCall, Operation};
use crate::host::HostPtr;

/// The address at which a function stores a result.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Stores a result.
    pub(super) fn set(self, value: T) -> Fallible {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        self.set_if(value);
        Ok(())
    }

    /// Stores a result, unless the caller passed null.
    pub(super) fn set_if(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller of the C function passes an address that is valid for writes; alignment is not assumed.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Stores consecutive results.
    pub(super) fn set_all(self, values: impl Iterator<Item = T>) -> Fallible {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        for (i, value) in values.enumerate() {
            // SAFETY: the caller passes an array with at least the requested number of elements.
            unsafe { self.0.add(i).write_unaligned(value) };
        }
        Ok(())
    }

    pub(super) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    pub(super) fn address(self) -> HostPtr {
        HostPtr(self.0.expose_provenance())
    }

    /// Returns the same address with another type.
    pub(super) fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// Returns the address of a member of a structure, given its offset in bytes.
    pub(super) fn member<U>(self, offset: usize) -> Out<U> {
        Out(self.0.wrapping_byte_add(offset).cast())
    }
}

impl<T: Copy> Out<T> {
    /// Reads the value at the address.
    pub(super) fn get(self) -> Fallible<T> {
        In(self.0.cast_const()).get()
    }
}

impl Out<c_char> {
    /// Stores a NUL-terminated string in at most `length` bytes.
    pub(super) fn set_text(self, text: &str, length: i32) -> Fallible {
        let most = usize::try_from(length).ok().filter(|&n| n > 0).ok_or(Code::INVALID_VALUE)? - 1;
        let bytes = text.bytes().take(most).chain([0]);
        self.set_all(bytes.map(|byte| byte as c_char))
    }
}

/// The address of a value, or of the first value of a list.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T: Copy> In<T> {
    pub(super) fn get(self) -> Fallible<T> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller of the C function passes an address that is valid for reads; alignment is not assumed.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Returns `count` values.
    pub(super) fn list(self, count: usize) -> Fallible<Vec<T>> {
        if count == 0 {
            return Ok(vec![]);
        }
        if self.0.is_null() || !self.0.is_aligned() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller passes an array of `count` elements.
        Ok(unsafe { slice::from_raw_parts(self.0, count) }.to_vec())
    }
}

impl<T> In<T> {
    pub(super) fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// The address of a NUL-terminated string.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    pub(super) fn get(self) -> Fallible<String> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller of the C function passes a NUL-terminated string.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned())
    }
}

/// The address of a static string.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct StaticText(#[allow(dead_code, reason = "read by the program")] *const c_char);

impl StaticText {
    pub(super) const NULL: Self = Self(std::ptr::null());
}

impl From<&'static CStr> for StaticText {
    fn from(text: &'static CStr) -> Self {
        Self(text.as_ptr())
    }
}

/// Returns the string at an address, up to its NUL.
pub(super) fn text_at(address: HostPtr) -> Fallible<String> {
    Text(std::ptr::with_exposed_provenance(address.0)).get()
}

/// `CUhostFn`.
pub(super) type HostFunction = Option<unsafe extern "C" fn(HostPtr)>;

/// A function of the program, with its argument: `CUDA_HOST_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Callback {
    pub(super) function: HostFunction,
    pub(super) data: HostPtr,
}

impl Callback {
    /// Returns the operation that calls the function.
    pub(super) fn operation(self) -> Fallible<Operation> {
        let Self { function, data } = self;
        let function = function.ok_or(Code::INVALID_VALUE)?;
        // SAFETY: the program passes a function of this type.
        let call = Arc::new(move |_| unsafe { function(data) });
        let function = HostPtr(function as usize);
        Ok(Operation::Host(HostCall { call, reports_faults: false, function, data }))
    }
}

impl Out<usize> {
    /// Returns the address of an element of the array.
    pub(super) fn at(self, index: usize) -> Self {
        Self(self.0.wrapping_add(index))
    }
}

impl<T> Out<T> {
    /// Returns the pointer for an address that the program passes as an integer.
    pub(super) fn at_address(address: usize) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(address))
    }
}

impl StaticText {
    /// Returns the address of a string. As the manual specifies, the string is valid as long as the object that it names.
    pub(super) fn of(text: &CStr) -> Self {
        Self(text.as_ptr())
    }
}

impl<T> In<T> {
    pub(super) const NULL: Self = Self(std::ptr::null());
}

impl<T> In<T> {
    /// Returns the address of a list, which lives as long as the object whose parameters the program requests.
    pub(super) fn at_list(list: &[T]) -> Self {
        Self(list.as_ptr())
    }
}

impl In<usize> {
    /// Returns the pair of values at an index.
    pub(super) fn pair(self, index: usize) -> Fallible<[usize; 2]> {
        In(self.0.wrapping_add(2 * index).cast::<[usize; 2]>()).get()
    }
}
