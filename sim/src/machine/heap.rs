//! The device heap, which device-side `malloc` and `free` manage (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation").
//!
//! Allocations ("blocks") are far apart, and addresses are reused as late as possible, so overruns and uses after `free` access memory
//! outside all blocks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::report::Leak;

/// The alignment of blocks in bytes.
const ALIGN: u64 = 16;

/// The size of a block's header in bytes.
const HEADER: u64 = 16;

/// The minimum and the maximum size in bytes of the gap after a block. Within these limits, the gap is as large as the block.
const LEAST_GAP: u64 = 256;
const MOST_GAP: u64 = 1 << 16;

/// Returns the possible sizes of the address range for a heap of `bytes` bytes, in order of preference.
pub(crate) fn regions(bytes: u64) -> [u64; 2] {
    const MODEST: u64 = 1 << 30;
    [bytes.saturating_mul(16).min(MODEST).max(bytes.saturating_mul(4)), bytes]
}

/// A block that `malloc` returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The address of the block.
    pub(crate) start: u64,
    /// The number of requested bytes, and the number of reserved bytes.
    pub(crate) size: u64,
    extent: u64,
    pub(crate) live: bool,
    /// The launch that allocated the block, and the line of the `malloc` call.
    launch: u64,
    line: u32,
}

/// The reason why an address cannot be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadFree {
    /// The block has already been freed.
    Twice(Block),
    /// The address is inside a block.
    Inside(Block),
    /// The address is outside all blocks.
    Foreign,
}

#[derive(Debug, Default)]
struct Blocks {
    /// The blocks by address, including freed blocks whose bytes have not been reused.
    by_start: BTreeMap<u64, Block>,
    /// The addresses of freed blocks, in the order in which they were freed.
    freed: VecDeque<u64>,
    /// The total size of live blocks, including their headers, in bytes.
    used: u64,
    /// The first address that has never been allocated.
    fresh: u64,
    /// The end of the address range that is allocated with wide gaps.
    wide: u64,
    launch: u64,
}

/// The heap of a device.
#[derive(Debug)]
pub(crate) struct Heap {
    region: std::ops::Range<u64>,
    capacity: u64,
    blocks: Mutex<Blocks>,
}

impl Heap {
    /// Creates a heap of `capacity` bytes in a region of addresses.
    pub(crate) fn new(region: std::ops::Range<u64>, capacity: u64) -> Self {
        let wide = region.start + (region.end - region.start) / 2;
        let blocks = Blocks { fresh: region.start + LEAST_GAP, wide, ..Blocks::default() };
        Self { region, capacity, blocks: Mutex::new(blocks) }
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the start of a launch.
    pub(crate) fn begin(&self) {
        self.blocks().launch += 1;
    }

    /// Allocates a block of `size` bytes for the call at line `line`. Returns `None` if the heap is full.
    pub(crate) fn allocate(&self, size: u64, line: u32) -> Option<u64> {
        let extent = size.max(1).checked_next_multiple_of(ALIGN)?;
        let mut blocks = self.blocks();
        let used = blocks.used.checked_add(extent)?.checked_add(HEADER)?;
        if used > self.capacity {
            return None;
        }
        let (start, extent) = blocks.place(extent, self.region.end)?;
        let launch = blocks.launch;
        blocks.by_start.insert(start, Block { start, size, extent, live: true, launch, line });
        blocks.used += extent + HEADER;
        Some(start)
    }

    /// Frees the block at an address.
    pub(crate) fn free(&self, address: u64) -> Result<(), BadFree> {
        let mut blocks = self.blocks();
        match blocks.around(address) {
            Some(block) if block.start == address && block.live => {
                blocks.by_start.insert(address, Block { live: false, ..block });
                blocks.freed.push_back(address);
                blocks.used -= block.extent + HEADER;
                Ok(())
            }
            Some(block) if block.start == address => Err(BadFree::Twice(block)),
            Some(block) if address < block.start + block.size => Err(BadFree::Inside(block)),
            _ => Err(BadFree::Foreign),
        }
    }

    /// Checks that bytes are in one live block. The error is the block that contains or precedes the first byte, if any.
    pub(crate) fn check(&self, address: u64, bytes: u64) -> Result<(), Option<Block>> {
        match self.blocks().around(address) {
            Some(block) if block.live && address.saturating_add(bytes) <= block.start + block.size => Ok(()),
            Some(block) => Err(Some(block).filter(|block| address < block.start + block.extent + MOST_GAP)),
            None => Err(None),
        }
    }

    /// Returns the blocks that the launch has allocated and not freed, by line.
    pub(crate) fn leaks(&self) -> Vec<Leak> {
        let blocks = self.blocks();
        let mut lines: BTreeMap<u32, Leak> = BTreeMap::new();
        for block in blocks.by_start.values().filter(|block| block.live && block.launch == blocks.launch) {
            let leak = lines.entry(block.line).or_insert(Leak { line: block.line, blocks: 0, bytes: 0 });
            leak.blocks += 1;
            leak.bytes += block.size;
        }
        lines.into_values().collect()
    }
}

impl Blocks {
    /// Returns the block at or before an address.
    fn around(&self, address: u64) -> Option<Block> {
        self.by_start.range(..=address).next_back().map(|(_, block)| *block)
    }

