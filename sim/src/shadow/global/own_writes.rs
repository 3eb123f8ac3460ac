//! The global memory that a cluster itself has written. The cluster may read it back, even if other clusters write the same values.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::shadow::global::PAGE;

/// The slot of an allocation, and a page of the allocation.
type Key = (usize, usize);

/// The units that the running cluster has written, as bits per page.
#[derive(Debug, Default)]
pub(crate) struct OwnWrites {
    pages: FxHashMap<Key, usize>,
    bits: Vec<[u64; PAGE / 64]>,
    /// The page that was last looked up, and the position of its bits.
    last: Option<(Key, Option<usize>)>,
}

impl OwnWrites {
    /// Clears the record for another cluster.
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.bits.clear();
        self.last = None;
    }

    /// Records writes of units of one page.
    #[inline]
    pub(crate) fn mark(&mut self, slot: usize, units: Range<usize>) {
        let key = (slot, units.start / PAGE);
        let at = match self.find(key) {
            Some(at) => at,
            None => {
                let at = self.bits.len();
                self.bits.push([0; PAGE / 64]);
                self.pages.insert(key, at);
                self.last = Some((key, Some(at)));
                at
            }
        };
        let bits = &mut self.bits[at];
        let mut unit = units.start;
        while unit < units.end {
            let count = (64 - unit % 64).min(units.end - unit);
            bits[unit % PAGE / 64] |= u64::MAX >> (64 - count) << (unit % 64);
            unit += count;
        }
    }

    /// Returns whether any unit of the unit's page was written.
    #[inline]
    pub(crate) fn has_page(&mut self, slot: usize, unit: usize) -> bool {
        !self.bits.is_empty() && self.find((slot, unit / PAGE)).is_some()
    }

    #[inline]
    pub(crate) fn has(&mut self, slot: usize, unit: usize) -> bool {
        !self.bits.is_empty()
            && self
                .find((slot, unit / PAGE))
                .is_some_and(|at| self.bits[at][unit % PAGE / 64] >> (unit % 64) & 1 != 0)
    }

    #[inline]
    fn find(&mut self, key: Key) -> Option<usize> {
        match self.last {
            Some((last, at)) if last == key => at,
            _ => {
                let at = self.pages.get(&key).copied();
                self.last = Some((key, at));
                at
            }
        }
    }
}
