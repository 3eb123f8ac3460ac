//! Vectors that are broadcast along the rows or columns of a tile.

use std::panic::Location;

use super::{
    coordinates::vector_values,
    element::RegisterLayout,
    registers::Registers,
    rt::Rt,
    vector::{ColVec, RowVec, Rv},
    vector_layout::Broadcast,
};
use crate::{
    layout::TvLayout,
    ptx::Val,
    tensor::{Fragment, MappedElement, TensorElement, words_of},
};

/// Returns one word for each register of a tile, in order. The word contains the elements of a vector along `axis` that correspond to the
/// elements of the register.
#[track_caller]
pub(super) fn broadcast_words<'k, T: TensorElement>(
    vector: &Fragment<'k, T>,
    tile: &TvLayout,
    axis: usize,
) -> Vec<Val<'k, T::Word>> {
    let k = vector.kernel();
    let own = words_of(vector);
    let mut repeated: Vec<Option<Val<'k, T::Word>>> = vec![None; own.len() * T::PER_WORD];
    let slots = vector_values(tile, axis);
    let words = slots.chunks(T::PER_WORD).map(|slots| {
        let word = slots[0] / T::PER_WORD;
        if slots.iter().zip(word * T::PER_WORD..).all(|(&slot, expected)| slot == expected) {
            return own[word];
        }
        // All elements of the word correspond to the same element of the vector.
        let slot = slots[0];
        *repeated[slot]
            .get_or_insert_with(|| k.repeated::<T, T::Word>(vector.all_registers()[word], slot % T::PER_WORD))
    });
    words.collect()
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Returns a tile that contains `vector` in every column or every row, for example `Rt::<f32, 1, 4>::broadcast(&t.row_max())`.
    ///
    /// A vector with one element per row ([`ColVec`]) is copied to every column, and a vector with one element per column ([`RowVec`]) is
    /// copied to every row.
    ///
    /// In arithmetic, vector operands are broadcast automatically: `t - &t.row_max()`.
    #[doc(alias = "broadcast_row")]
    #[doc(alias = "broadcast_col")]
    #[must_use]
    #[track_caller]
    pub fn broadcast<const N: usize, V: Broadcast<L, H, W, N, T::Length>>(vector: &Rv<'k, T, N, V>) -> Self {
        let k = vector.kernel();
        let _located = k.locate(Location::caller());
        let words = || broadcast_words(vector.fragment(), &Self::layout(), V::AXIS);
        Self::of_registers(k, k.all_owned(words))
    }

    /// Applies `f` to each register of the tile and the corresponding elements of a vector with one element per row, and returns the
    /// results: `t.zip_rows(&max, |x, max| (x - max).max(-8.0))`. See [`zip`](Self::zip).
    #[doc(alias = "row_map")]
    #[doc(alias = "add_row")]
    #[doc(alias = "sub_row")]
    #[doc(alias = "mul_row")]
    #[doc(alias = "div_row")]
    #[must_use]
    #[track_caller]
    pub fn zip_rows<U: TensorElement>(
        &self,
        vector: &ColVec<'k, U, H, L, T::Length>,
        f: impl Fn(Val<'k, T::Word>, Val<'k, U::Word>) -> Val<'k, T::Word>,
    ) -> Self
    where
        T: MappedElement,
    {
        self.zip_lines(vector.fragment(), 0, f)
    }

    /// Applies `f` to each register of the tile and the corresponding elements of a vector with one element per column, and returns the
    /// results. See [`zip`](Self::zip).
    #[doc(alias = "col_map")]
    #[doc(alias = "add_col")]
    #[doc(alias = "sub_col")]
    #[doc(alias = "mul_col")]
    #[doc(alias = "div_col")]
    #[must_use]
    #[track_caller]
    pub fn zip_cols<U: TensorElement>(
        &self,
        vector: &RowVec<'k, U, W, L, T::Length>,
        f: impl Fn(Val<'k, T::Word>, Val<'k, U::Word>) -> Val<'k, T::Word>,
    ) -> Self
    where
        T: MappedElement,
    {
        self.zip_lines(vector.fragment(), 1, f)
    }

    #[track_caller]
    fn zip_lines<U: TensorElement>(
        &self,
        vector: &Fragment<'k, U>,
        axis: usize,
        f: impl Fn(Val<'k, T::Word>, Val<'k, U::Word>) -> Val<'k, T::Word>,
    ) -> Self {
        const {
            assert!(
                T::PER_WORD == U::PER_WORD,
                "the tile and the vector must have the same number of elements per register: convert one"
            );
        }
        let k = self.kernel();
        let others = {
            let _located = k.locate(Location::caller());
            broadcast_words(vector, &Self::layout(), axis)
        };
        self.computed(|at, word| f(word, others[at]))
    }
}
