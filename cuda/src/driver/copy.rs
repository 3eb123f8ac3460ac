//! Copies and fills.

use warpwright_sim::MemoryError;

use crate::code::{Code, Fallible};
use crate::driver::memory::{self, Kind};
use crate::driver::operation::Operation;
use crate::driver::stream::Stream;
use crate::host::HostPtr;
use crate::report;

/// One side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Host(HostPtr),
    /// An address in kernels.
    Device(u64),
}

impl Place {
    /// Returns the side of a copy whose direction follows from the address.
    pub(crate) fn of(address: u64) -> Self {
        match memory::find_device(address) {
            Some(a) if !a.is_on_host() => Place::Device(address),
            None if address >= memory::FIRST_OF_DEVICES => Place::Device(address),
            _ => Place::Host(HostPtr(address as usize)),
        }
    }

    pub(crate) fn offset(self, bytes: u64) -> Self {
        match self {
            Place::Host(host) => Place::Host(host.offset(bytes)),
            Place::Device(address) => Place::Device(address.wrapping_add(bytes)),
        }
    }

    /// Returns an error unless `bytes` bytes are allocated.
    fn check(self, bytes: u64) -> Fallible {
        match self {
            _ if bytes == 0 => Ok(()),
            Place::Host(host) if host.is_null() => Err(Code::INVALID_VALUE),
            Place::Host(_) => Ok(()),
            Place::Device(address) => {
                let found = memory::find_device(address).ok_or(Code::INVALID_VALUE)?;
                let rest = found.size - (address - found.start);
                if bytes <= rest { Ok(()) } else { Err(Code::INVALID_VALUE) }
            }
        }
    }

    /// Returns whether it is memory of the host that is neither pinned nor registered: it is copied during the call.
    fn is_pageable(self) -> bool {
        match self {
            Place::Host(host) => memory::find(host.0 as u64).is_none(),
            Place::Device(_) => false,
        }
    }
}

/// Rows of bytes that are copied, of which those of a slice and the slices have these distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) to: Place,
    pub(crate) from: Place,
    /// Bytes per row, rows per slice, slices.
    pub(crate) extent: [u64; 3],
    /// The distances of rows and slices in bytes, on both sides.
    pub(crate) to_pitch: [u64; 2],
    pub(crate) from_pitch: [u64; 2],
}

impl Copy {
    pub(crate) fn linear(to: Place, from: Place, bytes: u64) -> Self {
        Self { to, from, extent: [bytes, 1, 1], to_pitch: [bytes; 2], from_pitch: [bytes; 2] }
    }

    /// Returns the number of bytes from the first to the last of a side.
    fn span(&self, pitch: [u64; 2]) -> u64 {
        let [bytes, rows, slices] = self.extent;
        match bytes * rows * slices {
            0 => 0,
            _ => (slices - 1) * pitch[1] + (rows - 1) * pitch[0] + bytes,
        }
    }

    pub(crate) fn check(&self) -> Fallible {
        self.to.check(self.span(self.to_pitch))?;
        self.from.check(self.span(self.from_pitch))
    }

    pub(crate) fn execute(&self) -> Fallible {
        let [bytes, rows, slices] = self.extent;
        for slice in 0..slices {
            for row in 0..rows {
                let at = |pitch: [u64; 2]| slice * pitch[1] + row * pitch[0];
                move_bytes(self.to.offset(at(self.to_pitch)), self.from.offset(at(self.from_pitch)), bytes)?;
            }
        }
        Ok(())
    }

    /// Copies in the order of a stream, and returns when the copy is complete.
    pub(crate) fn run(self, stream: &Stream) -> Fallible {
        self.check()?;
        stream.run(move || self.execute())
    }

