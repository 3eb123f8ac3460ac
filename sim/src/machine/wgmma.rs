//! Tensor-core products: the products in flight, and buffers for their matrices.

use crate::shadow::clocks::WARPGROUP;
use crate::shadow::place::Place;

/// The buffers of matrices, kept so that instructions do not allocate.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) a: Vec<u32>,
    pub(crate) b: Vec<u32>,
    pub(crate) c: Vec<u32>,
}

/// The products of a warpgroup.
#[derive(Debug, Default)]
pub(crate) struct WgmmaGroups {
    /// The number of groups that each warp has committed, or `None` for warps that have exited or do not exist.
    pub(crate) committed: [Option<u32>; WARPGROUP],
    /// The reads of pending products: the address, the size, and the group of the product.
    pub(crate) reads: Vec<(Place, usize, u32)>,
}

impl WgmmaGroups {
    /// Returns the warpgroups of a block of `warps` warps.
    pub(crate) fn of_block(warps: usize) -> impl Iterator<Item = Self> {
        let exists = move |first: usize| std::array::from_fn(|i| (first + i < warps).then_some(0));
        (0..warps).step_by(WARPGROUP).map(move |first| Self { committed: exists(first), reads: vec![] })
    }

    /// Returns the number of groups that warp `index` of the block has committed.
    pub(crate) fn committed(&self, index: u32) -> u32 {
        self.committed[index as usize % WARPGROUP].unwrap_or(0)
    }

    pub(crate) fn commit(&mut self, index: u32) {
        self.committed[index as usize % WARPGROUP] = Some(self.committed(index) + 1);
    }

    /// Records that the warp has exited.
    pub(crate) fn end(&mut self, index: u32) {
        self.committed[index as usize % WARPGROUP] = None;
    }

    /// Returns the number of groups that are complete when the warp has waited for all but its newest `n` groups.
    pub(crate) fn expected(&self, index: u32, n: u32) -> u32 {
        self.committed(index).saturating_sub(n)
    }

    /// Returns whether all warps have issued their part of the first `groups` groups.
    pub(crate) fn issued(&self, groups: u32) -> bool {
        self.committed.iter().flatten().all(|&committed| committed >= groups)
    }

    /// Takes the reads of the products of the first `groups` groups that have not yet been reported.
    pub(crate) fn finished(&mut self, groups: u32) -> Vec<(Place, usize)> {
        let done = self.reads.extract_if(.., |(.., group)| *group < groups);
        done.map(|(place, bytes, _)| (place, bytes)).collect()
    }
}