    /// Returns an address for a block of `extent` bytes, and the extent of the range used. In order of preference, the address is a new one
    /// with a wide gap, that of the block that was freed first, or a new one with a gap for the header.
    fn place(&mut self, extent: u64, end: u64) -> Option<(u64, u64)> {
        let fresh = self.fresh;
        let wide = fresh + extent + extent.clamp(LEAST_GAP, MOST_GAP);
        let narrow = fresh + extent + HEADER;
        if wide > self.wide {
            let extent_of = |start: &u64| self.by_start.get(start).map_or(0, |block| block.extent);
            if let Some(found) = self.freed.iter().position(|start| extent_of(start) >= extent) {
                let start = self.freed.remove(found)?;
                return Some((start, extent_of(&start)));
            }
            self.fresh = Some(narrow).filter(|next| *next <= end)?;
        } else {
            self.fresh = wide;
        }
        Some((fresh, extent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_gaps_and_are_reused_late() {
        let heap = Heap::new(4096..4096 + 2048, 1024);
        let first = heap.allocate(20, 1).expect("there is room");
        assert_eq!(first % ALIGN, 0);
        assert_eq!(heap.check(first + 16, 4), Ok(()));
        assert!(heap.check(first + 17, 4).is_err());
        assert_eq!(heap.free(first), Ok(()));
        let second = heap.allocate(20, 2).expect("there is room");
        assert!(second >= first + 32 + LEAST_GAP);
        assert!(matches!(heap.free(first), Err(BadFree::Twice(_))));
        // No addresses with wide gaps are left, so those of the freed block are reused, followed by new addresses with narrow gaps.
        let more: Vec<u64> = (0..100).map_while(|_| heap.allocate(20, 3)).collect();
        assert_eq!(more[0], first);
        assert!(more[1..].is_sorted_by(|one, other| one + 48 <= *other));
        // Each of the 21 blocks occupies 48 bytes.
        assert_eq!(more.len(), 20);
        assert_eq!(
            heap.leaks().iter().map(|leak| (leak.line, leak.blocks)).collect::<Vec<_>>(),
            [(2, 1), (3, 20)]
        );
    }

    #[test]
    fn a_full_heap_returns_null_and_accepts_frees() {
        let heap = Heap::new(4096..4096 + (1 << 20), 1024);
        assert_eq!(heap.allocate(1 << 40, 1), None);
        assert_eq!(heap.allocate(u64::MAX, 1), None);
        let all: Vec<u64> = (0..100).map_while(|_| heap.allocate(112, 1)).collect();
        assert_eq!(all.len(), 8);
        assert_eq!(
            heap.free(all[3] + 1),
            Err(BadFree::Inside(heap.check(all[3], 113).unwrap_err().unwrap()))
        );
        assert_eq!(heap.free(4096), Err(BadFree::Foreign));
        assert_eq!(heap.free(all[3]), Ok(()));
        assert!(heap.allocate(112, 1).is_some());
    }
}
