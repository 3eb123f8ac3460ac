//! Device memory: separate allocations, each in its own address range.

use crate::program::spaces::GLOBAL_START;
use crate::program::spaces::REGION_BITS;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::machine::heap::{Heap, regions};
use crate::machine::texture::Object;
use crate::program::module::Module;
use crate::shadow::byte_set::ByteSet;

/// An error from a host operation on device memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The address is not in an allocation.
    #[error("{address:#x} is not in an allocation")]
    Unknown {
        /// The address.
        address: u64,
    },
    /// The allocation has been freed.
    #[error("{address:#x} is in an allocation of {size} bytes that was freed")]
    Freed {
        /// The address.
        address: u64,
        /// The size of the allocation in bytes.
        size: u64,
    },
    /// The address is reserved, but no accessible memory is mapped there.
    #[error("{address:#x} is reserved, and no accessible memory is mapped there")]
    Unmapped {
        /// The address.
        address: u64,
    },
    /// The access extends past the end of the allocation.
    #[error("{bytes} bytes at {address:#x} run past the end of an allocation of {size} bytes at {start:#x}")]
    OutOfBounds {
        /// The address.
        address: u64,
        /// The number of bytes accessed.
        bytes: u64,
        /// The start of the allocation.
        start: u64,
        /// The size of the allocation in bytes.
        size: u64,
    },
    /// The address passed to [`Memory::free`] is not the start of an allocation.
    #[error("{address:#x} is inside an allocation; only its start {start:#x} can be freed")]
    NotTheStart {
        /// The address.
        address: u64,
        /// The start of the allocation.
        start: u64,
    },
    /// The allocation is larger than the simulator supports or the host can provide.
    #[error(
        "an allocation of {bytes} bytes is too large: the simulator supports at most {max}, and the host may have less"
    )]
    TooLarge {
        /// The requested number of bytes.
        bytes: u64,
        /// The maximum size of an allocation in bytes.
        max: u64,
    },
    /// The module does not contain the variable.
    #[error("the module has no global variable `{name}`")]
    NoVariable {
        /// The name of the variable.
        name: String,
    },
}

/// An allocation. All threads may read and write its words.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) words: Words,
    /// The variable's name, if the allocation is a module variable.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) read_only: bool,
    /// The bytes that have been written, if writes are recorded.
    pub(super) written: Option<ByteSet>,
    /// The number of the last launch that wrote to the allocation, or 0 if there is none or if the host has since written to the
    /// allocation.
    pub(crate) writer: AtomicU64,
}

/// The words of an allocation.
#[derive(Debug)]
pub(crate) enum Words {
    Own(Box<[AtomicU32]>),
    /// Host memory, which the host may access at any time.
    Host(&'static [AtomicU32]),
}

impl std::ops::Deref for Words {
    type Target = [AtomicU32];

    #[inline]
    fn deref(&self) -> &[AtomicU32] {
        match self {
            Words::Own(words) => words,
            Words::Host(words) => words,
        }
    }
}

#[derive(Debug)]
pub(super) enum Slot {
    /// An address range for memory that the host maps.
    Reserved,
    /// Part of a range reserved by [`Memory::reserve`], with the allocations that are mapped there, in address order.
    Mapped(Vec<Allocation>),
    Live(Allocation),
    /// The region of the device heap.
    Heap(Allocation),
    Freed(u64),
}

/// The owner of an address.
pub(crate) enum Found<'a> {
    Live(&'a Allocation),
    /// In the region of the device heap, which tracks its own blocks.
    Heap(&'a Allocation, &'a Heap),
    /// In a freed allocation of this size in bytes.
    Freed(u64),
    /// At a reserved address without memory.
    Unmapped,
    Nothing,
}

/// The global memory of one simulated device.
///
/// Each allocation has its own address range, so accesses past the end of a buffer are detected, except between adjacent mappings made by
/// [`remap`](Memory::remap). Allocated memory is initially zero.
#[derive(Debug, Default)]
pub struct Memory {
    pub(super) slots: Vec<Slot>,
    /// The number of slots with addresses that are shared with the host.
    shared_slots: usize,
    /// The first slot of each loaded module's variables.
    modules: HashMap<u64, Vec<u64>>,
    heap: Option<Heap>,
    /// The textures and surfaces by handle, and the number of objects created so far.
    pub(super) objects: HashMap<u64, Object>,
    pub(super) created_objects: u64,
    /// The number of launches so far.
    launches: u64,
    /// Whether new allocations record which bytes are written.
    pub(super) records_writes: bool,
}

impl Memory {
    /// The size in bytes of the address range of each allocation: 64 GiB. The range starts at a multiple of this size.
    pub const RANGE: u64 = 1 << REGION_BITS;

