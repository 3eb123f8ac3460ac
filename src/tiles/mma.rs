//! Products of register tiles on tensor cores.

use super::{
    element::{Col, Row},
    registers::Registers,
    rt::Rt,
};
use crate::{
    ptx::{
        RegId,
        traits::{Accumulator, HalfPair},
    },
    tensor::TensorElement,
};

impl<'k, C: TensorElement, const M: usize, const N: usize> Rt<'k, C, M, N, Row> {
    /// Returns this tile plus A·B, where A is `M`×`K` and B `K`×`N` subtiles. Emits two `mma.m16n8k16` per 16×16×16.
    ///
    /// Accumulates in place: the tile's own registers are overwritten.
    #[doc(alias = "mma_AB")]
    #[must_use]
    #[track_caller]
    pub fn mma_ab<T, const K: usize>(self, a: &Rt<'k, T, M, K, Row>, b: &Rt<'k, T, K, N, Col>) -> Self
    where
        T: TensorElement<Word: HalfPair>,
        C::Word: Accumulator<T::Word>,
    {
        self.accumulate::<T, K>(|i, k| a.subtile_registers(i, k), |k, j| b.subtile_registers(k, j));
        self
    }

    /// Returns this tile plus A·Bᵀ, where A is `M`×`K` and B `N`×`K` subtiles. Emits two `mma.m16n8k16` per 16×16×16.
    ///
    /// Accumulates in place: the tile's own registers are overwritten.
    #[doc(alias = "mma_ABt")]
    #[must_use]
    #[track_caller]
    pub fn mma_abt<T, const K: usize>(self, a: &Rt<'k, T, M, K, Row>, b: &Rt<'k, T, N, K, Row>) -> Self
    where
        T: TensorElement<Word: HalfPair>,
        C::Word: Accumulator<T::Word>,
    {
        // A row-layout subtile of B has the same registers as the column-layout subtile of its transpose.
        self.accumulate::<T, K>(|i, k| a.subtile_registers(i, k), |k, j| b.subtile_registers(j, k));
        self
    }

    #[track_caller]
    fn accumulate<'t, T, const K: usize>(
        &self,
        a: impl Fn(usize, usize) -> &'t [RegId],
        b: impl Fn(usize, usize) -> &'t [RegId],
    ) where
        T: TensorElement<Word: HalfPair>,
        C::Word: Accumulator<T::Word>,
    {
        let kernel = self.kernel();
        for k in 0..K {
            for i in 0..M {
                let a = a(i, k);
                for j in 0..N {
                    let (b, c) = (b(k, j), self.subtile_registers(i, j));
                    // Columns 0–7 use pairs 0 and 2 of B, columns 8–15 pairs 1 and 3.
                    for (n, c) in c.chunks(Self::SUBTILE_REGISTERS / 2).enumerate() {
                        kernel.mma_m16n8k16_of_words::<T::Word, C::Word>(a, &[b[n], b[n + 2]], c);
                    }
                }
            }
        }
    }
}
