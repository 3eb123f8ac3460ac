//! Functions of the section "Virtual Memory Management".

use super::pointers::{In, Out};
use super::pool::{DEVICE, Location};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::device::Device;
use crate::driver::registry::Handle;
use crate::driver::virtual_memory::{self, GRANULARITY, Physical, READ_WRITE};

/// `CUmemAllocationProp`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Props {
    alloc_type: u32,
    handle_types: u32,
    location: Location,
    metadata: usize,
    /// Compression, access by other devices, and usage, which have no effect.
    flags: [u8; 8],
}

/// `CU_MEM_ALLOCATION_TYPE_PINNED`.
const PINNED: u32 = 1;

impl Props {
    /// Returns the device on which the memory is created.
    fn device(self) -> Fallible<Device> {
        if self.alloc_type != PINNED {
            return Err(Code::INVALID_VALUE);
        }
        // Memory is neither shared with other processes nor created on the host.
        if self.handle_types != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        device_of(self.location)
    }
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Access {
    location: Location,
    flags: u32,
}

fn device_of(location: Location) -> Fallible<Device> {
    if location.ty == DEVICE { Device::new(location.id) } else { Err(Code::NOT_SUPPORTED) }
}

entries! {
    fn cuMemGetAllocationGranularity(out: Out<usize>, props: In<Props>, _option: u32) {
        props.get()?.device()?;
        out.set(GRANULARITY as usize)
    }

    fn cuMemAddressReserve(out: Out<u64>, size: usize, align: usize, _wish: u64, flags: u64) {
        if out.is_null() || flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        out.set(virtual_memory::reserve(size as u64, align as u64)?)
    }

    fn cuMemAddressFree(start: u64, size: usize) {
        virtual_memory::free(start, size as u64)
    }

    fn cuMemCreate(out: Out<Handle>, size: usize, props: In<Props>, flags: u64) {
        if out.is_null() || flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        out.set(Physical::create(props.get()?.device()?, size as u64)?)
    }

    fn cuMemRelease(handle: Handle) {
        Physical::release(handle)
    }

    fn cuMemRetainAllocationHandle(out: Out<Handle>, address: u64) {
        if out.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        out.set(Physical::retain_at(address)?)
    }

    fn cuMemGetAllocationPropertiesFromHandle(out: Out<Props>, handle: Handle) {
        let location = Location { ty: DEVICE, id: Physical::of(handle)?.device.ordinal() };
        out.set(Props { alloc_type: PINNED, handle_types: 0, location, metadata: 0, flags: [0; 8] })
    }

    fn cuMemMap(start: u64, size: usize, offset: usize, handle: Handle, flags: u64) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        virtual_memory::map(start, size as u64, offset as u64, handle)
    }

    fn cuMemUnmap(start: u64, size: usize) {
        virtual_memory::unmap(start, size as u64)
    }

    fn cuMemSetAccess(start: u64, size: usize, access: In<Access>, count: usize) {
        access.list(count)?.into_iter().try_for_each(|Access { location, flags }| {
            if !matches!(flags, 0 | 1 | READ_WRITE) {
                return Err(Code::INVALID_VALUE);
            }
            virtual_memory::set_access(start, size as u64, device_of(location)?, flags)
        })
    }

    fn cuMemGetAccess(out: Out<u64>, location: In<Location>, address: u64) {
        out.set(virtual_memory::access(address, device_of(location.get()?)?)?.into())
    }
}
