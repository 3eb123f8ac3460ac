//! Records of volatile reads of shared memory, which reveal whether another lane of the warp overwrites the data.

use std::collections::HashMap;

use crate::lanes::lanes;
use crate::shadow::clocks::{Clocks, Time};

/// The lanes of a warp that have read a unit of memory since they were last ordered, and the time and instruction of the last read.
#[derive(Clone, Copy, Debug)]
struct Read {
    lanes: u32,
    time: Time,
    pc: u32,
}

/// The reads, by warp of the cluster, block and unit of memory.
#[derive(Debug, Default)]
pub(crate) struct VolatileReads {
    reads: HashMap<(usize, usize, usize), Read>,
}

impl VolatileReads {
    /// Records a read of a unit by a lane of `warp`.
    pub(crate) fn read(
        &mut self,
        clocks: &Clocks,
        (warp, rank, unit): (usize, usize, usize),
        lane: usize,
        pc: u32,
    ) {
        let now = Read { lanes: 0, time: clocks.now(), pc };
        let read = self.reads.entry((warp, rank, unit)).or_insert(now);
        let earlier = if read.time < clocks.lanes_synced(warp) { 0 } else { read.lanes };
        *read = Read { lanes: earlier | 1 << lane, ..now };
    }

    /// Returns a read by another lane that is not ordered before a write by `lane`, with its instruction.
    pub(crate) fn unordered(
        &self,
        clocks: &Clocks,
        (warp, rank, unit): (usize, usize, usize),
        lane: usize,
    ) -> Option<(usize, u32)> {
        let read = self.reads.get(&(warp, rank, unit))?;
        let reader = lanes(read.lanes).find(|&from| !clocks.lanes_know(warp, from, lane, read.time))?;
        Some((reader, read.pc))
    }
}
