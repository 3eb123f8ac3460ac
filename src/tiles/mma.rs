//! Products of register tiles on the tensor cores.

use super::{
    element::{Col, Row, TileElement},
    rt::Rt,
};
use crate::ptx::{Accumulator, HalfPair, Val};

impl<'k, C: TileElement, const M: usize, const N: usize> Rt<'k, C, M, N, Row> {
    /// This tile plus A·B: A is `M`×`K` subtiles, B `K`×`N`. Two `mma.m16n8k16` for each 16×16×16.
    ///
    /// The sum is in place: the tile's own registers are overwritten.
    #[doc(alias = "mma_AB")]
    #[must_use]
    #[track_caller]
    pub fn mma_ab<T, const K: usize>(mut self, a: &Rt<'k, T, M, K, Row>, b: &Rt<'k, T, K, N, Col>) -> Self
    where
        T: TileElement<Packed: HalfPair>,
        C::Packed: Accumulator<T::Packed>,
    {
        self.accumulate::<T, K>(|i, k| a.subtile(i, k), |k, j| b.subtile(k, j));
        self
    }

    /// This tile plus A·Bᵀ: A is `M`×`K` subtiles, B `N`×`K`. Two `mma.m16n8k16` for each 16×16×16.
    ///
    /// The sum is in place: the tile's own registers are overwritten.
    #[doc(alias = "mma_ABt")]
    #[must_use]
    #[track_caller]
    pub fn mma_abt<T, const K: usize>(mut self, a: &Rt<'k, T, M, K, Row>, b: &Rt<'k, T, N, K, Row>) -> Self
    where
        T: TileElement<Packed: HalfPair>,
        C::Packed: Accumulator<T::Packed>,
    {
        // A row-layout subtile of B is the column-layout subtile of its transpose, register for register.
        self.accumulate::<T, K>(|i, k| a.subtile(i, k), |k, j| b.subtile(j, k));
        self
    }

    #[track_caller]
    fn accumulate<'t, T, const K: usize>(
        &mut self,
        a: impl Fn(usize, usize) -> &'t [Val<'k, T::Packed>],
        b: impl Fn(usize, usize) -> &'t [Val<'k, T::Packed>],
    ) where
        'k: 't,
        T: TileElement<Packed: HalfPair>,
        C::Packed: Accumulator<T::Packed>,
    {
        let half = C::REGISTERS / 2;
        for k in 0..K {
            for i in 0..M {
                let a = a(i, k);
                for j in 0..N {
                    let b = b(k, j);
                    let at = (i * N + j) * C::REGISTERS;
                    // Columns 0–7 take pairs 0 and 2 of B, columns 8–15 pairs 1 and 3.
                    for n in 0..2 {
                        let c = &mut self.registers[at + n * half..at + (n + 1) * half];
                        self.k.mma_m16n8k16_in_place([a[0], a[1], a[2], a[3]], [b[n], b[n + 2]], c);
                    }
                }
            }
        }
    }
}
