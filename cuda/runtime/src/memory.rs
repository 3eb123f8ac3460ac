//! Functions of the sections "Memory Management" (allocation and fills), "Unified Addressing" and "Stream Ordered Memory Allocator".

use warpwright_cuda_calls::{address_of, out};

use crate::driver::ready;
use crate::error::{Error, Fallible};
use crate::memory_at::set;
use crate::{Address, entries, stream_of};

/// Stores the address of new memory, or null if no bytes are requested.
fn alloc(result: Address, bytes: usize, alloc: impl FnOnce() -> Fallible) -> Fallible {
    match (result, bytes) {
        (0, _) => Err(Error::INVALID_VALUE),
        (_, 0) => set(result, 0usize),
        _ => alloc(),
    }
}

/// `cudaPointerAttributes`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Attributes {
    /// `cudaMemoryType`: 0 unregistered, 1 host, 2 device, 3 managed.
    ty: u32,
    device: i32,
    device_address: Address,
    host_address: Address,
    reserved: [usize; 8],
}

/// Fills memory in stream order. In a program without other streams, the fill is ordered by the default stream.
fn fill(address: Address, value: i32, bytes: usize, stream: Address) -> Fallible {
    match bytes {
        0 => Ok(()),
        _ => ready()?.cuMemsetD8Async(address, value as u8, bytes, stream),
    }
}

fn fill_rows(
    address: Address,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: Address,
) -> Fallible {
    if width == 0 || height == 0 {
        return Ok(());
    }
    ready()?.cuMemsetD2D8Async(address, pitch, value as u8, width, height, stream)
}

/// `cudaPitchedPtr`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Pitched {
    pub(crate) address: Address,
    pub(crate) pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// `cudaExtent`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Extent {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

fn fill_box(to: Pitched, value: i32, extent: Extent, stream: Address) -> Fallible {
    (0..extent.depth).try_for_each(|slice| {
        let start = to.address + slice * to.height * to.pitch;
        fill_rows(start, to.pitch, value, extent.width, extent.height, stream)
    })
}

