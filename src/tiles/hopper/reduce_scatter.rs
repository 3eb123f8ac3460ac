//! Sums over the blocks of a cluster that compute parts of the same tile.

use std::{fmt, marker::PhantomData, panic::Location};

use super::{
    ring::WARPS,
    roles::Consumer,
    schedule::{Blocks, Persistent},
};
use crate::{
    ptx::{Builder, Mbarrier, MemoryScope, Ptr, Shared, Val, Var},
    tensor::{Arithmetic, TensorElement},
    tiles::{Row, Rt, registers::Registers},
};

/// The threads of a warpgroup, and the registers that one of them stores at a time.
const THREADS: u32 = 128;
const VECTOR: usize = 4;
/// A thread's registers of a subtile.
const REGISTERS: usize = 8;

/// Shared memory through which the blocks of a cluster that compute parts of the same tile add up their sums, of `H` blocks of 64 rows
/// and `N` columns of subtiles: each obtains the total of `P` of the columns.
///
/// A register goes to the same register of the same thread in another block, so the order of the elements does not matter.
pub struct ReduceScatter<'k, T, const H: usize, const N: usize, const P: usize> {
    k: Builder<'k>,
    blocks: Blocks<'k>,
    /// The number of this block among them.
    rank: Val<'k, u32>,
    /// For each block, the part of this one, as vectors of registers; vectors of adjacent threads are adjacent.
    received: Ptr<'k, u8, Shared>,
    /// Completes a phase when the parts of all blocks have arrived.
    full: Mbarrier<'k>,
    /// Completes a phase when all blocks have read what they had received.
    empty: Mbarrier<'k>,
    parity: Var<'k, u32>,
    element: PhantomData<fn() -> T>,
}

impl<T: TensorElement, const H: usize, const N: usize, const P: usize> fmt::Debug
    for ReduceScatter<'_, T, H, N, P>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReduceScatter<{}, {H}, {N}, {P}> of {} blocks", T::NAME, self.blocks.count)
    }
}

impl<'k> Persistent<'k> {
    /// Allocates the shared memory for sums of tiles of `N` columns of subtiles over the [parts](Persistent::part) of a tile, each of
    /// `P` columns of subtiles: `tiles.reduce_scatter::<f32, 1, 8, 4>()` for two parts. All threads of the cluster must execute the call.
    #[track_caller]
    pub fn reduce_scatter<
        T: Arithmetic + TensorElement<Word = T>,
        const H: usize,
        const N: usize,
        const P: usize,
    >(
        self,
    ) -> ReduceScatter<'k, T, H, N, P> {
        const { assert!(T::SIZE == 4, "sums are of 32 bits") };
        const { assert!(P > 0 && N.is_multiple_of(P), "the parts must divide the columns of the tile") };
        let (k, blocks) = (self.kernel(), self.same_tile());
        k.located(Location::caller(), || {
            if N as u32 != P as u32 * blocks.count {
                k.refuse(format!(
                    "expected {N} columns of subtiles in parts of {P} for {} blocks of a cluster, found {} parts",
                    blocks.count,
                    N / P.max(1)
                ));
            }
            let received = k.shared_aligned(bytes(H * N), 16);
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
            ReduceScatter { k, blocks, rank, received, full, empty, parity, element: PhantomData }
        })
    }
}

/// Returns the size of sums of 64 rows and in total `cols` columns of subtiles.
const fn bytes(cols: usize) -> u32 {
    64 * 16 * cols as u32 * 4
}

impl<'k> Consumer<'k, 1> {
    /// Adds up tiles over the blocks that compute parts of them, in the order of the parts, and returns the totals of this part's columns.
    /// All of these blocks must take part, with all threads of the warpgroup.
    #[doc(alias = "st.async")]
    #[doc(alias = "DSMEM")]
    #[track_caller]
    pub fn reduce_scatter<T, const H: usize, const N: usize, const P: usize>(
        self,
        through: &ReduceScatter<'k, T, H, N, P>,
        tiles: [Rt<'k, T, 1, N, Row>; H],
    ) -> [Rt<'k, T, 1, P, Row>; H]
    where
        T: Arithmetic + TensorElement<Word = T>,
    {
        let ReduceScatter { k, blocks, rank, full, empty, .. } = *through;
        k.located(Location::caller(), || {
            let (thread, parity) = (self.group().thread(), through.parity.get());
            // The vectors of this thread that come from a block.
            let of_block =
                |block| through.received.cast::<T>().at(block * (bytes(H * P) / 4) + thread * VECTOR as u32);
            let vector = |number: usize| number as u32 * THREADS * VECTOR as u32;
            // The first phase completes when the memory has been read once; until then, it is free.
            empty.wait(parity ^ 1);
            k.if_(thread.eq(0), || {
                full.arrive_expect_tx(bytes(H * N));
            });
            let words: Vec<_> = tiles.iter().map(Rt::words).collect();
            for block in 0..N / P {
                let rank_of_block = blocks.rank(block as u32);
                let (to, full) = (of_block(rank).in_block(rank_of_block), full.in_block(rank_of_block));
                let words = words.iter().flat_map(|words| &words[block * P * REGISTERS..][..P * REGISTERS]);
                let words: Vec<_> = words.copied().collect();
                for (number, words) in words.chunks_exact(VECTOR).enumerate() {
                    to.at(vector(number))
                        .store_vector_async::<VECTOR>(std::array::from_fn(|i| words[i]), full);
                }
            }
            full.wait(parity);
            let received = (0..N / P).map(|block| {
                let from = of_block(Val::from(block as u32));
                let vectors = (0..H * P * REGISTERS / VECTOR).map(|number| from.at(vector(number)));
                vectors.flat_map(|at| at.load_vector::<VECTOR>()).collect::<Vec<_>>()
            });
            let add =
                |sums: Vec<_>, part: Vec<_>| sums.into_iter().zip(part).map(|(sum, x)| sum + x).collect();
            let sums = received.reduce(add).unwrap_or_default();
            let lane = k.lane().rank();
            k.warp().sync();
            k.if_(lane.lt(blocks.count), || {
                empty.in_block(blocks.rank(lane)).arrive();
            });
            through.parity.set(parity ^ 1);
            std::array::from_fn(|i| {
                let sums = &sums[i * P * REGISTERS..][..P * REGISTERS];
                Rt::of_registers(k, sums.iter().map(|sum| sum.in_register(k)).collect())
            })
        })
    }
}
