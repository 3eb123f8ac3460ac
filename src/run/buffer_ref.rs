//! Borrowed buffers from this crate or from cudarc.

use std::{fmt, marker::PhantomData};

use crate::ptx::{Element, In, InOut, Out};

#[cfg(feature = "cuda")]
use super::cuda_slice::{ReadSlice, WriteSlice};
use super::{
    argument::{Argument, Kind, Value, sealed},
    buffer::{Buffer, Store},
};

/// The alignment of allocations, in bytes.
const ALLOCATION_ALIGNMENT: u64 = 256;

/// A borrowed buffer of elements of type `T` that a kernel reads.
///
/// `From` converts a `&Buffer<T>` or, with the `cuda` feature, a cudarc `&CudaSlice<U>` or `&CudaView<U>`, where `U: StorageFor<T>`.
#[derive(Clone, Copy)]
pub struct BufferRef<'a, T> {
    pub(super) memory: ReadMemory<'a>,
    /// The number of elements of `T`.
    pub(super) len: usize,
    pub(super) element: PhantomData<fn() -> T>,
}

/// A mutably borrowed buffer of elements of type `T` that a kernel writes.
///
/// `From` converts a `&mut Buffer<T>` or, with the `cuda` feature, a cudarc `&mut CudaSlice<U>` or `&mut CudaViewMut<U>`, where `U:
/// StorageFor<T>`.
pub struct BufferMut<'a, T> {
    pub(super) memory: WriteMemory<'a>,
    /// The number of elements of `T`.
    pub(super) len: usize,
    pub(super) element: PhantomData<fn() -> T>,
}

#[derive(Clone, Copy)]
pub(super) enum ReadMemory<'a> {
    None,
    Store(&'a Store),
    #[cfg(feature = "cuda")]
    Slice(&'a dyn ReadSlice),
}

pub(super) enum WriteMemory<'a> {
    Store(&'a mut Store),
    #[cfg(feature = "cuda")]
    Slice(&'a mut dyn WriteSlice),
}

impl<T> BufferRef<'_, T> {
    /// Returns an empty buffer at address 0, for a parameter that the kernel does not read.
    pub fn empty() -> Self {
        Self { memory: ReadMemory::None, len: 0, element: PhantomData }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the address is a multiple of `bytes`, which must be a power of 2 no greater than 256.
    ///
    /// Allocations start at multiples of 256, but a view of an allocation may start at any element.
    pub fn is_aligned(&self, bytes: u64) -> bool {
        match self.memory {
            ReadMemory::None | ReadMemory::Store(_) => ALLOCATION_ALIGNMENT.is_multiple_of(bytes),
            #[cfg(feature = "cuda")]
            ReadMemory::Slice(slice) => slice.is_aligned(bytes),
        }
    }
}

impl<T> BufferMut<'_, T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the address is a multiple of `bytes`; see [`BufferRef::is_aligned`].
    pub fn is_aligned(&self, bytes: u64) -> bool {
        self.as_read().is_aligned(bytes)
    }

    /// Reborrows the buffer, so that several launches in succession can write to it.
    pub fn reborrow(&mut self) -> BufferMut<'_, T> {
        let memory = match &mut self.memory {
            WriteMemory::Store(store) => WriteMemory::Store(store),
            #[cfg(feature = "cuda")]
            WriteMemory::Slice(slice) => WriteMemory::Slice(&mut **slice),
        };
        BufferMut { memory, ..*self }
    }

    /// Returns the buffer as a [`BufferRef`], for a launch that reads it.
    pub fn as_read(&self) -> BufferRef<'_, T> {
        let memory = match &self.memory {
            WriteMemory::Store(store) => ReadMemory::Store(store),
            #[cfg(feature = "cuda")]
            WriteMemory::Slice(slice) => ReadMemory::Slice(slice.as_read()),
        };
        BufferRef { memory, len: self.len, element: PhantomData }
    }
}

impl<'a, T: Element> From<&'a Buffer<T>> for BufferRef<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        Self { memory: ReadMemory::Store(&buffer.store), len: buffer.len(), element: PhantomData }
    }
}

impl<'a, T: Element> From<&'a mut Buffer<T>> for BufferMut<'a, T> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        let len = buffer.len();
        Self { memory: WriteMemory::Store(&mut buffer.store), len, element: PhantomData }
    }
}

impl<T> fmt::Debug for BufferRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} elements, read", self.len)
    }
}

impl<T> fmt::Debug for BufferMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} elements, written", self.len)
    }
}

impl<T: Element> sealed::Sealed<In<T>> for BufferRef<'_, T> {}

impl<T: Element> Argument<In<T>> for BufferRef<'_, T> {
    fn pass<'a>(self, to: &mut Vec<Value<'a>>)
    where
        Self: 'a,
    {
        to.push(Value(match self.memory {
            ReadMemory::None => Kind::Empty,
            ReadMemory::Store(store) => Kind::Read(store, self.len),
            #[cfg(feature = "cuda")]
            ReadMemory::Slice(slice) => Kind::ReadSlice(slice, self.len),
        }));
    }
}

macro_rules! written {
    ($($marker:ident)*) => {$(
        impl<T: Element> sealed::Sealed<$marker<T>> for BufferMut<'_, T> {}

        impl<T: Element> Argument<$marker<T>> for BufferMut<'_, T> {
            fn pass<'a>(self, to: &mut Vec<Value<'a>>)
            where
                Self: 'a,
            {
                to.push(Value(match self.memory {
                    WriteMemory::Store(store) => Kind::Write(store, self.len),
                    #[cfg(feature = "cuda")]
                    WriteMemory::Slice(slice) => Kind::WriteSlice(slice, self.len),
                }));
            }
        }
    )*};
}

written! { Out InOut }
