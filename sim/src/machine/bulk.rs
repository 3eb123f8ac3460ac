//! Bulk copies in flight.

use crate::machine::Cluster;
use crate::machine::tensor_map::TensorMap;
use crate::program::code::Reduction;
use crate::report::fault::Where;
use crate::shadow::clocks::Knowledge;
use crate::shadow::place::Place;

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Global(u64),
    Shared(Place),
    /// Words of a thread's registers, as a source.
    Registers([u32; 4]),
}

/// A copy that has been issued.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) from: End,
    /// The destinations: more than one for multicast copies.
    pub(crate) to: Vec<End>,
    pub(crate) bytes: u32,
    pub(crate) reduce: Option<Reduction>,
    /// The tile of a tensor copy, which replaces the global end.
    pub(crate) tile: Option<Box<Tile>>,
    /// The warp and the instruction that issued the copy.
    pub(crate) issuer: (usize, u32),
    /// The data that the engine reads from global memory.
    pub(crate) global_read: GlobalRead,
}

/// The ranges of global memory that a copy reads, if they are checked or recorded.
#[derive(Debug, Default)]
pub(crate) struct GlobalRead {
    pub(crate) lane: usize,
    /// The address and the size in bytes of each range.
    pub(crate) runs: Vec<(u64, u64)>,
    /// The accesses that the issuing warp followed.
    pub(crate) known: Knowledge,
}

/// The object that signals the completion of a copy.
#[derive(Debug)]
pub(crate) enum Notify {
    /// An mbarrier in each receiving block.
    Mbarriers(Vec<Place>),
    /// A bulk group of a thread (block, warp, lane).
    Group { thread: (usize, u32, usize), group: u32 },
}

/// A box of a tensor, or a column of pixels.
#[derive(Debug)]
pub(crate) struct Tile {
    pub(crate) map: TensorMap,
    /// The coordinates of the box's first element.
    pub(crate) coordinates: Vec<i32>,
    /// In im2col mode, the position of the first channel of each pixel.
    pub(crate) pixels: Option<Vec<[i64; 5]>>,
    /// Whether the copy writes the tensor.
    pub(crate) stores: bool,
}

/// The copies that have been issued but not yet executed, in order.
#[derive(Debug, Default)]
pub(crate) struct BulkCopies {
    pub(crate) pending: Vec<(Transfer, Notify)>,
}

/// Returns an in-flight copy by another block to the shared memory of block `rank`, if any.
pub(crate) fn underway_to(cluster: &Cluster<'_>, rank: usize) -> Option<Where> {
    let transfers = cluster.bulk.pending.iter().map(|(transfer, _)| transfer);
    let foreign = |t: &&Transfer| cluster.block_of(t.issuer.0) != rank;
    let there = |to: &End| matches!(to, End::Shared(place) if place.rank == rank);
    let found = transfers.filter(foreign).find(|transfer| transfer.to.iter().any(there));
    found.map(|transfer| Where { warp: transfer.issuer.0, lane: 0, pc: transfer.issuer.1 })
}
