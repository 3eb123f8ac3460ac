//! Operations on single elements and their coordinates.

use std::{ops::Range, panic::Location};

use arrayvec::ArrayVec;

use super::{
    convert::assert_same_subtiles,
    coordinates::Coordinates,
    element::RegisterLayout,
    reduce::{Accumulate, for_each_element},
    registers::{Distributed, Registers},
    rt::Rt,
    vector::Rv,
    vector_layout::VectorLayout,
};
use crate::{
    layout::TvLayout,
    ptx::{Builder, Element, FULL_MASK, Rounding, Uniformity, Val},
    tensor::{Fragment, TensorElement},
};

/// The register type of a tile's elements.
type RegisterOf<'k, D> = <<D as Distributed<'k>>::Element as Element>::Reg;

/// Returns the element in slot `slot` of a word.
#[track_caller]
pub(super) fn element_of<'k, T: TensorElement>(
    word: Val<'k, T::Word>,
    slot: usize,
    k: Builder<'k>,
) -> Val<'k, T::Reg> {
    let register = word.in_register(k);
    if T::PER_WORD == 1 { Val::from_reg(register, k) } else { k.extract::<T>(register, slot) }
}

/// Replaces each element in place with the result of `f`, which receives the element's value index and the element.
#[track_caller]
pub(super) fn rewrite_elements<'k, D: Registers<'k>>(
    tile: &mut D,
    f: impl Fn(usize, Val<'k, RegisterOf<'k, D>>) -> Val<'k, RegisterOf<'k, D>>,
) {
    let k = tile.kernel();
    tile.rewrite(|at, word| {
        let first = at * D::Element::PER_WORD;
        rewritten_word::<D::Element>(k, word, first..D::values(), &f)
    });
}

/// Returns the word with each element replaced by the result of `f` for its value index and value; a word may have fewer elements than
/// slots.
#[track_caller]
fn rewritten_word<'k, T: TensorElement>(
    k: Builder<'k>,
    word: Val<'k, T::Word>,
    numbers: Range<usize>,
    f: &dyn Fn(usize, Val<'k, T::Reg>) -> Val<'k, T::Reg>,
) -> Val<'k, T::Word> {
    let elements =
        numbers.take(T::PER_WORD).enumerate().map(|(slot, at)| f(at, element_of::<T>(word, slot, k)));
    word_of::<T>(k, &elements.collect::<ArrayVec<_, 4>>())
}

/// Returns a word of `elements`; there may be fewer elements than slots.
#[track_caller]
pub(super) fn word_of<'k, T: TensorElement>(
    k: Builder<'k>,
    elements: &[Val<'k, T::Reg>],
) -> Val<'k, T::Word> {
    let register = match *elements {
        [element] => element.in_register(k),
        [low, high] if T::PER_WORD == 4 => k.word::<T>(&[low, high, low, high]),
        _ => k.word::<T>(elements),
    };
    Val::from_reg(register, k)
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Returns the rows and columns of a lane's elements.
    #[track_caller]
    pub(super) fn coordinates(k: Builder<'k>) -> [Coordinates<'k>; 2] {
        let layout: TvLayout = Self::layout();
        [0, 1].map(|axis| Coordinates::along(k, &layout, axis))
    }

    /// Replaces each element in place with the result of `f`, which receives the builder, the element's row and column in the tile, and the
    /// element: `t.map_indexed(|k, (row, col), x| …)`.
    ///
    /// Elements that are packed in a register are unpacked first, so [`apply`](Self::apply) is faster if `f` can operate on whole
    /// registers.
    #[must_use]
    #[track_caller]
    pub fn map_indexed(
        mut self,
        f: impl Fn(Builder<'k>, (Val<'k, u32>, Val<'k, u32>), Val<'k, T::Reg>) -> Val<'k, T::Reg>,
    ) -> Self {
        let k = self.kernel();
        let [rows, cols] = {
            let _located = k.locate(Location::caller());
            Self::coordinates(k)
        };
        rewrite_elements(&mut self, |at, x| f(k, (rows.at(at), cols.at(at)), x));
        self
    }

    /// Replaces each element in place with the result of `f`, which receives the element's distance from a diagonal (row − col +
    /// `diagonal`, as f32) and the element's value. Each distance requires one addition.
    #[must_use]
    #[track_caller]
    pub(crate) fn map_distance(
        mut self,
        diagonal: Val<'k, i32>,
        f: impl Fn(Val<'k, f32>, Val<'k, T::Reg>) -> Val<'k, T::Reg>,
    ) -> Self {
        let k = self.kernel();
        let [rows, cols] = {
            let _located = k.locate(Location::caller());
            Self::coordinates(k)
        };
        let of_lane = (rows.lane.cast::<i32>() - cols.lane.cast::<i32>() + diagonal).convert(Rounding::Rn);
        rewrite_elements(&mut self, |at, x| f(of_lane + (rows.offsets[at] - cols.offsets[at]) as f32, x));
        self
    }
}

