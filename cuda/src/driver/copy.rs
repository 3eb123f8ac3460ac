//! Copies and fills.

use std::ops::Range;
use std::sync::Arc;

use warpwright_sim::Footprint;

use crate::code::{Code, Fallible};
use crate::config::config;
use crate::driver::memory::{self, Kind};
use crate::driver::operation::{Execution, Operation};
use crate::driver::races;
use crate::driver::stream::Stream;
use crate::host::HostPtr;
use crate::report;

/// The source or destination of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Host(HostPtr),
    /// An address in the address space of kernels.
    Device(u64),
}

impl Place {
    /// Returns the source or destination of a copy for an address. The address determines whether the memory is on the host or on a device.
    pub(crate) fn of(address: u64) -> Self {
        match memory::find_device(address) {
            Some(a) if !a.is_on_host() || matches!(a.kind, Kind::Registered(_)) => Place::Device(address),
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
                let room = memory::room(address).ok_or_else(|| memory::unknown(address))?;
                if bytes <= room { Ok(()) } else { Err(Code::INVALID_VALUE) }
            }
        }
    }

    /// Returns the addresses at which kernels access the bytes, or `None` if kernels cannot access them.
    fn addresses(self, bytes: u64) -> Option<Range<u64>> {
        let start = match self {
            Place::Device(address) => address,
            Place::Host(host) => device_address(host).ok()?,
        };
        Some(start..start + bytes)
    }

    /// Returns whether the memory is pageable host memory (neither pinned nor registered), which is copied during the call.
    fn is_pageable(self) -> bool {
        match self {
            Place::Host(host) => memory::find(host.0 as u64).is_none(),
            Place::Device(_) => false,
        }
    }
}

/// A copy of a box of bytes, with the pitches of rows and slices of the source and the destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) to: Place,
    pub(crate) from: Place,
    /// The number of bytes per row, rows per slice, and slices.
    pub(crate) extent: [u64; 3],
    /// The pitches of rows and slices in the destination and in the source, in bytes.
    pub(crate) to_pitch: [u64; 2],
    pub(crate) from_pitch: [u64; 2],
}

impl Copy {
    pub(crate) fn linear(to: Place, from: Place, bytes: u64) -> Self {
        Self { to, from, extent: [bytes, 1, 1], to_pitch: [bytes; 2], from_pitch: [bytes; 2] }
    }

    /// Returns the number of bytes from the first to the last byte of the source or destination, inclusive.
    fn span(&self, pitch: [u64; 2]) -> u64 {
        let [bytes, rows, slices] = self.extent;
        if self.extent.contains(&0) {
            return 0;
        }
        let steps = (slices - 1).saturating_mul(pitch[1]).saturating_add((rows - 1).saturating_mul(pitch[0]));
        steps.saturating_add(bytes)
    }

    pub(crate) fn check(&self) -> Fallible {
        self.to.check(self.span(self.to_pitch))?;
        self.from.check(self.span(self.from_pitch))
    }

    /// Returns the offsets of the rows in a source or destination with these pitches.
    fn rows(&self, pitch: [u64; 2]) -> impl Iterator<Item = u64> {
        let [bytes, rows, slices] = self.extent;
        let (rows, slices) = if bytes == 0 { (0, 0) } else { (rows, slices) };
        (0..slices).flat_map(move |slice| (0..rows).map(move |row| slice * pitch[1] + row * pitch[0]))
    }

    pub(crate) fn execute(&self, execution: &Execution) -> Fallible {
        let bytes = self.extent[0];
        if races::is_watched(execution) {
            let ranges = |side: Place, pitch: [u64; 2]| {
                self.rows(pitch).filter_map(|row| side.offset(row).addresses(bytes)).collect()
            };
            let (read, written) = (ranges(self.from, self.from_pitch), ranges(self.to, self.to_pitch));
            races::record(execution, "a copy", Footprint { read, written, ..Footprint::default() });
        }
        let mut unwritten = vec![];
        for (to, from) in self.rows(self.to_pitch).zip(self.rows(self.from_pitch)) {
            let (to, from) = (self.to.offset(to), self.from.offset(from));
            if let (Place::Host(_), Place::Device(address)) = (to, from) {
                unwritten
                    .extend(memory::accessed(&execution.origin, memory::lock().unwritten(address, bytes))?);
            }
            move_bytes(execution, to, from, bytes)?;
        }
        report_uninitialized(execution, self.extent.iter().product(), &unwritten);
        Ok(())
    }

    /// Copies in stream order, and returns when the copy is complete.
    pub(crate) fn run(self, stream: &Stream) -> Fallible {
        self.check()?;
        stream.run(Operation::Copy(self))
    }

    /// Queues the copy. Pageable host memory is not accessed after the call.
    pub(crate) fn submit(self, stream: &Stream) -> Fallible {
        self.check()?;
        let is_pageable = self.from.is_pageable() || self.to.is_pageable();
        if !is_pageable || stream.capturing().is_some() {
            return stream.submit(Operation::Copy(self));
        }
        match self.from {
            Place::Host(host) if !self.to.is_pageable() && self.extent[1] * self.extent[2] == 1 => {
                let bytes = host.read(self.extent[0] as usize, |bytes| Arc::from(bytes));
                stream.submit(Operation::Staged(Staged { to: self.to, bytes }))
            }
            _ => stream.run(Operation::Copy(self)),
        }
    }
}

