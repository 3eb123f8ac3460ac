//! Allocation of device memory.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, result};

use super::error::{CallFailed, GpuError};

/// Allocates `bytes` bytes and queues an operation on `stream` that sets each byte to `byte`.
///
/// # Errors
/// Returns the driver's error, for example if memory is insufficient.
#[doc(alias = "cuMemsetD8Async")]
pub fn filled(stream: &Arc<CudaStream>, bytes: usize, byte: u8) -> Result<CudaSlice<u8>, GpuError> {
    // SAFETY: every byte is written below, on the same stream, before the slice is returned.
    let mut slice = unsafe { stream.alloc::<u8>(bytes) }.map_err(CallFailed::at("cuMemAllocAsync"))?;
    {
        let (pointer, _record) = slice.device_ptr_mut(stream);
        // SAFETY: the allocation has `bytes` bytes, and the record orders the write with other uses of it.
        unsafe { result::memset_d8_async(pointer, byte, bytes, stream.cu_stream()) }
            .map_err(CallFailed::at("cuMemsetD8Async"))?;
    }
    Ok(slice)
}

/// Allocates `bytes` bytes with unspecified contents.
///
/// # Errors
/// Returns the driver's error, for example if memory is insufficient.
pub(crate) fn allocated(stream: &Arc<CudaStream>, bytes: usize) -> Result<CudaSlice<u8>, GpuError> {
    // SAFETY: device memory always has some contents, and every byte is a valid `u8`.
    let slice = unsafe { stream.alloc::<u8>(bytes) };
    Ok(slice.map_err(CallFailed::at("cuMemAllocAsync"))?)
}