macro_rules! zips {
    ($($tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident, $what:literal $(, $alike:ident)?;)*) => {$(
        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> $tile<'k, T, $($size,)* $layout> {
            #[doc = concat!("Replaces each element in place with the result of `f` for that element and the corresponding element of another ", $what, ", whose elements may have a")]
            /// different width: `t.zip_elements(&mask, |x, bits| …)`.
            ///
            /// A tile of 8-bit elements can be combined only with another tile of 8-bit elements. Elements that are packed in a register
            /// are unpacked first, so [`zip`](Self::zip) is faster if both types have the same number of elements per register.
            #[must_use]
            #[track_caller]
            pub fn zip_elements<U: TensorElement>(
                mut self,
                other: &$tile<'k, U, $($size,)* $layout>,
                f: impl Fn(Val<'k, T::Reg>, Val<'k, U::Reg>) -> Val<'k, T::Reg>,
            ) -> Self {
                $(const { $alike::<T, U>() };)?
                let (k, others) = (self.kernel(), other.words());
                rewrite_elements(&mut self, |at, x| {
                    f(x, element_of::<U>(others[at / U::PER_WORD], at % U::PER_WORD, k))
                });
                self
            }
        }
    )*};
}

zips! {
    Rt [const H const W] L: RegisterLayout, "tile", assert_same_subtiles;
    Rv [const N] V: VectorLayout, "vector";
}

impl<'k, T: TensorElement, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// Replaces each element in place with the result of `f`, which receives the builder, the element's index in the vector, and the
    /// element: `v.map_indexed(|k, index, x| …)`.
    #[must_use]
    #[track_caller]
    pub fn map_indexed(
        mut self,
        f: impl Fn(Builder<'k>, Val<'k, u32>, Val<'k, T::Reg>) -> Val<'k, T::Reg>,
    ) -> Self {
        let k = self.kernel();
        let indices = {
            let _located = k.locate(Location::caller());
            Coordinates::along(k, &Self::layout(), 0)
        };
        rewrite_elements(&mut self, |at, x| f(k, indices.at(at), x));
        self
    }
}

macro_rules! predicates {
    ($($tile:ident [$(const $size:ident)*] $layout:ident: $bound:ident, $what:literal;)*) => {$(
        impl<'k, T: Accumulate, $(const $size: usize,)* $layout: $bound> $tile<'k, T, $($size,)* $layout> {
            #[doc = concat!("Returns whether `f` is true for any element of the ", $what, ".")]
            ///
            /// All lanes of the warp must take part, and all receive the same result. `f` receives each element converted to
            /// [`Accumulate::Sum`], which is f32 for tf32 and for floating-point types of at most 16 bits, `i32` for 8-bit integers, and
            /// the element type itself otherwise.
            #[doc(alias = "vote.sync.any")]
            #[track_caller]
            pub fn any(&self, f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>) -> Val<'k, bool> {
                let k = self.kernel();
                let own = any_in_lane(&self.fragment, &f);
                let _located = k.locate(Location::caller());
                k.vote_any(own, FULL_MASK).known_uniform(Uniformity::WARP)
            }

            #[doc = concat!("Returns whether `f` is true for all elements of the ", $what, ".")]
            ///
            /// All lanes of the warp must take part, and all receive the same result. `f` receives each element converted to
            /// [`Accumulate::Sum`], which is f32 for tf32 and for floating-point types of at most 16 bits, `i32` for 8-bit integers, and
            /// the element type itself otherwise.
            #[doc(alias = "vote.sync.all")]
            #[track_caller]
            pub fn all(&self, f: impl Fn(Val<'k, T::Sum>) -> Val<'k, bool>) -> Val<'k, bool> {
                let k = self.kernel();
                let own = all_in_lane(&self.fragment, &f);
                let _located = k.locate(Location::caller());
                k.vote_all(own, FULL_MASK).known_uniform(Uniformity::WARP)
            }

            #[doc = concat!("Returns whether any element of the ", $what, " is NaN.")]
            ///
            /// All lanes of the warp must take part, and all receive the same result.
            #[doc(alias = "hasnan")]
            #[track_caller]
            pub fn has_nan(&self) -> Val<'k, bool> {
                let k = self.kernel();
                // NaN is the only value that is not equal to itself; `ne` would be false for NaN.
                let _located = k.locate(Location::caller());
                !self.all(|x| x.eq(x))
            }
        }
    )*};
}

/// A condition on an element.
pub(super) type Predicate<'f, 'k, T> = dyn Fn(Val<'k, <T as Accumulate>::Sum>) -> Val<'k, bool> + 'f;

/// Returns whether `f` is true for any element of this lane.
#[track_caller]
pub(super) fn any_in_lane<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    f: &Predicate<'_, 'k, T>,
) -> Val<'k, bool> {
    fold_elements(fragment, f, &|a, b| a | b)
}

/// Returns whether `f` is true for all elements of this lane.
#[track_caller]
pub(super) fn all_in_lane<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    f: &Predicate<'_, 'k, T>,
) -> Val<'k, bool> {
    fold_elements(fragment, f, &|a, b| a & b)
}

/// Combines the results of `f` for all elements of this lane.
#[track_caller]
fn fold_elements<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    f: &Predicate<'_, 'k, T>,
    combine: &dyn Fn(Val<'k, bool>, Val<'k, bool>) -> Val<'k, bool>,
) -> Val<'k, bool> {
    let mut own: Option<Val<'k, bool>> = None;
    for_each_element(fragment, &mut |_, x| {
        let holds = f(x);
        own = Some(own.map_or(holds, |others| combine(others, holds)));
    });
    own.unwrap_or(false.into())
}

predicates! {
    Rt [const H const W] L: RegisterLayout, "tile";
    Rv [const N] V: VectorLayout, "vector";
}
