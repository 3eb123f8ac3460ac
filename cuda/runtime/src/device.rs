//! Functions of the sections "Device Management" and "Peer Device Memory Access".

use warpwright_cuda_calls::address_of;

use crate::driver::{device, driver, primary, ready, reset, set_device};
use crate::error::{Error, Fallible};
use crate::memory_at::set;
use crate::{Address, entries, properties};

fn check(device: i32) -> Fallible {
    let mut count = 0i32;
    driver()?.cuDeviceGetCount(address_of(&mut count))?;
    // cudaErrorInvalidDevice
    if (0..count).contains(&device) { Ok(()) } else { Err(Error(101)) }
}

entries! {
    fn cudaGetDeviceCount(result: Address) {
        let driver = driver().inspect_err(|_| {
            let _ = set(result, 0i32);
        })?;
        driver.cuDeviceGetCount(result)
    }

    fn cudaGetDevice(result: Address) {
        set(result, device()?)
    }

    fn cudaSetDevice(device: i32) {
        check(device)?;
        set_device(device)
    }

    fn cudaInitDevice(device: i32, _device_flags: u32, _flags: u32) {
        check(device)?;
        primary(device).map(drop)
    }

    fn cudaGetDeviceProperties(result: Address, device: i32) {
        check(device)?;
        set(result, properties::read(device)?)
    }

    /// The CUDA 12 variant.
    fn cudaGetDeviceProperties_v2(result: Address, device: i32) {
        check(device)?;
        set(result, properties::read_12(device)?)
    }

    fn cudaDeviceGetAttribute(result: Address, attribute: i32, device: i32) {
        check(device)?;
        driver()?.cuDeviceGetAttribute(result, attribute, device)
    }

    fn cudaDeviceGetPCIBusId(text: Address, length: i32, device: i32) {
        check(device)?;
        driver()?.cuDeviceGetPCIBusId(text, length, device)
    }

    fn cudaDeviceGetByPCIBusId(result: Address, text: Address) {
        driver()?.cuDeviceGetByPCIBusId(result, text)
    }

    fn cudaDeviceSynchronize() {
        ready()?.cuCtxSynchronize()
    }

    fn cudaDeviceReset() {
        reset()
    }

    fn cudaDeviceSetLimit(limit: u32, value: usize) {
        ready()?.cuCtxSetLimit(limit, value)
    }

    fn cudaDeviceGetLimit(result: Address, limit: u32) {
        ready()?.cuCtxGetLimit(result, limit)
    }

    fn cudaDeviceSetCacheConfig(_config: u32) {
        ready().map(drop)
    }

    fn cudaDeviceGetCacheConfig(result: Address) {
        set(result, 0u32)
    }

    fn cudaDeviceGetSharedMemConfig(result: Address) {
        // cudaSharedMemBankSizeFourByte
        set(result, 1u32)
    }

    fn cudaChooseDevice(result: Address, _properties: Address) {
        // All devices have the same properties.
        check(0)?;
        set(result, 0i32)
    }

    fn cudaCtxResetPersistingL2Cache() {
        ready().map(drop)
    }

    fn cudaDeviceSetSharedMemConfig(_config: u32) {
        ready().map(drop)
    }

    fn cudaSetDeviceFlags(flags: u32) {
        driver()?.cuDevicePrimaryCtxSetFlags_v2(device()?, flags)
    }

    fn cudaGetDeviceFlags(result: Address) {
        let mut active = 0i32;
        driver()?.cuDevicePrimaryCtxGetState(device()?, result, address_of(&mut active))
    }

    fn cudaDeviceGetDefaultMemPool(result: Address, device: i32) {
        driver()?.cuDeviceGetDefaultMemPool(result, device)
    }

    fn cudaDeviceGetMemPool(result: Address, device: i32) {
        driver()?.cuDeviceGetMemPool(result, device)
    }

    fn cudaDeviceSetMemPool(device: i32, pool: Address) {
        driver()?.cuDeviceSetMemPool(device, pool)
    }

    fn cudaDeviceCanAccessPeer(result: Address, device: i32, peer: i32) {
        driver()?.cuDeviceCanAccessPeer(result, device, peer)
    }

    fn cudaDeviceGetP2PAttribute(result: Address, attribute: u32, from: i32, to: i32) {
        driver()?.cuDeviceGetP2PAttribute(result, attribute, from, to)
    }

    fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) {
        ready()?.cuCtxEnablePeerAccess(primary(peer)?, flags)
    }

    fn cudaDeviceDisablePeerAccess(peer: i32) {
        ready()?.cuCtxDisablePeerAccess(primary(peer)?)
    }
}
