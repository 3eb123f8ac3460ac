//! Functions of the section "Stream Ordered Memory Allocator": pools.

use super::pointers::{In, Out};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::device::Device;
use crate::driver::pool::{Pool, SWITCHES};
use crate::driver::registry::Handle;

/// `CUmemPoolProps`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Props {
    alloc_type: u32,
    handle_types: u32,
    location: Location,
    rest: [u64; 9],
}

impl Props {
    /// Returns the properties of a device's pool.
    pub(super) fn of(device: Device) -> Self {
        let location = Location { ty: DEVICE, id: device.ordinal() };
        Self { alloc_type: PINNED, handle_types: 0, location, rest: [0; 9] }
    }

    pub(super) fn device(self) -> Fallible<Device> {
        if self.location.ty != DEVICE || self.handle_types != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        Device::new(self.location.id)
    }
}

/// `CUmemLocation`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Location {
    pub(super) ty: u32,
    pub(super) id: i32,
}

/// `CU_MEM_LOCATION_TYPE_DEVICE`.
pub(super) const DEVICE: u32 = 1;

/// `CU_MEM_ALLOCATION_TYPE_PINNED`: memory that does not move, which is the only supported pool type.
const PINNED: u32 = 1;

/// Returns the device of a location.
fn device_of(location: In<Location>, ty: u32) -> Fallible<Device> {
    let Location { ty: kind, id } = location.get()?;
    if (kind, ty) == (DEVICE, PINNED) { Device::new(id) } else { Err(Code::NOT_SUPPORTED) }
}

entries! {
    fn cuMemGetDefaultMemPool(out: Out<Handle>, location: In<Location>, ty: u32) {
        out.set(Pool::of_device(device_of(location, ty)?)[0])
    }

    fn cuMemGetMemPool(out: Out<Handle>, location: In<Location>, ty: u32) {
        out.set(Pool::of_device(device_of(location, ty)?)[1])
    }

    fn cuMemSetMemPool(location: In<Location>, ty: u32, pool: Handle) {
        Pool::of(pool)?.use_for(device_of(location, ty)?);
        Ok(())
    }

    fn cuMemPoolCreate(out: Out<Handle>, props: In<Props>) {
        let device = props.get()?.device()?;
        if out.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        out.set(Pool::create(device).handle)
    }

    fn cuMemPoolDestroy(pool: Handle) {
        Pool::destroy(pool)
    }

    fn cuMemPoolTrimTo(pool: Handle, bytes: usize) {
        Pool::of(pool)?.trim_to(bytes as u64);
        Ok(())
    }

    fn cuMemPoolGetAttribute(pool: Handle, attribute: u32, out: Out<u64>) {
        let value = Pool::of(pool)?.attribute(attribute)?;
        if SWITCHES.contains(&attribute) { out.cast::<u32>().set(value as u32) } else { out.set(value) }
    }

    fn cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: Out<u64>) {
        let value = if SWITCHES.contains(&attribute) { value.cast::<u32>().get()?.into() } else { value.get()? };
        Pool::of(pool)?.set_attribute(attribute, value)
    }

    fn cuMemPoolSetAccess(pool: Handle, _access: In<u8>, _count: usize) {
        Pool::of(pool).map(drop)
    }

    fn cuMemPoolGetAccess(out: Out<u32>, pool: Handle, location: In<Location>) {
        Pool::of(pool)?;
        let Location { ty, id } = location.get()?;
        if ty != DEVICE {
            return Err(Code::INVALID_VALUE);
        }
        Device::new(id)?;
        // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        out.set(3)
    }
}