    /// Creates device memory without any allocations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allocates `bytes` zeroed bytes and returns their address, a multiple of 256.
    ///
    /// # Panics
    /// Panics if `bytes` exceeds [`RANGE`](Self::RANGE) or the host is out of memory; [`try_alloc`](Self::try_alloc) returns an error
    /// instead.
    #[doc(alias = "cudaMalloc")]
    pub fn alloc(&mut self, bytes: usize) -> u64 {
        self.try_alloc(bytes).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Allocates `bytes` zeroed bytes and returns their address, a multiple of 256. The host allocates each page when it is first written.
    ///
    /// # Errors
    /// Returns [`MemoryError::TooLarge`] if `bytes` exceeds [`RANGE`](Self::RANGE) or the host is out of memory.
    pub fn try_alloc(&mut self, bytes: usize) -> Result<u64, MemoryError> {
        let start = self.alloc_named(bytes as u64, None, false)?;
        if let (true, Some(Slot::Live(allocation))) = (self.records_writes, self.slots.last_mut()) {
            allocation.written = Some(ByteSet::new(bytes as u64));
        }
        Ok(start)
    }

    /// Allocates zeroed bytes for a kernel. They count as initialized.
    pub(crate) fn alloc_workspace(&mut self, bytes: u64) -> u64 {
        self.alloc_named(bytes, None, false).unwrap_or_else(|error| panic!("{error}"))
    }

    fn alloc_named(
        &mut self,
        size: u64,
        name: Option<Arc<str>>,
        read_only: bool,
    ) -> Result<u64, MemoryError> {
        let start = start_of(self.slots.len());
        let allocation = Allocation::zeroed(start, size)?;
        self.slots.push(Slot::Live(Allocation { name, read_only, ..allocation }));
        Ok(start)
    }

    /// Creates device memory in which the addresses below 2⁴⁷ are shared with the host. Only [`map`](Self::map) and
    /// [`load_mapped`](Self::load_mapped) allocate memory at these addresses.
    pub fn with_host_addresses() -> Self {
        let slots = (0..HOST_SLOTS).map(|_| Slot::Reserved).collect();
        Self { slots, shared_slots: HOST_SLOTS, ..Self::default() }
    }

    /// Allocates `bytes` bytes of host memory at an address that is valid both on the host and in kernels, and returns this address. Calls
    /// `map` with the start of each unused 64 GiB range in turn, until `map` returns the host memory at that address.
    ///
    /// # Errors
    /// Returns [`MemoryError::TooLarge`] if `bytes` exceeds [`RANGE`](Self::RANGE), if `map` does not return `bytes` bytes for any unused
    /// range, or if this memory was not created by [`with_host_addresses`](Self::with_host_addresses).
    #[doc(alias = "cudaMallocManaged")]
    pub fn map(
        &mut self,
        bytes: u64,
        mut map: impl FnMut(u64) -> Option<&'static [AtomicU32]>,
    ) -> Result<u64, MemoryError> {
        const MOST: u64 = 1 << REGION_BITS;
        let error = MemoryError::TooLarge { bytes, max: MOST };
        let mut unused = self.slots[..self.shared_slots].iter().enumerate();
        let found = unused.find_map(|(index, slot)| match slot {
            Slot::Reserved if bytes <= MOST => {
                let start = start_of(index);
                map(start).filter(|words| words.len() as u64 * 4 >= bytes).map(|words| (start, words))
            }
            _ => None,
        });
        let (start, words) = found.ok_or(error)?;
        let words = Words::Host(words);
        self.slots[slot_of(start)] = Slot::Live(Allocation::new(start, bytes, words));
        Ok(start)
    }

    /// Makes the host memory `words` accessible to kernels at a new device address, and returns this address.
    #[doc(alias = "cudaHostRegister")]
    pub fn register_host(&mut self, words: &'static [AtomicU32]) -> u64 {
        let start = start_of(self.slots.len());
        let (size, words) = (4 * words.len() as u64, Words::Host(words));
        self.slots.push(Slot::Live(Allocation::new(start, size, words)));
        start
    }

    /// Returns the start address and the size in bytes of the live allocation that contains `address`, or `None` if there is none.
    #[doc(alias = "cuMemGetAddressRange")]
    pub fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        match self.find(address) {
            Found::Live(a) if address - a.start < a.size.max(1) => Some((a.start, a.size)),
            _ => None,
        }
    }

