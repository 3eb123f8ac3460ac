//! Reserved addresses, where memory is mapped and unmapped.

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use crate::machine::memory::{Allocation, Memory, MemoryError, Slot, Words, slot_of, start_of};
use crate::program::spaces::REGION_BITS;
use crate::shadow::byte_set::ByteSet;

/// Host memory that is mapped at reserved device addresses.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// The first device address.
    pub start: u64,
    /// The host memory, as 32-bit words.
    pub words: &'static [AtomicU32],
    /// Whether the memory is read-only for kernels.
    pub read_only: bool,
}

impl Memory {
    /// Reserves `bytes` bytes of address space without mapping memory, and returns the start address, a multiple of 64 GiB.
    ///
    /// # Errors
    /// Returns [`MemoryError::TooLarge`] if `bytes` exceeds 2⁴⁶.
    #[doc(alias = "cuMemAddressReserve")]
    pub fn reserve(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        const MOST: u64 = 1 << 46;
        if bytes > MOST {
            return Err(MemoryError::TooLarge { bytes, max: MOST });
        }
        let start = start_of(self.slots.len());
        self.slots.extend((0..slots(bytes)).map(|_| Slot::Mapped(vec![])));
        Ok(start)
    }

    /// Replaces all mappings in the reserved address range that starts at `start` and is `bytes` bytes long. Bytes at previously mapped
    /// addresses keep their initialization state; other bytes are uninitialized.
    ///
    /// # Errors
    /// Returns [`MemoryError::Unknown`] and leaves the mappings unchanged if the range is not reserved, or if one of `mappings` is outside
    /// the range, crosses a multiple of 64 GiB, or overlaps another.
    #[doc(alias = "cuMemMap")]
    pub fn remap(&mut self, start: u64, bytes: u64, mappings: &[Mapping]) -> Result<(), MemoryError> {
        let reserved = self.reserved(start, bytes)?;
        let mut new: Vec<Vec<Allocation>> = reserved.clone().map(|_| vec![]).collect();
        for mapping in mappings.iter().filter(|mapping| !mapping.words.is_empty()) {
            let unknown = || MemoryError::Unknown { address: mapping.start };
            let end = mapping.start.checked_add(4 * mapping.words.len() as u64).ok_or_else(unknown)?;
            let slot = slot_of(mapping.start);
            let parts = new.get_mut(slot.wrapping_sub(reserved.start)).filter(|_| slot_of(end - 1) == slot);
            let parts = parts.ok_or_else(unknown)?;
            if parts.iter().any(|other| mapping.start < other.start + other.size && other.start < end) {
                return Err(unknown());
            }
            parts.push(self.part(mapping)?);
        }
        for (slot, parts) in self.slots[reserved].iter_mut().zip(new) {
            *slot = Slot::Mapped(parts);
        }
        Ok(())
    }

    /// Returns the slots of a reserved range.
    fn reserved(&self, start: u64, bytes: u64) -> Result<Range<usize>, MemoryError> {
        let first = slot_of(start);
        let range = first..first.saturating_add(slots(bytes) as usize);
        let is_reserved = |slots: &&[Slot]| slots.iter().all(|slot| matches!(slot, Slot::Mapped(_)));
        let found = self.slots.get(range.clone()).filter(is_reserved).filter(|_| start == start_of(first));
        found.map(|_| range).ok_or(MemoryError::Unknown { address: start })
    }

    /// Converts a mapping to an allocation. Previously mapped bytes keep their initialization state.
    fn part(&self, mapping: &Mapping) -> Result<Allocation, MemoryError> {
        let Some(Slot::Mapped(old)) = self.slots.get(slot_of(mapping.start)) else {
            return Err(MemoryError::Unknown { address: mapping.start });
        };
        let (start, size) = (mapping.start, 4 * mapping.words.len() as u64);
        let written = self.records_writes.then(|| ByteSet::new(size));
        let part = Allocation::new(start, size, Words::Host(mapping.words));
        let part = Allocation { written, read_only: mapping.read_only, ..part };
        for before in old {
            let common = start.max(before.start)..(start + size).min(before.start + before.size);
            if let (Some(written), false) = (&before.written, common.is_empty()) {
                let runs = written.runs(common.start - before.start..common.end - before.start, true);
                runs.iter()
                    .for_each(|run| part.mark_written(before.start + run.start..before.start + run.end));
            }
        }
        Ok(part)
    }

    /// Marks the `bytes` bytes that start at `address` as initialized, even if they were never written.
    ///
    /// # Errors
    /// Returns an error if the bytes are not all in one live allocation.
    pub fn assume_written(&mut self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        self.checked(address, bytes)?.mark_written(address..address + bytes);
        Ok(())
    }

    /// Releases the reserved address range that starts at `start` and is `bytes` bytes long, and removes its mappings.
    ///
    /// # Errors
    /// Returns [`MemoryError::Unknown`] if the range is not reserved.
    #[doc(alias = "cuMemAddressFree")]
    pub fn unreserve(&mut self, start: u64, bytes: u64) -> Result<(), MemoryError> {
        let reserved = self.reserved(start, bytes)?;
        self.slots[reserved].fill_with(|| Slot::Freed(bytes));
        Ok(())
    }

    /// Allocates `bytes` zeroed bytes at `start`, which must be the start of a reserved 64 GiB range without mappings, or of a freed
    /// allocation.
    ///
    /// # Errors
    /// Returns [`MemoryError::Unknown`] if `start` is neither of these, and [`MemoryError::TooLarge`] if `bytes` exceeds
    /// [`RANGE`](Self::RANGE) or the host is out of memory.
    #[doc(alias = "cuGraphAddMemAllocNode")]
    pub fn alloc_at(&mut self, start: u64, bytes: u64) -> Result<(), MemoryError> {
        match self.slots.get(slot_of(start)) {
            Some(Slot::Freed(_)) => {}
            Some(Slot::Mapped(parts)) if parts.is_empty() => {}
            _ => return Err(MemoryError::Unknown { address: start }),
        }
        if start != start_of(slot_of(start)) {
            return Err(MemoryError::Unknown { address: start });
        }
        let allocation = Allocation::zeroed(start, bytes)?;
        let written = self.records_writes.then(|| ByteSet::new(bytes));
        self.slots[slot_of(start)] = Slot::Live(Allocation { written, ..allocation });
        Ok(())
    }
}

/// Returns the number of slots of a range of addresses.
fn slots(bytes: u64) -> u64 {
    bytes.div_ceil(1 << REGION_BITS).max(1)
}
