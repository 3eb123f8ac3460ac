//! Sums over the blocks of a cluster that compute parts of the same tile.

use std::{fmt, panic::Location};

use super::{exchange::PartExchange, roles::Consumer, schedule::Persistent};
use crate::{
    ptx::Scope,
    tensor::{Arithmetic, TensorElement},
    tiles::{Row, Rt, registers::Registers},
};

/// The number of registers per thread and subtile.
const REGISTERS: usize = 8;

/// Shared memory for a reduction over the blocks of a cluster that compute parts of the same tile. Each block contributes a partial result
/// of `H` · 64 rows and `N` columns of subtiles, and receives `P` columns of subtiles of the sum.
///
/// Each register of a thread is added to the same register of the corresponding thread in every other block, regardless of the elements
/// that the registers contain.
pub struct ReduceScatter<'k, T, const H: usize, const N: usize, const P: usize> {
    exchange: PartExchange<'k, T>,
}

impl<T: TensorElement, const H: usize, const N: usize, const P: usize> fmt::Debug
    for ReduceScatter<'_, T, H, N, P>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReduceScatter<{}, {H}, {N}, {P}> of {} blocks", T::NAME, self.exchange.blocks.count)
    }
}

impl<'k> Persistent<'k> {
    /// Allocates the shared memory for adding the partial results of the blocks that compute the [parts](Persistent::part) of a tile.
    ///
    /// A partial result has `N` columns of subtiles, and each block receives `P` columns of the sum. For example,
    /// `tiles.reduce_scatter::<f32, 1, 8, 4>()` divides 8 columns between two parts. All threads of the cluster must execute the emitted
    /// code.
    ///
    /// The builder rejects the call inside an emitted loop, or if `N` is not `P` times the number of parts. The call does not compile
    /// unless the elements are 32 bits wide.
    #[track_caller]
    pub fn reduce_scatter<
        T: Arithmetic + TensorElement<Word = T>,
        const H: usize,
        const N: usize,
        const P: usize,
    >(
        self,
    ) -> ReduceScatter<'k, T, H, N, P> {
        const { assert!(T::SIZE == 4, "sums must have 32-bit elements") };
        const { assert!(P > 0 && N.is_multiple_of(P), "the parts must divide the columns of the tile") };
        let (k, blocks) = (self.kernel(), self.same_tile());
        let _located = k.locate(Location::caller());
        if P.checked_mul(blocks.count as usize) != Some(N) {
            k.refuse(format!(
                "expected {N} columns of subtiles in parts of {P} for {} blocks of a cluster, found {} parts",
                blocks.count,
                N / P.max(1)
            ));
        }
        ReduceScatter { exchange: self.exchange(H.saturating_mul(P).saturating_mul(REGISTERS)) }
    }
}

impl<'k> Consumer<'k, 1> {
    /// Adds the partial results `tiles` of the blocks that compute parts of the same tile, in the order of the parts. Returns this block's
    /// columns of the sum: the block that computes part `i` receives `P` columns of subtiles, starting with column `i · P`. All threads of
    /// the warpgroup in each of these blocks must take part.
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
        let k = self.group().kernel();
        let _located = k.locate(Location::caller());
        let words: Vec<_> = tiles.iter().map(Rt::words).collect();
        let of_block = |block: usize| {
            let first = block * P * REGISTERS;
            let words = words.iter().flat_map(|words| words.iter().skip(first).take(P * REGISTERS));
            words.copied().collect()
        };
        let received = self.exchange(&through.exchange, of_block);
        let add = |sums: Vec<_>, part: Vec<_>| sums.into_iter().zip(part).map(|(sum, x)| sum + x).collect();
        let sums = received.into_iter().reduce(add).unwrap_or_default();
        std::array::from_fn(|i| {
            let sums = &sums[i * P * REGISTERS..][..P * REGISTERS];
            Rt::of_registers(k, sums.iter().map(|sum| sum.in_register(k)).collect())
        })
    }
}