    /// Sets every byte of the allocation that contains `address` to `byte`.
    ///
    /// # Errors
    /// Returns an error if `address` is not in a live allocation.
    #[doc(alias = "cudaMemset")]
    pub fn fill(&mut self, address: u64, byte: u8) -> Result<(), MemoryError> {
        let allocation = self.checked(address, 0)?;
        let word = u32::from_le_bytes([byte; 4]);
        allocation.words.iter().for_each(|cell| cell.store(word, Relaxed));
        allocation.mark_written(allocation.start..allocation.start + allocation.size);
        Ok(())
    }

    /// Frees the allocation that starts at `address`. Later accesses to it are errors.
    ///
    /// # Errors
    /// Returns an error if `address` is not the start of a live allocation.
    #[doc(alias = "cudaFree")]
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let (start, size) = match self.find(address) {
            Found::Live(allocation) => (allocation.start, allocation.size),
            Found::Freed(size) => return Err(MemoryError::Freed { address, size }),
            Found::Unmapped => return Err(MemoryError::Unmapped { address }),
            Found::Heap(..) | Found::Nothing => return Err(MemoryError::Unknown { address }),
        };
        if matches!(self.slots[slot_of(address)], Slot::Mapped(_)) {
            return Err(MemoryError::Unknown { address });
        }
        if start != address {
            return Err(MemoryError::NotTheStart { address, start });
        }
        // Addresses that are shared with the host are scarce, so they are reused.
        let shared = slot_of(address) < self.shared_slots;
        self.slots[slot_of(address)] = if shared { Slot::Reserved } else { Slot::Freed(size) };
        Ok(())
    }

