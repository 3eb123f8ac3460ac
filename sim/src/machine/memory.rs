//! Device memory: separate allocations, each in its own address range.

use crate::program::spaces::GLOBAL_START;
use crate::program::spaces::REGION_BITS;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::machine::heap::{Heap, regions};
use crate::program::module::Module;

/// Errors of host accesses to device memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The address is not in an allocation.
    #[error("{address:#x} is in no allocation")]
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
    /// The access extends past the end.
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
    /// More bytes than an allocation may have, or than the host can provide.
    #[error(
        "an allocation of {bytes} bytes is too large: the simulator has room for {most} at most, and the host may have less"
    )]
    TooLarge {
        /// The number of bytes requested.
        bytes: u64,
        /// The maximum size of an allocation in bytes.
        most: u64,
    },
    /// The module does not contain the variable.
    #[error("the module has no global variable `{name}`")]
    NoVariable {
        /// The name.
        name: String,
    },
}

/// The contents of an allocation, as words that any thread may read and write.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) words: Box<[AtomicU32]>,
    /// The name of a module variable.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) read_only: bool,
}

#[derive(Debug)]
enum Slot {
    Live(Allocation),
    /// The region of the device heap.
    Heap(Allocation),
    Freed(u64),
}

/// The owner of an address.
pub(crate) enum Found<'a> {
    Live(&'a Allocation),
    /// In the region of the device heap, which tracks its blocks.
    Heap(&'a Allocation, &'a Heap),
    /// Freed, with its former size in bytes.
    Freed(u64),
    Nothing,
}

/// The global memory of one simulated device.
///
/// Allocations are never adjacent, so every access outside of its buffer is detected. Contents are initially zero.
#[derive(Debug, Default)]
pub struct Memory {
    slots: Vec<Slot>,
    /// The first slot of each loaded module's variables.
    modules: HashMap<u64, Vec<u64>>,
    heap: Option<Heap>,
}

impl Memory {
    /// Creates a device without allocations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allocates `bytes` zeroed bytes and returns their address, a multiple of 256.
    ///
    /// # Panics
    /// If the host is out of memory; [`try_alloc`](Self::try_alloc) returns an error instead.
    #[doc(alias = "cudaMalloc")]
    pub fn alloc(&mut self, bytes: usize) -> u64 {
        self.alloc_named(bytes as u64, None, false).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Allocates `bytes` zeroed bytes and returns their address, a multiple of 256. The host allocates each page
    /// on the first write.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`] if the host is out of memory.
    pub fn try_alloc(&mut self, bytes: usize) -> Result<u64, MemoryError> {
        self.alloc_named(bytes as u64, None, false)
    }

    fn alloc_named(
        &mut self,
        size: u64,
        name: Option<Arc<str>>,
        read_only: bool,
    ) -> Result<u64, MemoryError> {
        const MOST: u64 = 1 << REGION_BITS;
        let too_large = || MemoryError::TooLarge { bytes: size, most: MOST };
        let count = usize::try_from(size.div_ceil(4)).ok().filter(|_| size <= MOST).ok_or_else(too_large)?;
        // Zeroed by the host's allocator, which does not access the pages.
        let words = bytemuck::allocation::try_zeroed_slice_box(count).map_err(|()| too_large())?;
        let start = (self.slots.len() as u64 + 1) << REGION_BITS;
        self.slots.push(Slot::Live(Allocation { start, size, words, name, read_only }));
        Ok(start)
    }

    /// Sets every byte of the allocation that contains `address`.
    ///
    /// # Errors
    /// If `address` is not in a live allocation.
    #[doc(alias = "cudaMemset")]
    pub fn fill(&mut self, address: u64, byte: u8) -> Result<(), MemoryError> {
        let allocation = self.checked(address, 0)?;
        let word = u32::from_le_bytes([byte; 4]);
        allocation.words.iter().for_each(|cell| cell.store(word, Relaxed));
        Ok(())
    }

    /// Frees an allocation; later accesses are reported as accesses to freed memory.
    ///
    /// # Errors
    /// If `address` is not the start of a live allocation.
    #[doc(alias = "cudaFree")]
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let (start, size) = match self.find(address) {
            Found::Live(allocation) => (allocation.start, allocation.size),
            Found::Freed(size) => return Err(MemoryError::Freed { address, size }),
            Found::Heap(..) | Found::Nothing => return Err(MemoryError::Unknown { address }),
        };
        if start != address {
            return Err(MemoryError::NotTheStart { address, start });
        }
        self.slots[slot_of(address)] = Slot::Freed(size);
        Ok(())
    }