entries! {
    fn cudaMalloc(result: Address, bytes: usize) {
        let driver = ready()?;
        alloc(result, bytes, || driver.cuMemAlloc_v2(result, bytes))
    }

    fn cudaFree(address: Address) {
        ready()?.cuMemFree_v2(address)
    }

    fn cudaMallocPitch(result: Address, pitch: Address, width: usize, height: usize) {
        let driver = ready()?;
        alloc(result, width.min(height), || driver.cuMemAllocPitch_v2(result, pitch, width, height, 4))
    }

    fn cudaMalloc3D(result: Address, extent: Extent) {
        let (mut address, mut pitch) = (0usize, 0usize);
        let rows = extent.height.checked_mul(extent.depth).ok_or(Error::INVALID_VALUE)?;
        ready()?.cuMemAllocPitch_v2(out(&mut address), out(&mut pitch), extent.width, rows, 4)?;
        set(result, Pitched { address, pitch, width: extent.width, height: extent.height })
    }

    fn cudaMallocHost(result: Address, bytes: usize) {
        let driver = ready()?;
        alloc(result, bytes, || driver.cuMemHostAlloc(result, bytes, 0))
    }

    fn cudaHostAlloc(result: Address, bytes: usize, flags: u32) {
        let driver = ready()?;
        alloc(result, bytes, || driver.cuMemHostAlloc(result, bytes, flags))
    }

    fn cudaFreeHost(address: Address) {
        ready()?.cuMemFreeHost(address)
    }

    fn cudaHostRegister(address: Address, bytes: usize, flags: u32) {
        ready()?.cuMemHostRegister_v2(address, bytes, flags)
    }

    fn cudaHostUnregister(address: Address) {
        ready()?.cuMemHostUnregister(address)
    }

    fn cudaHostGetDevicePointer(result: Address, address: Address, flags: u32) {
        ready()?.cuMemHostGetDevicePointer_v2(result, address, flags)
    }

    fn cudaHostGetFlags(result: Address, address: Address) {
        ready()?.cuMemHostGetFlags(result, address)
    }

    fn cudaMallocManaged(result: Address, bytes: usize, flags: u32) {
        let driver = ready()?;
        alloc(result, bytes, || driver.cuMemAllocManaged(result, bytes, flags))
    }

    fn cudaMallocAsync | cudaMallocAsync_ptsz own (result: Address, bytes: usize, stream: Address) {
        let driver = ready()?;
        alloc(result, bytes, || driver.cuMemAllocAsync(result, bytes, stream_of(stream, own)))
    }

    fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz own (
        result: Address, bytes: usize, pool: Address, stream: Address,
    ) {
        let driver = ready()?;
        alloc(result, bytes, || driver.cuMemAllocFromPoolAsync(result, bytes, pool, stream_of(stream, own)))
    }

    fn cudaFreeAsync | cudaFreeAsync_ptsz own (address: Address, stream: Address) {
        ready()?.cuMemFreeAsync(address, stream_of(stream, own))
    }

    fn cudaMemPoolCreate(pool: Address, props: Address) {
        ready()?.cuMemPoolCreate(pool, props)
    }

    fn cudaMemPoolDestroy(pool: Address) {
        ready()?.cuMemPoolDestroy(pool)
    }

    fn cudaMemPoolSetAccess(pool: Address, access: Address, count: usize) {
        ready()?.cuMemPoolSetAccess(pool, access, count)
    }

    fn cudaMemPoolGetAccess(access: Address, pool: Address, location: Address) {
        ready()?.cuMemPoolGetAccess(access, pool, location)
    }

    fn cudaMemGetDefaultMemPool(pool: Address, location: Address, ty: u32) {
        ready()?.cuMemGetDefaultMemPool(pool, location, ty)
    }

    fn cudaMemGetMemPool(pool: Address, location: Address, ty: u32) {
        ready()?.cuMemGetMemPool(pool, location, ty)
    }

    fn cudaMemSetMemPool(location: Address, ty: u32, pool: Address) {
        ready()?.cuMemSetMemPool(location, ty, pool)
    }

    fn cudaMemPoolTrimTo(pool: Address, bytes: usize) {
        ready()?.cuMemPoolTrimTo(pool, bytes)
    }

    fn cudaMemPoolGetAttribute(pool: Address, attribute: u32, value: Address) {
        ready()?.cuMemPoolGetAttribute(pool, attribute, value)
    }

    fn cudaMemPoolSetAttribute(pool: Address, attribute: u32, value: Address) {
        ready()?.cuMemPoolSetAttribute(pool, attribute, value)
    }

    fn cudaMemGetInfo(free: Address, total: Address) {
        ready()?.cuMemGetInfo_v2(free, total)
    }

    fn cudaMemset | cudaMemset_ptds own (address: Address, value: i32, bytes: usize) {
        fill(address, value, bytes, stream_of(0, own))
    }

    fn cudaMemsetAsync | cudaMemsetAsync_ptsz own (address: Address, value: i32, bytes: usize, stream: Address) {
        fill(address, value, bytes, stream_of(stream, own))
    }

    fn cudaMemset2D | cudaMemset2D_ptds own (address: Address, pitch: usize, value: i32, width: usize, height: usize) {
        fill_rows(address, pitch, value, width, height, stream_of(0, own))
    }

    fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz own (
        address: Address, pitch: usize, value: i32, width: usize, height: usize, stream: Address,
    ) {
        fill_rows(address, pitch, value, width, height, stream_of(stream, own))
    }

    fn cudaMemset3D | cudaMemset3D_ptds own (to: Pitched, value: i32, extent: Extent) {
        fill_box(to, value, extent, stream_of(0, own))
    }

    fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz own (to: Pitched, value: i32, extent: Extent, stream: Address) {
        fill_box(to, value, extent, stream_of(stream, own))
    }

    fn cudaMemAdvise(address: Address, bytes: usize, advice: u32, location: u64) {
        ready()?.cuMemAdvise_v2(address, bytes, advice, location)
    }

    fn cudaMemRangeGetAttribute(out: Address, size: usize, attribute: u32, address: Address, bytes: usize) {
        ready()?.cuMemRangeGetAttribute(out, size, attribute, address, bytes)
    }

    fn cudaMemRangeGetAttributes(
        outs: Address, sizes: Address, attributes: Address, count: usize, address: Address, bytes: usize,
    ) {
        ready()?.cuMemRangeGetAttributes(outs, sizes, attributes, count, address, bytes)
    }

    fn cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz own (
        address: Address, bytes: usize, location: u64, flags: u32, stream: Address,
    ) {
        ready()?.cuMemPrefetchAsync_v2(address, bytes, location, flags, stream_of(stream, own))
    }

    /// The CUDA 12 variants that take a location.
    fn cudaMemAdvise_v2(address: Address, bytes: usize, advice: u32, location: u64) {
        ready()?.cuMemAdvise_v2(address, bytes, advice, location)
    }

    fn cudaMemPrefetchAsync_v2 | cudaMemPrefetchAsync_v2_ptsz own (
        address: Address, bytes: usize, location: u64, flags: u32, stream: Address,
    ) {
        ready()?.cuMemPrefetchAsync_v2(address, bytes, location, flags, stream_of(stream, own))
    }

    fn cudaMemPrefetchBatchAsync | cudaMemPrefetchBatchAsync_ptsz own (
        addresses: Address, sizes: Address, count: usize, locations: Address, starts: Address, entries: usize, flags: u64,
        stream: Address,
    ) {
        ready()?.cuMemPrefetchBatchAsync(
            addresses, sizes, count, locations, starts, entries, flags, stream_of(stream, own),
        )
    }

    fn cudaPointerGetAttributes(result: Address, address: Address) {
        let driver = ready()?;
        let (mut ty, mut managed, mut device) = (0u32, 0u32, -2i32);
        let (mut device_address, mut host_address) = (0usize, 0usize);
        // CU_POINTER_ATTRIBUTE_MEMORY_TYPE, IS_MANAGED, DEVICE_ORDINAL, DEVICE_POINTER, HOST_POINTER
        if driver.cuPointerGetAttribute(address_of(&mut ty), 2, address).is_ok() {
            driver.cuPointerGetAttribute(address_of(&mut managed), 8, address)?;
            driver.cuPointerGetAttribute(address_of(&mut device), 9, address)?;
            driver.cuPointerGetAttribute(out(&mut device_address), 3, address)?;
            // Memory of a device has no address on the host.
            let _ = driver.cuPointerGetAttribute(out(&mut host_address), 4, address);
        } else {
            host_address = address;
        }
        let ty = if managed != 0 { 3 } else { ty };
        set(result, Attributes { ty, device, device_address, host_address, reserved: [0; 8] })
    }
}
