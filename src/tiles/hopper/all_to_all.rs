//! All-to-all exchange of tile columns among the blocks of a cluster that compute parts of the same tile.

use std::{fmt, panic::Location};

use super::{exchange::PartExchange, roles::Consumer, schedule::Persistent};
use crate::{
    ptx::Scope,
    tensor::{Arithmetic, TensorElement},
    tiles::{ColVec, Row, Rt, registers::Registers},
};

/// The number of registers per thread for a subtile, and for a vector with one element per row. The vector is sent twice because registers
/// are sent in units of four.
const SUBTILE: usize = 8;
const ROWS: usize = 2;

/// Shared memory for an all-to-all exchange among the blocks of a cluster that compute parts of the same 64-row tile. Each block receives
/// `P` columns of subtiles and one vector with one element per row from each of these blocks, including itself.
pub struct AllToAll<'k, T, const P: usize> {
    exchange: PartExchange<'k, T>,
}

impl<T: TensorElement, const P: usize> fmt::Debug for AllToAll<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AllToAll<{}, {P}> of {} blocks", T::NAME, self.exchange.blocks.count)
    }
}

impl<'k> Persistent<'k> {
    /// Allocates the shared memory for exchanges of `P` columns of subtiles among the blocks that compute the [parts](Persistent::part) of
    /// a tile: `tiles.all_to_all::<f32, 4>()`. All threads of the cluster must execute the emitted code.
    ///
    /// The builder rejects the call inside an emitted loop. The call does not compile unless the elements are 32 bits wide.
    #[track_caller]
    pub fn all_to_all<T: Arithmetic + TensorElement<Word = T>, const P: usize>(self) -> AllToAll<'k, T, P> {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        AllToAll { exchange: self.exchange(P.saturating_mul(SUBTILE).saturating_add(2 * ROWS)) }
    }
}

impl<'k> Consumer<'k, 1> {
    /// Exchanges columns of `tile` and the vector `of_rows` with every block that computes a part of the same tile.
    ///
    /// The block that computes part `i` receives `P` columns of subtiles, starting with column `i · P`, and the vector. The method returns
    /// the columns and the vector that each block sent to this block, in the order of the parts. All threads of the warpgroup in each of
    /// these blocks must take part.
    ///
    /// The builder rejects the call unless `N` is `P` times the number of parts.
    #[doc(alias = "DSMEM")]
    #[track_caller]
    pub fn all_to_all<T, const N: usize, const P: usize>(
        self,
        through: &AllToAll<'k, T, P>,
        tile: &Rt<'k, T, 1, N, Row>,
        of_rows: &ColVec<'k, T, 1>,
    ) -> Vec<(Rt<'k, T, 1, P, Row>, ColVec<'k, T, 1>)>
    where
        T: Arithmetic + TensorElement<Word = T>,
    {
        let (k, count) = (self.group().kernel(), through.exchange.blocks.count);
        let _located = k.locate(Location::caller());
        if P.checked_mul(count as usize) != Some(N) {
            k.refuse(format!(
                "expected {P} columns of subtiles for each of {count} blocks of a cluster, found {N}"
            ));
        }
        let (words, of_rows) = (tile.words(), of_rows.words());
        let received = self.exchange(&through.exchange, |part| {
            let columns = words.iter().skip(part * P * SUBTILE).take(P * SUBTILE);
            columns.chain(&of_rows).chain(&of_rows).copied().collect()
        });
        let typed = received.into_iter().map(|words| {
            let registers: Vec<_> = words.iter().map(|word| word.in_register(k)).collect();
            let (columns, of_rows) = registers.split_at(P * SUBTILE);
            (Rt::of_registers(k, columns.to_vec()), ColVec::<T, 1>::of_registers(k, of_rows[..ROWS].to_vec()))
        });
        typed.collect()
    }
}
