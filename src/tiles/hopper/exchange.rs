//! Register exchange among the blocks of a cluster that compute parts of the same tile.

use std::{array, fmt, panic::Location};

use super::{
    ring::{WARPS, initialized_once},
    roles::Consumer,
    schedule::{Blocks, Persistent},
};
use crate::{
    ptx::{Builder, Mbarrier, MemoryScope, Ptr, Shared, Val, Var},
    tensor::{Arithmetic, TensorElement},
};

/// The number of threads in a warpgroup, and the number of registers that a thread stores in one access.
const THREADS: u32 = 128;
const VECTOR: usize = 4;

/// The shared memory of an exchange in which each thread of a block receives `registers` registers from the thread with the same index in
/// every block that computes a part of the same tile, including its own block.
pub(super) struct PartExchange<'k, T> {
    k: Builder<'k>,
    registers: usize,
    pub(super) blocks: Blocks<'k>,
    /// The index of this block among the blocks that compute parts of the same tile.
    rank: Val<'k, u32>,
    /// The vectors of registers received from each block; vectors of adjacent threads are adjacent.
    received: Ptr<'k, T, Shared>,
    /// Completes a phase when the registers of all blocks have arrived.
    full: Mbarrier<'k>,
    /// Completes a phase when all blocks have read the registers that they received.
    empty: Mbarrier<'k>,
    parity: Var<'k, u32>,
}

impl<T: TensorElement> fmt::Debug for PartExchange<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartExchange<{}> of {} registers, {} blocks", T::NAME, self.registers, self.blocks.count)
    }
}

impl<'k> Persistent<'k> {
    /// Allocates the shared memory for exchanges of `registers` registers per thread (a multiple of 4) among the blocks that compute the
    /// [parts](Persistent::part) of a tile. All threads of the cluster must execute the emitted code.
    #[track_caller]
    pub(super) fn exchange<T: Arithmetic + TensorElement<Word = T>>(
        self,
        registers: usize,
    ) -> PartExchange<'k, T> {
        const { assert!(T::SIZE == 4, "exchanged tiles must have 32-bit elements") };
        let (k, blocks) = (self.kernel(), self.same_tile());
        let _located = k.locate(Location::caller());
        initialized_once(k, "an exchange among blocks");
        let received = k.shared_aligned::<u8>(blocks.count.saturating_mul(bytes(registers)), 16).cast();
        let barriers = k.mbarriers(2);
        let [full, empty] = [0, 1].map(|at| barriers.at(at).scope(MemoryScope::Cluster));
        k.if_(k.this_block().thread().eq(0), || {
            full.init(1);
            empty.init(WARPS * blocks.count);
            k.fence_mbarrier_init();
        });
        match k.cluster_shape() {
            Some(_) => k.this_cluster().sync(),
            None => k.this_block().sync(),
        }
        let (rank, parity) = (self.part().rank(), k.var(0));
        PartExchange { k, registers, blocks, rank, received, full, empty, parity }
    }
}

/// Returns the size in bytes of `registers` registers per thread of a warpgroup, or 2³² − 1 if it is larger; no block has that many bytes.
fn bytes(registers: usize) -> u32 {
    u32::try_from(registers).map_or(u32::MAX, |registers| registers.saturating_mul(4 * THREADS))
}

impl<'k> Consumer<'k, 1> {
    /// Sends `of(rank)` to each block that computes a part of the same tile, where `rank` is the index of the part, and returns the
    /// registers sent to this block, in the order of the parts. All threads of the warpgroup in each of these blocks must take part.
    #[doc(alias = "st.async")]
    #[doc(alias = "DSMEM")]
    #[track_caller]
    pub(super) fn exchange<T>(
        self,
        through: &PartExchange<'k, T>,
        of: impl Fn(usize) -> Vec<Val<'k, T>>,
    ) -> Vec<Vec<Val<'k, T>>>
    where
        T: Arithmetic + TensorElement<Word = T>,
    {
        let PartExchange { k, registers, blocks, rank, received, full, empty, .. } = *through;
        let _located = k.locate(Location::caller());
        let (thread, parity) = (self.group().thread(), through.parity.get());
        let of_block = |block| received.at(block * (bytes(registers) / 4) + thread * VECTOR as u32);
        let vector = |number: usize| number as u32 * THREADS * VECTOR as u32;
        // Initially, the memory is free, so the first wait returns immediately. The first phase completes when the memory has been read for
        // the first time.
        empty.wait(parity ^ 1);
        k.if_(thread.eq(0), || {
            full.arrive_expect_tx(blocks.count.saturating_mul(bytes(registers)));
        });
        for block in 0..blocks.count {
            let rank_of_block = blocks.rank(block);
            let (to, full) = (of_block(rank).in_block(rank_of_block), full.in_block(rank_of_block));
            for (number, registers) in of(block as usize).chunks_exact(VECTOR).enumerate() {
                to.at(vector(number)).store_vector_async::<VECTOR>(array::from_fn(|i| registers[i]), full);
            }
        }
        full.wait(parity);
        let from_block = |block| {
            let vectors = (0..registers / VECTOR).map(|number| of_block(block).at(vector(number)));
            vectors.flat_map(|at| at.load_vector::<VECTOR>()).collect()
        };
        let received = (0..blocks.count).map(|block| from_block(Val::from(block))).collect();
        let lane = k.lane().rank();
        k.warp().sync();
        k.if_(lane.lt(blocks.count), || {
            empty.in_block(blocks.rank(lane)).arrive();
        });
        through.parity.set(parity ^ 1);
        received
    }
}