    /// Copies host bytes to the device.
    ///
    /// # Errors
    /// If the bytes are not all in one live allocation.
    #[doc(alias = "cudaMemcpy")]
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let allocation = self.checked(address, bytes.len() as u64)?;
        let start = address - allocation.start;
        for (i, &byte) in bytes.iter().enumerate() {
            let at = start + i as u64;
            allocation.store_byte(at, byte);
        }
        Ok(())
    }

    /// Copies device bytes to the host.
    ///
    /// # Errors
    /// If the bytes are not all in one live allocation.
    #[doc(alias = "cudaMemcpy")]
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let allocation = self.checked(address, bytes.len() as u64)?;
        let start = address - allocation.start;
        for (i, byte) in bytes.iter_mut().enumerate() {
            let at = start + i as u64;
            *byte = (allocation.words[(at / 4) as usize].load(Relaxed) >> (8 * (at % 4))) as u8;
        }
        Ok(())
    }

    /// Returns the address of a module's `.global` or `.const` variable, and loads the module if necessary.
    ///
    /// # Errors
    /// If the module does not contain the variable.
    #[doc(alias = "cuModuleGetGlobal")]
    pub fn symbol(&mut self, module: &Module, name: &str) -> Result<u64, MemoryError> {
        let index = module.variable(name).ok_or_else(|| MemoryError::NoVariable { name: name.into() })?;
        Ok(self.load(module)[index])
    }

    /// Returns the addresses of a module's variables, which are allocated and initialized on first use.
    pub(crate) fn load(&mut self, module: &Module) -> Vec<u64> {
        if let Some(addresses) = self.modules.get(&module.id()) {
            return addresses.clone();
        }
        let addresses: Vec<u64> = module
            .variables()
            .iter()
            .map(|v| {
                let address = self.alloc_named(v.size, Some(v.name.clone()), v.read_only);
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

    /// Returns the device heap, created with `bytes` bytes on first use. The host cannot access it.
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

    /// Returns the size in bytes of each allocation that kernels may write, in the order of addresses; 0 for others.
    pub(crate) fn writable(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().map(|slot| match slot {
            Slot::Live(allocation) | Slot::Heap(allocation) if !allocation.read_only => allocation.size,
            _ => 0,
        })
    }

    /// Describes an address.
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
            Some(Slot::Freed(size)) => Found::Freed(*size),
            None => Found::Nothing,
        }
    }

    fn checked(&self, address: u64, bytes: u64) -> Result<&Allocation, MemoryError> {
        match self.find(address) {
            Found::Live(a) if address - a.start <= a.size && bytes <= a.size - (address - a.start) => Ok(a),
            Found::Live(a) => Err(MemoryError::OutOfBounds { address, bytes, start: a.start, size: a.size }),
            Found::Freed(size) => Err(MemoryError::Freed { address, size }),
            Found::Heap(..) | Found::Nothing => Err(MemoryError::Unknown { address }),
        }
    }
}

fn slot_of(address: u64) -> usize {
    ((address >> REGION_BITS) - 1) as usize
}

/// Returns whether two addresses are in the address range of the same allocation.
pub(crate) fn same_region(a: u64, b: u64) -> bool {
    a >> REGION_BITS == b >> REGION_BITS
}

impl Allocation {
    /// Replaces some bits of a word, while other threads may replace others.
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

    fn store_byte(&self, at: u64, byte: u8) {
        let shift = 8 * (at % 4);
        let cell = &self.words[(at / 4) as usize];
        cell.store((cell.load(Relaxed) & !(0xff << shift)) | u32::from(byte) << shift, Relaxed);
    }
}
