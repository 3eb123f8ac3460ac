//! Functions of the sections "Context Management" and "Peer Context Memory Access".

use std::sync::atomic::Ordering::Relaxed;

use super::pointers::{In, Out};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::context::{self, Context};
use crate::driver::device::Device;
use crate::driver::registry::Handle;

fn create(out: Out<Handle>, flags: u32, device: i32) -> Fallible {
    let device = Device::new(device)?;
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    out.set(Context::new_current(device, flags).handle)
}

/// Returns the context with the given handle, or the current context for a null handle.
fn of(context: Handle) -> Fallible<std::sync::Arc<Context>> {
    if context == Handle::NULL { context::current() } else { Context::of(context) }
}

entries! {
    fn cuCtxCreate_v2(out: Out<Handle>, flags: u32, device: i32) {
        create(out, flags, device)
    }

    fn cuCtxCreate_v3(out: Out<Handle>, affinity: In<u8>, count: i32, flags: u32, device: i32) {
        if count != 0 && !affinity.is_null() {
            return Err(Code::NOT_SUPPORTED);
        }
        create(out, flags, device)
    }

    fn cuCtxCreate_v4(out: Out<Handle>, params: In<[usize; 3]>, flags: u32, device: i32) {
        // Execution affinity, and sharing with a graphics interface.
        if !params.is_null() && params.get()? != [0; 3] {
            return Err(Code::NOT_SUPPORTED);
        }
        create(out, flags, device)
    }

    fn cuCtxDestroy_v2(context: Handle) {
        Context::destroy(context)
    }

    fn cuCtxPushCurrent_v2(context: Handle) {
        context::push(context)
    }

    fn cuCtxPopCurrent_v2(out: Out<Handle>) {
        out.set_if(context::pop()?);
        Ok(())
    }

    fn cuCtxSetCurrent(context: Handle) {
        context::set_current(context)
    }

    fn cuCtxGetCurrent(out: Out<Handle>) {
        out.set(context::current_handle().unwrap_or(Handle::NULL))
    }

    fn cuCtxGetDevice(out: Out<i32>) {
        out.set(context::current()?.device.ordinal())
    }

    fn cuCtxGetDevice_v2(out: Out<i32>, context: Handle) {
        out.set(of(context)?.device.ordinal())
    }

    fn cuCtxGetFlags(out: Out<u32>) {
        out.set(context::current()?.flags.load(Relaxed))
    }

    fn cuCtxSetFlags(flags: u32) {
        context::current()?.flags.store(flags, Relaxed);
        Ok(())
    }

    fn cuCtxGetId(context: Handle, out: Out<u64>) {
        out.set(of(context)?.id)
    }

    fn cuCtxSynchronize() {
        context::current()?.synchronize()
    }

    fn cuCtxSynchronize_v2(context: Handle) {
        of(context)?.synchronize()
    }

    fn cuCtxSetLimit(limit: u32, value: usize) {
        context::current()?.set_limit(limit, value)
    }

    fn cuCtxGetLimit(out: Out<usize>, limit: u32) {
        out.set(context::current()?.limit(limit)?)
    }

    fn cuCtxGetCacheConfig(out: Out<u32>) {
        context::current()?;
        out.set(0)
    }

    fn cuCtxSetCacheConfig(_config: u32) {
        context::current().map(drop)
    }

    fn cuCtxGetSharedMemConfig(out: Out<u32>) {
        context::current()?;
        // CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE
        out.set(1)
    }

    fn cuCtxSetSharedMemConfig(_config: u32) {
        context::current().map(drop)
    }

    fn cuCtxGetApiVersion(context: Handle, out: Out<u32>) {
        of(context)?;
        out.set(3020)
    }

    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        context::current()?;
        least.set_if(0);
        greatest.set_if(-5);
        Ok(())
    }

    fn cuCtxResetPersistingL2Cache() {
        context::current().map(drop)
    }

    fn cuCtxEnablePeerAccess(peer: Handle, flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        context::current()?.enable_peer(&*Context::of(peer)?)
    }

    fn cuCtxDisablePeerAccess(peer: Handle) {
        context::current()?.disable_peer(&*Context::of(peer)?)
    }
}
