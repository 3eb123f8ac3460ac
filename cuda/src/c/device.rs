//! Functions of the sections "Device Management" and "Primary Context Management".

use std::ffi::c_char;

use super::pointers::{Out, Text};
use crate::c::entries;
use crate::code::Code;
use crate::config::config;
use crate::driver::attributes::attribute;
use crate::driver::context;
use crate::driver::device::{self, Device};
use crate::driver::pool::Pool;
use crate::driver::registry::Handle;

entries! {
    fn cuDeviceGet(out: Out<i32>, ordinal: i32) {
        out.set(Device::new(ordinal)?.ordinal())
    }

    fn cuDeviceGetCount(out: Out<i32>) {
        out.set(device::count() as i32)
    }

    fn cuDeviceGetName(name: Out<c_char>, length: i32, device: i32) {
        Device::new(device)?;
        name.set_text(&device::name(), length)
    }

    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        uuid.set(Device::new(device)?.uuid())
    }

    fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32) {
        uuid.set(Device::new(device)?.uuid())
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        Device::new(device)?;
        bytes.set(device::MEMORY)
    }

    fn cuDeviceGetAttribute(value: Out<i32>, name: i32, device: i32) {
        value.set(attribute(Device::new(device)?, name)?)
    }

    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) {
        Device::new(device)?;
        let found = config().arch.capability();
        major.set(found.0 as i32)?;
        minor.set(found.1 as i32)
    }

    fn cuDeviceGetPCIBusId(text: Out<c_char>, length: i32, device: i32) {
        text.set_text(&Device::new(device)?.bus_id(), length)
    }

    fn cuDeviceGetByPCIBusId(out: Out<i32>, text: Text) {
        let text = text.get()?;
        let found = (0..device::count()).map(Device).find(|device| device.bus_id().eq_ignore_ascii_case(&text));
        out.set(found.ok_or(Code::INVALID_DEVICE)?.ordinal())
    }

    fn cuDeviceGetDefaultMemPool(out: Out<Handle>, device: i32) {
        out.set(Pool::of_device(Device::new(device)?)[0])
    }

    fn cuDeviceGetMemPool(out: Out<Handle>, device: i32) {
        out.set(Pool::of_device(Device::new(device)?)[1])
    }

    fn cuDeviceSetMemPool(device: i32, pool: Handle) {
        Pool::of(pool)?.use_for(Device::new(device)?);
        Ok(())
    }

    fn cuDeviceCanAccessPeer(out: Out<i32>, device: i32, peer: i32) {
        out.set(i32::from(Device::new(device)? != Device::new(peer)?))
    }

    fn cuDeviceGetP2PAttribute(out: Out<i32>, attribute: u32, from: i32, to: i32) {
        if Device::new(from)? == Device::new(to)? {
            return Err(Code::INVALID_DEVICE);
        }
        match attribute {
            1 => out.set(0),      // PERFORMANCE_RANK
            2 | 3 => out.set(1),  // ACCESS_SUPPORTED, NATIVE_ATOMIC_SUPPORTED
            4 => out.set(0),      // CUDA_ARRAY_ACCESS_SUPPORTED
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuDevicePrimaryCtxRetain(out: Out<Handle>, device: i32) {
        out.set(context::retain_primary(Device::new(device)?).handle)
    }

    fn cuDevicePrimaryCtxRelease_v2(device: i32) {
        context::release_primary(Device::new(device)?)
    }

    fn cuDevicePrimaryCtxReset_v2(device: i32) {
        context::reset_primary(Device::new(device)?);
        Ok(())
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) {
        context::set_primary_flags(Device::new(device)?, flags);
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        let (found, is_active) = context::primary_state(Device::new(device)?);
        flags.set(found)?;
        active.set(is_active.into())
    }
}
