//! The bytes of global memory that a launch accesses.

use std::ops::Range;
use std::sync::OnceLock;

use crate::program::spaces::REGION_BITS;
use crate::report::Footprint;
use crate::shadow::byte_set::ByteSet;

/// The kind of access, as an index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Touch {
    Read,
    Write,
    StrongRead,
    StrongWrite,
}

/// The bytes accessed by each kind of access, by allocation.
#[derive(Debug)]
pub(crate) struct Touched {
    /// The size of each allocation and, once it has been accessed, its accessed bytes.
    slots: Vec<(u64, OnceLock<[ByteSet; 4]>)>,
}

impl Touched {
    /// Creates an empty record for allocations of these sizes.
    pub(crate) fn new(sizes: impl Iterator<Item = u64>) -> Self {
        Self { slots: sizes.map(|size| (size, OnceLock::new())).collect() }
    }

    /// Adds bytes of one allocation.
    #[inline]
    pub(crate) fn insert(&self, bytes: Range<u64>, touch: Touch) {
        let region = bytes.start >> REGION_BITS;
        let start = region << REGION_BITS;
        let Some((size, sets)) = self.slots.get((region as usize).wrapping_sub(1)) else { return };
        let sets = sets.get_or_init(|| std::array::from_fn(|_| ByteSet::new(*size)));
        sets[touch as usize].insert(bytes.start - start..bytes.end - start);
    }

    pub(crate) fn footprint(&self) -> Footprint {
        let runs = |touch: Touch| {
            let runs_of = |(slot, (size, sets)): (usize, &(u64, OnceLock<[ByteSet; 4]>))| {
                let start = (slot as u64 + 1) << REGION_BITS;
                let runs = sets.get().map_or(vec![], |sets| sets[touch as usize].runs(0..*size, true));
                runs.into_iter().map(move |run| start + run.start..start + run.end)
            };
            self.slots.iter().enumerate().flat_map(runs_of).collect()
        };
        Footprint {
            read: runs(Touch::Read),
            written: runs(Touch::Write),
            strongly_read: runs(Touch::StrongRead),
            strongly_written: runs(Touch::StrongWrite),
        }
    }
}
