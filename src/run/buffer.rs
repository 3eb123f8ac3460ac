//! Typed buffers in a device's memory.

#[cfg(feature = "sim")]
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, marker::PhantomData};

use crate::ptx::Element;
#[cfg(feature = "sim")]
use crate::sim;

/// A buffer of elements of type `T` in the memory of one device.
///
/// Dropping a buffer frees its memory.
///
/// Buffers are aligned to 256 bytes. Pass `&buffer` for an `In<T>` parameter and `&mut buffer` for an `Out<T>` or `InOut<T>`
/// parameter.
pub struct Buffer<T> {
    pub(super) store: Store,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Buffer<T> {
    pub(super) fn new(store: Store, len: usize) -> Self {
        Self { store, len, element: PhantomData }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} in {:?}", self.len, T::NAME, self.store)
    }
}

/// The storage of a buffer.
pub enum Store {
    /// In a simulator.
    #[cfg(feature = "sim")]
    Simulated(Simulated),
    /// On a GPU, as bytes.
    #[cfg(feature = "cuda")]
    Cuda(cudarc::driver::CudaSlice<u8>),
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "sim")]
            Self::Simulated(allocation) => write!(f, "simulated memory at {:#x}", allocation.address),
            #[cfg(feature = "cuda")]
            Self::Cuda(slice) => write!(f, "device {}", slice.context().ordinal()),
        }
    }
}

/// An allocation in a simulator's memory.
#[cfg(feature = "sim")]
#[derive(Debug)]
pub struct Simulated {
    pub(super) memory: SharedMemory,
    pub(super) address: u64,
}

/// The memory that a simulator and its buffers share.
#[cfg(feature = "sim")]
#[derive(Clone, Debug, Default)]
pub(super) struct SharedMemory(Arc<Mutex<sim::Memory>>);

#[cfg(feature = "sim")]
impl SharedMemory {
    pub(super) fn lock(&self) -> MutexGuard<'_, sim::Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(feature = "sim")]
impl Drop for Simulated {
    fn drop(&mut self) {
        // The allocation is freed exactly once, so there is nothing to report.
        let _ = self.memory.lock().free(self.address);
    }
}
