//! Functions of the section "Memory Management": allocation.

use super::pointers::Out;
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::copy::device_address;
use crate::driver::operation::Operation;
use crate::driver::pool::Pool;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;
use crate::driver::{context, graph_memory, memory};
use crate::host::HostPtr;

/// Stores the address of new memory.
fn store<T: Copy>(out: Out<T>, alloc: impl FnOnce() -> Fallible<T>) -> Fallible {
    // Nothing is allocated if the address for the result is null.
    if out.is_null() { Err(Code::INVALID_VALUE) } else { out.set(alloc()?) }
}

/// The row alignment of `cuMemAllocPitch` in bytes.
const PITCH: usize = 512;

fn pinned(bytes: usize, flags: u32) -> Fallible<HostPtr> {
    if flags & !7 != 0 {
        return Err(Code::INVALID_VALUE);
    }
    Ok(HostPtr(memory::alloc_shared(bytes, memory::Kind::Pinned(flags))? as usize))
}

/// Allocates memory from a pool (by default, the device's current pool). The memory is available when the call returns, and is freed in
/// stream order. Unlike with other functions, an allocation of 0 bytes is valid and has a null address; programs such as candle rely on
/// this.
fn alloc_async(out: Out<u64>, bytes: usize, pool: Option<Handle>, stream: &Stream) -> Fallible {
    stream.check_unrecorded()?;
    let context = stream.context()?;
    let pool = Pool::of(pool.unwrap_or_else(|| Pool::of_device(context.device)[1]))?;
    if bytes == 0 {
        return out.set(0);
    }
    store(out, || {
        let address = match stream.capturing() {
            Some(_) => graph_memory::plan(&context, bytes as u64)?,
            None => memory::alloc_from(&pool, &context, bytes)?,
        };
        stream.submit(Operation::Alloc(address, bytes as u64))?;
        Ok(address)
    })
}

/// Returns an error unless an operation can free the memory at an address.
pub(super) fn check_free(address: u64) -> Fallible {
    let is_live =
        || memory::find_device(address).is_some_and(|a| a.start == address && a.kind == memory::Kind::Device);
    if graph_memory::size(address).is_some() || is_live() { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

entries! {
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let (available, all) = memory::available(context::current()?.device);
        free.set_if(available as usize);
        total.set_if(all as usize);
        Ok(())
    }

    fn cuMemAlloc_v2(out: Out<u64>, bytes: usize) {
        store(out, || memory::alloc(bytes))
    }

    fn cuMemAllocPitch_v2(out: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32) {
        if !matches!(element, 4 | 8 | 16) {
            return Err(Code::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH).ok_or(Code::OUT_OF_MEMORY)?;
        let bytes = row.checked_mul(height).ok_or(Code::OUT_OF_MEMORY)?;
        pitch.set(row)?;
        store(out, || memory::alloc(bytes))
    }

    fn cuMemFree_v2(address: u64) {
        memory::free(address)
    }

    fn cuMemGetAddressRange_v2(base: Out<u64>, size: Out<usize>, address: u64) {
        let found = memory::find_device(address).ok_or(Code::NOT_FOUND)?;
        base.set_if(found.start);
        size.set_if(found.size as usize);
        Ok(())
    }

    fn cuMemAllocHost_v2(out: Out<HostPtr>, bytes: usize) {
        store(out, || pinned(bytes, 0))
    }

    fn cuMemHostAlloc(out: Out<HostPtr>, bytes: usize, flags: u32) {
        store(out, || pinned(bytes, flags))
    }

    fn cuMemFreeHost(address: HostPtr) {
        memory::free_pinned(address)
    }

    fn cuMemHostGetDevicePointer_v2(out: Out<u64>, address: HostPtr, flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        out.set(device_address(address)?)
    }

    fn cuMemHostGetFlags(out: Out<u32>, address: HostPtr) {
        match memory::find(address.0 as u64).map(|a| a.kind) {
            // CU_MEMHOSTALLOC_DEVICEMAP is implied.
            Some(memory::Kind::Pinned(flags)) => out.set(flags | 2),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuMemHostRegister_v2(address: HostPtr, bytes: usize, _flags: u32) {
        memory::register(address, bytes)
    }

    fn cuMemHostUnregister(address: HostPtr) {
        memory::unregister(address)
    }

    fn cuMemAllocManaged(out: Out<u64>, bytes: usize, flags: u32) {
        // CU_MEM_ATTACH_GLOBAL, _HOST
        if !matches!(flags, 1 | 2) {
            return Err(Code::INVALID_VALUE);
        }
        store(out, || memory::alloc_shared(bytes, memory::Kind::Managed))
    }

    fn cuMemAllocAsync | cuMemAllocAsync_ptsz own (out: Out<u64>, bytes: usize, stream: Handle) {
        alloc_async(out, bytes, None, &*Stream::of(stream, own)?)
    }

    fn cuMemAllocFromPoolAsync | cuMemAllocFromPoolAsync_ptsz own (
        out: Out<u64>, bytes: usize, pool: Handle, stream: Handle,
    ) {
        alloc_async(out, bytes, Some(pool), &*Stream::of(stream, own)?)
    }

    fn cuMemFreeAsync | cuMemFreeAsync_ptsz own (address: u64, stream: Handle) {
        let stream = Stream::of(stream, own)?;
        stream.check_unrecorded()?;
        if address == 0 {
            return Ok(());
        }
        check_free(address)?;
        if graph_memory::size(address).is_some() && stream.capturing().is_none() {
            graph_memory::submit_free(address)?;
        }
        stream.submit(Operation::Free(address))
    }
}
