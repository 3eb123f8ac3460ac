//! The arguments of a launch as bytes, with cudarc's event tracking for its buffers.

use super::tensor_map::TensorMap;
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, SyncOnDrop};
use std::ffi::c_void;
use std::fmt;
use std::mem::{MaybeUninit, size_of};
use std::ptr;

/// 128 bytes of storage for arguments. Each argument starts a new slot, which satisfies any alignment up to a tensor map's 128 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Slot([MaybeUninit<u8>; 128]);

/// The arguments of a launch on one stream, in the order of the kernel's parameters.
///
/// A cudarc buffer that was allocated while event tracking was enabled has an event for its last read and an event for its last write;
/// cudarc uses these events once the buffer's context has more than one stream. [`Args::read`] makes the stream of the launch wait for the
/// last write, and [`Args::write`] for the last read and write. The new read or write is recorded when the `Args`, or the `PreparedLaunch`
/// created from it, is dropped; the buffer stays borrowed until then. An address that is extracted from a buffer and passed to
/// [`Args::value`] is not tracked.
///
/// For launches on a stream that is being captured into a graph, see [`Gpu::allow_captures`](super::Gpu::allow_captures).
pub struct Args<'a> {
    stream: &'a CudaStream,
    slots: Vec<Slot>,
    /// The first slot and the size in bytes of each argument.
    entries: Vec<(usize, usize)>,
    /// Guards that record the use of a buffer when dropped.
    guards: Vec<SyncOnDrop<'a>>,
    /// The index of the first argument whose buffer belongs to another context.
    foreign: Option<usize>,
    /// The start address of the buffer that was added last, or `None` if the buffer belongs to another context.
    last_address: Option<u64>,
}

impl<'a> Args<'a> {
    /// Creates an empty argument list for a launch on `stream`.
    pub fn new(stream: &'a CudaStream) -> Self {
        Self::with_capacity(stream, 0)
    }

    /// Creates an empty argument list with capacity for `count` arguments of at most 128 bytes each.
    pub fn with_capacity(stream: &'a CudaStream, count: usize) -> Self {
        Self {
            stream,
            slots: Vec::with_capacity(count),
            entries: Vec::with_capacity(count),
            guards: Vec::with_capacity(count),
            foreign: None,
            last_address: None,
        }
    }

    /// Returns the stream of the launch.
    pub fn stream(&self) -> &'a CudaStream {
        self.stream
    }

    /// Returns the number of arguments.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a scalar or a `#[repr(C)]` struct by value.
    pub fn value<T: DeviceRepr + Copy>(&mut self, value: T) -> &mut Self {
        // SAFETY: `value` is valid for reads of its size; padding stays uninitialized in the slots, as in the source.
        unsafe { self.push(ptr::from_ref(&value).cast(), size_of::<T>()) };
        self
    }

    /// Adds a value as bytes, for types that do not implement cudarc's `DeviceRepr`, such as `half::bf16` if cudarc's feature `f16` is not
    /// enabled.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        // SAFETY: the slice is valid for reads of its length.
        unsafe { self.push(bytes.as_ptr().cast(), bytes.len()) };
        self
    }

    /// Adds the address of a buffer that the kernel only reads: a `CudaSlice`, `CudaView` or `CudaViewMut`.
    pub fn read<T>(&mut self, buffer: &'a impl DevicePtr<T>) -> &mut Self {
        if self.is_foreign(buffer.stream()) {
            return self.value(0u64);
        }
        let (address, guard) = buffer.device_ptr(self.stream);
        self.guards.push(guard);
        self.last_address = Some(address);
        self.value(address)
    }

    /// Adds the address of a buffer that the kernel writes, or reads and writes: a `CudaSlice` or `CudaViewMut`.
    pub fn write<T>(&mut self, buffer: &'a mut impl DevicePtrMut<T>) -> &mut Self {
        if self.is_foreign(buffer.stream()) {
            return self.value(0u64);
        }
        let (address, guard) = buffer.device_ptr_mut(self.stream);
        self.guards.push(guard);
        self.last_address = Some(address);
        self.value(address)
    }

    /// Adds a tensor map of a buffer that the kernel only reads.
    ///
    /// `encode` receives the address of the buffer and returns the map. If the buffer belongs to another context, `encode` is not called,
    /// and the launch fails.
    ///
    /// # Errors
    /// Returns the error that `encode` returns.
    pub fn read_map<T, E>(
        &mut self,
        buffer: &'a impl DevicePtr<T>,
        encode: impl FnOnce(u64) -> Result<TensorMap, E>,
    ) -> Result<&mut Self, E> {
        self.read(buffer).as_map(encode)
    }

    /// Adds a tensor map of a buffer that the kernel writes, or reads and writes; see [`read_map`](Self::read_map).
    ///
    /// # Errors
    /// Returns the error that `encode` returns.
    pub fn write_map<T, E>(
        &mut self,
        buffer: &'a mut impl DevicePtrMut<T>,
        encode: impl FnOnce(u64) -> Result<TensorMap, E>,
    ) -> Result<&mut Self, E> {
        self.write(buffer).as_map(encode)
    }

    /// Replaces the address of the last argument, a buffer, with a tensor map of the buffer. An address in another context is not encoded,
    /// because the launch will be rejected.
    pub(crate) fn as_map<E>(
        &mut self,
        encode: impl FnOnce(u64) -> Result<TensorMap, E>,
    ) -> Result<&mut Self, E> {
        let map = match self.last_address {
            Some(address) => *encode(address)?.as_bytes(),
            None => [0; 128],
        };
        self.slots.truncate(self.entries.pop().map_or(0, |(first, _)| first));
        Ok(self.bytes(&map))
    }

    /// Returns whether the next argument belongs to another context; if so, records its index, so that the launch is rejected.
    fn is_foreign(&mut self, home: &CudaStream) -> bool {
        let foreign = home.context() != self.stream.context();
        if foreign {
            self.foreign.get_or_insert(self.entries.len());
            self.last_address = None;
        }
        foreign
    }

    /// # Safety
    /// `source` must be valid for reads of `size` bytes.
    unsafe fn push(&mut self, source: *const MaybeUninit<u8>, size: usize) {
        let first = self.slots.len();
        let count = size.div_ceil(size_of::<Slot>()).max(1);
        self.slots.resize(first + count, Slot([MaybeUninit::uninit(); 128]));
        // SAFETY: the slots from `first` on are contiguous and at least `size` bytes long; the source is another
        // allocation.
        unsafe { ptr::copy_nonoverlapping(source, self.slots[first..].as_mut_ptr().cast(), size) };
        self.entries.push((first, size));
    }

    /// Returns the start address of the buffer that was added last.
    pub(crate) fn last_address(&self) -> Option<u64> {
        self.last_address
    }

    pub(crate) fn foreign(&self) -> Option<usize> {
        self.foreign
    }

    /// Returns the sizes in bytes, in order.
    pub(crate) fn sizes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.entries.iter().map(|&(_, size)| size)
    }

    /// Returns the value of `kernelParams`: a pointer to each argument, valid until the arguments change.
    pub(crate) fn pointers(&mut self) -> Vec<*mut c_void> {
        let base = self.slots.as_mut_ptr();
        // SAFETY: every entry's first slot is in bounds.
        self.entries.iter().map(|&(first, _)| unsafe { base.add(first) }.cast()).collect()
    }
}

impl fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Args").field("sizes", &self.sizes().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