    /// Queues the copy. Pageable memory of the host is not accessed after the call.
    pub(crate) fn submit(self, stream: &Stream) -> Fallible {
        self.check()?;
        let is_pageable = self.from.is_pageable() || self.to.is_pageable();
        if !is_pageable || stream.capturing().is_some() {
            return stream.submit(Operation::Copy(self));
        }
        match self.from {
            Place::Host(host) if !self.to.is_pageable() && self.extent[1] * self.extent[2] == 1 => {
                let bytes = host.read(self.extent[0] as usize, <[u8]>::to_vec);
                stream.submit(Operation::host(move || put(self.to, &bytes)))
            }
            _ => stream.run(move || self.execute()),
        }
    }
}

/// Bytes that are moved at a time.
const CHUNK: u64 = 1 << 20;

fn move_bytes(to: Place, from: Place, bytes: u64) -> Fallible {
    for start in (0..bytes).step_by(CHUNK as usize) {
        let (to, from, size) = (to.offset(start), from.offset(start), CHUNK.min(bytes - start) as usize);
        match (to, from) {
            (_, Place::Host(host)) => host.read(size, |bytes| put(to, bytes))?,
            (Place::Host(host), Place::Device(address)) => {
                accessed(host.write(size, |bytes| memory::lock().read(address, bytes)))?;
            }
            (Place::Device(_), Place::Device(address)) => {
                let mut bytes = vec![0; size];
                accessed(memory::lock().read(address, &mut bytes))?;
                put(to, &bytes)?;
            }
        }
    }
    Ok(())
}

/// Returns the error of an access to memory that was freed after the operation had been queued.
fn accessed(result: Result<(), MemoryError>) -> Fallible {
    result.map_err(|error| {
        report::update(|run| run.refused(format!("a copy or a fill failed: {error}")));
        Code::ILLEGAL_ADDRESS
    })
}

fn put(to: Place, bytes: &[u8]) -> Fallible {
    match to {
        _ if bytes.is_empty() => Ok(()),
        Place::Host(host) => {
            host.write(bytes.len(), |to| to.copy_from_slice(bytes));
            Ok(())
        }
        Place::Device(address) => accessed(memory::lock().write(address, bytes)),
    }
}

/// A fill of rows with a pattern of 1, 2 or 4 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    pub(crate) value: u32,
    /// The size of the pattern in bytes.
    pub(crate) unit: u64,
    /// Units per row, and rows.
    pub(crate) extent: [u64; 2],
    /// The distance of rows in bytes.
    pub(crate) pitch: u64,
}

impl Fill {
    pub(crate) fn check(&self) -> Fallible {
        let [units, rows] = self.extent;
        let span = if units * rows == 0 { 0 } else { (rows - 1) * self.pitch + units * self.unit };
        if !self.address.is_multiple_of(self.unit) || span > 0 && memory::find_device(self.address).is_none()
        {
            return Err(Code::INVALID_VALUE);
        }
        // Memory with a separate address on the host is filled through the address that kernels use.
        Place::Device(self.address).check(span)
    }

    pub(crate) fn execute(&self) -> Fallible {
        let [units, rows] = self.extent;
        let bytes = units * self.unit;
        let pattern =
            self.value.to_le_bytes()[..self.unit as usize].repeat((CHUNK.min(bytes) / self.unit) as usize);
        for row in 0..rows {
            for start in (0..bytes).step_by(CHUNK as usize) {
                let size = CHUNK.min(bytes - start) as usize;
                put(Place::Device(self.address + row * self.pitch + start), &pattern[..size])?;
            }
        }
        Ok(())
    }

    pub(crate) fn submit(self, stream: &Stream) -> Fallible {
        self.check()?;
        stream.submit(Operation::Fill(self))
    }
}

/// Returns the address in kernels of memory that may be given by its address on the host.
pub(crate) fn device_address(host: HostPtr) -> Fallible<u64> {
    let found = memory::find(host.0 as u64).ok_or(Code::INVALID_VALUE)?;
    match found.kind {
        Kind::Registered(start) => Ok(found.start + (host.0 - start.0) as u64),
        Kind::Pinned(_) | Kind::Managed => Ok(host.0 as u64),
        Kind::Device | Kind::Variable => Err(Code::INVALID_VALUE),
    }
}