    /// Writes `bytes` to device memory, starting at `address`.
    ///
    /// # Errors
    /// Returns an error if the bytes are not all in one live allocation.
    #[doc(alias = "cudaMemcpy")]
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let allocation = self.checked(address, bytes.len() as u64)?;
        allocation.copy_in(address - allocation.start, bytes);
        allocation.mark_written(address..address + bytes.len() as u64);
        allocation.writer.store(0, Relaxed);
        Ok(())
    }

    /// Reads device memory, starting at `address`, into `bytes`.
    ///
    /// # Errors
    /// Returns an error if the bytes are not all in one live allocation.
    #[doc(alias = "cudaMemcpy")]
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let allocation = self.checked(address, bytes.len() as u64)?;
        allocation.copy_out(address - allocation.start, bytes);
        Ok(())
    }

    /// Returns the address of the module's `.global` or `.const` variable `name`. Loads the module if necessary.
    ///
    /// # Errors
    /// Returns an error if the module does not contain the variable.
    #[doc(alias = "cuModuleGetGlobal")]
    pub fn symbol(&mut self, module: &Module, name: &str) -> Result<u64, MemoryError> {
        let index = module.variable(name).ok_or_else(|| MemoryError::NoVariable { name: name.into() })?;
        Ok(self.load(module)[index])
    }

    /// Loads a module, with its `.managed` variables in memory that the host can also access. The closure `map` provides this memory as
    /// described for the method [`map`](Self::map), but also receives the variable's size in bytes. Has no effect if the module is already
    /// loaded.
    pub fn load_mapped(
        &mut self,
        module: &Module,
        mut map: impl FnMut(u64, u64) -> Option<&'static [AtomicU32]>,
    ) {
        self.load_with(module, &mut map);
    }

    /// Returns the addresses of a module's variables, which are allocated and initialized on first use.
    pub(crate) fn load(&mut self, module: &Module) -> Vec<u64> {
        self.load_with(module, &mut |_, _| None)
    }

    fn load_with(
        &mut self,
        module: &Module,
        map: &mut dyn FnMut(u64, u64) -> Option<&'static [AtomicU32]>,
    ) -> Vec<u64> {
        if let Some(addresses) = self.modules.get(&module.id()) {
            return addresses.clone();
        }
        let addresses: Vec<u64> = module
            .variables()
            .iter()
            .map(|v| {
                let shared =
                    if v.managed { self.map(v.size, |address| map(address, v.size)).ok() } else { None };
                let own = |memory: &mut Self| memory.alloc_named(v.size, Some(v.name.clone()), v.read_only);
                let address = shared.map_or_else(|| own(self), Ok);
                address.unwrap_or_else(|error| panic!("variable `{}`: {error}", v.name))
            })
            .collect();
        for (variable, &address) in module.variables().iter().zip(&addresses) {
            for (offset, bytes) in variable.image(&addresses) {
                if let Found::Live(allocation) = self.find(address) {
                    let room = (allocation.size - offset.min(allocation.size)) as usize;
                    for (i, &byte) in bytes.iter().take(room).enumerate() {
                        allocation.store_byte(offset + i as u64, byte);
                    }
                }
            }
        }
        self.modules.insert(module.id(), addresses.clone());
        addresses
    }

    /// Creates the device heap with `bytes` bytes on first use, and prepares it for a launch. The host cannot access it.
    pub(crate) fn begin_heap(&mut self, bytes: u64) {
        if self.heap.is_none() {
            let reserve = |memory: &mut Self, region: u64| {
                let region = region.min(1 << REGION_BITS);
                Some((memory.alloc_named(region, None, false).ok()?, region))
            };
            let found = regions(bytes).into_iter().find_map(|region| reserve(self, region));
            let (start, region) = found.unwrap_or((0, 0));
            if let Some(Slot::Live(allocation)) = self.slots.pop_if(|_| start != 0) {
                self.slots.push(Slot::Heap(allocation));
            }
            self.heap = Some(Heap::new(start..start + region, bytes));
        }
        self.heap.iter().for_each(Heap::begin);
    }

    /// Returns the device heap, if a kernel that calls `malloc` or `free` has been launched.
    pub(crate) fn heap(&self) -> Option<&Heap> {
        self.heap.as_ref()
    }

    /// Returns, for each address range in order, the offset in bytes of the end of memory that kernels may write, or 0 if there is none.
    pub(crate) fn writable(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().map(|slot| match slot {
            Slot::Live(allocation) | Slot::Heap(allocation) if !allocation.read_only => allocation.size,
            Slot::Mapped(parts) => end_of(parts),
            _ => 0,
        })
    }

    /// Returns, for each address range in order, the offset in bytes of the end of memory other than the device heap, or 0 if there is
    /// none.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().map(|slot| match slot {
            Slot::Live(allocation) => allocation.size,
            Slot::Mapped(parts) => end_of(parts),
            _ => 0,
        })
    }

    /// Returns whether new allocations record which bytes are written.
    #[inline]
    pub(crate) fn records_writes(&self) -> bool {
        self.records_writes
    }

    /// Returns a description of an address for messages: the variable or buffer that contains it, and the offset.
    pub(crate) fn describe(&self, address: u64) -> String {
        match self.find(address) {
            Found::Live(a) => match &a.name {
                Some(name) => format!("{address:#x}, offset {} of variable `{name}`", address - a.start),
                None => {
                    format!(
                        "{address:#x}, offset {} of the buffer of {} bytes at {:#x}",
                        address - a.start,
                        a.size,
                        a.start
                    )
                }
            },
            Found::Heap(..) => format!("{address:#x} in the device heap"),
            _ => format!("{address:#x}"),
        }
    }

    /// Returns the owner of an address.
    pub(crate) fn find(&self, address: u64) -> Found<'_> {
        if address < GLOBAL_START {
            return Found::Nothing;
        }
        match self.slots.get(slot_of(address)) {
            Some(Slot::Live(allocation)) => Found::Live(allocation),
            Some(Slot::Heap(allocation)) => {
                self.heap.as_ref().map_or(Found::Nothing, |heap| Found::Heap(allocation, heap))
            }
            Some(Slot::Mapped(parts)) => {
                let next = parts.partition_point(|part| part.start <= address);
                let part = next.checked_sub(1).map(|index| &parts[index]);
                part.filter(|part| address - part.start < part.size).map_or(Found::Unmapped, Found::Live)
            }
            Some(Slot::Freed(size)) => Found::Freed(*size),
            Some(Slot::Reserved) | None => Found::Nothing,
        }
    }

    /// Returns the number of a new launch. Numbers start at 2, so that the number of the preceding launch is never 0.
    pub(crate) fn begin_launch(&mut self) -> u64 {
        self.launches += 1;
        self.launches + 1
    }

    pub(super) fn checked(&self, address: u64, bytes: u64) -> Result<&Allocation, MemoryError> {
        match self.find(address) {
            Found::Live(a) if address - a.start <= a.size && bytes <= a.size - (address - a.start) => Ok(a),
            Found::Live(a) => Err(MemoryError::OutOfBounds { address, bytes, start: a.start, size: a.size }),
            Found::Freed(size) => Err(MemoryError::Freed { address, size }),
            Found::Unmapped => Err(MemoryError::Unmapped { address }),
            Found::Heap(..) | Found::Nothing => Err(MemoryError::Unknown { address }),
        }
    }
}

