//! cudarc buffers with erased element types.

use std::{fmt, marker::PhantomData};

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DeviceSlice};

use crate::{gpu::Args, ptx::Element};

use super::{
    buffer_ref::{BufferMut, BufferRef, ReadMemory, WriteMemory},
    cuda_argument::StorageFor,
};

/// A buffer that a kernel reads.
pub(super) trait ReadSlice {
    /// Adds the address to the arguments of a launch.
    fn read<'a>(&'a self, args: &mut Args<'a>);
    /// Returns whether the address is a multiple of `bytes` bytes.
    fn is_aligned(&self, bytes: u64) -> bool;
}

/// A buffer that a kernel writes.
pub(super) trait WriteSlice {
    /// Adds the address to the arguments of a launch.
    fn write<'a>(&'a mut self, args: &mut Args<'a>);
    /// Returns the buffer as a read-only buffer.
    fn as_read(&self) -> &dyn ReadSlice;
}

impl fmt::Debug for dyn ReadSlice + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cudarc buffer, read")
    }
}

impl fmt::Debug for dyn WriteSlice + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cudarc buffer, written")
    }
}

macro_rules! read {
    ($($slice:ty, $is_aligned:expr;)*) => {$(
        impl<U> ReadSlice for $slice {
            fn read<'a>(&'a self, args: &mut Args<'a>) {
                args.read(self);
            }

            fn is_aligned(&self, bytes: u64) -> bool {
                let is_aligned: fn(&Self, u64) -> bool = $is_aligned;
                is_aligned(self, bytes)
            }
        }
    )*};
}

macro_rules! written {
    ($($slice:ty)*) => {$(
        impl<U> WriteSlice for $slice {
            fn write<'a>(&'a mut self, args: &mut Args<'a>) {
                args.write(self);
            }

            fn as_read(&self) -> &dyn ReadSlice {
                self
            }
        }
    )*};
}

read! {
    // An allocation.
    CudaSlice<U>,       |_, _| true;
    CudaView<'_, U>,    |view, bytes| address(view, view.stream()).is_multiple_of(bytes);
    CudaViewMut<'_, U>, |view, bytes| address(view, view.stream()).is_multiple_of(bytes);
}
written! { CudaSlice<U> CudaViewMut<'_, U> }

/// Returns an address without recording a read of the memory. Dropping the guard would record one, in the place of the record of a kernel
/// that still reads the memory on another stream; a later write would then not wait for that kernel.
pub(super) fn address<T>(memory: &impl DevicePtr<T>, stream: &CudaStream) -> u64 {
    let (address, record) = memory.device_ptr(stream);
    std::mem::forget(record);
    address
}

/// Returns the number of elements of `T` in `len` elements of `U`.
fn elements<T: Element, U: StorageFor<T>>(len: usize) -> usize {
    len * size_of::<U>() / T::SIZE as usize
}

macro_rules! conversions {
    ($($slice:ty => $of:ident, $memory:ident;)*) => {$(
        impl<'a, T: Element, U: StorageFor<T>> From<$slice> for $of<'a, T> {
            fn from(slice: $slice) -> Self {
                let len = elements::<T, U>(slice.len());
                Self { memory: $memory::Slice(slice), len, element: PhantomData }
            }
        }
    )*};
}

conversions! {
    &'a CudaSlice<U>            => BufferRef, ReadMemory;
    &'a CudaView<'_, U>         => BufferRef, ReadMemory;
    &'a mut CudaSlice<U>        => BufferMut, WriteMemory;
    &'a mut CudaViewMut<'_, U>  => BufferMut, WriteMemory;
}