/// The maximum number of bytes moved at a time.
const CHUNK: u64 = 1 << 20;

fn move_bytes(execution: &Execution, to: Place, from: Place, bytes: u64) -> Fallible {
    for start in (0..bytes).step_by(CHUNK as usize) {
        let (to, from, size) = (to.offset(start), from.offset(start), CHUNK.min(bytes - start) as usize);
        match (to, from) {
            (_, Place::Host(host)) => host.read(size, |bytes| put(execution, to, bytes))?,
            (Place::Host(host), Place::Device(address)) => {
                memory::accessed(
                    &execution.origin,
                    host.write(size, |bytes| memory::lock().read(address, bytes)),
                )?;
            }
            (Place::Device(to), Place::Device(from)) => {
                memory::accessed(&execution.origin, memory::lock().copy(to, from, size as u64))?;
            }
        }
    }
    Ok(())
}

fn put(execution: &Execution, to: Place, bytes: &[u8]) -> Fallible {
    match to {
        _ if bytes.is_empty() => Ok(()),
        Place::Host(host) => {
            host.write(bytes.len(), |to| to.copy_from_slice(bytes));
            Ok(())
        }
        Place::Device(address) => memory::accessed(&execution.origin, memory::lock().write(address, bytes)),
    }
}

/// The minimum length of a reported run of uninitialized bytes; shorter runs may be padding in structures.
const LEAST_RUN: u64 = 4;

/// Reports a copy of uninitialized bytes to the host.
fn report_uninitialized(execution: &Execution, all: u64, unwritten: &[Range<u64>]) {
    let runs = unwritten.iter().filter(|run| run.end - run.start >= LEAST_RUN);
    let Some(first) = runs.clone().next().filter(|_| config().checks.uninitialized_copies) else { return };
    let message = format!(
        "uninitialized memory: {} of the {all} bytes that a copy to the host reads were never written, the first at {}",
        runs.map(|run| run.end - run.start).sum::<u64>(),
        memory::describe(first.start)
    );
    report::update(|run| run.host_finding("uninitialized_copy", message, &[("the copy", &execution.origin)]));
}

/// A copy of host bytes that were read when the copy was queued.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    to: Place,
    bytes: Arc<[u8]>,
}

impl Staged {
    pub(crate) fn execute(&self, execution: &Execution) -> Fallible {
        let written = self.to.addresses(self.bytes.len() as u64).into_iter().collect();
        races::record(execution, "a copy", Footprint { written, ..Footprint::default() });
        put(execution, self.to, &self.bytes)
    }
}

/// A fill of rows with a pattern of 1, 2 or 4 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    pub(crate) value: u32,
    /// The size of the pattern in bytes.
    pub(crate) unit: u64,
    /// The number of units per row, and the number of rows.
    pub(crate) extent: [u64; 2],
    /// The pitch of the rows in bytes.
    pub(crate) pitch: u64,
}

impl Fill {
    pub(crate) fn check(&self) -> Fallible {
        let [units, rows] = self.extent;
        let last_row = rows.saturating_sub(1).saturating_mul(self.pitch);
        let span = match self.extent.contains(&0) {
            true => 0,
            false => last_row.saturating_add(units.saturating_mul(self.unit)),
        };
        let pitch_is_whole = rows <= 1 || self.pitch.is_multiple_of(self.unit);
        if !self.address.is_multiple_of(self.unit) || !pitch_is_whole {
            return Err(Code::INVALID_VALUE);
        }
        // If memory has a separate host address, it is filled at the address that kernels use.
        Place::Device(self.address).check(span)
    }

    pub(crate) fn execute(&self, execution: &Execution) -> Fallible {
        let [units, rows] = self.extent;
        if self.extent.contains(&0) {
            return Ok(());
        }
        let bytes = units * self.unit;
        if races::is_watched(execution) {
            let row = |row: u64| Place::Device(self.address + row * self.pitch).addresses(bytes);
            let written = (0..rows).filter_map(row).collect();
            races::record(execution, "a fill", Footprint { written, ..Footprint::default() });
        }
        let pattern =
            self.value.to_le_bytes()[..self.unit as usize].repeat((CHUNK.min(bytes) / self.unit) as usize);
        for row in 0..rows {
            for start in (0..bytes).step_by(CHUNK as usize) {
                let size = CHUNK.min(bytes - start) as usize;
                let to = Place::Device(self.address + row * self.pitch + start);
                put(execution, to, &pattern[..size])?;
            }
        }
        Ok(())
    }

    pub(crate) fn submit(self, stream: &Stream) -> Fallible {
        self.check()?;
        stream.submit(Operation::Fill(self))
    }
}

/// Returns the device address of host memory that kernels can access.
pub(crate) fn device_address(host: HostPtr) -> Fallible<u64> {
    let found = memory::find(host.0 as u64).ok_or(Code::INVALID_VALUE)?;
    match found.kind {
        Kind::Registered(start) => Ok(found.start + (host.0 - start.0) as u64),
        Kind::Pinned(_) | Kind::Managed => Ok(host.0 as u64),
        Kind::Device | Kind::Variable | Kind::Mapped(_) => Err(Code::INVALID_VALUE),
    }
}
