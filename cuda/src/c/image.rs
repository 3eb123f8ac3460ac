//! Code that a program passes by address, and compiler options.

use std::ffi::c_char;

use super::pointers::{In, Out, text_at};
use crate::code::{Code, Fallible};
use crate::driver::module::{Image, LoadError};
use crate::fatbin;
use crate::host::HostPtr;

/// Returns the code at an address: PTX text, a container, its wrapper, or machine code.
pub(super) fn read(address: HostPtr) -> Fallible<Image> {
    if address.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // PTX text may be as short as one byte and its NUL, so only its first byte is read before its kind is known.
    let first = address.read(1, |bytes| bytes[0]);
    let magic = |wanted: u32| {
        let wanted = wanted.to_le_bytes();
        first == wanted[0] && address.read(4, |bytes| bytes == wanted)
    };
    if magic(fatbin::WRAPPER_MAGIC) {
        return read(HostPtr(address.offset(8).word()));
    }
    if magic(fatbin::MAGIC) {
        let size = address.read(fatbin::HEADER, fatbin::size).ok_or(Code::INVALID_IMAGE)?;
        return Ok(Image::Fatbin(address.read(size, <[u8]>::to_vec)));
    }
    if magic(u32::from_le_bytes(*b"\x7fELF")) {
        return Ok(Image::Cubin);
    }
    text_at(address).map(Image::Text)
}

/// Returns the code in a file.
pub(super) fn read_file(path: &str) -> Fallible<Image> {
    let bytes = std::fs::read(path).map_err(|_| Code::FILE_NOT_FOUND)?;
    Ok(match bytes.first_chunk() {
        Some(magic) if u32::from_le_bytes(*magic) == fatbin::MAGIC => Image::Fatbin(bytes),
        Some(b"\x7fELF") => Image::Cubin,
        _ => Image::Text(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_string()),
    })
}

/// The compiler options that request results (`CUjit_option`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    info_log: Option<Log>,
    error_log: Option<Log>,
    /// The address at which to store the compile time.
    wall_time: Option<HostPtr>,
}

/// The address of a log buffer, and the address of its size.
#[derive(Clone, Copy, Debug)]
struct Log {
    buffer: HostPtr,
    size: usize,
    used: HostPtr,
}

impl Options {
    /// Reads the options from two parallel arrays. Options for the generated code are accepted but have no effect.
    pub(super) fn read(count: u32, keys: In<u32>, values: Out<usize>) -> Fallible<Self> {
        let mut options = Self::default();
        let keys = keys.list(count as usize)?;
        let slots: Vec<(u32, Out<usize>)> =
            keys.iter().enumerate().map(|(i, &key)| (key, values.at(i))).collect();
        let find = |key: u32| slots.iter().find(|(known, _)| *known == key).map(|(_, slot)| *slot);
        let log = |buffer: u32| -> Fallible<Option<Log>> {
            let (Some(address), Some(used)) = (find(buffer), find(buffer + 1)) else { return Ok(None) };
            let buffer = HostPtr(address.get()?);
            // The size is an unsigned int, stored in a pointer-sized slot.
            Ok(Some(Log { buffer, size: used.get()? & 0xffff_ffff, used: used.address() }))
        };
        options.info_log = log(3)?;
        options.error_log = log(5)?;
        options.wall_time = find(2).map(Out::address);
        Ok(options)
    }

    /// Stores the logs.
    pub(super) fn finish<T>(&self, result: Result<T, LoadError>) -> Fallible<T> {
        let log = result.as_ref().map_or_else(|error| error.log.as_str(), |_| "");
        for (buffer, text) in [(&self.info_log, ""), (&self.error_log, log)] {
            if let Some(Log { buffer, size, used }) = buffer
                && *size > 0
                && !buffer.is_null()
            {
                let buffer: Out<c_char> = Out::at_address(buffer.0);
                buffer.set_text(text, (*size).try_into().unwrap_or(i32::MAX))?;
                Out::at_address(used.0).set(text.len().min(size - 1))?;
            }
        }
        if let Some(slot) = self.wall_time {
            Out::at_address(slot.0).set(0usize)?;
        }
        result.map_err(|error| error.code)
    }
}
