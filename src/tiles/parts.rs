//! Subtiles, splits and concatenations of register tiles.

use super::{element::RegisterLayout, registers::Registers, rt::Rt};
use crate::{ptx::Builder, tensor::TensorElement};

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Returns a copy of the rectangle of `H2`×`W2` subtiles that starts at subtile (`row`, `col`).
    ///
    /// The builder rejects the call if the rectangle extends past the tile's edge.
    #[doc(alias = "subtile_inplace")]
    #[must_use]
    #[track_caller]
    pub fn subtile<const H2: usize, const W2: usize>(&self, row: usize, col: usize) -> Rt<'k, T, H2, W2, L> {
        let k = self.kernel();
        let part = Rt::uninitialized(k);
        if !Self::contains::<H2, W2>(k, row, col) {
            return part;
        }
        for (i, j) in (0..H2).flat_map(|i| (0..W2).map(move |j| (i, j))) {
            let from = self.subtile_registers(row + i, col + j);
            let to: &Rt<T, H2, W2, L> = &part;
            to.subtile_registers(i, j).iter().zip(from).for_each(|(&to, &from)| k.move_register(to, from));
        }
        part
    }

    /// Replaces the rectangle of `H2`×`W2` subtiles that starts at subtile (`row`, `col`) with the result of `f`, in place. The argument of
    /// `f` owns the registers of the rectangle.
    ///
    /// The builder rejects the call if the rectangle extends past the tile's edge.
    #[doc(alias = "subtile_inplace")]
    #[must_use]
    #[track_caller]
    pub fn update_subtile<const H2: usize, const W2: usize>(
        self,
        row: usize,
        col: usize,
        f: impl FnOnce(Rt<'k, T, H2, W2, L>) -> Rt<'k, T, H2, W2, L>,
    ) -> Self {
        let Some(places) = Self::places::<H2, W2>(self.kernel(), row, col) else { return self };
        let part = f(self.part_at(&places));
        self.with_part(&places, &part)
    }

    /// Returns the register indices of the `H2`×`W2` subtiles that start at subtile (`row`, `col`); rejects a rectangle that extends past
    /// the tile's edge.
    #[track_caller]
    pub(super) fn places<const H2: usize, const W2: usize>(
        k: Builder<'k>,
        row: usize,
        col: usize,
    ) -> Option<Vec<usize>> {
        let subtiles =
            (row..row + H2).flat_map(|i| (col..col + W2).map(move |j| (i * W + j) * Self::SUBTILE_REGISTERS));
        let registers = || subtiles.flat_map(|first| first..first + Self::SUBTILE_REGISTERS).collect();
        Self::contains::<H2, W2>(k, row, col).then(registers)
    }

    /// Returns a tile that consists of registers `places`, to be written back with [`with_part`](Self::with_part).
    pub(super) fn part_at<const H2: usize, const W2: usize>(&self, places: &[usize]) -> Rt<'k, T, H2, W2, L> {
        let registers = self.fragment.all_registers();
        Rt::of_registers(self.kernel(), places.iter().map(|&at| registers[at]).collect())
    }

    /// Returns the tile with registers `places` replaced by those of `part`.
    pub(super) fn with_part<const H2: usize, const W2: usize>(
        self,
        places: &[usize],
        part: &Rt<'k, T, H2, W2, L>,
    ) -> Self {
        let mut registers = self.fragment.all_registers().to_vec();
        for (&at, &register) in places.iter().zip(part.fragment.all_registers()) {
            registers[at] = register;
        }
        Self::of_registers(self.kernel(), registers)
    }

    /// Returns whether the tile contains the rectangle; rejects one that extends past the tile's edge.
    #[track_caller]
    fn contains<const H2: usize, const W2: usize>(k: Builder<'k>, row: usize, col: usize) -> bool {
        let fits =
            |start: usize, length: usize, extent| start.checked_add(length).is_some_and(|end| end <= extent);
        let contains = fits(row, H2, H) && fits(col, W2, W);
        if !contains {
            k.refuse(format!("expected a part of {H}×{W} subtiles, found {H2}×{W2} at ({row}, {col})"));
        }
        contains
    }

    /// Splits the tile into `N` tiles of `P` rows of subtiles each, top to bottom. The results own the registers of this tile, so no
    /// instructions are emitted. The call does not compile unless `N`·`P` = `H`.
    #[must_use]
    #[track_caller]
    pub fn vsplit<const P: usize, const N: usize>(self) -> [Rt<'k, T, P, W, L>; N] {
        const { assert!(N * P == H, "the parts must have as many rows of subtiles as the tile") }
        std::array::from_fn(|part| {
            let subtiles = (part * P..(part + 1) * P).flat_map(|i| (0..W).map(move |j| (i, j)));
            let registers = subtiles.flat_map(|(i, j)| self.subtile_registers(i, j));
            Rt::of_registers(self.kernel(), registers.copied().collect())
        })
    }

    /// Splits the tile into `N` tiles of `P` columns of subtiles each, left to right. The results own the registers of this tile, so no
    /// instructions are emitted. The call does not compile unless `N`·`P` = `W`.
    #[must_use]
    #[track_caller]
    pub fn hsplit<const P: usize, const N: usize>(self) -> [Rt<'k, T, H, P, L>; N] {
        const { assert!(N * P == W, "the parts must have as many columns of subtiles as the tile") }
        std::array::from_fn(|part| {
            let cols = part * P..(part + 1) * P;
            let registers = (0..H).flat_map(|i| cols.clone().map(move |j| (i, j)));
            let registers = registers.flat_map(|(i, j)| self.subtile_registers(i, j));
            Rt::of_registers(self.kernel(), registers.copied().collect())
        })
    }

    /// Concatenates `N` tiles from top to bottom. The result uses the same registers, so no instructions are emitted. The call does not
    /// compile unless `N`·`P` = `H`.
    #[must_use]
    #[track_caller]
    pub fn vconcat<const P: usize, const N: usize>(parts: [Rt<'k, T, P, W, L>; N]) -> Self {
        const { assert!(N > 0 && N * P == H, "the parts must have as many rows of subtiles as the tile") }
        let registers = parts.iter().flat_map(|part| part.fragment.all_registers());
        Self::of_registers(parts[0].kernel(), registers.copied().collect())
    }

    /// Concatenates `N` tiles from left to right. The result uses the same registers, so no instructions are emitted. The call does not
    /// compile unless `N`·`P` = `W`.
    #[must_use]
    #[track_caller]
    pub fn hconcat<const P: usize, const N: usize>(parts: [Rt<'k, T, H, P, L>; N]) -> Self {
        const { assert!(N > 0 && N * P == W, "the parts must have as many columns of subtiles as the tile") }
        let rows = (0..H).flat_map(|i| parts.iter().map(move |part| (i, part)));
        let registers = rows.flat_map(|(i, part)| (0..P).flat_map(move |j| part.subtile_registers(i, j)));
        Self::of_registers(parts[0].kernel(), registers.copied().collect())
    }
}