/// The number of address ranges below 2^47, which contain the memory of host programs.
const HOST_SLOTS: usize = (1 << (47 - REGION_BITS)) - 1;

pub(super) fn start_of(slot: usize) -> u64 {
    (slot as u64 + 1) << REGION_BITS
}

/// Returns the slot of an address. For addresses below the first slot, the returned slot does not exist.
pub(super) fn slot_of(address: u64) -> usize {
    (address >> REGION_BITS).wrapping_sub(1) as usize
}

/// Returns the offset of the end of the last allocation in its slot.
fn end_of(parts: &[Allocation]) -> u64 {
    parts.last().map_or(0, |part| part.start + part.size - start_of(slot_of(part.start)))
}

/// Returns whether two addresses are in the address range of the same allocation.
pub(crate) fn same_region(a: u64, b: u64) -> bool {
    a >> REGION_BITS == b >> REGION_BITS
}

impl Allocation {
    pub(super) fn new(start: u64, size: u64, words: Words) -> Self {
        let writer = AtomicU64::new(0);
        Self { start, size, words, name: None, read_only: false, written: None, writer }
    }

    /// Creates a zeroed allocation that owns its memory.
    pub(super) fn zeroed(start: u64, size: u64) -> Result<Self, MemoryError> {
        const MOST: u64 = 1 << REGION_BITS;
        let too_large = || MemoryError::TooLarge { bytes: size, max: MOST };
        let count = usize::try_from(size.div_ceil(4)).ok().filter(|_| size <= MOST).ok_or_else(too_large)?;
        // The host's allocator provides zeroed memory without accessing the pages.
        let words = bytemuck::allocation::try_zeroed_slice_box(count).map_err(|()| too_large())?;
        Ok(Self::new(start, size, Words::Own(words)))
    }

    /// Replaces the bits of a word that `mask` selects. Other threads may replace other bits concurrently.
    #[inline]
    pub(crate) fn store_bits(&self, word: usize, mask: u32, bits: u32) {
        let cell = &self.words[word];
        let mut old = cell.load(Relaxed);
        loop {
            let new = (old & !mask) | (bits & mask);
            match cell.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(found) => old = found,
            }
        }
    }

    /// Writes bytes starting at offset `start`, a word at a time where possible.
    fn copy_in(&self, start: u64, bytes: &[u8]) {
        let (head, words) = bytes.split_at((start.wrapping_neg() % 4).min(bytes.len() as u64) as usize);
        let tail = words.chunks_exact(4).remainder();
        let (first, end) = (start + head.len() as u64, start + bytes.len() as u64);
        for (cell, word) in self.words[(first / 4) as usize..].iter().zip(words.chunks_exact(4)) {
            cell.store(u32::from_le_bytes([word[0], word[1], word[2], word[3]]), Relaxed);
        }
        let ends = [(start, head), (end - tail.len() as u64, tail)];
        for (offset, part) in ends {
            part.iter().zip(offset..).for_each(|(&byte, at)| self.store_byte(at, byte));
        }
    }

    /// Reads bytes starting at offset `start`, a word at a time where possible.
    fn copy_out(&self, start: u64, bytes: &mut [u8]) {
        let end = start + bytes.len() as u64;
        let (head, rest) = bytes.split_at_mut((start.wrapping_neg() % 4).min(bytes.len() as u64) as usize);
        let first = start + head.len() as u64;
        let mut words = rest.chunks_exact_mut(4);
        for (cell, word) in self.words[(first / 4) as usize..].iter().zip(&mut words) {
            word.copy_from_slice(&cell.load(Relaxed).to_le_bytes());
        }
        let tail = words.into_remainder();
        let ends = [(start, head), (end - tail.len() as u64, tail)];
        for (offset, part) in ends {
            part.iter_mut().zip(offset..).for_each(|(byte, at)| *byte = self.load_byte(at));
        }
    }

    fn load_byte(&self, at: u64) -> u8 {
        (self.words[(at / 4) as usize].load(Relaxed) >> (8 * (at % 4))) as u8
    }

    fn store_byte(&self, at: u64, byte: u8) {
        let shift = 8 * (at % 4);
        let cell = &self.words[(at / 4) as usize];
        cell.store((cell.load(Relaxed) & !(0xff << shift)) | u32::from(byte) << shift, Relaxed);
    }
}
