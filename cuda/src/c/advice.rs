//! Functions of the section "Unified Addressing": advice, prefetches and attributes of ranges.

use std::ops::Range;

use super::pointers::{In, Out};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::advice::{self, Location, Setting, State};
use crate::driver::memory::{self, Kind};
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;

/// Returns a range of memory, or an error if no allocation contains it.
fn range(address: u64, bytes: usize) -> Fallible<Range<u64>> {
    let found = memory::find(address).ok_or(Code::INVALID_VALUE)?;
    let start = match found.kind {
        Kind::Registered(host) if address < found.start => host.0 as u64,
        _ => found.start,
    };
    let end = address.checked_add(bytes as u64).ok_or(Code::INVALID_VALUE)?;
    if bytes == 0 || end > start + found.size {
        return Err(Code::INVALID_VALUE);
    }
    Ok(address..end)
}

/// Returns a location from its by-value representation, which contains the type and the ID.
fn location(words: u64) -> Location {
    Location { ty: words as i32, id: (words >> 32) as i32 }
}

fn advise(address: u64, bytes: usize, advice: u32, location: Location) -> Fallible {
    let setting = match advice {
        1 => Setting::ReadMostly(true),
        2 => Setting::ReadMostly(false),
        3 => Setting::Preferred(location),
        4 => Setting::Preferred(Location::default()),
        5 => Setting::AccessedBy(location, true),
        6 => Setting::AccessedBy(location, false),
        _ => return Err(Code::INVALID_VALUE),
    };
    advice::set(range(address, bytes)?, setting);
    Ok(())
}

fn prefetch(address: u64, bytes: usize, location: Location) -> Fallible {
    advice::set(range(address, bytes)?, Setting::Prefetched(location));
    Ok(())
}

/// `CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY`, whose value is a list.
const ACCESSED_BY: u32 = 3;

/// Stores an attribute of a range of managed memory (`CUmem_range_attribute`).
fn attribute(out: Out<i32>, size: usize, attribute: u32, address: u64, bytes: usize) -> Fallible {
    let range = range(address, bytes)?;
    let managed = memory::find(address).is_some_and(|found| found.kind == Kind::Managed);
    let sized = if attribute == ACCESSED_BY { size > 0 && size.is_multiple_of(4) } else { size == 4 };
    if !managed || !sized {
        return Err(Code::INVALID_VALUE);
    }
    let State { read_mostly, preferred, accessed_by, prefetched } = State::of(&range);
    match attribute {
        1 => out.set(read_mostly.into()),
        2 => out.set(preferred.device()),
        ACCESSED_BY => {
            let devices = accessed_by.into_iter().map(Location::device);
            out.set_all(devices.chain(std::iter::repeat(Location::default().device())).take(size / 4))
        }
        4 => out.set(prefetched.device()),
        5 => out.set(preferred.ty),
        6 => out.set(preferred.id),
        7 => out.set(prefetched.ty),
        8 => out.set(prefetched.id),
        _ => Err(Code::INVALID_VALUE),
    }
}

entries! {
    fn cuMemAdvise(address: u64, bytes: usize, advice: u32, device: i32) {
        advise(address, bytes, advice, Location::of_device(device))
    }

    fn cuMemAdvise_v2(address: u64, bytes: usize, advice: u32, words: u64) {
        advise(address, bytes, advice, location(words))
    }

    fn cuMemPrefetchAsync | cuMemPrefetchAsync_ptsz own (address: u64, bytes: usize, device: i32, stream: Handle) {
        Stream::of(stream, own)?;
        prefetch(address, bytes, Location::of_device(device))
    }

    fn cuMemPrefetchAsync_v2 | cuMemPrefetchAsync_v2_ptsz own (
        address: u64, bytes: usize, words: u64, _flags: u32, stream: Handle,
    ) {
        Stream::of(stream, own)?;
        prefetch(address, bytes, location(words))
    }

    fn cuMemPrefetchBatchAsync | cuMemPrefetchBatchAsync_ptsz own (
        addresses: In<u64>, sizes: In<usize>, count: usize, locations: In<u64>, starts: In<usize>, entries: usize,
        flags: u64, stream: Handle,
    ) {
        Stream::of(stream, own)?;
        let (locations, starts) = (locations.list(entries)?, starts.list(entries)?);
        if count == 0 || flags != 0 || starts.first() != Some(&0) {
            return Err(Code::INVALID_VALUE);
        }
        let ranges = addresses.list(count)?.into_iter().zip(sizes.list(count)?);
        ranges.enumerate().try_for_each(|(i, (address, bytes))| {
            // A location applies from its start to the start of the next one.
            let entry = starts.partition_point(|&start| start <= i) - 1;
            prefetch(address, bytes, location(locations[entry]))
        })
    }

    fn cuMemRangeGetAttribute(out: Out<i32>, size: usize, name: u32, address: u64, bytes: usize) {
        attribute(out, size, name, address, bytes)
    }

    fn cuMemRangeGetAttributes(
        outs: In<Out<i32>>, sizes: In<usize>, names: In<u32>, count: usize, address: u64, bytes: usize,
    ) {
        let (outs, sizes, names) = (outs.list(count)?, sizes.list(count)?, names.list(count)?);
        outs.into_iter().zip(sizes).zip(names).try_for_each(|((out, size), name)| attribute(out, size, name, address, bytes))
    }
}
